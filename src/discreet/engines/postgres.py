"""PostgreSQL: the engine for tables on a PostgreSQL server.

Sources     tables and views; a table of the policy names one, `visits` or `clinic.visits`.
Connection  read-only, in UTC, with limits of time and memory for each statement. Functions are looked up in
            the server's own catalog alone, from the driver's first statement on, so that no other schema can
            put one in its place.
Threads     take turns: a connection has one transaction at a time.
Statements  our own, written by `dialects.postgres_dialect` and verified (`dialects.statement_verification`).
Store       where the policy names a schema (`store: schema`), the tables of the policy are prepared there
            once for each version of policy and data; without one they are encoded, and people's rows ranked,
            in every statement, as late as possible (`deferred_encoding`). A session locks the store that it
            uses, and drops those that no session has locked (`store_locks`).
Key         kept beside the ledger, or in it where servers share one; it is sent in the start-up message of
            the connection, as a setting of the session. Statements and bound values appear in the server's
            log if that is configured (log_statement, log_min_duration_statement, log_parameter_max_length);
            the start-up message does not.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from importlib.util import find_spec
from typing import Any, Self
from urllib.parse import urlsplit

import pyarrow as pa

from discreet.core.closeable import Closeable
from discreet.core.engine_faults import run_guarded
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.postgres_address import OTHERS_OF_TABLE, pin_search_path
from discreet.engines import policy_tables, statement_timeout
from discreet.engines.deferred_encoding import build_deferring_translator
from discreet.engines.dialects.sql_types import TypeFamily
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.dialects.statement_writer import SqlRelation, TranslatedStatement
from discreet.engines.policy_tables import EngineTable, PolicyTables
from discreet.engines.postgres_owners import require_own_table
from discreet.engines.postgres_tables import DIALECT, PostgresTable, find_postgres_table, mark_qualified_name
from discreet.engines.reachability import format_hosts, is_reachable
from discreet.engines.row_ranking import PERSON
from discreet.engines.store_locks import lock_store_tables, unlock_store_tables, write_exclusive_lock_query

DEFAULT_PORT = 5432
WORK_MEMORY = "256MB"
SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET IntervalStyle = 'postgres'",
    "SET bytea_output = 'hex'",
    "SET standard_conforming_strings = on",
    "SET transform_null_equals = off",
    "SET extra_float_digits = 1",
    "SET search_path = pg_catalog, pg_temp",
    "SET row_security = off",
    # or the planner computes check constraints, with whatever functions they call
    "SET constraint_exclusion = off",
    "SET jit = off",
    f"SET statement_timeout = {1000 * statement_timeout.DEFAULT_SECONDS:.0f}",
    f"SET work_mem = '{WORK_MEMORY}'",
    # encoding and sorting rows costs far more than passing them between parallel workers
    "SET parallel_tuple_cost = 0.01",
    "SET parallel_setup_cost = 100",
)
STORE_TABLE_NAME = re.compile(r"discreet_[0-9a-f]{16}_.+", re.DOTALL)
ENABLE_ROW_SECURITY = "SET row_security = on"
KEY_SETTINGS = ("discreet.before", "discreet.after")
SET_READ_ONLY = "SET default_transaction_read_only = on"
ENABLE_JIT = "SET LOCAL jit = on"


class PostgreSQL(Closeable):
    """An `Engine` over the tables of a policy."""

    def __init__(
        self,
        connection: Any,
        translate: Callable[[str], TranslatedStatement],
        definitions: Mapping[str, TranslatedStatement],
        reconnect: Callable[[], Any],
        *,
        holds_store: bool = False,
    ) -> None:
        self._connection, self._again, self._turn = connection, reconnect, threading.Lock()
        self._holds_store = holds_store
        self._statements, self._definitions = translate, definitions

    @classmethod
    def open(
        cls, policy: Policy, address: str, key: bytes, *, seconds: float = statement_timeout.DEFAULT_SECONDS
    ) -> Self:
        """Connect, read the schema, prepare the store if the policy names one, and lock down."""
        connection = connect_postgres(address, key=key)
        try:
            own = {name: _find_table(connection, name, each.source) for name, each in policy.tables.items()}
            origins = {
                name: own[name].to_engine_table(list(each.columns)) for name, each in policy.tables.items()
            }
            in_place = policy_tables.build_policy_tables(policy, origins, DIALECT)
            tables = _prepare_tables(connection, policy, in_place, key) if policy.store else in_place
            policies = any(each.has_row_security for each in own.values())
            run_guarded(lambda: _lock_down(connection, seconds, has_row_policies=policies))
        except BaseException:
            connection.close()
            raise
        statements = StatementTranslator(dialect=DIALECT, relations=tables.relations)
        definitions = dict(tables.definitions)
        late = build_deferring_translator(policy, own, statements, definitions)
        return cls(
            connection,
            statements if policy.store else late,
            definitions,
            lambda: _reconnect(policy, address, in_place, key, seconds, has_row_policies=policies),
            holds_store=bool(policy.store),
        )

    @classmethod
    def open_tables(cls, sources: Mapping[str, str], address: str) -> Self:
        """Return an engine without a policy, for rows that may be counted as they are."""
        connection = connect_postgres(address)
        try:
            own = {name: _find_table(connection, name, source) for name, source in sources.items()}
            origins = {name: each.to_engine_table() for name, each in own.items()}
            policies = any(each.has_row_security for each in own.values())
            run_guarded(lambda: _lock_down(connection, has_row_policies=policies))
        except BaseException:
            connection.close()
            raise
        statements = StatementTranslator(
            dialect=DIALECT, relations=policy_tables.map_plain_tables(origins).relations
        )
        return cls(
            connection,
            statements,
            {},
            lambda: _lock_down(connect_postgres(address), has_row_policies=policies),
        )

    def validate(self, sql: str) -> None:
        """Refuse a statement that cannot be translated for this engine."""
        self._statements(sql)

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT."""
        statement = self._statements(sql)
        text = _prepend_definitions(statement, self._definitions)
        settings = (ENABLE_JIT,) if _is_encoding_only(statement, self._definitions) else ()
        with self._turn:
            return run_guarded(lambda: Exact(self._run_select(text, statement, *settings)))

    def _run_select(self, text: str, statement: TranslatedStatement, *settings: str) -> pa.Table:
        """Return a statement's rows; retry once if the server had closed the connection."""
        try:
            return run_select(self._connection, text, statement, *settings)
        except Exception:
            if _is_open(self._connection):
                raise
        with suppress(Exception):
            self._connection.close()
        self._connection = self._again()
        return run_select(self._connection, text, statement, *settings)

    def stop(self) -> None:
        """Stop the running statement."""
        with suppress(Exception):  # the statement may have ended meanwhile
            self._connection.adbc_cancel()

    def close(self) -> None:
        if self._holds_store:
            with suppress(Exception):  # a lost session holds no lock
                unlock_store_tables(lambda text: fetch_table(self._connection, text))
        self._connection.close()


