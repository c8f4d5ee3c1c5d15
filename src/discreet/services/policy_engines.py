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
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import load_or_create_key, prepare_store
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
    scheme = parse_engine_address(policy.engine).scheme
    key = key or find_shared_key(policy)
    if scheme == "duckdb":
        return DuckDB.open(
            prepare_store(policy, find_store_folder(policy), frames=frames, progress=progress, key=key)
        )
    if frames:
        raise RequestError(
            f"ask: a frame is in this program, and the tables of the policy are in {scheme}.",
            hint="Use a policy with engine: duckdb.",
        )
    if progress is not None:
        progress(f"connecting to {scheme}")
    key = key or load_or_create_key(_find_folder(None, policy.ledger))
    if scheme == "postgresql":
        from discreet.engines.postgres import PostgreSQL  # optional driver

        return PostgreSQL.open(policy, policy.engine, key)
    from discreet.engines.spark import Spark  # optional driver

    return Spark.open(policy, policy.engine, key)


def make_engine_opener(
    policy: Policy, *, progress: Callable[[str], None] | None = None
) -> Callable[[], Engine]:
    """Return a function that opens engines over the policy's tables; the store is prepared once for all."""
    key = find_shared_key(policy)
    if parse_engine_address(policy.engine).scheme == "duckdb":
        store = prepare_store(policy, find_store_folder(policy), progress=progress, key=key)
        return lambda: DuckDB.open(store)
    # Open one engine now, so that errors appear at startup and the store is prepared.
    open_engine(policy, progress=progress, key=key).close()
    return lambda: open_engine(policy, key=key)


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
    found = engine.resolve_source(source, os.path.abspath)
    if engine.scheme == "postgresql":
        from discreet.engines.postgres import PostgreSQL  # optional driver

        return PostgreSQL.open_tables({name: found}, address)
    if engine.scheme != "duckdb":
        from discreet.engines.spark import Spark  # optional driver

        return Spark.open_tables({name: found}, address)
    try:
        return DuckDB({name: Path(found)})
    except EngineFault:
        raise RequestError(
            f"DuckDB: {source} cannot be read: there is no such table, or its file is damaged.",
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
