"""Prepared store: a policy's tables, encoded and ranked once, so that bounding contributions is a filter.

Contents    for each table of the policy one of the same name: every column that is not an identifier, encoded
            (`clamping`); where a person is a column, also `_discreet_person` and `_discreet_rank`
            (`row_ranking`), and where links lead to a person's other rows, hidden keys.
Folder      its own, which only its owner can enter: it holds the secret key, and one file, named by a keyed
            digest of the format, the policy's tables, and path, size and time of each source. When one of
            them changes so does the name, and the store is built anew, with the same key. Where servers
            share a ledger the key is passed in, and the folder holds none.
Atomic      it is built under another name and moved, by one process at a time: a file with the final name is
            complete, and the next process removes what a crash left behind.
Locks       an open store holds a lock on an empty file beside it, which the system releases when its holder
            ends; building a newer store drops those that nobody has open, and leaves the others.
Faults      no data makes it fail, except a file that breaks its own format, or a CSV file in which a quoted
            value may hold other people's rows: the custodian is told its line, and nothing is charged.
Logged      for the custodian alone: how many rows of a CSV file could not be read, with their lines, and how
            many keys through which people are found belong to several people.
Text        of CSV sources that had to be copied (`text_files`) is removed once the store is built.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.core.engine_faults import CUSTODIAN_LOG, run_guarded, run_guarded_write
from discreet.core.errors import RequestError
from discreet.core.output_files import make_spill_folder
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines import row_ranking, sources
from discreet.engines.duckdb_connection import (
    choose_memory_limit,
    connect_duckdb,
    lock_down_connection,
)
from discreet.engines.identifier_types import require_exact_identifiers
from discreet.engines.sources import Source

STORE_FORMAT = 7
ATTEMPTS = 3
KEY_BYTES = 32
KEY, LOCK, STORE, BUILDING = "key", "lock", "store-", "building-"

Progress = Callable[[str], None]
LOCK_PREFIX = "used-"


@dataclass(frozen=True, kw_only=True)
class PreparedStore:
    """The argument of `DuckDB.open`: a file, or an in-memory database that lives as long as this object."""

    path: Path | None
    memory_connection: duckdb.DuckDBPyConnection | None = field(default=None, repr=False)
    lock: StoreLock | None = field(default=None, repr=False, compare=False)


def prepare_store(
    policy: Policy,
    folder: Path | None,
    *,
    frames: Mapping[str, pa.Table] | None = None,
    progress: Progress | None = None,
    random: Randomness | None = None,
    key: bytes | None = None,
) -> PreparedStore:
    """Return the store of a policy: the folder's if it is up to date, else a new one; in memory if no folder.

    `frames` replace tables of the policy; a store over them is in memory, as they are. `key` defaults to the
    folder's.
    """
    tell, random = progress or (lambda _: None), random or Randomness()
    _require_distinct_names(policy)
    located = [_locate_source(name, policy, frames or {}) for name in row_ranking.order_tables(policy)]
    if folder is None or frames:
        secret = key or draw_key(random)
        with make_spill_folder() as texts:
            memory = run_guarded(
                lambda: _build_tables(connect_duckdb(), policy, located, secret, tell, Path(texts))
            )
        return PreparedStore(path=None, memory_connection=memory)
    _make_private_folder(folder)
    own = key or read_key(folder)
    ready = None if own is None else _find_ready_store(folder, policy, located, own)
    if ready is None:
        with _lock_folder(folder, tell):
            _remove_leftovers(folder, BUILDING)
            if key is None:
                _ensure_key(folder, random)
            own = key or (folder / KEY).read_bytes()
            # another process may have built the store while this one waited for the lock
            ready = _find_ready_store(folder, policy, located, own) or _rebuild_store(
                folder, policy, located, own, tell
            )
    return ready


def _locate_source(name: str, policy: Policy, frames: Mapping[str, pa.Table]) -> Source:
    if name in frames:
        return Source(name=name, table=policy.tables[name], frame=frames[name])
    return sources.locate_source(name, policy.tables[name])


def load_or_create_key(folder: Path | None, random: Randomness | None = None) -> bytes:
    """Return the key of a folder, drawn once; without a folder, a new key that is not saved."""
    random = random or Randomness()
    if folder is None:
        return draw_key(random)
    _make_private_folder(folder)
    with _lock_folder(folder, lambda _: None):
        _ensure_key(folder, random)
    return (folder / KEY).read_bytes()


def read_key(folder: Path | None) -> bytes | None:
    """Return the key that a folder holds, or None if it holds no complete one."""
    path = None if folder is None else folder / KEY
    found = path.read_bytes() if path is not None and path.exists() else b""
    return found if len(found) == KEY_BYTES else None


def draw_key(random: Randomness | None = None) -> bytes:
    """Return a new key."""
    return (random or Randomness()).draw_bits(8 * KEY_BYTES).to_bytes(KEY_BYTES, "little")


def _rebuild_store(
    folder: Path, policy: Policy, located: list[Source], key: bytes, progress: Progress
) -> PreparedStore:
    for _ in range(ATTEMPTS):
        name = _name_store_file(key, policy, located)
        with tempfile.TemporaryDirectory(prefix=BUILDING, dir=folder) as workshop:
            made = Path(workshop) / "store.duckdb"
            run_guarded_write(lambda made=made: _build_file(made, policy, located, key, progress), folder)  # type: ignore[misc]
            if name == _name_store_file(key, policy, located):  # no source has changed while it was read
                for path in folder.glob(f"{STORE}*"):
                    drop_store_file(path)
                path = made.rename(folder / name)
                return PreparedStore(path=path, lock=lock_store_file(path))
    raise RequestError(
        "prepare: the sources changed while they were read.", hint="Prepare when nothing writes to them."
    )


def _build_file(path: Path, policy: Policy, located: list[Source], key: bytes, progress: Progress) -> None:
    connection = connect_duckdb(
        str(path),
        spill_folder=str(path.with_suffix(".spill")),
        memory_limit=choose_memory_limit(max(len(each.table.columns) for each in located)),
    )
    path.chmod(0o600)
    _build_tables(connection, policy, located, key, progress, path.parent).close()


def _build_tables(
    connection: duckdb.DuckDBPyConnection,
    policy: Policy,
    located: list[Source],
    key: bytes,
    progress: Progress,
    folder: Path,
) -> duckdb.DuckDBPyConnection:
    """Build all tables, then lock the connection down; copies of text sources are made in `folder`."""
    try:
        located = [sources.make_texts(source, folder) for source in located]
        connection.execute("SET preserve_insertion_order = false")
        # As variables, so that no statement holds the key and no log can quote it.
        for variable, half in zip(
            row_ranking.KEYS, (key[: KEY_BYTES // 2], key[KEY_BYTES // 2 :]), strict=True
        ):
            connection.execute(f"SET VARIABLE {variable} = ?", [half])
        _require_exact_identifiers(connection, policy, located)
        for source in located:
            unread = str(sources.inspect_texts(source, connection))
            if unread:
                CUSTODIAN_LOG.warning("table %s: %s", source.name, unread)
        for source in located:
            progress(f"preparing table {source.name}")
            _build_table(connection, policy, source)
        for source in located:
            for column in row_ranking.list_lookup_columns(source.name, policy):
                connection.execute(f"DROP TABLE {row_ranking.name_owner_table(source.name, column)}")
        for variable in row_ranking.KEYS:
            connection.execute(f"RESET VARIABLE {variable}")
        lock_down_connection(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_exact_identifiers(
    connection: duckdb.DuckDBPyConnection, policy: Policy, located: list[Source]
) -> None:
    """Check the identifier types of all sources before any row is read."""
    found = {}
    for source in located:
        found[source.name] = sources.read_source_schema(source, connection).identifier_types
        sources.release_source(connection)
    require_exact_identifiers("DuckDB", policy.tables, found)


def _build_table(connection: duckdb.DuckDBPyConnection, policy: Policy, source: Source) -> None:
    reading = sources.read_source_schema(source, connection)
    connection.execute(row_ranking.write_create_table(source.name, policy, reading))
    for column in row_ranking.list_lookup_columns(source.name, policy):
        connection.execute(row_ranking.write_create_owner_table(source.name, column, policy, reading))
        shared = row_ranking.count_shared_keys(connection, source.name, column)
        if shared:
            text = "%s.%s: %s keys belong to several people; a row that links to one counts for each of them"
            CUSTODIAN_LOG.warning(text, source.name, column, shared)
    sources.release_source(connection)


def _find_ready_store(
    folder: Path, policy: Policy, located: list[Source], key: bytes
) -> PreparedStore | None:
    """Return the folder's store for this policy and this data, or None."""
    path = folder / _name_store_file(key, policy, located)
    use = lock_store_file(path)
    return None if use is None else PreparedStore(path=path, lock=use)