def connect_postgres(address: str, *, autocommit: bool = False, key: bytes = b"") -> Any:
    """Return a connection in UTC with limits; an error message never contains the password.

    A `key`, if given, becomes settings of the session, from which statements that hash people read it.
    """
    if find_spec("adbc_driver_postgresql") is None:
        raise RequestError(
            "PostgreSQL: its driver is not installed.",
            hint="Install it with pip install 'discreet[postgres]'.",
        )
    from adbc_driver_postgresql import dbapi

    connection = None
    with suppress(dbapi.Error):
        connection = dbapi.connect(pin_search_path(address, _make_key_settings(key)), autocommit=autocommit)
    if connection is None:
        raise _make_connection_error(address)
    for setting in SETTINGS:
        run_guarded(lambda setting=setting: execute_statement(connection, setting))  # type: ignore[misc]
    _require_encoding(connection)
    if key:
        _require_key(connection, key)
    return connection


def _reconnect(
    policy: Policy,
    address: str,
    in_place: PolicyTables,
    key: bytes,
    seconds: float,
    *,
    has_row_policies: bool,
) -> Any:
    """Return a new connection like the first; it locks the store anew, which may have been dropped."""
    connection = connect_postgres(address, key=key)
    try:
        if policy.store:
            _prepare_tables(connection, policy, in_place, key)
        return _lock_down(connection, seconds, has_row_policies=has_row_policies)
    except BaseException:
        connection.close()
        raise


def _make_connection_error(address: str) -> RequestError:
    """Return the error for a failed connection: the host is unreachable, or it refuses this user."""
    place = urlsplit(address).netloc.rpartition("@")[2]
    told = f"PostgreSQL: no connection to {format_hosts(place)}"
    if is_reachable(place, DEFAULT_PORT):
        return RequestError(
            f"{told}: the server refuses it.",
            hint="Check user and database, and that PGPASSWORD or ~/.pgpass has the password.",
        )
    return RequestError(f"{told}.", hint="Check the address, and that the server accepts connections.")


def find_engine_table(
    connection: Any,
    name: str,
    source: str,
    declared: list[str] | None = None,
    lists: Collection[str] = (),
) -> EngineTable:
    """Return a table or view with the SQL that reads its declared columns, or all if none are declared.

    Arrays are read as text, except for the columns in `lists`.
    """
    return _find_table(connection, name, source).to_engine_table(declared, lists=lists)


def _find_table(connection: Any, name: str, source: str) -> PostgresTable:
    found = find_postgres_table(lambda text: run_guarded(lambda: fetch_table(connection, text)), name, source)
    if found.has_row_security:
        run_guarded(lambda: execute_statement(connection, ENABLE_ROW_SECURITY))
    return found


