"""A ledger in PostgreSQL, for several servers that keep one promise.

Shared      Durability, exclusive writes and liveness are those of `shared_database`.
Batched     Threads of one process share a transaction, in the order in which they came (see `GroupCommit`).
Immutable   Triggers refuse to delete an entry or to change its charge.
Chained     An older format is chained as it is when it is first opened (see `hash_chain`).
Format      The table `ledger` holds the format version. A schema with other tables of these names is refused
            untouched.
Store key   The key by which prepared stores hash people and choose which of a person's rows are kept; it is
            part of a store's name. Servers that share a ledger share the key: the same question then means
            the same at each of them, and over one database they build and use one store. The ledger's own
            server draws the key when the first of them starts, so that no statement, and no log of
            statements, contains it. The key is in the ledger's database, as is the key that signs sessions: a
            role that can read that database can read both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TypeVar

from discreet.accounting.hash_chain import LINKS, migrate_to_chain
from discreet.accounting.ledger_file import LedgerFile
from discreet.accounting.ledger_storage import (
    CHAINED_FORMAT,
    DAMAGED,
    FORMAT,
    MEASUREMENTS,
    SQLITE,
    UNDER_WAY,
    GroupCommit,
    LedgerStorage,
    SqlTransaction,
    copy_tables,
    is_database_address,
    make_ledger_error,
    make_newer_format_error,
)
from discreet.accounting.shared_database import DRAWN, SharedDatabase
from discreet.core.errors import RequestError

T = TypeVar("T")
TABLES = ("ledger", "terms", "account", "entry", "release")
SUMS = "epsilon TEXT NOT NULL, rho TEXT NOT NULL, delta TEXT NOT NULL"
NAME = 'TEXT COLLATE "C"'
CHARGE = "id, time, analyst, question_key, question, guarantee, epsilon, rho, delta"
CHAINED = (
    *(statement.format(number="BIGINT", name=NAME) for statement in LINKS),
    "CREATE TRIGGER link_stays BEFORE DELETE OR TRUNCATE OR UPDATE ON link"
    " FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays()",
)
SCHEMA = (
    "CREATE TABLE ledger (one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL)",
    f"INSERT INTO ledger VALUES (1, {FORMAT})",
    "CREATE TABLE terms (one INTEGER PRIMARY KEY CHECK (one = 1), prior DOUBLE PRECISION NOT NULL,"
    " posterior DOUBLE PRECISION NOT NULL, secret TEXT NOT NULL, people INTEGER NOT NULL,"
    " tail DOUBLE PRECISION NOT NULL, leak TEXT NOT NULL)",
    f"CREATE TABLE account (analyst {NAME} PRIMARY KEY, share TEXT NOT NULL, {SUMS},"
    " events BIGINT NOT NULL, incident TEXT)",
    "CREATE TABLE entry (id BIGINT PRIMARY KEY, time TEXT NOT NULL,"
    f" analyst {NAME} NOT NULL REFERENCES account, question_key TEXT NOT NULL, question TEXT NOT NULL,"
    f" guarantee TEXT NOT NULL, {SUMS},"
    " state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'faulted', 'orphaned')),"
    " process TEXT NOT NULL, incident TEXT, metadata TEXT, answer BYTEA, number BIGINT NOT NULL)",
    "CREATE INDEX entry_of_question ON entry (analyst, question_key) WHERE state = 'settled'",
    "CREATE TABLE release (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time TEXT NOT NULL,"
    " after BIGINT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL, certificate TEXT NOT NULL)",
    "CREATE FUNCTION ledger_stays() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'what stands in a ledger is never deleted and never changes'; END $$",
    *(
        f"CREATE TRIGGER {table}_stays BEFORE DELETE OR TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays()"
        for table in ("entry", "release")
    ),
    f"CREATE TRIGGER charge_stays BEFORE UPDATE OF {CHARGE} ON entry"
    " FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays()",
    *CHAINED,
    MEASUREMENTS.format(number="BIGINT", name=NAME),
)
STORE_KEY_SCHEMA = ("CREATE TABLE store_key (one INTEGER PRIMARY KEY CHECK (one = 1), key BYTEA NOT NULL)",)
FIND_STORE_KEY = "SELECT key FROM store_key"
DRAW_STORE_KEY = (
    f"INSERT INTO store_key (one, key) VALUES (1, pg_catalog.sha256({DRAWN})) ON CONFLICT (one) DO NOTHING"
)


class LedgerDatabase:
    """A `LedgerStorage` in a database."""

    def __init__(self, address: str) -> None:
        self._database = SharedDatabase(address)
        self.place = self._database.place
        self.commits = GroupCommit(self._write_transaction)
        try:
            self._database.create_tables(TABLES, SCHEMA)
            with self._database.translate_errors(), self._write_transaction() as rows:
                self.migrate_schema(rows)
            # older formats have no such tables before they are migrated, so these are checked last
            self._database.check_tables(("link", "measurement"))
        except BaseException:
            self.close()
            raise

    def read_transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Open a read-only transaction that sees one snapshot."""
        return self._database.read_transaction()

    def write(self, work: Callable[[SqlTransaction], T], *, after_data: bool = False) -> T:
        """Return the result of `work`, which is durable when this returns, or not written at all."""
        with self._database.translate_errors(after_data=after_data):
            return self.commits.write(work)

    def verify(self, rows: SqlTransaction) -> None:
        """Do nothing: the server checks its own pages, and the caller compares the contents."""

    def is_process_alive(self, rows: SqlTransaction, process: str) -> bool:
        """Return whether a process still runs, on whichever machine."""
        return self._database.is_process_alive(rows, process)

    def copy_to(self, path: Path) -> None:
        """Copy one snapshot of all tables into an SQLite ledger."""
        with closing(LedgerFile(path)) as copy, self._database.read_transaction() as rows:
            copy.write(lambda target: copy_tables(rows, target))

    def load_from(self, rows: SqlTransaction) -> None:
        """Copy all tables of another ledger into this one, which is empty."""
        with self._database.translate_errors(), self._write_transaction() as own:
            copy_tables(rows, own, keep=" OVERRIDING SYSTEM VALUE")
            own.execute(
                "SELECT pg_catalog.setval(CAST(pg_catalog.pg_get_serial_sequence("
                "CAST('release' AS text), CAST('id' AS text)) AS regclass),"
                " coalesce(max(id), CAST(1 AS bigint)), max(id) IS NOT NULL) FROM release"
            ).fetchall()

    def make_damage_error(self, what: str) -> RequestError:
        """Return the error for a ledger that contradicts itself."""
        return make_ledger_error(self.place, f"{DAMAGED[0]}: {what}", DAMAGED[1])

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _write_transaction(self) -> Iterator[SqlTransaction]:
        with self._database.write_transaction("ledger") as rows:
            self._find_format(rows)  # a newer version may have taken it over since it was opened
            yield rows

    def _find_format(self, rows: SqlTransaction) -> int:
        (form,) = rows.execute("SELECT format FROM ledger").fetchone()
        if form > FORMAT:
            raise make_newer_format_error(self.place, form)
        return int(form)

    def migrate_schema(self, rows: SqlTransaction) -> None:
        """Bring the tables of an older format to the current one."""
        form = self._find_format(rows)
        rows.execute(UNDER_WAY)
        if form < CHAINED_FORMAT:
            for statement in CHAINED:
                rows.execute(statement)
            migrate_to_chain(rows, self, form)
        rows.execute(MEASUREMENTS.format(number="BIGINT", name=NAME))
        if form < FORMAT:
            rows.execute("UPDATE ledger SET format = :format", {"format": FORMAT})