def _name_store_file(key: bytes, policy: Policy, located: list[Source]) -> str:
    state = {
        "format": [STORE_FORMAT, duckdb.__version__],
        "tables": {name: table.model_dump(mode="json") for name, table in policy.tables.items()},
        "data": {source.name: source.state for source in located},
    }
    digest = hmac.digest(key, json.dumps(state).encode(), "sha256")
    return f"{STORE}{digest.hex()[:32]}.duckdb"


def _ensure_key(folder: Path, random: Randomness) -> None:
    """Draw the key unless the folder has one; a key file that a crash cut short is replaced."""
    path = folder / KEY
    if read_key(folder) is not None:
        return
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(draw_key(random))


def _make_private_folder(folder: Path) -> None:
    """Create the folder with mode 0700, or restrict an existing one if it holds only our files."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise RequestError(
            f"prepare: the store's folder {folder} cannot be created.", hint="Name another one in the policy."
        ) from None
    if folder.stat().st_mode & 0o077 == 0:
        return
    ours = (KEY, LOCK, STORE, LOCK_PREFIX, BUILDING)
    if not all(path.name.startswith(ours) for path in folder.iterdir()):
        raise RequestError(
            f"prepare: the store's folder {folder} is open to others and holds other files.",
            hint="Give the store a folder of its own.",
        )
    folder.chmod(0o700)


@contextmanager
def _lock_folder(folder: Path, progress: Progress) -> Iterator[None]:
    """Admit one process at a time; the system releases the lock even if the process dies."""
    with os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that is preparing the store")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_leftovers(folder: Path, prefix: str) -> None:
    for path in folder.glob(f"{prefix}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _require_distinct_names(policy: Policy) -> None:
    _require_distinct("the policy", policy.tables)
    for name, table in policy.tables.items():
        _require_distinct(f"table {name}", table.columns)


def _require_distinct(place: str, names: Iterable[str]) -> None:
    """Refuse names that differ only in case: they are one name to DuckDB."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise RequestError(
                f"prepare: {place} declares {other} and {name}, which differ in case alone.",
                hint="Rename one of them.",
            )


class StoreLock:
    """A shared lock on a store file, held until this object is collected or the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._closing = weakref.finalize(self, os.close, descriptor)


def lock_store_file(store: Path) -> StoreLock | None:
    """Return a lock on a store file, or None if there is no such store."""
    while store.exists():
        lock = os.open(_lock_path(store), os.O_RDWR | os.O_CREAT, 0o600)
        use = StoreLock(lock)
        fcntl.flock(lock, fcntl.LOCK_SH)
        # another process may have dropped the store, and its lock file, meanwhile
        if store.exists() and _is_same_file(lock, _lock_path(store)):
            return use
    return None


def drop_store_file(store: Path) -> bool:
    """Remove a store file unless it is locked; return whether it was removed."""
    path = _lock_path(store)
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            store.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            return True
        return False
    finally:
        os.close(lock)


def _lock_path(store: Path) -> Path:
    return store.with_name(f"{LOCK_PREFIX}{store.stem}")


def _is_same_file(lock: int, path: Path) -> bool:
    """Return whether an open file is the one at a path."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), path.stat())
    return False
