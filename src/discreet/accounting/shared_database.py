"""A PostgreSQL database that servers share, through SQLAlchemy: transactions, errors, liveness of processes.

Durable     Every writing transaction sets synchronous_commit on, whatever the server's default: committed
            data is on its disk, and on those of its synchronous standbys. A server with fsync off gives no
            durability.
Exclusive   A writer first locks the one row of a table (SELECT … FOR UPDATE), and reads after that: the data
            behind a decision cannot change before the decision is written, on any server.
Liveness    Every connection holds a shared advisory lock in the name of its process while it is open. All
            servers can therefore see whether the work of another may still be finished: a process that ends
            loses its connections, and so does, after a minute, one whose machine is gone. A live process that
            lost them counts as gone, too: its work may be repeated and charged again, never less.
Fork        Connections must not cross a fork: a child process opens the database itself.
Schema      the one that the address names, else public. Every connection checks it before it resolves names
            there; until then it resolves names only in the server's own catalog (`core.postgres_address`).
            `table_privileges` says who may change it and the tables in it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from discreet.accounting.ledger_storage import (
    BUSY,
    DAMAGED,
    FOREIGN,
    FULL,
    PATIENCE,
    SqlResult,
    SqlTransaction,
    make_ledger_error,
    translate_errors,
)
from discreet.accounting.process_identity import get_process_identity, is_local_process, is_process_alive
from discreet.accounting.table_privileges import (
    Fetch,
    require_no_other_ledger,
    require_own_schema,
    require_own_tables,
    revoke_defaults,
)
from discreet.core.errors import RequestError
from discreet.core.postgres_address import find_named_schema, find_trusted_roles, pin_search_path

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MARK = int.from_bytes(b"dscr")
CONNECTIONS = 8
UUID = "pg_catalog.uuid_send(pg_catalog.gen_random_uuid())"
DRAWN = f"pg_catalog.byteacat(pg_catalog.byteacat({UUID}, {UUID}), {UUID})"
"""48 bytes from the server's own source of randomness, of which 366 bits are random."""
VANISHED = 120.0
"""Seconds after which the lock of a vanished client is released."""
KEEPALIVE = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}
DEFAULT_SCHEMA = "public"
LOCK = (
    "SELECT one, pg_catalog.set_config(CAST('synchronous_commit' AS text), CAST('on' AS text), true)"
    " FROM {} FOR UPDATE"
)
TABLES_HERE = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = pg_catalog.current_schema()"
ALONE = "SELECT pg_catalog.pg_advisory_xact_lock(CAST(:mark AS bigint))"
HERE = "SELECT pg_catalog.pg_advisory_lock_shared(CAST(%s AS bigint))"
PRESENT = (
    "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_locks"
    " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_catalog.pg_database"
    " WHERE datname = pg_catalog.current_database())"
    " AND (CAST(classid AS BIGINT) << 32 | CAST(objid AS BIGINT)) = CAST(:name AS BIGINT))"
)
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


