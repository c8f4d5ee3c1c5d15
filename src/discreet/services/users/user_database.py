"""User storage in the database of a shared ledger, and which storage a ledger has: this one or a file.

Users, sessions and grants hold at all servers of a shared ledger.

Transactions are those of `accounting.shared_database`. A writer locks the row of `secret`, not the ledger's, so
that logins do not wait for charges.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY, SqlTransaction, is_database_address, make_ledger_error
from discreet.accounting.shared_database import DRAWN, SharedDatabase
from discreet.core.closeable import Closeable
from discreet.services.ledger_addresses import find_sibling_file, strip_sibling_path
from discreet.services.users.user_storage import (
    DEFAULT_TOKEN_DAYS,
    STORAGE_FORMAT,
    UserFile,
    UserStorage,
    make_expiry_timestamp,
)

TABLES = ("secret", "user", "token", "ended", "wish", "attempt", "job")
NAME_TYPE = 'TEXT COLLATE "C"'
NUMBER_TYPE = "BIGINT GENERATED ALWAYS AS IDENTITY"
OWNER_COLUMN = f'"user" {NAME_TYPE} NOT NULL REFERENCES "user" ON DELETE CASCADE'
SCHEMA = (
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
MIGRATIONS: dict[int, tuple[str, ...]] = {
    4: (
        "ALTER TABLE token ADD COLUMN expires TEXT NOT NULL DEFAULT ''",
        "UPDATE token SET expires = :expires",
    ),
}
"""Migrations from earlier formats, by the format that they lead to."""


class UserDatabase(Closeable):
    """A `UserStorage` in the database of a ledger; files of jobs are beside the policy of each server."""

    def __init__(self, ledger: str) -> None:
        self.releases_folder: Path | None = find_sibling_file(ledger, ".releases")
        self._database = SharedDatabase(strip_sibling_path(ledger))
        try:
            self._database.create_tables(TABLES, SCHEMA)
            self.secret = self._migrate_and_get_secret()
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

    def _migrate_and_get_secret(self) -> bytes:
        """Migrate the tables, and return the signing key of sessions, which the first server draws."""
        with self.write_transaction() as rows:
            form, value = rows.execute("SELECT format, value FROM secret").fetchone()
            if form > STORAGE_FORMAT:
                what = "has users that a newer version of discreet has written"
                raise make_ledger_error(self._database.place, what, "Open it with that version.")
            for later in range(form + 1, STORAGE_FORMAT + 1):
                for statement in MIGRATIONS.get(later, ()):
                    rows.execute(statement, {"expires": make_expiry_timestamp(DEFAULT_TOKEN_DAYS)})
            rows.execute("UPDATE secret SET format = :form", {"form": STORAGE_FORMAT})
            if value is None:
                # Drawn by the database server, so that no statement and no statement log contains it.
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
