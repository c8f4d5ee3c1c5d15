"""User storage in the database of a shared ledger: users, sessions and grants hold at all of its servers.

Transactions are those of `accounting.database`. A writer locks the row of `secret` and not the ledger's, so
that logins do not wait for charges.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from discreet.accounting.ledger_storage import SqlTransaction, make_ledger_error
from discreet.accounting.shared_database import DRAWN, SharedDatabase
from discreet.app.ledger_addresses import file_beside, kept_at
from discreet.app.users.storage import FORMAT, TOKEN_DAYS, days_from_now
from discreet.core.closeable import Closeable

TABLES = ("secret", "user", "token", "ended", "wish", "attempt", "job")
NAME = 'TEXT COLLATE "C"'
NUMBER = "BIGINT GENERATED ALWAYS AS IDENTITY"
OWNER = f'"user" {NAME} NOT NULL REFERENCES "user" ON DELETE CASCADE'
SCHEMA = (
    "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, value BYTEA)",
    f"INSERT INTO secret VALUES (1, {FORMAT}, NULL)",
    f'CREATE TABLE "user" (name {NAME} PRIMARY KEY, role TEXT NOT NULL, analyst TEXT, password TEXT NOT NULL,'
    " verifier TEXT, made TEXT NOT NULL)",
    f"CREATE TABLE token (id {NAME} PRIMARY KEY, {OWNER}, label TEXT NOT NULL, digest BYTEA NOT NULL UNIQUE,"
    " made TEXT NOT NULL, expires TEXT NOT NULL DEFAULT '')",
    "CREATE TABLE ended (session TEXT PRIMARY KEY, expires DOUBLE PRECISION NOT NULL)",
    f"CREATE TABLE wish (id {NUMBER} PRIMARY KEY, time TEXT NOT NULL, analyst TEXT NOT NULL,"
    " share TEXT NOT NULL, reason TEXT NOT NULL, state TEXT NOT NULL CHECK"
    " (state IN ('open', 'granted', 'denied')), taken_from TEXT, note TEXT, decided TEXT)",
    f"CREATE TABLE attempt (rowid {NUMBER}, {OWNER}, key TEXT NOT NULL, digest BYTEA NOT NULL,"
    ' status INTEGER, kind TEXT, headers TEXT, body BYTEA, process TEXT NOT NULL, PRIMARY KEY ("user", key))',
    f'CREATE TABLE job (number {NUMBER} PRIMARY KEY, id TEXT NOT NULL UNIQUE, "user" TEXT NOT NULL,'
    " kind TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL,"
    " share DOUBLE PRECISION NOT NULL, begun TEXT NOT NULL, ended TEXT, failure TEXT, document TEXT,"
    " file TEXT, process TEXT NOT NULL)",
)
SINCE: dict[int, tuple[str, ...]] = {
    4: (
        "ALTER TABLE token ADD COLUMN expires TEXT NOT NULL DEFAULT ''",
        "UPDATE token SET expires = :expires",
    ),
}
"""Migrations from earlier formats, by the format that they lead to."""


class UserDatabase(Closeable):
    """A `UserStorage` in the database of a ledger; files of jobs are beside the policy of each server."""

    def __init__(self, ledger: str) -> None:
        self.releases: Path | None = file_beside(ledger, ".releases")
        self._database = SharedDatabase(kept_at(ledger))
        try:
            self._database.create_tables(TABLES, SCHEMA)
            self.secret = self._signing()
        except BaseException:
            self.close()
            raise

    def reading(self) -> AbstractContextManager[SqlTransaction]:
        """Begin a read transaction: everything within it sees one snapshot."""
        return self._database.read_transaction()

    @contextmanager
    def writing(self) -> Iterator[SqlTransaction]:
        """Begin an exclusive write transaction, durable when it ends."""
        with self._database.translate_errors(), self._database.write_transaction("secret") as rows:
            yield rows

    def is_alive(self, rows: SqlTransaction, process: str) -> bool:
        """Return True if a process still runs, on any machine."""
        return self._database.is_process_alive(rows, process)

    def close(self) -> None:
        self._database.close()

    def _signing(self) -> bytes:
        """Migrate the tables, and return the signing key of sessions, which the first server draws."""
        with self.writing() as rows:
            form, value = rows.execute("SELECT format, value FROM secret").fetchone()
            if form > FORMAT:
                what = "has users that a newer version of discreet has written"
                raise make_ledger_error(self._database.place, what, "Open it with that version.")
            for later in range(form + 1, FORMAT + 1):
                for statement in SINCE.get(later, ()):
                    rows.execute(statement, {"expires": days_from_now(TOKEN_DAYS)})
            rows.execute("UPDATE secret SET format = :form", {"form": FORMAT})
            if value is None:
                # Drawn by the database server, so that no statement and no statement log contains it.
                ((value,),) = rows.execute(f"UPDATE secret SET value = {DRAWN} RETURNING value").fetchall()
        return bytes(value)
