"""Prepared store: a policy's tables, encoded and ranked once, so that bounding contributions is a filter.

Contents    for each table of the policy one of the same name: every column that is not an identifier, encoded
            (`clamping`); where a person is a column, also `_discreet_person` and `_discreet_rank`
            (`row_ranking`), and where links lead to a person's other rows, hidden keys (`person_links`).
Folder      its own, which only its owner can enter: it holds the secret key, and one file, named by a keyed
            digest of the format, the policy's tables, and path, size and time of each source. When one of
            them changes so does the name, and the store is built anew, with the same key. Where servers
            share a ledger the key is passed in, and the folder holds none.
Atomic      it is built under another name and moved, by one process at a time: a file with the final name is
            complete, and the next process removes what a crash left behind.
Locks       an open store holds a lock (`store_locks`): building a newer store drops those that nobody has
            open, and leaves the others to the next build.
Faults      no data makes it fail, except a file that breaks its own format.
Logged      for the custodian alone: how many rows of a CSV file could not be read, and how many keys
            through which people are found belong to several people.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines import linking, ranking, sources
from discreet.engines.connection import connect, shut_off
from discreet.engines.faults import CUSTODIAN, guard_writing, guarded
from discreet.engines.identities import require_identities
from discreet.engines.sources import Source
from discreet.engines.store_use import USED, StoreUse, drop_file, hold_file

FORMAT = 4
ATTEMPTS = 3
KEY_BYTES = 32
KEY, LOCK, STORE, BUILDING = "key", "lock", "store-", "building-"

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class PreparedStore:
    """The argument of `DuckDB.open`: a file, or an in-memory database that lives as long as this object."""

    path: Path | None
    memory: duckdb.DuckDBPyConnection | None = field(default=None, repr=False)
    use: StoreUse | None = field(default=None, repr=False, compare=False)


def prepare(
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
    _require_different_names(policy)
    located = [_source(name, policy, frames or {}) for name in linking.in_order(policy)]
    if folder is None or frames:
        secret = key or draw_key(random)
        memory = guarded(lambda: _build(connect(), policy, located, secret, tell))
        return PreparedStore(path=None, memory=memory)
    _make_private(folder)
    own = key or read_key(folder)
    ready = None if own is None else _ready(folder, policy, located, own)
    if ready is None:
        with _alone(folder, tell):
            _clear(folder, BUILDING)
            if key is None:
                _keep_key(folder, random)
            own = key or (folder / KEY).read_bytes()
            # another process may have built the store while this one waited for the lock
            ready = _ready(folder, policy, located, own) or _renewed(folder, policy, located, own, tell)
    return ready


def _source(name: str, policy: Policy, frames: Mapping[str, pa.Table]) -> Source:
    if name in frames:
        return Source(name=name, table=policy.tables[name], frame=frames[name])
    return sources.locate(name, policy.tables[name])


def secret_key(folder: Path | None, random: Randomness | None = None) -> bytes:
    """Return the key of a folder, drawn once; without a folder, a new key that is not saved."""
    random = random or Randomness()
    if folder is None:
        return draw_key(random)
    _make_private(folder)
    with _alone(folder, lambda _: None):
        _keep_key(folder, random)
    return (folder / KEY).read_bytes()


def read_key(folder: Path | None) -> bytes | None:
    """Return the key that a folder holds, or None if it holds no complete one."""
    path = None if folder is None else folder / KEY
    found = path.read_bytes() if path is not None and path.exists() else b""
    return found if len(found) == KEY_BYTES else None


def draw_key(random: Randomness | None = None) -> bytes:
    """Return a new key."""
    return (random or Randomness()).bits(8 * KEY_BYTES).to_bytes(KEY_BYTES, "little")


def _renewed(
    folder: Path, policy: Policy, located: list[Source], key: bytes, tell: Progress
) -> PreparedStore:
    for _ in range(ATTEMPTS):
        name = _name(key, policy, located)
        with tempfile.TemporaryDirectory(prefix=BUILDING, dir=folder) as workshop:
            made = Path(workshop) / "store.duckdb"
            guard_writing(lambda made=made: _build_file(made, policy, located, key, tell), folder)  # type: ignore[misc]
            if name == _name(key, policy, located):  # no source has changed while it was read
                for path in folder.glob(f"{STORE}*"):
                    drop_file(path)
                path = made.rename(folder / name)
                return PreparedStore(path=path, use=hold_file(path))
    raise RequestError(
        "prepare: the sources changed while they were read.", hint="Prepare when nothing writes to them."
    )


def _build_file(path: Path, policy: Policy, located: list[Source], key: bytes, tell: Progress) -> None:
    connection = connect(str(path), spill=str(path.with_suffix(".spill")))
    path.chmod(0o600)
    _build(connection, policy, located, key, tell).close()


def _build(
    connection: duckdb.DuckDBPyConnection,
    policy: Policy,
    located: list[Source],
    key: bytes,
    tell: Progress,
) -> duckdb.DuckDBPyConnection:
    """Build all tables, then lock the connection down."""
    try:
        connection.execute("SET preserve_insertion_order = false")
        # As variables, so that no statement holds the key and no log can quote it.
        for variable, half in zip(ranking.KEYS, (key[: KEY_BYTES // 2], key[KEY_BYTES // 2 :]), strict=True):
            connection.execute(f"SET VARIABLE {variable} = ?", [half])
        _require_identities(connection, policy, located)
        for source in located:
            tell(f"preparing table {source.name}")
            _build_table(connection, policy, source)
        for source in located:
            for column in linking.awaited(source.name, policy):
                connection.execute(f"DROP TABLE {linking.owners(source.name, column)}")
        for variable in ranking.KEYS:
            connection.execute(f"RESET VARIABLE {variable}")
        shut_off(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_identities(connection: duckdb.DuckDBPyConnection, policy: Policy, located: list[Source]) -> None:
    """Check the identifier types of all sources before any row is read."""
    found = {}
    for source in located:
        found[source.name] = sources.read(source, connection).identities
        sources.let_go(connection)
    require_identities("DuckDB", policy.tables, found)


def _build_table(connection: duckdb.DuckDBPyConnection, policy: Policy, source: Source) -> None:
    reading = sources.read(source, connection)
    connection.execute(ranking.create(source.name, policy, reading))
    unread = sources.unread(source, connection)
    if unread:
        CUSTODIAN.warning("table %s: %s rows could not be read and are left out", source.name, unread)
    for column in linking.awaited(source.name, policy):
        connection.execute(ranking.create_owners(source.name, column, policy, reading))
        shared = linking.shared(connection, source.name, column)
        if shared:
            text = "%s.%s: %s keys belong to several people; a row that links to one counts for each of them"
            CUSTODIAN.warning(text, source.name, column, shared)
    sources.let_go(connection)


def _ready(folder: Path, policy: Policy, located: list[Source], key: bytes) -> PreparedStore | None:
    """Return the folder's store for this policy and this data, or None."""
    path = folder / _name(key, policy, located)
    use = hold_file(path)
    return None if use is None else PreparedStore(path=path, use=use)