def has_tables(address: str) -> bool:
    """Return whether the schema of an address holds a ledger, or any table of the same name."""
    with closing(SharedDatabase(address)) as database:
        return database.has_tables(TABLES)


def get_shared_store_key(address: str) -> bytes:
    """Return the key in the ledger's database; have one drawn there if there is none."""
    with closing(SharedDatabase(address)) as database:
        database.create_tables(("store_key",), STORE_KEY_SCHEMA)
        with database.translate_errors(), database.write_transaction("store_key") as rows:
            found = rows.execute(FIND_STORE_KEY).fetchone()
            if found is None:
                # another server may draw one at the same moment: the first commit wins, for both
                rows.execute(DRAW_STORE_KEY)
                found = rows.execute(FIND_STORE_KEY).fetchone()
            return bytes(found[0])


def has_ledger(address: str) -> bool:
    """Return whether an address has content: a file that is not empty, or tables of a ledger."""
    if not is_database_address(address):
        path = Path(address.removeprefix(SQLITE))
        return path.exists() and (path.is_dir() or path.stat().st_size > 0)
    return has_tables(address)


def open_storage(address: str) -> LedgerStorage:
    """Open the storage at an address, of a file or of a database; create a ledger where there is none."""
    if is_database_address(address):
        return LedgerDatabase(address)
    return LedgerFile(address.removeprefix(SQLITE))