def _prepend_definitions(
    statement: TranslatedStatement, definitions: Mapping[str, TranslatedStatement]
) -> str:
    """Return a statement with the definition of each policy table that it reads as a CTE before it.

    The fence keeps the planner from repeating an encoded value wherever a statement names it. Window
    functions, which rank or count people's rows, do that by themselves; a fence there would hide from the
    planner how few ranks the statement needs.
    """
    text, heads = statement.text, []
    for name in sorted(statement.tables & definitions.keys()):
        definition = definitions[name]
        fence = "" if PERSON in definition.columns else DIALECT.optimization_fence
        heads.append(f"{DIALECT.quote_identifier(name)} AS NOT MATERIALIZED ({definition.text}{fence})")
    if not heads:
        return text
    return f"WITH {', '.join(heads)}{', ' + text[5:] if text.startswith('WITH ') else ' ' + text}"


def _is_encoding_only(statement: TranslatedStatement, definitions: Mapping[str, TranslatedStatement]) -> bool:
    """Return whether a statement encodes rows and neither ranks nor weights any.

    Then it spends most of its time in expressions, which the server can compile (JIT) where it expects many
    rows; people's rows are sorted, which JIT does not make faster.
    """
    found = [definitions[name] for name in statement.tables & definitions.keys()]
    return bool(found) and all(PERSON not in each.columns for each in found)


# -- Prepared tables ----------------------------------------------------------------------------------------


def _prepare_tables(connection: Any, policy: Policy, tables: PolicyTables, key: bytes) -> PolicyTables:
    """Write the tables once to the schema that the policy names, and drop the stores that nobody uses."""
    schema = policy.store or ""
    version = policy_tables.compute_store_version(policy, tables, key)
    require_store_privilege(connection, schema, "USAGE")
    run_guarded(lambda: lock_store_tables(lambda text: fetch_table(connection, text), schema, version))
    found = {}
    for name, relation in tables.relations.items():
        (called,) = relation.tables
        text = tables.definitions[called].text
        place = (schema, DIALECT.shorten_identifier(f"discreet_{version}_{name}"))
        run_guarded(lambda place=place, text=text: _create_store_table(connection, place, text))  # type: ignore[misc]
        # the owner of the schema could have created a view of that name
        quoted = DIALECT.quote_literal(".".join(map(DIALECT.quote_identifier, place)))
        require_own_table(lambda sql: run_guarded(lambda: fetch_table(connection, sql)), name, quoted)
        found[name] = SqlRelation(
            text=mark_qualified_name(place),
            columns=relation.columns,
            tables=frozenset({".".join(place)}),
        )
    run_guarded(lambda: _drop_unused_stores(connection, schema, version))
    return PolicyTables(relations=found, definitions={})


def require_store_privilege(connection: Any, schema: str, privilege: str) -> None:
    """Refuse a schema that does not exist, or in which the connected user lacks the privilege."""
    text = (
        f"SELECT pg_catalog.has_schema_privilege(oid, CAST('{privilege}' AS text)) AS may "
        f"FROM pg_catalog.pg_namespace WHERE nspname = {DIALECT.quote_literal(schema)}"
    )
    may = run_guarded(lambda: _fetch_rows(connection, text))
    if may == [(True,)]:
        return
    wrong = "may not be written by the address's user" if may else "is not a schema of the database"
    raise RequestError(
        f"PostgreSQL: {schema}, which the policy names as its store, {wrong}.",
        hint=f"Have its owner {'grant USAGE and CREATE on it' if may else 'create it'}, or remove store.",
    )


def _create_store_table(connection: Any, place: tuple[str, str], text: str) -> None:
    name = ".".join(map(DIALECT.quote_identifier, place))
    with closing(connection.cursor()) as cursor:
        # another session may be preparing the same table: wait for it, however long
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SELECT pg_catalog.pg_advisory_xact_lock(CAST(1684632423 AS bigint))")
        cursor.fetchall()
        cursor.execute(f"SELECT pg_catalog.to_regclass({DIALECT.quote_literal(name)}) IS NULL")
        ((missing,),) = cursor.fetchall()
        if missing:
            require_store_privilege(connection, place[0], "CREATE")
            cursor.execute(f"CREATE TABLE {name} AS {text}")
            _revoke_defaults(cursor, name)
            cursor.execute(f"ANALYZE {name}")
    connection.commit()


def _revoke_defaults(cursor: Any, name: str) -> None:
    """Take back what default privileges grant of a new table: these are people's rows."""
    cursor.execute(OTHERS_OF_TABLE.format(table=DIALECT.quote_literal(name)))
    for (role,) in cursor.fetchall():
        cursor.execute(f"REVOKE ALL ON TABLE {name} FROM {role}")


