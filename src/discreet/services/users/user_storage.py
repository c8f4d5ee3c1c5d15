"""Storage of users: a file beside the ledger, or the ledger's own database, which several servers share.

Content     Names, roles, password hashes and verifiers, token hashes, the signing key of sessions, ended
            sessions, budget requests and decisions, idempotency keys with their responses, and jobs.
            No password, no token, and no data value that was not released.
File        `UserFile`: SQLite, beside the ledger, readable by its owner only.
Database    `UserDatabase`: tables of a shared ledger, so that users, sessions and grants hold at all its
            servers. Transactions are those of `accounting.shared_database`. A writer locks the row of
            `secret`, not the ledger's, so that logins do not wait for charges.
Shared      with `discreet user`, which may write while servers run: a removed user is logged out at once.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from discreet.accounting.ledger_storage import (
    MEMORY,
    SqlTransaction,
    find_sibling_file,
    is_database_address,
    make_ledger_error,
    strip_sibling_path,
)
from discreet.accounting.process_identity import is_process_alive
from discreet.accounting.shared_database import DRAWN, SharedDatabase
from discreet.core.engine import Closeable
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness

STORAGE_FORMAT = 4
DEFAULT_TOKEN_DAYS = 90
"""The default lifetime of a token, also given to tokens of storages that had no expiry."""
SECRET_BYTES = 32
APPLICATION_ID = int.from_bytes(b"dscu")
LOCK_TIMEOUT_SECONDS = 60.0
USER_FILE_SUFFIX = ".users.db"
ADD_TOKEN_EXPIRY = (
    "ALTER TABLE token ADD COLUMN expires TEXT NOT NULL DEFAULT ''",
    "UPDATE token SET expires = :expires",
)
FILE_SCHEMA = (
    "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), value BLOB NOT NULL)",
    "CREATE TABLE user (name TEXT PRIMARY KEY, role TEXT NOT NULL, analyst TEXT, password TEXT NOT NULL,"
    " verifier TEXT, made TEXT NOT NULL)",
    "CREATE TABLE token (id TEXT PRIMARY KEY, user TEXT NOT NULL REFERENCES user ON DELETE CASCADE,"
    " label TEXT NOT NULL, digest BLOB NOT NULL UNIQUE, made TEXT NOT NULL)",
    "CREATE TABLE ended (session TEXT PRIMARY KEY, expires REAL NOT NULL)",
    "CREATE TABLE wish (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, analyst TEXT NOT NULL,"
    " share TEXT NOT NULL, reason TEXT NOT NULL, state TEXT NOT NULL CHECK"
    " (state IN ('open', 'granted', 'denied')), taken_from TEXT, note TEXT, decided TEXT)",
    "CREATE TABLE attempt (user TEXT NOT NULL REFERENCES user ON DELETE CASCADE, key TEXT NOT NULL,"
    " digest BLOB NOT NULL, status INTEGER, kind TEXT, headers TEXT, body BLOB, PRIMARY KEY (user, key))",
    f"PRAGMA application_id = {APPLICATION_ID}",
)
FILE_MIGRATIONS: dict[int, tuple[str, ...]] = {
    2: (
        "CREATE TABLE job (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
        " user TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,"
        " stage TEXT NOT NULL, share REAL NOT NULL, begun TEXT NOT NULL, ended TEXT, failure TEXT,"
        " document TEXT, file TEXT, process TEXT NOT NULL)",
    ),
    3: ("ALTER TABLE attempt ADD COLUMN process TEXT NOT NULL DEFAULT ''",),
    4: ADD_TOKEN_EXPIRY,
}
"""Migrations from earlier formats, by the format that they lead to."""
DATABASE_TABLES = ("secret", "user", "token", "ended", "wish", "attempt", "job")
NAME_TYPE = 'TEXT COLLATE "C"'
NUMBER_TYPE = "BIGINT GENERATED ALWAYS AS IDENTITY"
OWNER_COLUMN = f'"user" {NAME_TYPE} NOT NULL REFERENCES "user" ON DELETE CASCADE'
DATABASE_SCHEMA = (
    "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, value BYTEA)",
    f"INSERT INTO secret VALUES (1, {STORAGE_FORMAT}, NULL)",
    f'CREATE TABLE "user" (name {NAME_TYPE} PRIMARY KEY, role TEXT NOT NULL, analyst TEXT,'
    " password TEXT NOT NULL,"
    " verifier TEXT, made TEXT NOT NULL)",
    f"CREATE TABLE token (id {NAME_TYPE} PRIMARY KEY, {OWNER_COLUMN}, label TEXT NOT NULL,"
    " digest BYTEA NOT NULL UNIQUE,"
    " made TEXT NOT NULL, expires TEXT NOT NULL DEFAULT '')",
    "CREATE TABLE ended (session TEXT PRIMARY KEY, expires DOUBLE PRECISION NOT NULL)",
    f"CREATE TABLE wish (id {NUMBER_TYPE} PRIMARY KEY, time TEXT NOT NULL, analyst TEXT NOT NULL,"
    " share TEXT NOT NULL, reason TEXT NOT NULL, state TEXT NOT NULL CHECK"
    " (state IN ('open', 'granted', 'denied')), taken_from TEXT, note TEXT, decided TEXT)",
    f"CREATE TABLE attempt (rowid {NUMBER_TYPE}, {OWNER_COLUMN}, key TEXT NOT NULL, digest BYTEA NOT NULL,"
    ' status INTEGER, kind TEXT, headers TEXT, body BYTEA, process TEXT NOT NULL, PRIMARY KEY ("user", key))',
    f'CREATE TABLE job (number {NUMBER_TYPE} PRIMARY KEY, id TEXT NOT NULL UNIQUE, "user" TEXT NOT NULL,'
    " kind TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL,"
    " share DOUBLE PRECISION NOT NULL, begun TEXT NOT NULL, ended TEXT, failure TEXT, document TEXT,"
    " file TEXT, process TEXT NOT NULL)",
)
DATABASE_MIGRATIONS: dict[int, tuple[str, ...]] = {4: ADD_TOKEN_EXPIRY}
"""Migrations from earlier formats, by the format that they lead to."""


class UserStorage(Protocol):
    """A transactional storage of users; `releases_folder` is the folder for files that jobs write."""

    @property
    def releases_folder(self) -> Path | None: ...

    @property
    def secret(self) -> bytes:
        """The signing key of sessions, drawn when the storage is created."""

    def read_transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Begin a read transaction: everything within it sees one snapshot."""

    def write_transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Begin an exclusive write transaction, durable when it ends."""

    def is_process_alive(self, transaction: SqlTransaction, process: str) -> bool:
        """Return True if a process that wrote here still runs."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def get_timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def make_expiry_timestamp(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def draw_secret() -> bytes:
    return Randomness().source(SECRET_BYTES)


