"""Opening the engine that a policy's address names, with its prepared store and key.

Reports of local differential privacy need no policy: their engine reads one table unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from discreet.accounting.ledger_database import get_shared_store_key
from discreet.accounting.ledger_storage import MEMORY, is_database_address
from discreet.core.engine import Engine
from discreet.core.errors import EngineFault, RequestError
from discreet.core.policy import Policy
from discreet.services.engine_addresses import parse_engine_address
from discreet.services.ledger_addresses import find_sibling_file, strip_sibling_path


def open_engine(
    policy: Policy,
    *,
    frames: Mapping[str, pa.Table] | None = None,
    progress: Callable[[str], None] | None = None,
    key: bytes | None = None,
) -> Engine:
    """Open an engine over the tables of the policy, isolated from all other files and networks.

    `frames` replace the sources of some tables. `key` is the store's key, if it is already known.
    """
    return _prepare_engine(policy, frames=frames, progress=progress, key=key or find_shared_key(policy))()


def make_engine_opener(
    policy: Policy, *, progress: Callable[[str], None] | None = None
) -> Callable[[], Engine]:
    """Return a function that opens engines over the policy's tables; the store is prepared once for all."""
    open_prepared = _prepare_engine(policy, frames=None, progress=progress, key=find_shared_key(policy))
    if not policy.is_embedded:
        # Open one engine now, so that errors appear at startup and the store is prepared.
        open_prepared().close()
    return open_prepared


def _prepare_engine(
    policy: Policy,
    *,
    frames: Mapping[str, pa.Table] | None,
    progress: Callable[[str], None] | None,
    key: bytes | None,
) -> Callable[[], Engine]:
    engine = parse_engine_address(policy.engine)
    if frames and not engine.is_embedded:
        raise RequestError(
            f"ask: a frame is in this program, and the tables of the policy are in {engine.scheme}.",
            hint="Use a policy with engine: duckdb.",
        )
    if progress is not None and not engine.is_embedded:
        progress(f"connecting to {engine.scheme}")
    folder = find_store_folder(policy) if engine.is_embedded else _find_folder(None, policy.ledger)
    return engine.load_driver().prepare_engine(
        policy, key=key, folder=folder, frames=frames, progress=progress
    )


def find_shared_key(policy: Policy) -> bytes | None:
    """Return the store key of a ledger shared by servers; None if the ledger is a local file."""
    ledger = strip_sibling_path(policy.ledger)
    if not is_database_address(ledger):
        return None
    return get_shared_store_key(ledger)


def open_table_engine(address: str, name: str, source: str) -> Engine:
    """Open an engine over one table without a policy, for rows that may be counted without noise.

    Reports are such rows: clients randomized them before sending.
    """
    engine = parse_engine_address(address)
    try:
        return engine.load_driver().open_tables(
            address, {name: engine.resolve_source(source, os.path.abspath)}
        )
    except EngineFault:
        if not engine.is_embedded:
            raise
        raise RequestError(
            f"{engine.name}: {source} cannot be read: there is no such table, or its file is damaged.",
            hint="Name a table of the file that the address names, or a Parquet or CSV file.",
        ) from None


def find_store_folder(policy: Policy) -> Path | None:
    """Return the folder of a policy's DuckDB store; None for one in memory."""
    return _find_folder(policy.store, policy.ledger)


def _find_folder(store: str | None, ledger: str) -> Path | None:
    """Return the folder of the store, or of its key if the store is on a server; None for memory."""
    if store is not None:
        return None if store == MEMORY else Path(store)
    return find_sibling_file(ledger, ".store")