def _drop_unused_stores(connection: Any, schema: str, version: str) -> None:
    """Drop the stores of other versions that no session has locked."""
    text = (
        "SELECT tablename FROM pg_catalog.pg_tables WHERE tableowner = current_user "
        f"AND schemaname = {DIALECT.quote_literal(schema)} AND tablename LIKE "
        "'discreet\\_________________\\_%'"
    )
    stores: dict[str, list[str]] = {}
    for name in fetch_table(connection, text)["tablename"].to_pylist():
        if STORE_TABLE_NAME.fullmatch(name):
            stores.setdefault(name.split("_")[1], []).append(name)
    for other, names in stores.items():
        if other != version:
            _drop_store(connection, schema, other, names)


def _drop_store(connection: Any, schema: str, version: str, names: list[str]) -> None:
    """Drop all tables of a store in one transaction, in which it is locked exclusively."""
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(write_exclusive_lock_query(schema, version))
            ((free,),) = cursor.fetchall()
            for name in names if free else ():
                # another session may have dropped it since it was listed
                cursor.execute(
                    "DROP TABLE IF EXISTS "
                    f"{DIALECT.quote_identifier(schema)}.{DIALECT.quote_identifier(name)}"
                )
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


# -- The driver ---------------------------------------------------------------------------------------------


def _make_key_settings(key: bytes) -> dict[str, str]:
    """Return the session settings that hold the two halves of the key."""
    halves = {KEY_SETTINGS[0]: key[: len(key) // 2], KEY_SETTINGS[1]: key[len(key) // 2 :]}
    return {name: half.hex() for name, half in halves.items() if key}


def _require_encoding(connection: Any) -> None:
    """Refuse a database that cannot hold every text, or that holds bytes which are no text.

    In one of them a constant of a question would be a fault, in the other one a row would.
    """
    ((encoding,),) = run_guarded(
        lambda: _fetch_rows(connection, "SELECT pg_catalog.current_setting('server_encoding')")
    )
    connection.rollback()
    if encoding != "UTF8":
        connection.close()
        raise RequestError(
            f"PostgreSQL: the encoding of its database is {encoding}, and has to be UTF8.",
            hint="Copy the tables into a database that was made by CREATE DATABASE … ENCODING 'UTF8'.",
        )


def _require_key(connection: Any, key: bytes) -> None:
    """Refuse a connection that lost its start-up options; the check reads only the key's length."""
    lengths = ", ".join(
        f"pg_catalog.length(pg_catalog.current_setting('{name}', true))" for name in KEY_SETTINGS
    )
    found = run_guarded(lambda: _fetch_rows(connection, f"SELECT {lengths}"))
    connection.rollback()
    if found != [(len(key), len(key))]:
        connection.close()
        raise RequestError(
            "PostgreSQL: the server did not accept the options of the connection.",
            hint="Connect to the server itself, not through a pooler that drops options.",
        )


def _lock_down(
    connection: Any, seconds: float = statement_timeout.DEFAULT_SECONDS, *, has_row_policies: bool = False
) -> Any:
    """Make a connection read-only and set its statement timeout; return it."""
    if has_row_policies:
        execute_statement(connection, ENABLE_ROW_SECURITY)
    execute_statement(connection, f"SET statement_timeout = {1000 * seconds:.0f}")
    execute_statement(connection, SET_READ_ONLY)
    return connection


def _is_open(connection: Any) -> bool:
    with suppress(Exception):  # the driver may raise anything for a lost connection
        return bool(fetch_table(connection, "SELECT 1 AS here").num_rows)
    return False


def execute_statement(connection: Any, text: str) -> None:
    """Run a statement without a result, and commit."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(text)
    connection.commit()


def _fetch_rows(connection: Any, text: str) -> list[tuple[Any, ...]]:
    """Return a statement's rows, within the open transaction."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(text)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def fetch_table(connection: Any, text: str, *settings: str) -> pa.Table:
    """Return a statement's rows, run under settings; its transaction always ends."""
    try:
        with closing(connection.cursor()) as cursor:
            for each in (*settings, text):
                cursor.execute(each)
            return cursor.fetch_arrow_table()
    finally:
        connection.rollback()


def run_select(connection: Any, text: str, statement: TranslatedStatement, *settings: str) -> pa.Table:
    """Return the rows of a translated statement, with wide integers as decimals."""
    table = fetch_table(connection, text, *settings)
    for place, (name, kind) in enumerate(statement.columns.items()):
        if kind.family is TypeFamily.WIDE:
            table = table.set_column(place, name, _parse_integers(table.column(place)))
    return table


def _parse_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return integers for a column of exact numbers, which the driver returns as text."""
    values = [None if value is None else int(str(value)) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(values, pa.decimal128(38, 0))])
