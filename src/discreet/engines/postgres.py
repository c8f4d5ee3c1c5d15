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

from discreet.core.closing import Closing
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.postgres_address import OTHERS_OF_TABLE, pin_search_path
from discreet.core.values import Exact
from discreet.engines import limits, relations
from discreet.engines.dialects.checking import Statements
from discreet.engines.dialects.kinds import Family
from discreet.engines.dialects.statements import Relation, Written
from discreet.engines.faults import guarded
from discreet.engines.late import late_statements
from discreet.engines.postgres_owners import require_own_table
from discreet.engines.postgres_tables import DIALECT, OwnTable, marked, own_table
from discreet.engines.ranking import PERSON
from discreet.engines.reaching import is_reached, named
from discreet.engines.relations import Origin, Tables
from discreet.engines.store_use import hold_tables, release_tables, try_to_own_tables

PORT = 5432
MEMORY = "256MB"
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
    f"SET statement_timeout = {1000 * limits.SECONDS:.0f}",
    f"SET work_mem = '{MEMORY}'",
    # encoding and sorting rows costs far more than passing them between parallel workers
    "SET parallel_tuple_cost = 0.01",
    "SET parallel_setup_cost = 100",
)
STORED = re.compile(r"discreet_[0-9a-f]{16}_.+", re.DOTALL)
ROW_SECURITY = "SET row_security = on"
KEY_SETTINGS = ("discreet.before", "discreet.after")
READ_ONLY = "SET default_transaction_read_only = on"
COMPILED = "SET LOCAL jit = on"


class PostgreSQL(Closing):
    """An `Engine` over the tables of a policy."""

    def __init__(
        self,
        connection: Any,
        statements: Callable[[str], Written],
        definitions: Mapping[str, Written],
        again: Callable[[], Any],
        *,
        holds_store: bool = False,
    ) -> None:
        self._connection, self._again, self._turn = connection, again, threading.Lock()
        self._holds_store = holds_store
        self._statements, self._definitions = statements, definitions

    @classmethod
    def open(cls, policy: Policy, address: str, key: bytes, *, seconds: float = limits.SECONDS) -> Self:
        """Connect, read the schema, prepare the store if the policy names one, and lock down."""
        connection = connected(address, key=key)
        try:
            own = {name: _found(connection, name, each.source) for name, each in policy.tables.items()}
            origins = {name: own[name].origin(list(each.columns)) for name, each in policy.tables.items()}
            in_place = relations.tables(policy, origins, DIALECT)
            tables = _prepared(connection, policy, in_place, key) if policy.store else in_place
            policies = any(each.row_security for each in own.values())
            guarded(lambda: _shut_off(connection, seconds, policies=policies))
        except BaseException:
            connection.close()
            raise
        statements = Statements(dialect=DIALECT, relations=tables.relations)
        definitions = dict(tables.definitions)
        late = late_statements(policy, own, statements, definitions)
        return cls(
            connection,
            statements if policy.store else late,
            definitions,
            lambda: _connect_again(policy, address, in_place, key, seconds, policies=policies),
            holds_store=bool(policy.store),
        )

    @classmethod
    def over(cls, sources: Mapping[str, str], address: str) -> Self:
        """Return an engine without a policy, for rows that may be counted as they are."""
        connection = connected(address)
        try:
            own = {name: _found(connection, name, source) for name, source in sources.items()}
            origins = {name: each.origin() for name, each in own.items()}
            policies = any(each.row_security for each in own.values())
            guarded(lambda: _shut_off(connection, policies=policies))
        except BaseException:
            connection.close()
            raise
        statements = Statements(dialect=DIALECT, relations=relations.plain(origins).relations)
        return cls(connection, statements, {}, lambda: _shut_off(connected(address), policies=policies))

    def require(self, sql: str) -> None:
        """Refuse a statement that cannot be translated for this engine."""
        self._statements(sql)

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT."""
        statement = self._statements(sql)
        text = _defined(statement, self._definitions)
        settings = (COMPILED,) if _encodes(statement, self._definitions) else ()
        with self._turn:
            return guarded(lambda: Exact(self._selected(text, statement, *settings)))

    def _selected(self, text: str, statement: Written, *settings: str) -> pa.Table:
        """Return a statement's rows; retry once if the server had closed the connection."""
        try:
            return selected(self._connection, text, statement, *settings)
        except Exception:
            if _is_open(self._connection):
                raise
        with suppress(Exception):
            self._connection.close()
        self._connection = self._again()
        return selected(self._connection, text, statement, *settings)

    def stop(self) -> None:
        """Stop the running statement."""
        with suppress(Exception):  # the statement may have ended meanwhile
            self._connection.adbc_cancel()

    def close(self) -> None:
        if self._holds_store:
            with suppress(Exception):  # a lost session holds no lock
                release_tables(lambda text: fetched(self._connection, text))
        self._connection.close()


