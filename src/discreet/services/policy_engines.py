"""Opening the data of a policy: its engine, frames in place of its tables, and the check for changed sources.

Engine      The one that the policy's address names, with its prepared store and key. Reports of local
            differential privacy need no policy: their engine reads one table unchanged.
Frames      and paths that a program passes in replace the sources of the policy's tables (`frames`).
Unchanged   Stored answers belong to one version of the data, and a difference of two answers under one
            version would reveal what changed. So a digest of every source file is stored beside the ledger,
            with the policy's `data_version`; a table whose contents differ under the same version is refused
            until the custodian sets another. Files are read again only if their path, size or time has
            changed. A frame has a digest of its declared columns; in a session it has a version of its own
            (`session_ledger`). Tables of PostgreSQL and Spark may change at any time: they are not recorded.
            A refusal depends on the policy and the state of the sources, costs nothing, and reveals no data.
"""

from __future__ import annotations

import hashlib
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
from discreet.core.errors import EngineFault, RequestError
from discreet.core.output_files import write_output
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines import sources
from discreet.engines.content_digests import digest_contents, digest_frame, have_changed
from discreet.services.addresses import parse_engine_address
from discreet.services.frames import Frame, is_spark_frame, read_frame, require_frame
from discreet.services.session_ledger import find_session_version, is_session_ledger
from discreet.services.source_digests import DIGESTS_SUFFIX, describe_state, read_digests
from discreet.services.spark_frames import ENGINE as SPARK
from discreet.services.spark_frames import list_spark_sources

FRAME_STATE = ["frame"]


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
    return name, {name: read_frame(require_frame(table), name, policy.tables[name])}


def apply_tables(policy: Policy, tables: Mapping[str, object]) -> tuple[Policy, dict[str, Frame]]:
    """Return the policy with the paths of `tables` as sources, and the frames among them.

    Every table of the policy needs rows: a source, a path or a frame.
    """
    unknown = [name for name in tables if name not in policy.tables]
    if unknown:
        raise RequestError(
            f"`tables=`: the policy has no table {unknown[0]}.", hint=f"It has {', '.join(policy.tables)}."
        )
    engine, declared, frames = parse_engine_address(policy.engine), dict(policy.tables), {}
    for name, given in tables.items():
        if isinstance(given, str | Path):
            source = engine.resolve_source(str(given), os.path.abspath)
            declared[name] = declared[name].model_copy(update={"source": source})
        else:
            frames[name] = require_frame(given)
    there = {name: frame for name, frame in frames.items() if is_spark_frame(frame)}
    here = {name: frame for name, frame in frames.items() if name not in there}
    if there and here:
        raise RequestError(
            f"`tables=`: {next(iter(there))} is a frame of Spark and {next(iter(here))} is not.",
            hint="Convert one of them: spark.createDataFrame(…), or .toPandas().",
        )
    declared |= list_spark_sources(there, declared)
    missing = [name for name, table in declared.items() if not table.source and name not in here]
    if missing:
        raise RequestError(
            f"The policy has no source for the rows of {missing[0]}.",
            hint=f'Give them: `tables={{"{missing[0]}": frame}}`, where a frame may also be a path.',
        )
    changed = {"engine": SPARK} if there and policy.is_embedded else {}
    return policy.model_copy(update={"tables": declared, **changed}), frames


def read_frames(policy: Policy, frames: Mapping[str, Frame]) -> dict[str, pa.Table]:
    """Return frames as Arrow tables of the columns that the policy declares; those of Spark stay there."""
    return {
        name: read_frame(frame, name, policy.tables[name])
        for name, frame in frames.items()
        if not is_spark_frame(frame)
    }


def set_session_version(policy: Policy, frames: Mapping[str, Frame], read: Mapping[str, pa.Table]) -> Policy:
    """Return the policy with the data version that frames have in the session, unless it names one."""
    if not read or "data_version" in policy.model_fields_set or not is_session_ledger(policy.ledger):
        return policy
    digests = {name: (frames[name], digest_frame(table)) for name, table in read.items()}
    return policy.model_copy(update={"data_version": find_session_version(digests)})


def require_unchanged_sources(
    policy: Policy, frames: Mapping[str, pa.Table] | None = None, *, only: Collection[str] | None = None
) -> None:
    """Refuse a table whose contents changed while `data_version` did not; record new tables.

    `frames` are tables whose rows the program passes in, as `read_frames` returns them; `only` these tables
    are looked at.
    """
    place = find_sibling_file(policy.ledger, DIGESTS_SUFFIX)
    if place is None or not parse_engine_address(policy.engine).is_embedded:
        return
    frames = frames or {}
    known = read_digests(place)
    tables, before = known.setdefault(policy.data_version, {}), json.dumps(known)
    for name, table in policy.tables.items():
        is_read = only is None or name in only
        if table.person == "none" or not is_read:  # a table without people may change
            continue
        state: object = FRAME_STATE
        frame = frames.get(name)
        key = name if frame is None else _name_frame(name, table)
        remembered = tables.get(key)
        if frame is not None:
            digest = digest_frame(frame)
        else:
            source = sources.locate_source(name, table)
            state = describe_state(source)
            if remembered is not None and remembered["state"] == state:
                continue
            digest = digest_contents(source)
        if remembered is not None and have_changed(str(remembered["digest"]), digest):
            way_out = "The custodian sets another data_version in the policy, or puts the data back."
            raise RequestError(
                f"The data of table {name} has changed, and the policy's data_version "
                f"({policy.data_version}) has not.",
                hint=way_out if frame is None else "Give the new data another `data_version=`.",
            )
        tables[key] = {"state": state, "digest": digest}
    if json.dumps(known) != before:
        write_output(place, json.dumps(known, indent=1), private=True)


def _name_frame(name: str, table: Table) -> str:
    """Return the name under which a frame's digest is recorded: it is of the columns that are declared.

    Stored answers belong to one declaration too, so that no other is compared with them.
    """
    declared = json.dumps(table.model_dump(mode="json"), sort_keys=True)
    return f"{name} as declared {hashlib.sha256(declared.encode()).hexdigest()[:16]}"
