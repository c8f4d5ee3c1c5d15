"""PostgreSQL: the engine of a custodian whose tables are on a server.

Sources     tables and views; a table of the policy names one, `visits` or `clinic.visits`.
Connection  read-only, in UTC, with a limit of time and of memory for each statement. Functions are looked up
            in the server's own catalogue alone, so that no other schema can put one in its place.
Statements  our own, written by `dialects.postgres` and checked; see `dialects.checking`.
Store       where the policy names a schema (`store: schema`), the tables of the policy are prepared there
            once for each version of policy and data; without one they are encoded, and people's rows
            ranked, in every statement.
Key         kept beside the ledger; the server is told it as a setting of the session, never in a statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from importlib.util import find_spec
from typing import Any, Self
from urllib.parse import urlsplit

import pyarrow as pa

from discreet.core.closing import Closing
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.values import Exact
from discreet.engines import limits, relations
from discreet.engines.dialects import marks
from discreet.engines.dialects.checking import Statements
from discreet.engines.dialects.kinds import Family
from discreet.engines.dialects.postgres import LONGEST_NAME, Postgres
from discreet.engines.dialects.statements import Relation, Written
from discreet.engines.faults import guarded
from discreet.engines.ranking import PERSON
from discreet.engines.relations import Origin, Tables

DIALECT = Postgres()
MEMORY = "256MB"
SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET IntervalStyle = 'postgres'",
    "SET standard_conforming_strings = on",
    "SET extra_float_digits = 1",
    "SET search_path = ''",
    "SET jit = off",
    f"SET statement_timeout = {1000 * limits.SECONDS:.0f}",
    f"SET work_mem = '{MEMORY}'",
    # that rows are encoded and sorted by workers is worth handing them over
    "SET parallel_tuple_cost = 0.01",
    "SET parallel_setup_cost = 100",
)
READ_ONLY = "SET default_transaction_read_only = on"
TYPES = {
    "boolean": ("{0}", "BOOLEAN"),
    "smallint": ("CAST({0} AS bigint)", "BIGINT"),
    "integer": ("CAST({0} AS bigint)", "BIGINT"),
    "bigint": ("{0}", "BIGINT"),
    "numeric": ("{0}", "DECIMAL(38,9)"),
    "real": ("CAST({0} AS double precision)", "DOUBLE"),
    "double precision": ("{0}", "DOUBLE"),
    "date": ("{0}", "DATE"),
    "timestamp without time zone": ("{0}", "TIMESTAMP"),
    "timestamp with time zone": ("{0}", "TIMESTAMP WITH TIME ZONE"),
}
NARROW = re.compile(r"numeric\((\d+),(\d+)\)")
AS_TEXT = ('(CAST({0} AS text) COLLATE "C")', "VARCHAR")
COLUMNS = """SELECT a.attname AS name,
  pg_catalog.format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL) AS type,
  pg_catalog.format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END,
    CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END) AS declared
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = pg_catalog.to_regclass({table}) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum"""


class PostgreSQL(Closing):
    """An `Engine` over the tables of a policy."""

    def __init__(self, connection: Any, tables: Tables, again: Callable[[], Any]) -> None:
        self._connection, self._tables, self._again = connection, tables, again
        self._statements = Statements(dialect=DIALECT, relations=tables.relations)

    @classmethod
    def open(cls, policy: Policy, address: str, key: bytes, *, seconds: float = limits.SECONDS) -> Self:
        """Connect, look at the schema, prepare what may be prepared, and shut off."""
        connection = connected(address)
        try:
            guarded(lambda: _tell_key(connection, key))
            origins = {
                name: origin(connection, name, table.source, list(table.columns))
                for name, table in policy.tables.items()
            }
            tables = relations.tables(policy, origins, DIALECT)
            if policy.store:
                tables = _prepared(connection, policy, tables, key)
            guarded(lambda: _shut_off(connection, key, seconds))
        except BaseException:
            connection.close()
            raise
        return cls(connection, tables, lambda: _shut_off(connected(address), key, seconds))

    @classmethod
    def over(cls, sources: Mapping[str, str], address: str) -> Self:
        """Over tables as they are, without a policy: for rows that may be counted as they stand."""
        connection = connected(address)
        try:
            origins = {name: origin(connection, name, source) for name, source in sources.items()}
            guarded(lambda: _shut_off(connection, b""))
        except BaseException:
            connection.close()
            raise
        return cls(connection, relations.plain(origins), lambda: _shut_off(connected(address), b""))

    def require(self, sql: str) -> None:
        """Refuse a statement that cannot be written for this engine."""
        self._statements(sql)

    def count(self, sql: str) -> Exact[pa.Table]:
        """The rows of one SELECT."""
        statement = self._statements(sql)
        text = _defined(statement.text, statement, self._tables)
        return guarded(lambda: Exact(self._selected(text, statement)))

    def _selected(self, text: str, statement: Written) -> pa.Table:
        """What a statement finds; once more where the server had closed the connection meanwhile."""
        try:
            return selected(self._connection, text, statement)
        except Exception:
            if _is_open(self._connection):
                raise
        with suppress(Exception):
            self._connection.close()
        self._connection = self._again()
        return selected(self._connection, text, statement)

    def close(self) -> None:
        self._connection.close()


def connected(address: str, *, autocommit: bool = False) -> Any:
    """A connection in UTC with limits; what is wrong with it is told without its password."""
    if find_spec("adbc_driver_postgresql") is None:
        raise RequestError(
            "PostgreSQL: its driver is not installed.",
            hint="Install it with pip install 'discreet[postgres]'.",
        )
    from adbc_driver_postgresql import dbapi

    connection = None
    with suppress(dbapi.Error):
        connection = dbapi.connect(address, autocommit=autocommit)
    if connection is None:
        raise RequestError(
            f"PostgreSQL: no connection to {urlsplit(address).hostname or 'the server'}.",
            hint="Check the address, the user and that the server takes connections.",
        )
    for setting in SETTINGS:
        guarded(lambda setting=setting: run(connection, setting))  # type: ignore[misc]
    return connection


def origin(
    connection: Any,
    name: str,
    source: str,
    declared: list[str] | None = None,
    lists: Collection[str] = (),
) -> Origin:
    """A table or view, and how its declared columns are read; all of them where none are declared.

    An array is text, but for those columns that are to be read as `lists`.
    """
    types, place = _columns(connection, name, source)
    forms = {column: _read_as(*kind, column.lower() in lists) for column, kind in types.items()}
    read = relations.columns(name, source, forms, declared, DIALECT)
    text = f"(SELECT {read.text} FROM {_place(place)})"
    return Origin(text=text, table=".".join(place), types=read.types)


def _place(parts: tuple[str, ...]) -> str:
    return ".".join(marks.named(part, DIALECT) for part in parts)


def _read_as(kind: str, declared: str, as_list: bool = False) -> tuple[str, str]:
    """A number of declared digits is finite but for NaN, which is nothing to whatever counts it."""
    if as_list and kind.endswith(relations.LIST):
        element = kind.removesuffix(relations.LIST)
        # equal numbers of this kind need not read alike, as 1.0 and 1.00
        form = AS_TEXT if element == "numeric" else _read_as(element, element)
        return relations.listed(form, DIALECT)
    narrow = NARROW.fullmatch(declared)
    if narrow is not None:
        return "nullif({0}, CAST('NaN' AS numeric))", f"DECIMAL({narrow[1]},{narrow[2]})"
    return TYPES.get(kind, AS_TEXT)


def _columns(connection: Any, name: str, source: str) -> tuple[dict[str, tuple[str, str]], tuple[str, ...]]:
    """The types of the columns, without and with what was declared of them, and where the table is."""
    parts = tuple(source.split("."))
    places = [parts, tuple(part.lower() for part in parts)]
    if len(parts) == 1:
        places = [("public", *place) for place in places]
    for place in dict.fromkeys(places):
        table = DIALECT.literal(".".join(map(DIALECT.quoted, place)))
        rows = guarded(lambda table=table: fetched(connection, COLUMNS.format(table=table)))  # type: ignore[misc]
        if rows.num_rows:
            found = {row["name"]: (row["type"], row["declared"]) for row in rows.to_pylist()}
            return found, place
    raise RequestError(
        f"PostgreSQL: the source of table {name} is {source}, and there is no such table.",
        hint="Name a table or view, with its schema where that is not public.",
    )


def _defined(text: str, statement: Written, tables: Tables) -> str:
    """With what stands for each table of the policy before it.

    The fence keeps the planner from writing an encoded value out wherever a statement names it. Windows,
    by which people's rows are ranked or counted, do so themselves; behind a fence nobody would know how few
    ranks or people are asked for.
    """
    heads = []
    for name in sorted(statement.tables & tables.definitions.keys()):
        definition = tables.definitions[name]
        fence = "" if PERSON in definition.columns else DIALECT.fence
        heads.append(f"{DIALECT.quoted(name)} AS NOT MATERIALIZED ({definition.text}{fence})")
    if not heads:
        return text
    return f"WITH {', '.join(heads)}{', ' + text[5:] if text.startswith('WITH ') else ' ' + text}"


# -- Prepared tables ----------------------------------------------------------------------------------------


def _prepared(connection: Any, policy: Policy, tables: Tables, key: bytes) -> Tables:
    """The same tables, written once to the schema that the policy names; what is older is dropped."""
    schema = policy.store or ""
    version = relations.version(policy, tables, key)
    found = {}
    for name, relation in tables.relations.items():
        (called,) = relation.tables
        text = tables.definitions[called].text
        place = (schema, f"discreet_{version}_{name}"[:LONGEST_NAME])
        guarded(lambda place=place, text=text: _make(connection, place, text))  # type: ignore[misc]
        found[name] = Relation(
            text=_place(place),
            columns=relation.columns,
            tables=frozenset({".".join(place)}),
        )
    guarded(lambda: _drop_older(connection, schema, version))
    return Tables(relations=found, definitions={})


def _make(connection: Any, place: tuple[str, str], text: str) -> None:
    name = ".".join(map(DIALECT.quoted, place))
    with closing(connection.cursor()) as cursor:
        cursor.execute("SELECT pg_catalog.pg_advisory_xact_lock(1684632423)")
        cursor.fetchall()
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(f"SELECT pg_catalog.to_regclass({DIALECT.literal(name)}) IS NULL")
        ((missing,),) = cursor.fetchall()
        if missing:
            cursor.execute(f"CREATE TABLE {name} AS {text}")
            cursor.execute(f"ANALYZE {name}")
    connection.commit()


def _drop_older(connection: Any, schema: str, version: str) -> None:
    text = (
        "SELECT tablename FROM pg_catalog.pg_tables WHERE tableowner = current_user "
        f"AND schemaname = {DIALECT.literal(schema)} AND tablename LIKE 'discreet\\_________________\\_%'"
    )
    for name in fetched(connection, text)["tablename"].to_pylist():
        if not name.startswith(f"discreet_{version}_"):
            run(connection, f"DROP TABLE {DIALECT.quoted(schema)}.{DIALECT.quoted(name)}")


# -- The driver ---------------------------------------------------------------------------------------------


def _tell_key(connection: Any, key: bytes) -> None:
    halves = {"before": key[: len(key) // 2], "after": key[len(key) // 2 :]}
    with closing(connection.cursor()) as cursor:
        for name, half in halves.items():
            cursor.execute(f"SELECT pg_catalog.set_config('discreet.{name}', $1, false)", (half.hex(),))
            cursor.fetchall()
    connection.commit()


def _shut_off(connection: Any, key: bytes, seconds: float = limits.SECONDS) -> Any:
    """The same connection, which from here on knows the key, stops in time, and writes nothing."""
    _tell_key(connection, key)
    run(connection, f"SET statement_timeout = {1000 * seconds:.0f}")
    run(connection, READ_ONLY)
    return connection


def _is_open(connection: Any) -> bool:
    with suppress(Exception):  # whatever the driver makes of a connection that is gone
        return bool(fetched(connection, "SELECT 1 AS here").num_rows)
    return False


def run(connection: Any, text: str) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.execute(text)
    connection.commit()


def fetched(connection: Any, text: str) -> pa.Table:
    """What a statement finds; its transaction ends, whatever becomes of it."""
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(text)
            return cursor.fetch_arrow_table()
    finally:
        connection.rollback()


def selected(connection: Any, text: str, statement: Written) -> pa.Table:
    table = fetched(connection, text)
    for place, (name, kind) in enumerate(statement.columns.items()):
        if kind.family is Family.WIDE:
            table = table.set_column(place, name, _whole(table.column(place)))
    return table


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The driver gives exact numbers as text."""
    values = [None if value is None else int(str(value)) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(values, pa.decimal128(38, 0))])
