"""The engine of a policy, opened: which one its address means, and where its store and its key are.

Where there is no policy, as for reports, an engine over one table as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from discreet.accounting.ledger_storage import MEMORY, is_database_address
from discreet.app.addresses import engine_of
from discreet.app.ledger_addresses import file_beside, kept_at
from discreet.core.engine import Engine
from discreet.core.errors import EngineFault, RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import load_or_create_key, prepare_store


def opened(
    policy: Policy,
    *,
    frames: Mapping[str, pa.Table] | None = None,
    progress: Callable[[str], None] | None = None,
    key: bytes | None = None,
) -> Engine:
    """An engine over the tables of the policy, or frames in place of some, shut off from everything else.

    `key` is the store's, where it is known already.
    """
    scheme = engine_of(policy.engine).scheme
    key = key or find_shared_key(policy)
    if scheme == "duckdb":
        return DuckDB.open(
            prepare_store(policy, store_folder(policy), frames=frames, progress=progress, key=key)
        )
    if frames:
        raise RequestError(
            f"ask: a frame is in this program, and the tables of the policy are in {scheme}.",
            hint="Give it a policy with engine: duckdb.",
        )
    if progress is not None:
        progress(f"connecting to {scheme}")
    key = key or load_or_create_key(_folder(None, policy.ledger))
    if scheme == "postgresql":
        from discreet.engines.postgres import PostgreSQL  # only those who use it wait for it to load

        return PostgreSQL.open(policy, policy.engine, key)
    from discreet.engines.spark import Spark

    return Spark.open(policy, policy.engine, key)


def opener(policy: Policy, *, progress: Callable[[str], None] | None = None) -> Callable[[], Engine]:
    """What opens engines over the tables of the policy, as many as are wanted, prepared once for all."""
    key = find_shared_key(policy)
    if engine_of(policy.engine).scheme == "duckdb":
        store = prepare_store(policy, store_folder(policy), progress=progress, key=key)
        return lambda: DuckDB.open(store)
    # what is wrong is told at once, and a store is written now
    opened(policy, progress=progress, key=key).close()
    return lambda: opened(policy, key=key)


def find_shared_key(policy: Policy) -> bytes | None:
    """Return the store key of a ledger that servers share; None where the ledger is this machine's."""
    ledger = kept_at(policy.ledger)
    if not is_database_address(ledger):
        return None
    from discreet.accounting.store_key import get_shared_store_key  # only those who share one load it

    return get_shared_store_key(ledger)


def opened_over(address: str, name: str, source: str) -> Engine:
    """An engine over one table as it is, without a policy: for rows that may be counted as they stand.

    Reports are such rows: they were randomized before they came there.
    """
    engine = engine_of(address)
    found = engine.source(source, os.path.abspath)
    if engine.scheme == "postgresql":
        from discreet.engines.postgres import PostgreSQL

        return PostgreSQL.open_tables({name: found}, address)
    if engine.scheme != "duckdb":
        from discreet.engines.spark import Spark

        return Spark.open_tables({name: found}, address)
    try:
        return DuckDB({name: Path(found)})
    except EngineFault:
        raise RequestError(
            f"DuckDB: {source} cannot be read: there is no such table, or its file is damaged.",
            hint="Name a table of the file that the address names, or a Parquet or CSV file.",
        ) from None


def store_folder(policy: Policy) -> Path | None:
    """Where DuckDB's store of a policy stands; None for one in memory."""
    return _folder(policy.store, policy.ledger)


def _folder(store: str | None, ledger: str) -> Path | None:
    """Where the store is, or the key where the store is elsewhere; None for memory."""
    if store is not None:
        return None if store == MEMORY else Path(store)
    return file_beside(ledger, ".store")
