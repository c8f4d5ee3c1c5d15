"""Opening the data of a policy: its engine, frames in place of its tables, and the check for changed sources.

Engine      The one that the policy's address names, with its prepared store and key. Reports of local
            differential privacy need no policy: their engine reads one table unchanged.
Frames      Arrow, pandas and polars frames replace tables of the policy.
Unchanged   Stored answers belong to one version of the data, and a difference of two answers under one
            version would reveal what changed. So a digest of every source file is stored beside the ledger,
            with the policy's `data_version`; a table whose contents differ under the same version is refused
            until the custodian sets another. Files are read again only if their path, size or time has
            changed. Tables of PostgreSQL and Spark may change at any time, and frames are passed in by the
            program: neither is recorded. A refusal depends on the policy and the state of the sources, costs
            nothing, and reveals no data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pyarrow as pa

from discreet.accounting.ledger_database import get_shared_store_key
from discreet.accounting.ledger_storage import (
    MEMORY,
    find_sibling_file,
    is_database_address,
    strip_sibling_path,
)
from discreet.core.engine import Engine
from discreet.core.errors import DataError, EngineFault, RequestError
from discreet.core.output_files import write_output
from discreet.core.policy import Policy
from discreet.engines import sources
from discreet.engines.sources import digest_contents, have_changed
from discreet.services.addresses import parse_engine_address

DIGESTS_SUFFIX = ".sources.json"
RecordedDigests = dict[str, dict[str, dict[str, object]]]
"""By data version and table: the state of the files, and the digest of their contents."""


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


def resolve_frame(policy: Policy, table: object) -> tuple[str, dict[str, pa.Table]]:
    """Return the name of the policy's table, and the frame to use for it, if one was given."""
    if isinstance(table, str):
        if table not in policy.tables:
            raise RequestError(
                f"anonymize: the policy has no table {table}.", hint=f"It has {', '.join(policy.tables)}."
            )
        return table, {}
    if len(policy.tables) != 1:
        raise RequestError(
            "anonymize: a frame needs a policy with exactly one table, which declares its columns.",
            hint="Give such a policy, or pass the name of a table.",
        )
    (name,) = policy.tables
    return name, {name: frame_to_arrow(table)}


def frames_to_tables(policy: Policy, frames: Mapping[str, object]) -> dict[str, pa.Table]:
    """Return frames as Arrow tables, to use in place of tables of a policy."""
    unknown = [name for name in frames if name not in policy.tables]
    if unknown:
        raise RequestError(
            f"frames: the policy has no table {unknown[0]}.", hint=f"It has {', '.join(policy.tables)}."
        )
    return {name: frame_to_arrow(frame) for name, frame in frames.items()}


def frame_to_arrow(table: object) -> pa.Table:
    """Return a frame as an Arrow table."""
    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "collect_schema") and hasattr(table, "collect"):
        table = table.collect()  # a lazy frame of polars, which has its rows only then
    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        return _pandas_to_arrow(table)
    raise RequestError(
        "A table must be the name of a table in the policy, or an Arrow, pandas or polars frame.",
        hint="Pass one of these.",
    )


def _pandas_to_arrow(table: object) -> pa.Table:
    mixed = ""
    try:
        return pa.Table.from_pandas(table, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        names = [str(name) for name in getattr(table, "columns", ())]
        mixed = next((name for name in names if f"column {name} " in str(error)), "one of them")
    # Raised outside of the handler, because the driver's error quotes values.
    raise DataError(
        f"The columns of the frame must have one type each, and {mixed} has several.",
        hint="Convert it first, to text for example.",
    )


def require_unchanged_sources(policy: Policy, frames: Collection[str] = ()) -> None:
    """Refuse a table whose contents changed while `data_version` did not; record new tables."""
    place = find_sibling_file(policy.ledger, DIGESTS_SUFFIX)
    if place is None or not parse_engine_address(policy.engine).is_embedded:
        return
    known = _read_digests(place)
    tables, before = known.setdefault(policy.data_version, {}), json.dumps(known)
    for name, table in policy.tables.items():
        if name in frames or table.person == "none":  # a table without people may change
            continue
        source = sources.locate_source(name, table)
        state, remembered = _describe_state(source), tables.get(name)
        if remembered is not None and remembered["state"] == state:
            continue
        digest = digest_contents(source)
        if remembered is not None and have_changed(str(remembered["digest"]), digest):
            raise RequestError(
                f"The data of table {name} has changed, and the policy's data_version "
                f"({policy.data_version}) has not.",
                hint="The custodian sets another data_version in the policy, or puts the data back.",
            )
        tables[name] = {"state": state, "digest": digest}
    if json.dumps(known) != before:
        write_output(place, json.dumps(known, indent=1), private=True)


def digest_source(policy: Policy, name: str, frames: Collection[str] = ()) -> str | None:
    """Return the digest of a table's contents: the recorded one if its files have not changed since.

    None for what has no fixed contents: live tables of a database, frames, and tables without people.
    """
    table = policy.tables[name]
    if name in frames or table.person == "none" or not parse_engine_address(policy.engine).is_embedded:
        return None
    source, place = sources.locate_source(name, table), find_sibling_file(policy.ledger, DIGESTS_SUFFIX)
    known = {} if place is None else _read_digests(place).get(policy.data_version, {})
    if name in known and known[name]["state"] == _describe_state(source):
        return str(known[name]["digest"])
    return digest_contents(source)


def describe_source_state(policy: Policy, name: str) -> object:
    """Return path, size and time of a table's files; None for tables of a database."""
    if not parse_engine_address(policy.engine).is_embedded:
        return None
    return _describe_state(sources.locate_source(name, policy.tables[name]))


def _describe_state(source: sources.Source) -> object:
    """Return the state of a source as JSON has it, in which tuples are lists."""
    return json.loads(json.dumps([source.state, source.inner_table]))


def _read_digests(path: Path) -> RecordedDigests:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        entries = [each for tables in found.values() for each in tables.values()]
        if all({"state", "digest"} <= set(each) for each in entries):
            return dict(found)
    except (OSError, ValueError, AttributeError, TypeError):
        pass
    raise RequestError(
        f"{path}, which records the digests of the data, cannot be read.",
        hint="If the data has not changed, delete the file; it will be written again.",
    )
