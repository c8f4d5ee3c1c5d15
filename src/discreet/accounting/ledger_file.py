"""The file that a ledger is kept in: SQLite, written through before anything is read.

Durable     WAL with synchronous=FULL: what is committed is on the disk, and survives kill -9 and power loss.
Alone       Whoever writes takes the write lock first (BEGIN IMMEDIATE), so that what a decision was read from
            cannot change before the decision is written, in this process or in another.
Kept        Entries are never deleted and what they were charged never changes; triggers refuse both.
Named       The header says that it is a ledger, and of which format. Another file is refused untouched.
Fork        A connection must not cross a fork: a child process opens the file itself.
Told        Every failure is one sentence, and none of them holds a value from the data.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.core.errors import EngineFault, RequestError

MARK = int.from_bytes(b"dscr")
FORMAT = 1
PATIENCE = 60.0
MEMORY = ":memory:"

SUMS = "epsilon TEXT NOT NULL, rho TEXT NOT NULL, delta TEXT NOT NULL"
SCHEMA = (
    "CREATE TABLE terms (one INTEGER PRIMARY KEY CHECK (one = 1), prior REAL NOT NULL, posterior REAL"
    " NOT NULL, secret TEXT NOT NULL, people INTEGER NOT NULL, tail REAL NOT NULL, leak TEXT NOT NULL)",
    f"CREATE TABLE account (analyst TEXT PRIMARY KEY, share TEXT NOT NULL, {SUMS},"
    " events INTEGER NOT NULL, incident TEXT)",
    "CREATE TABLE entry (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL,"
    " analyst TEXT NOT NULL REFERENCES account, question_key TEXT NOT NULL, question TEXT NOT NULL,"
    f" guarantee TEXT NOT NULL, {SUMS},"
    " state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'faulted', 'orphaned')),"
    " process TEXT NOT NULL, incident TEXT, metadata TEXT, answer BLOB)",
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
    f"PRAGMA application_id = {MARK}",
    f"PRAGMA user_version = {FORMAT}",
)

DAMAGED = "is damaged", "Restore it from a backup; without one, treat the whole promise as spent."
FOREIGN = "is not a ledger of discreet", "Name another file under ledger in the policy."
UNWRITABLE = (
    "cannot be written",
    "Make it and its folder writable, or name another file under ledger in the policy.",
)
REASONS = {
    sqlite3.SQLITE_NOTADB: FOREIGN,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_ERROR: DAMAGED,
    sqlite3.SQLITE_CONSTRAINT: DAMAGED,
    sqlite3.SQLITE_BUSY: ("is kept busy by another process", "Try again when it is done."),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "Make room; nothing was charged."),
    sqlite3.SQLITE_READONLY: UNWRITABLE,
}
INHERITED: list[sqlite3.Connection] = []
"""Connections of the parent process: closing them here would disturb it."""


class LedgerFile:
    """One connection, shared by the threads of one process."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._guard = threading.RLock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        with self._told():
            self._connection = self._connect()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Everything inside sees the same moment."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self, *, after_data: bool = False) -> Iterator[sqlite3.Connection]:
        """Nobody else writes meanwhile; on the disk afterwards, or not at all.

        `after_data`: data has been read already, so that a failure is a fault and not a refusal.
        """
        with self._transaction("BEGIN IMMEDIATE", after_data=after_data) as connection:
            yield connection

    def damaged(self, what: str) -> RequestError:
        """The refusal of a file that contradicts itself."""
        return self._refused(f"{DAMAGED[0]}: {what}", DAMAGED[1])

    def close(self) -> None:
        with self._guard:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            if self._process != os.getpid():
                INHERITED.append(connection)
                return
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def _transaction(self, begin: str, *, after_data: bool = False) -> Iterator[sqlite3.Connection]:
        with self._guard, self._told(after_data=after_data):
            connection = self._own()
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _own(self) -> sqlite3.Connection:
        if self._connection is None:
            raise self._refused("was closed", "Open it again.")
        if self._process != os.getpid():
            raise self._refused("was opened before a fork", "Open it in each process.")
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        if self.path != MEMORY:
            self._require_folder()
        connection = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            # before anything is written: another's file stays as it is
            connection.execute("BEGIN")
            ours = self._recognize(connection)
            connection.execute("COMMIT")
            if not ours and self.path != MEMORY:
                os.chmod(self.path, 0o600)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            _switch_to_wal(connection)
            connection.execute("BEGIN IMMEDIATE")
            if not self._recognize(connection):
                for statement in SCHEMA:
                    connection.execute(statement)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_folder(self) -> None:
        path = Path(self.path)
        if not path.parent.is_dir():
            raise self._refused("has no folder to stand in", f"Create {path.parent}.")
        if path.is_dir():
            raise self._refused("is a folder", "Name a file under ledger in the policy.")

    def _recognize(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is a ledger already; False where it is still empty. All seen at one moment."""
        mark, form = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if mark == MARK and form > FORMAT:
            raise self._refused(
                f"has format {form}; this version of discreet knows formats up to {FORMAT}",
                "Open it with the version that wrote it, or a newer one.",
            )
        if mark == MARK:
            return True
        if mark or form or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise self._refused(*FOREIGN)
        return False

    def _refused(self, what: str, hint: str) -> RequestError:
        return RequestError(f"The ledger {self.path} {what}.", hint=hint)

    @contextmanager
    def _told(self, *, after_data: bool = False) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if after_data:
                raise EngineFault(
                    "The ledger could not be written after the data was read; the charge stays."
                ) from None
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            raise self._refused(*REASONS.get(code, UNWRITABLE)) from None


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Processes that open a new file at once may meet here, where SQLite does not wait by itself."""
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