def connected(address: str, *, autocommit: bool = False, key: bytes = b"") -> Any:
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
        connection = dbapi.connect(pin_search_path(address, _key_settings(key)), autocommit=autocommit)
    if connection is None:
        raise _unconnected(address)
    for setting in SETTINGS:
        guarded(lambda setting=setting: run(connection, setting))  # type: ignore[misc]
    _require_encoding(connection)
    if key:
        _require_key(connection, key)
    return connection


def _connect_again(
    policy: Policy, address: str, in_place: Tables, key: bytes, seconds: float, *, policies: bool
) -> Any:
    """Return a new connection like the first; it locks the store anew, which may have been dropped."""
    connection = connected(address, key=key)
    try:
        if policy.store:
            _prepared(connection, policy, in_place, key)
        return _shut_off(connection, seconds, policies=policies)
    except BaseException:
        connection.close()
        raise


def _unconnected(address: str) -> RequestError:
    """Return the error for a failed connection: the host is unreachable, or it refuses this user."""
    place = urlsplit(address).netloc.rpartition("@")[2]
    told = f"PostgreSQL: no connection to {named(place)}"
    if is_reached(place, PORT):
        return RequestError(
            f"{told}: the server refuses it.",
            hint="Check user and database, and that PGPASSWORD or ~/.pgpass has the password.",
        )
    return RequestError(f"{told}.", hint="Check the address, and that the server accepts connections.")


def origin(
    connection: Any,
    name: str,
    source: str,
    declared: list[str] | None = None,
    lists: Collection[str] = (),
) -> Origin:
    """Return a table or view with the SQL that reads its declared columns, or all if none are declared.

    Arrays are read as text, except for the columns in `lists`.
    """
    return _found(connection, name, source).origin(declared, lists=lists)


def _found(connection: Any, name: str, source: str) -> OwnTable:
    found = own_table(lambda text: guarded(lambda: fetched(connection, text)), name, source)
    if found.row_security:
        guarded(lambda: run(connection, ROW_SECURITY))
    return found


def _defined(statement: Written, definitions: Mapping[str, Written]) -> str:
    """Return a statement with the definition of each policy table that it reads as a CTE before it.

    The fence keeps the planner from repeating an encoded value wherever a statement names it. Window
    functions, which rank or count people's rows, do that by themselves; a fence there would hide from the
    planner how few ranks the statement needs.
    """
    text, heads = statement.text, []
    for name in sorted(statement.tables & definitions.keys()):
        definition = definitions[name]
        fence = "" if PERSON in definition.columns else DIALECT.fence
        heads.append(f"{DIALECT.quoted(name)} AS NOT MATERIALIZED ({definition.text}{fence})")
    if not heads:
        return text
    return f"WITH {', '.join(heads)}{', ' + text[5:] if text.startswith('WITH ') else ' ' + text}"


def _encodes(statement: Written, definitions: Mapping[str, Written]) -> bool:
    """Return whether a statement encodes rows and neither ranks nor weights any.

    Then it spends most of its time in expressions, which the server can compile (JIT) where it expects many
    rows; people's rows are sorted, which JIT does not make faster.
    """
    found = [definitions[name] for name in statement.tables & definitions.keys()]
    return bool(found) and all(PERSON not in each.columns for each in found)


# -- Prepared tables ----------------------------------------------------------------------------------------


def _prepared(connection: Any, policy: Policy, tables: Tables, key: bytes) -> Tables:
    """Write the tables once to the schema that the policy names, and drop the stores that nobody uses."""
    schema = policy.store or ""
    version = relations.version(policy, tables, key)
    require_store(connection, schema, "USAGE")
    guarded(lambda: hold_tables(lambda text: fetched(connection, text), schema, version))
    found = {}
    for name, relation in tables.relations.items():
        (called,) = relation.tables
        text = tables.definitions[called].text
        place = (schema, DIALECT.called(f"discreet_{version}_{name}"))
        guarded(lambda place=place, text=text: _make(connection, place, text))  # type: ignore[misc]
        # the owner of the schema could have created a view of that name
        quoted = DIALECT.literal(".".join(map(DIALECT.quoted, place)))
        require_own_table(lambda sql: guarded(lambda: fetched(connection, sql)), name, quoted)
        found[name] = Relation(
            text=marked(place),
            columns=relation.columns,
            tables=frozenset({".".join(place)}),
        )
    guarded(lambda: _drop_unused(connection, schema, version))
    return Tables(relations=found, definitions={})


def require_store(connection: Any, schema: str, privilege: str) -> None:
    """Refuse a schema that does not exist, or in which the connected user lacks the privilege."""
    text = (
        f"SELECT pg_catalog.has_schema_privilege(oid, CAST('{privilege}' AS text)) AS may "
        f"FROM pg_catalog.pg_namespace WHERE nspname = {DIALECT.literal(schema)}"
    )
    may = guarded(lambda: _rows(connection, text))
    if may == [(True,)]:
        return
    wrong = "may not be written by the address's user" if may else "is not a schema of the database"
    raise RequestError(
        f"PostgreSQL: {schema}, which the policy names as its store, {wrong}.",
        hint=f"Have its owner {'grant USAGE and CREATE on it' if may else 'create it'}, or remove store.",
    )