class UserFile(Closeable):
    """A `UserStorage` of one connection, shared by the threads of a process; closed as a context manager."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection = self._connect()

    @property
    def releases_folder(self) -> Path | None:
        """The folder for files that jobs write, beside the user file; None for a file of another name."""
        name = self.path.removesuffix(USER_FILE_SUFFIX)
        return None if name == self.path else Path(f"{name}.releases").absolute()

    @property
    def secret(self) -> bytes:
        """The signing key of sessions, drawn when the file is created."""
        with self.read_transaction() as rows:
            value: bytes = rows.execute("SELECT value FROM secret").fetchone()[0]
        return value

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        with self._transaction("BEGIN") as rows:
            yield rows

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """Begin an exclusive write transaction, durable when it ends."""
        with self._transaction("BEGIN IMMEDIATE") as rows:
            yield rows

    def is_process_alive(self, transaction: SqlTransaction, process: str) -> bool:
        """Return True if a process still runs; all users of a file are on this machine."""
        return is_process_alive(process)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._connection.execute(begin)
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise self._make_error("cannot be read or written") from None
                raise

    def _connect(self) -> sqlite3.Connection:
        try:
            if self.path != MEMORY:
                os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
            connection = sqlite3.connect(
                self.path, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error):
            raise self._make_error("cannot be opened") from None
        try:
            self.migrate_schema(connection)
        except sqlite3.Error:
            connection.close()
            raise self._make_error("was not written by discreet") from None
        except BaseException:
            connection.close()
            raise
        return connection

    def migrate_schema(self, connection: sqlite3.Connection) -> None:
        """Create the tables of a new file, or bring those of an older format to the current one."""
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        mark, form = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if mark != APPLICATION_ID:
            if mark or form or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise self._make_error("was not written by discreet")
            for statement in FILE_SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO secret VALUES (1, ?)", (draw_secret(),))
        elif form > STORAGE_FORMAT:
            raise self._make_error("was written by a newer version of discreet")
        for later in range(form + 1, STORAGE_FORMAT + 1):
            for statement in FILE_MIGRATIONS.get(later, ()):
                connection.execute(statement, {"expires": make_expiry_timestamp(DEFAULT_TOKEN_DAYS)})
        connection.execute(f"PRAGMA user_version = {STORAGE_FORMAT}")
        connection.execute("COMMIT")

    def _make_error(self, what: str) -> RequestError:
        return RequestError(
            f"The user file {self.path} {what}.", hint="Check it and its folder, or move it away."
        )


class UserDatabase(Closeable):
    """A `UserStorage` in the database of a ledger; files of jobs are beside the policy of each server."""

    def __init__(self, ledger: str) -> None:
        self.releases_folder: Path | None = find_sibling_file(ledger, ".releases")
        self._database = SharedDatabase(strip_sibling_path(ledger))
        try:
            self._database.create_tables(DATABASE_TABLES, DATABASE_SCHEMA)
            with self.write_transaction() as rows:
                self.migrate_schema(rows)
                self.secret = _find_or_draw_secret(rows)
        except BaseException:
            self.close()
            raise

    def read_transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Begin a read transaction: everything within it sees one snapshot."""
        return self._database.read_transaction()

    @contextmanager
    def write_transaction(self) -> Iterator[SqlTransaction]:
        """Begin an exclusive write transaction, durable when it ends."""
        with self._database.translate_errors(), self._database.write_transaction("secret") as rows:
            yield rows

    def is_process_alive(self, transaction: SqlTransaction, process: str) -> bool:
        """Return True if a process still runs, on any machine."""
        return self._database.is_process_alive(transaction, process)

    def close(self) -> None:
        self._database.close()

    def migrate_schema(self, rows: SqlTransaction) -> None:
        """Bring the tables of an older format to the current one."""
        (form,) = rows.execute("SELECT format FROM secret").fetchone()
        if form > STORAGE_FORMAT:
            what = "has users that a newer version of discreet has written"
            raise make_ledger_error(self._database.place, what, "Open it with that version.")
        for later in range(form + 1, STORAGE_FORMAT + 1):
            for statement in DATABASE_MIGRATIONS.get(later, ()):
                rows.execute(statement, {"expires": make_expiry_timestamp(DEFAULT_TOKEN_DAYS)})
        rows.execute("UPDATE secret SET format = :form", {"form": STORAGE_FORMAT})


def _find_or_draw_secret(rows: SqlTransaction) -> bytes:
    """Return the signing key of sessions, which the first server draws."""
    (value,) = rows.execute("SELECT value FROM secret").fetchone()
    if value is None:
        # drawn by the database server, so that no statement and no log of statements contains it
        ((value,),) = rows.execute(f"UPDATE secret SET value = {DRAWN} RETURNING value").fetchall()
    return bytes(value)


def open_user_storage(ledger: str) -> UserStorage:
    """Open the user storage of a ledger by its absolute address; create it if there is none."""
    if is_database_address(ledger):
        return UserDatabase(ledger)
    return UserFile(get_user_file_path(ledger))


def get_user_file_path(ledger: str) -> str:
    """Return the path of the user file beside a ledger; in memory for a ledger in memory."""
    return str(find_sibling_file(ledger, ".users.db") or MEMORY)


def has_user_storage(ledger: str) -> bool:
    """Return True if the ledger has a user storage."""
    return is_database_address(ledger) or Path(get_user_file_path(ledger)).exists()