class SharedDatabase:
    """A pool of connections, shared by the threads of one process."""

    def __init__(self, address: str) -> None:
        self.place = _strip_credentials(address)
        self._process = os.getpid()
        named = find_named_schema(address)
        self._schema, self._is_named = named or DEFAULT_SCHEMA, named is not None
        self._trusted = find_trusted_roles(address)
        self._engine: Engine | None = _create_engine(address, self.place, self._schema)

    def create_tables(self, tables: Sequence[str], schema: Sequence[str]) -> None:
        """Create tables where there are none; concurrent processes wait for each other."""
        with self.translate_errors(), self._require_engine().begin() as connection:
            _DatabaseTransaction(connection).execute(ALONE, {"mark": MARK}).fetchall()
            fetch = _make_fetch(connection)
            there = require_own_tables(fetch, self.place, self._schema, tables, self._trusted)
            if {*tables} <= there:
                return
            if there:
                raise make_ledger_error(self.place, *FOREIGN)
            if not self._is_named:
                require_no_other_ledger(fetch, self.place, self._schema, tables)
            before = fetch(TABLES_HERE, ())
            for statement in schema:
                connection.exec_driver_sql(statement)
            made = [name for (name,) in {*fetch(TABLES_HERE, ())} - {*before}]
            revoke_defaults(fetch, connection.exec_driver_sql, made)
            # rights that come by no grant, as those of predefined roles do, are on new tables, too
            require_own_tables(fetch, self.place, self._schema, tables, self._trusted)

    def check_tables(self, tables: Sequence[str]) -> None:
        """Raise an error for tables that other roles may change."""
        with self.translate_errors(), self._require_engine().begin() as connection:
            require_own_tables(_make_fetch(connection), self.place, self._schema, tables, self._trusted)

    def has_tables(self, tables: Sequence[str]) -> bool:
        """Return whether any of these tables exists; nothing is created."""
        with self.read_transaction() as rows:
            found = rows.execute(TABLES_HERE)
            return any(name in tables for (name,) in found)

    @contextmanager
    def read_transaction(self) -> Iterator[SqlTransaction]:
        """Open a read-only transaction that sees one snapshot."""
        with self.translate_errors(), self._require_engine().connect() as connection:
            same = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield _DatabaseTransaction(same)

    @contextmanager
    def write_transaction(self, table: str) -> Iterator[SqlTransaction]:
        """Open a transaction that excludes other writers under the row of this table.

        Driver errors inside are not translated.
        """
        with self._require_engine().begin() as connection:
            rows = _DatabaseTransaction(connection)
            rows.execute(LOCK.format(table)).fetchall()
            yield rows

    def is_process_alive(self, rows: SqlTransaction, process: str) -> bool:
        """Return whether a process still runs: by this machine for its own, by the database for others."""
        if is_local_process(process):
            return is_process_alive(process)
        return bool(rows.execute(PRESENT, {"name": _compute_lock_key(process)}).fetchone()[0])

    def translate_errors(self, *, after_data: bool = False) -> AbstractContextManager[None]:
        """Every failure is one sentence; `after_data` it is a fault."""
        from sqlalchemy.exc import SQLAlchemyError

        return translate_errors(self.place, SQLAlchemyError, _describe_server_error, after_data=after_data)

    def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            # a child process leaves the parent's connections alone
            engine.dispose(close=self._process == os.getpid())

    def _require_engine(self) -> Engine:
        if self._engine is None:
            raise make_ledger_error(self.place, "was closed", "Open it again.")
        if self._process != os.getpid():
            raise make_ledger_error(self.place, "was opened before a fork", "Open it in each process.")
        return self._engine


def _describe_server_error(error: Any) -> tuple[str, str]:
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return REASONS.get(state) or REASONS.get(state[:2]) or UNREACHABLE


def _make_fetch(connection: Connection) -> Fetch:
    return lambda statement, values: connection.exec_driver_sql(statement, tuple(values)).fetchall()


class _DatabaseTransaction:
    """One transaction, as an `SqlTransaction`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Mapping[str, Any] | None = None, /) -> SqlResult:
        from sqlalchemy import text

        if any(isinstance(each, str) and "\0" in each for each in (values or {}).values()):
            raise RequestError("A stored text must not contain the character NUL.", hint="Leave it out.")
        return self._connection.execute(text(statement), dict(values or {}))


def _strip_credentials(address: str) -> str:
    """Return the address without user and password."""
    try:
        parts = urlsplit(address)
        return f"postgresql://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "postgresql://…"


def _compute_lock_key(process: str) -> int:
    """Return the number of the advisory lock of a process."""
    return int.from_bytes(hashlib.sha256(process.encode()).digest()[:8], signed=True)


def _create_engine(address: str, place: str, schema: str) -> Engine:
    try:
        from sqlalchemy import create_engine, event, make_url
        from sqlalchemy.exc import ArgumentError

        url = make_url(pin_search_path(address)).set(drivername="postgresql+psycopg")
        engine = create_engine(
            url,
            # under a stricter level, what is read after the lock would be as old as the wait for it
            isolation_level="READ COMMITTED",
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
        raise make_ledger_error(place, *UNREACHABLE) from None
    trusted = find_trusted_roles(address)
    event.listen(
        engine, "connect", lambda connection, _: _configure_connection(connection, place, schema, trusted)
    )
    return engine


def _configure_connection(connection: Any, place: str, schema: str, trusted: Sequence[str]) -> None:
    """Check the schema, set search path and timeouts, and take the lock that shows this process is alive."""
    try:
        with connection.cursor() as cursor:
            require_own_schema(lambda *query: cursor.execute(*query).fetchall(), place, schema, trusted)
            # the server's own catalog is searched first, as it always is where a path does not name it
            quoted = '"' + schema.replace('"', '""') + '"'
            cursor.execute(f"SET search_path = {quoted}, pg_temp")
            cursor.execute(f"SET lock_timeout = {round(1000 * PATIENCE)}")
            cursor.execute(f"SET idle_in_transaction_session_timeout = {round(1000 * VANISHED)}")
            for name, value in KEEPALIVE.items():
                cursor.execute(f"SET {name} = {value}")
            cursor.execute(HERE, (_compute_lock_key(get_process_identity()),))
        connection.commit()
    except BaseException:
        connection.close()
        raise