def _make(connection: Any, place: tuple[str, str], text: str) -> None:
    name = ".".join(map(DIALECT.quoted, place))
    with closing(connection.cursor()) as cursor:
        # another session may be preparing the same table: wait for it, however long
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SELECT pg_catalog.pg_advisory_xact_lock(CAST(1684632423 AS bigint))")
        cursor.fetchall()
        cursor.execute(f"SELECT pg_catalog.to_regclass({DIALECT.literal(name)}) IS NULL")
        ((missing,),) = cursor.fetchall()
        if missing:
            require_store(connection, place[0], "CREATE")
            cursor.execute(f"CREATE TABLE {name} AS {text}")
            _revoke_defaults(cursor, name)
            cursor.execute(f"ANALYZE {name}")
    connection.commit()


def _revoke_defaults(cursor: Any, name: str) -> None:
    """Take back what default privileges grant of a new table: these are people's rows."""
    cursor.execute(OTHERS_OF_TABLE.format(table=DIALECT.literal(name)))
    for (role,) in cursor.fetchall():
        cursor.execute(f"REVOKE ALL ON TABLE {name} FROM {role}")


def _drop_unused(connection: Any, schema: str, version: str) -> None:
    """Drop the stores of other versions that no session has locked."""
    text = (
        "SELECT tablename FROM pg_catalog.pg_tables WHERE tableowner = current_user "
        f"AND schemaname = {DIALECT.literal(schema)} AND tablename LIKE 'discreet\\_________________\\_%'"
    )
    stores: dict[str, list[str]] = {}
    for name in fetched(connection, text)["tablename"].to_pylist():
        if STORED.fullmatch(name):
            stores.setdefault(name.split("_")[1], []).append(name)
    for other, names in stores.items():
        if other != version:
            _drop_store(connection, schema, other, names)


def _drop_store(connection: Any, schema: str, version: str, names: list[str]) -> None:
    """Drop all tables of a store in one transaction, in which it is locked exclusively."""
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(try_to_own_tables(schema, version))
            ((free,),) = cursor.fetchall()
            for name in names if free else ():
                # another session may have dropped it since it was listed
                cursor.execute(f"DROP TABLE IF EXISTS {DIALECT.quoted(schema)}.{DIALECT.quoted(name)}")
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


# -- The driver ---------------------------------------------------------------------------------------------


def _key_settings(key: bytes) -> dict[str, str]:
    """Return the session settings that hold the two halves of the key."""
    halves = {KEY_SETTINGS[0]: key[: len(key) // 2], KEY_SETTINGS[1]: key[len(key) // 2 :]}
    return {name: half.hex() for name, half in halves.items() if key}


def _require_encoding(connection: Any) -> None:
    """Refuse a database that cannot hold every text, or that holds bytes which are no text.

    In one of them a constant of a question would be a fault, in the other one a row would.
    """
    ((encoding,),) = guarded(
        lambda: _rows(connection, "SELECT pg_catalog.current_setting('server_encoding')")
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
    found = guarded(lambda: _rows(connection, f"SELECT {lengths}"))
    connection.rollback()
    if found != [(len(key), len(key))]:
        connection.close()
        raise RequestError(
            "PostgreSQL: the server did not accept the options of the connection.",
            hint="Connect to the server itself, not through a pooler that drops options.",
        )


def _shut_off(connection: Any, seconds: float = limits.SECONDS, *, policies: bool = False) -> Any:
    """Make a connection read-only and set its statement timeout; return it."""
    if policies:
        run(connection, ROW_SECURITY)
    run(connection, f"SET statement_timeout = {1000 * seconds:.0f}")
    run(connection, READ_ONLY)
    return connection


def _is_open(connection: Any) -> bool:
    with suppress(Exception):  # the driver may raise anything for a lost connection
        return bool(fetched(connection, "SELECT 1 AS here").num_rows)
    return False


def run(connection: Any, text: str) -> None:
    """Run a statement without a result, and commit."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(text)
    connection.commit()


def _rows(connection: Any, text: str) -> list[tuple[Any, ...]]:
    """Return a statement's rows, within the open transaction."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(text)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def fetched(connection: Any, text: str, *settings: str) -> pa.Table:
    """Return a statement's rows, run under settings; its transaction always ends."""
    try:
        with closing(connection.cursor()) as cursor:
            for each in (*settings, text):
                cursor.execute(each)
            return cursor.fetch_arrow_table()
    finally:
        connection.rollback()


def selected(connection: Any, text: str, statement: Written, *settings: str) -> pa.Table:
    """Return the rows of a translated statement, with wide integers as decimals."""
    table = fetched(connection, text, *settings)
    for place, (name, kind) in enumerate(statement.columns.items()):
        if kind.family is Family.WIDE:
            table = table.set_column(place, name, _whole(table.column(place)))
    return table


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return integers for a column of exact numbers, which the driver returns as text."""
    values = [None if value is None else int(str(value)) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(values, pa.decimal128(38, 0))])