def _name(key: bytes, policy: Policy, located: list[Source]) -> str:
    state = {
        "format": [FORMAT, duckdb.__version__],
        "tables": {name: table.model_dump(mode="json") for name, table in policy.tables.items()},
        "data": {source.name: source.state for source in located},
    }
    digest = hmac.digest(key, json.dumps(state).encode(), "sha256")
    return f"{STORE}{digest.hex()[:32]}.duckdb"


def _keep_key(folder: Path, random: Randomness) -> None:
    """Draw the key unless the folder has one; a key file that a crash cut short is replaced."""
    path = folder / KEY
    if read_key(folder) is not None:
        return
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(draw_key(random))


def _make_private(folder: Path) -> None:
    """Create the folder with mode 0700, or restrict an existing one if it holds only our files."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise RequestError(
            f"prepare: the store's folder {folder} cannot be created.", hint="Name another one in the policy."
        ) from None
    if folder.stat().st_mode & 0o077 == 0:
        return
    ours = (KEY, LOCK, STORE, USED, BUILDING)
    if not all(path.name.startswith(ours) for path in folder.iterdir()):
        raise RequestError(
            f"prepare: the store's folder {folder} is open to others and holds other files.",
            hint="Give the store a folder of its own.",
        )
    folder.chmod(0o700)


@contextmanager
def _alone(folder: Path, tell: Progress) -> Iterator[None]:
    """Admit one process at a time; the system releases the lock even if the process dies."""
    with os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another process that is preparing the store")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _clear(folder: Path, prefix: str) -> None:
    for path in folder.glob(f"{prefix}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _require_different_names(policy: Policy) -> None:
    _require_different("the policy", policy.tables)
    for name, table in policy.tables.items():
        _require_different(f"table {name}", table.columns)


def _require_different(place: str, names: Iterable[str]) -> None:
    """Refuse names that differ only in case: they are one name to DuckDB."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise RequestError(
                f"prepare: {place} declares {other} and {name}, which differ in case alone.",
                hint="Rename one of them.",
            )
