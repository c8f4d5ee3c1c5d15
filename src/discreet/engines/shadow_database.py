"""Shadow database: an empty PostgreSQL database with a policy's schema, for clients' catalog queries.

Empty         It is refused if it holds a table that was not made here, a row, or a function: it is never the
              database that has the data, and no foreign code runs in it.
Unprivileged  A role that could read the server's files or run its programs is refused.
Limits        Queries about the schema alone, in read-only transactions that end after a few seconds;
              functions that PostgreSQL calls volatile (files, locks, settings, sleep) are refused.
Connection    One serves all clients, so that none sees another's queries in the server's statistics.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.core.errors import RequestError
from discreet.core.postgres_address import pin_search_path

if TYPE_CHECKING:
    import psycopg

TABLE_COMMENT = "made by discreet: no data"
SECONDS, CONNECTING = 30, 60
"""Time limits of a query and of connecting: a busy server takes many times as long as an idle one."""
MAX_BYTES = 16 << 20
HARMLESS = (
    "pg_relation_size",
    "pg_table_size",
    "pg_total_relation_size",
    "pg_indexes_size",
    "pg_database_size",
)
TABLES = """
    SELECT c.oid::regclass::text AS name,
        coalesce(pg_catalog.obj_description(c.oid, 'pg_class'::name), ''::text) = %s::text AS ours
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm', 'f')
        AND n.nspname NOT LIKE 'pg\\_%%' AND n.nspname <> 'information_schema'
"""
FUNCTIONS = """
    SELECT 1 FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname NOT LIKE 'pg\\_%%' AND n.nspname <> 'information_schema' LIMIT 1
"""
IS_PRIVILEGED_ROLE = """
    SELECT rolsuper OR pg_catalog.pg_has_role(oid, 'pg_read_server_files'::name, 'member'::text)
        OR pg_catalog.pg_has_role(oid, 'pg_write_server_files'::name, 'member'::text)
        OR pg_catalog.pg_has_role(oid, 'pg_execute_server_program'::name, 'member'::text)
    FROM pg_catalog.pg_roles WHERE rolname = current_user
"""
SIZE = f"SELECT coalesce(sum(octet_length(found::text)), 0) <= {MAX_BYTES} FROM (\n{{}}\n) AS found"
"""Tests a result's size on the server: a larger one than any schema would fill this process's memory."""
VOLATILE = """
    SELECT 1 FROM pg_catalog.pg_proc
    WHERE proname = ANY(%s) AND provolatile = 'v' AND proname <> ALL(%s) LIMIT 1
"""


@dataclass(frozen=True, kw_only=True)
class StatementDescription:
    """The types of a statement's parameters and columns, as PostgreSQL's type OIDs."""

    parameters: tuple[int, ...]
    columns: tuple[tuple[str, int], ...]


class ShadowDatabase:
    """A connection to a shadow database; opening it creates the schema there."""

    def __init__(self, url: str, schema: Mapping[str, Sequence[str]]) -> None:
        self._lock, self._url = threading.Lock(), url
        self._connection = self._connect()
        try:
            self._create_schema(schema)
        except BaseException:
            self._connection.close()
            raise

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            import psycopg
        except ImportError:
            raise RequestError(
                "serve: psycopg is not installed.", hint="Run pip install 'discreet[postgres]'."
            ) from None
        try:
            return psycopg.connect(pin_search_path(self._url), autocommit=True, connect_timeout=CONNECTING)
        except psycopg.Error:
            raise RequestError(
                "serve: the catalog's database cannot be reached.", hint="Check --catalog postgresql://…."
            ) from None

    def _create_schema(self, schema: Mapping[str, Sequence[str]]) -> None:
        """Create the tables anew; refuse a database that holds anything else, and leave it unchanged."""
        with self._connection.transaction():
            found = self._connection.execute(TABLES, (TABLE_COMMENT,)).fetchall()
            foreign = [name for name, ours in found if not ours]
            functions = self._connection.execute(FUNCTIONS, ()).fetchall()
            if foreign or functions or any(self._has_rows(name) for name, _ in found):
                raise RequestError(
                    "serve: the catalog's database is not empty.",
                    hint="Give --catalog a database of its own, without tables and functions: "
                    "createdb discreet_catalog.",
                )
            if self._connection.execute(IS_PRIVILEGED_ROLE).fetchone() != (False,):
                raise RequestError(
                    "serve: the role of --catalog could read the server's files.",
                    hint="Create one for it: CREATE ROLE discreet_catalog LOGIN.",
                )
            self._execute("SET search_path = public, pg_temp")  # clients look for the policy's tables there
            for name, _ in found:
                self._execute(f"DROP TABLE {name} CASCADE")
            for table, statements in schema.items():
                for statement in (*statements, f"COMMENT ON TABLE {table} IS '{TABLE_COMMENT}'"):
                    self._execute(statement)

    def _has_rows(self, name: str) -> bool:
        return self._execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() is not None

    def _execute(self, statement: str) -> psycopg.Cursor[Any]:
        return self._connection.execute(statement)

    def require_harmless_functions(self, functions: Sequence[str]) -> None:
        """Refuse volatile functions, except those that only report sizes."""
        with self._lock:
            found = self._connection.execute(VOLATILE, (list(functions), list(HARMLESS))).fetchone()
        if found is not None:
            raise RequestError("The catalog has no function of that name.")

    def describe(self, sql: str, oids: Sequence[int]) -> StatementDescription:
        """Return the types of a statement's parameters and columns without running it."""
        from psycopg.pq import ExecStatus

        with self._lock:
            line = self._connection.pgconn
            made = line.prepare(b"", sql.encode(), list(oids))
            found = line.describe_prepared(b"") if made.status == ExecStatus.COMMAND_OK else None
        if found is None:
            raise _make_refusal()
        return StatementDescription(
            parameters=tuple(found.param_type(place) for place in range(found.nparams)),
            columns=tuple(
                ((found.fname(place) or b"").decode(), found.ftype(place)) for place in range(found.nfields)
            ),
        )

    def run(self, sql: str, values: Sequence[object]) -> list[tuple[object, ...]]:
        """Return the rows of one SELECT over the catalog."""
        import psycopg

        with self._lock:
            try:
                with self._connection.transaction():
                    self._connection.execute("SET TRANSACTION READ ONLY")
                    self._execute(f"SET LOCAL statement_timeout = '{SECONDS}s'")
                    cursor = psycopg.RawCursor(self._connection)
                    if cursor.execute(SIZE.format(sql), tuple(values)).fetchone() == (True,):
                        return cursor.execute(sql, tuple(values)).fetchall()
            except psycopg.Error:
                pass
        raise _make_refusal()

    def close(self) -> None:
        self._connection.close()


def _make_refusal() -> RequestError:
    return RequestError("The catalog cannot answer this.", hint="Query tables and columns that exist.")
