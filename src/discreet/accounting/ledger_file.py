"""The SQLite file of a ledger, written through before any data is read.

Durable     WAL with synchronous=FULL: committed data is on the disk, and survives kill -9 and power loss.
Exclusive   A writer takes the write lock first (BEGIN IMMEDIATE), so that the data behind a decision cannot
            change before the decision is written, in this process or in another.
Batched     Threads of one process are written in the order in which they came, all that wait by one commit
            (see `GroupCommit`). Readers have a connection of their own, and wait for no commit.
Immutable   Triggers refuse to delete an entry or to change its charge.
Chained     An older format is chained as it is when it is first opened (see `hash_chain`).
Format      The header identifies a ledger and its format version. Any other file is refused untouched.
Replaced    A file that was moved away, or in whose place another was put, is not used by those who have it
            open, and neither is one whose log was: their charges would be lost with it.
Fork        A connection must not cross a fork: a child process opens the file itself.
Errors      Every failure is one sentence, and none contains a value from the data.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from discreet.accounting.hash_chain import LINKS, migrate_to_chain
from discreet.accounting.ledger_storage import (
    BUSY,
    CHAINED_FORMAT,
    DAMAGED,
    FOREIGN,
    FORMAT,
    FULL,
    MEASUREMENTS,
    MEMORY,
    PATIENCE,
    UNDER_WAY,
    UNWRITABLE,
    GroupCommit,
    SqlTransaction,
    make_ledger_error,
    make_newer_format_error,
    translate_errors,
)
from discreet.accounting.process_identity import is_process_alive
from discreet.core.errors import RequestError

MARK = int.from_bytes(b"dscr")
BYTES = ("answer",)
"""The columns that hold bytes."""
T = TypeVar("T")

SUMS = "epsilon TEXT NOT NULL, rho TEXT NOT NULL, delta TEXT NOT NULL"
CHAINED = (
    *(statement.format(number="INTEGER", name="TEXT") for statement in LINKS),
    *(
        f"CREATE TRIGGER link_{each} BEFORE {verb} ON link"
        " BEGIN SELECT RAISE(ABORT, 'a link of a ledger is never deleted and never changes'); END"
        for each, verb in (("stays", "DELETE"), ("unchanged", "UPDATE"))
    ),
)
SCHEMA = (
    "CREATE TABLE terms (one INTEGER PRIMARY KEY CHECK (one = 1), prior REAL NOT NULL, posterior REAL"
    " NOT NULL, secret TEXT NOT NULL, people INTEGER NOT NULL, tail REAL NOT NULL, leak TEXT NOT NULL)",
    f"CREATE TABLE account (analyst TEXT PRIMARY KEY, share TEXT NOT NULL, {SUMS},"
    " events INTEGER NOT NULL, incident TEXT)",
    "CREATE TABLE entry (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL,"
    " analyst TEXT NOT NULL REFERENCES account, question_key TEXT NOT NULL, question TEXT NOT NULL,"
    f" guarantee TEXT NOT NULL, {SUMS},"
    " state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'faulted', 'orphaned')),"
    " process TEXT NOT NULL, incident TEXT, metadata TEXT, answer BLOB, number INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX entry_of_question ON entry (analyst, question_key) WHERE state = 'settled'",
    "CREATE TABLE release (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, after INTEGER NOT NULL,"
    " name TEXT NOT NULL, description TEXT NOT NULL, certificate TEXT NOT NULL)",
    "CREATE TRIGGER entry_stays BEFORE DELETE ON entry"
    " BEGIN SELECT RAISE(ABORT, 'an entry of a ledger is never deleted'); END",
    "CREATE TRIGGER charge_stays BEFORE UPDATE OF id, time, analyst, question_key, question, guarantee,"
    " epsilon, rho, delta ON entry"
    " BEGIN SELECT RAISE(ABORT, 'a charge in a ledger never changes'); END",
    "CREATE TRIGGER release_stays BEFORE DELETE ON release"
    " BEGIN SELECT RAISE(ABORT, 'a release in a ledger is never deleted'); END",
    *CHAINED,
    f"PRAGMA application_id = {MARK}",
    f"PRAGMA user_version = {FORMAT}",
)

NUMBERED = (
    "ALTER TABLE entry ADD COLUMN number INTEGER NOT NULL DEFAULT 0",
    "UPDATE entry SET number = counted.number FROM (SELECT id, row_number() OVER (PARTITION BY analyst"
    " ORDER BY id) AS number FROM entry) AS counted WHERE counted.id = entry.id",
)
"""The statements that number the entries of each analyst, which format 1 lacks."""
MIGRATIONS = {0: SCHEMA, 1: (*NUMBERED, *CHAINED), 2: CHAINED}
"""The statements that bring each older format to this one; 0 is an empty file."""

REASONS = {
    sqlite3.SQLITE_NOTADB: FOREIGN,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_ERROR: DAMAGED,
    sqlite3.SQLITE_CONSTRAINT: DAMAGED,
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: UNWRITABLE,
}
INHERITED: list[sqlite3.Connection] = []
"""Connections of the parent process: closing them here would disturb it."""


class LedgerFile:
    """A `LedgerStorage`: one writing and one reading connection, shared by the threads of one process."""

    def __init__(self, path: str | Path) -> None:
        self.place = str(path)
        self._process = os.getpid()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._writes = threading.RLock()
        self._reads = self._writes if self.place == MEMORY else threading.RLock()
        self._files: list[tuple[int, int]] | None = None
        self.commits = GroupCommit(self._write_transaction)
        with self._translate_errors():
            self._writer = self._open_writer()
            self._reader = self._writer if self.place == MEMORY else self._open_reader()
            self._files = self._find_files()

    @contextmanager
    def read_transaction(self) -> Iterator[SqlTransaction]:
        """Open a read-only transaction that sees one snapshot."""
        with self._reads, self._translate_errors():
            yield from _run_transaction(self._require_connection(self._reader), "BEGIN")

    def write(self, work: Callable[[SqlTransaction], T], *, after_data: bool = False) -> T:
        """Return the result of `work`, which is durable when this returns, or not written at all."""
        with self._translate_errors(after_data=after_data):
            return self.commits.write(work)

    def verify(self, rows: SqlTransaction) -> None:
        if rows.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise self.make_damage_error("its pages are inconsistent")

    def is_process_alive(self, rows: SqlTransaction, process: str) -> bool:
        """Return whether a process still runs; only processes of this machine use the file."""
        return is_process_alive(process)

    def copy_to(self, path: Path) -> None:
        """Copy one snapshot of the file, by SQLite's own online backup."""
        with self._reads, self._translate_errors(), closing(sqlite3.connect(path)) as copy:
            self._require_connection(self._reader).backup(copy)
            # a single file, without a log beside it, can be moved
            copy.execute("PRAGMA journal_mode = DELETE")

    def make_damage_error(self, what: str) -> RequestError:
        """Return the error for a file that contradicts itself."""
        return self._make_error(f"{DAMAGED[0]}: {what}", DAMAGED[1])

    def close(self) -> None:
        with self._writes, self._reads:
            connections = {id(each): each for each in (self._reader, self._writer) if each is not None}
            self._reader = self._writer = None
        if self._process != os.getpid():
            INHERITED.extend(connections.values())
            return
        for connection in connections.values():
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def _write_transaction(self) -> Iterator[SqlTransaction]:
        with self._writes:
            # a newer version may have taken the file over since it was opened
            yield from _run_transaction(
                self._require_connection(self._writer), "BEGIN IMMEDIATE", self._read_format
            )

    def _require_connection(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        if connection is None:
            raise self._make_error("was closed", "Open it again.")
        if self._process != os.getpid():
            raise self._make_error("was opened before a fork", "Open it in each process.")
        if self._files is not None and self._files != self._find_files():
            # our connections have the former files, which nobody else finds any more
            raise self._make_error(
                "was moved, or another file was put in its place while it was open",
                "Put the newest ledger back, or charge what is lost by discreet ledger restore; then start "
                "again whatever has it open.",
            )
        return connection

    def _find_files(self) -> list[tuple[int, int]] | None:
        """Return the identities of the files that are at the place of the ledger and its log now."""
        return None if self.place == MEMORY else [_identify_file(self.place + each) for each in ("", "-wal")]

    def _open_writer(self) -> sqlite3.Connection:
        """Open the writing connection; create or migrate the ledger."""
        if self.place != MEMORY:
            self._require_folder()
        connection = self._connect()
        try:
            # check before anything is written, so that a foreign file is not changed
            connection.execute("BEGIN")
            form = self._read_format(connection)
            connection.execute("COMMIT")
            if not form and self.place != MEMORY:
                os.chmod(self.place, 0o600)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            _switch_to_wal(connection)
            self.migrate_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def migrate_schema(self, connection: sqlite3.Connection) -> None:
        """Create the tables of a new ledger, or bring those of an older format to the current one."""
        connection.execute("BEGIN IMMEDIATE")
        form = self._read_format(connection)
        for statement in MIGRATIONS.get(form, ()):
            connection.execute(statement)
        if 0 < form < CHAINED_FORMAT:
            migrate_to_chain(connection, self, form)
        if 0 < form < FORMAT:
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute(UNDER_WAY)
        connection.execute(MEASUREMENTS.format(number="INTEGER", name="TEXT"))
        connection.execute("COMMIT")

    def _open_reader(self) -> sqlite3.Connection:
        """Open the reading connection."""
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.place, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = _require_no_bytes
        return connection

    def _require_folder(self) -> None:
        path = Path(self.place)
        if not path.parent.is_dir():
            raise self._make_error("is in a folder that does not exist", f"Create {path.parent}.")
        if path.is_dir():
            raise self._make_error("is a folder", "Name a file under ledger in the policy.")

    def _read_format(self, connection: sqlite3.Connection) -> int:
        """Return the format version of the ledger in the file, or 0 where it is still empty."""
        mark, form = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("application_id", "user_version")
        )
        if mark == MARK and form > FORMAT:
            raise make_newer_format_error(self.place, form)
        if mark == MARK:
            return form
        if mark or form or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise self._make_error(*FOREIGN)
        return 0

    def _make_error(self, what: str, hint: str) -> RequestError:
        return make_ledger_error(self.place, what, hint)

    def _translate_errors(self, *, after_data: bool = False) -> AbstractContextManager[None]:
        return translate_errors(self.place, sqlite3.Error, _describe_sqlite_error, after_data=after_data)


def _identify_file(path: str) -> tuple[int, int]:
    """Return the device and the number of a file; zeros where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def _describe_sqlite_error(error: sqlite3.Error) -> tuple[str, str]:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return REASONS.get(code, UNWRITABLE)


def _require_no_bytes(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise an error for bytes in place of text or a number: SQLite stores any type in any column."""
    for (name, *_), value in zip(cursor.description, row, strict=True):
        if isinstance(value, bytes) and name not in BYTES:
            raise ValueError(f"{name} holds bytes")
    return row


def _run_transaction(
    connection: sqlite3.Connection, begin: str, check: Callable[[sqlite3.Connection], object] | None = None
) -> Iterator[SqlTransaction]:
    try:
        connection.execute(begin)
        if check is not None:
            check(connection)
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL, waiting for other processes that open a new file, where SQLite does not wait."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return
