"""A ledger in PostgreSQL, through SQLAlchemy: for several servers that keep one promise.

Durable     Whoever writes sets synchronous_commit on for the transaction, whatever the server's default: what
            is committed is on its disk, and on those of its synchronous standbys. A server with fsync off
            keeps no ledger worth the name.
Alone       Whoever writes locks the ledger's one row first (SELECT … FOR UPDATE), and reads after that: what
            a decision was read from cannot change before the decision is written, on any server.
Together    Threads of one process share a transaction, in the order in which they came (see `group_commit`).
Kept        Entries are never deleted and what they were charged never changes; triggers refuse both.
Named       The table `ledger` says of which format it is. A schema that holds anything else of these names is
            refused untouched.
Fork        Connections must not cross a fork: a child process opens the ledger itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from discreet.accounting.group_commit import GroupCommit
from discreet.accounting.storage import (
    BUSY,
    DAMAGED,
    FOREIGN,
    FORMAT,
    FULL,
    PATIENCE,
    Found,
    Rows,
    newer,
    refused,
)
from discreet.core.errors import EngineFault, RequestError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

T = TypeVar("T")
MARK = int.from_bytes(b"dscr")
CONNECTIONS = 8
VANISHED = 120.0
"""Whoever is gone without a word keeps the lock no longer than that."""
TABLES = ("ledger", "terms", "account", "entry", "release")
SUMS = "epsilon TEXT NOT NULL, rho TEXT NOT NULL, delta TEXT NOT NULL"
NAME = 'TEXT COLLATE "C"'
CHARGE = "id, time, analyst, question_key, question, guarantee, epsilon, rho, delta"
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
)
LOCK = "SELECT format, set_config('synchronous_commit', 'on', true) FROM ledger FOR UPDATE"
UNWRITABLE = "cannot be written", "Let its role create and write tables in its schema, on a primary server."
UNREACHABLE = "cannot be reached", "Check its address and password, and that the server runs; then try again."
REASONS = {
    "55P03": BUSY,
    "57014": BUSY,
    "53100": FULL,
    "40": BUSY,
    "42501": UNWRITABLE,
    "3F": UNWRITABLE,
    "25006": UNWRITABLE,
    "22": DAMAGED,
    "23": DAMAGED,
    "42": DAMAGED,
    "P0": DAMAGED,
}
"""By SQLSTATE, or by its class."""


class LedgerDatabase:
    """A `Storage`: a pool of connections, shared by the threads of one process."""

    def __init__(self, address: str) -> None:
        self.place = _public(address)
        self._process = os.getpid()
        self._engine: Engine | None = _engine(address, self.place)
        self.commits = GroupCommit(self._writing)
        try:
            with self._told():
                self._prepare()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """Everything inside sees the same moment."""
        with self._told(), self._own().connect() as connection:
            same = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield _Rows(same)

    def write(self, work: Callable[[Rows], T], *, after_data: bool = False) -> T:
        """What `work` makes of the rows; on the disk when this returns, or not at all."""
        with self._told(after_data=after_data):
            return self.commits.write(work)

    def verify(self, rows: Rows) -> None:
        """The server checks its own pages; what the ledger says of itself is compared elsewhere."""

    def damaged(self, what: str) -> RequestError:
        """The refusal of a ledger that contradicts itself."""
        return refused(self.place, f"{DAMAGED[0]}: {what}", DAMAGED[1])

    def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            # a child process leaves the parent's connections alone
            engine.dispose(close=self._process == os.getpid())

    @contextmanager
    def _writing(self) -> Iterator[Rows]:
        with self._own().begin() as connection:
            rows = _Rows(connection)
            rows.execute(LOCK).fetchall()
            yield rows

    def _own(self) -> Engine:
        if self._engine is None:
            raise refused(self.place, "was closed", "Open it again.")
        if self._process != os.getpid():
            raise refused(self.place, "was opened before a fork", "Open it in each process.")
        return self._engine

    def _prepare(self) -> None:
        """Make a new ledger where there is none; processes that do so at once wait for each other."""
        with self._own().begin() as connection:
            rows = _Rows(connection)
            rows.execute("SELECT pg_advisory_xact_lock(:mark)", {"mark": MARK}).fetchall()
            there = {
                name
                for (name,) in rows.execute(
                    "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
                )
            }
            if "ledger" in there and {*TABLES} <= there:
                (form,) = rows.execute("SELECT format FROM ledger").fetchone()
                if form > FORMAT:
                    raise newer(self.place, form)
                return
            if there & {*TABLES}:
                raise refused(self.place, *FOREIGN)
            for statement in SCHEMA:
                connection.exec_driver_sql(statement)

    @contextmanager
    def _told(self, *, after_data: bool = False) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            if after_data:
                raise EngineFault(
                    "The ledger could not be written after the data was read; the charge stays."
                ) from None
            state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
            reason = REASONS.get(state) or REASONS.get(state[:2]) or UNREACHABLE
            raise refused(self.place, *reason) from None


class _Rows:
    """One transaction, as `Rows`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Mapping[str, Any] | None = None, /) -> Found:
        from sqlalchemy import text

        return self._connection.execute(text(statement), dict(values or {}))


def _public(address: str) -> str:
    """Where it is, without who asks for it: no user, no password."""
    try:
        parts = urlsplit(address)
        return f"postgresql://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "postgresql://…"


def _engine(address: str, place: str) -> Engine:
    try:
        from sqlalchemy import create_engine, event, make_url
        from sqlalchemy.exc import ArgumentError

        url = make_url(address).set(drivername="postgresql+psycopg")
        engine = create_engine(
            url,
            pool_size=CONNECTIONS,
            max_overflow=2 * CONNECTIONS,
            pool_timeout=PATIENCE,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError as missing:
        raise RequestError(
            f"A ledger in PostgreSQL needs {missing.name}, which is not installed.",
            hint='Install it with pip install "discreet[server,postgres]".',
        ) from None
    except (ArgumentError, ValueError):
        raise refused(place, *UNREACHABLE) from None

    @event.listens_for(engine, "connect")
    def patient(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {round(1000 * PATIENCE)}")
            cursor.execute(f"SET idle_in_transaction_session_timeout = {round(1000 * VANISHED)}")
        connection.commit()

    return engine
