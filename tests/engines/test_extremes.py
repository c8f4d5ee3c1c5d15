"""No value of any column type raises or stalls, whatever the policy declares of its column.

For every type of an engine a table holds its extremes: the ends of its range, NaN and infinities, denormals,
empty and very long text, odd characters. Every column is declared as every type of a policy. Reading,
preparing, counting, comparing and summing must not raise, in place and from a prepared store; so is a person
named by such a column. What an engine refuses, it refuses as a request error, before it reads data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import PostgreSQL
from discreet.engines.prepared_store import prepare_store
from discreet.engines.spark import Spark
from discreet.sql.planner import plan_query
from tests.engines.servers import ADDRESS, KEY, PostgresServer, SparkServer
from tests.sql.example import PROMISE

LARGEST, LEAST = repr(sys.float_info.max), "5e-324"
LONG = 24_000
TEXTS = (
    *("''", "' '", "'NaN'", "'-inf'", "'1e9999'", "'-1e9999'", "'1e-9999'", "'0x1F'", "'1_000'", "'١'"),
    *(f"'0.' || repeat('0', {zeros})" for zeros in (255, 16_383, 20_000)),
    *(f"repeat('{sign}', {LONG})" for sign in ("9", " ", "a", "%", "_", "-")),
    *(f"'1' || repeat('0', {zeros})" for zeros in (37, 38, 308, 309, 140_000)),
    f"'2020-01-01 10:00:00' || repeat(' ', {LONG}) || 'x'",
    f"'2020-01-01 10:00:00.' || repeat('1', {LONG})",
    f"repeat('1', {LONG}) || 'e5x'",
    *("'99999-12-31'", "'294277-01-01'", "'0000-00-00'", "'2020-02-30'", "'infinity'", "'5874898-01-01'"),
    *("'2020-01-01 25:00:00'", "'2020-01-01T00:00:00+99:99'", "'ß€😀'", "'e' || chr(769)", "chr(1)"),
)
DUCKDB = {
    **{
        name: (f"'{low}'", f"'{high}'", "'0'")
        for name, low, high in (
            ("TINYINT", -128, 127),
            ("SMALLINT", -(2**15), 2**15 - 1),
            ("INTEGER", -(2**31), 2**31 - 1),
            ("BIGINT", -(2**63), 2**63 - 1),
            ("HUGEINT", -(2**127), 2**127 - 1),
            ("UTINYINT", 0, 255),
            ("USMALLINT", 0, 2**16 - 1),
            ("UINTEGER", 0, 2**32 - 1),
            ("UBIGINT", 0, 2**64 - 1),
            ("UHUGEINT", 0, 2**128 - 1),
        )
    },
    "DECIMAL(4,1)": ("'999.9'", "'-999.9'", "'0.1'"),
    "DECIMAL(18,3)": ("'999999999999999.999'", "'-999999999999999.999'", "'7'"),
    "DECIMAL(38,0)": ("repeat('9', 38)", "'-' || repeat('9', 38)", "'7'"),
    "DECIMAL(38,10)": (
        *(f"{sign} || repeat('9', 28) || '.' || repeat('9', 10)" for sign in ("''", "'-'")),
        *("repeat('9', 28)", "'7.0'"),
    ),
    "DECIMAL(38,38)": ("'0.' || repeat('9', 38)", "'-0.' || repeat('9', 38)"),
    "FLOAT": ("'3.4028235e38'", "'-3.4028235e38'", "'1e-45'", "'nan'", "'inf'", "'-inf'", "'-0.0'"),
    "DOUBLE": (f"'{LARGEST}'", f"'-{LARGEST}'", f"'{LEAST}'", "'nan'", "'inf'", "'-inf'", "'-0.0'"),
    "BOOLEAN": ("true", "false"),
    "VARCHAR": TEXTS,
    "DATE": ("'infinity'", "'-infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'", "'294247-01-11'"),
    "TIMESTAMP": (
        *("'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'"),
    ),
    "TIMESTAMP_S": ("'infinity'", "'-infinity'", "'294247-01-10 04:00:54'", "'0001-01-01'"),
    "TIMESTAMP_MS": ("'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775'", "'0001-01-01'"),
    "TIMESTAMP_NS": ("'infinity'", "'-infinity'", "'1677-09-22 00:00:00'", "'2262-04-11 23:47:16.854775'"),
    "TIMESTAMPTZ": (
        "'infinity'",
        "'-infinity'",
        "'290309-12-22 (BC) 00:00:00+00'",
        "'294247-01-10 04:00:54+00'",
    ),
    "TIME": ("'00:00:00'", "'23:59:59.999999'", "'24:00:00'"),
    "TIMETZ": ("'00:00:00+15:59:59'", "'24:00:00-15:59:59'"),
    "INTERVAL": ("INTERVAL (2147483647) MONTH", "INTERVAL (-2147483648) DAY", "INTERVAL 1 DAY"),
    "UUID": ("'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
    "BLOB": ("'\\xFF\\x00'::BLOB", "''::BLOB"),
    "BIT": ("'101'", "'0'"),
    "ENUM ('a', '')": ("'a'", "''"),
    "INTEGER[]": ("[2147483647, NULL]", "[]"),
    "STRUCT(a INTEGER)": ("{'a': 7}", "{'a': NULL}"),
    "MAP(VARCHAR, INTEGER)": ("MAP {'a': 1}",),
}
POSTGRES = {
    "smallint": ("-32768", "32767"),
    "integer": ("-2147483648", "2147483647"),
    "bigint": ("-9223372036854775808", "9223372036854775807"),
    "numeric": (
        *("'NaN'", "'Infinity'", "'-Infinity'", "'1e131071'", "'-1e131071'", "'1e-16383'", "'7.50'", "7"),
        "repeat('9', 60)::numeric",
    ),
    "numeric(38,10)": ("repeat('9', 28)::numeric", "-repeat('9', 28)::numeric", "'NaN'", "7"),
    "numeric(9,2)": ("9999999.99", "-9999999.99", "'NaN'", "0"),
    "numeric(1000,0)": ("repeat('9', 1000)::numeric", "'NaN'"),
    "numeric(1000,1000)": ("('0.' || repeat('9', 1000))::numeric", "'NaN'"),
    "numeric(5,-3)": ("99999000", "'NaN'"),
    "numeric(3,5)": ("0.00999", "'NaN'"),
    "real": ("3.4028235e38", "-3.4028235e38", "'1e-45'", "'NaN'", "'Infinity'", "'-Infinity'", "'-0'"),
    "double precision": (f"'{LARGEST}'", f"'-{LARGEST}'", f"'{LEAST}'", "'NaN'", "'Infinity'", "'-0'"),
    "boolean": ("true", "false"),
    "text": TEXTS,
    "varchar(20)": ("repeat('9', 20)", "''"),
    "char(9)": ("'7'", "''"),
    '"char"': ("'a'", "''"),
    "name": ("'a'",),
    "date": (
        *("'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'", "'294277-01-01'"),
        *("'294276-12-31'", "'0001-01-01'", "'9999-12-31'"),
    ),
    "timestamp": ("'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31 23:59:59.999999'"),
    "timestamptz": (
        "'infinity'",
        "'-infinity'",
        "'4713-01-01 00:00+00 BC'",
        "'294276-12-31 23:59:59.999999+00'",
    ),
    "time": ("'00:00'", "'24:00'"),
    "timetz": ("'00:00+15:59:59'", "'24:00-15:59:59'"),
    "interval": ("'178000000 years'", "'-178000000 years'", "'1 day'", "'24 hours'"),
    "uuid": ("'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
    "bytea": ("'\\x00ff'", "''"),
    "json": ("'{\"a\": 1e999}'", "'null'"),
    "jsonb": ("'[1, null]'", "'\"\\u00e9\"'"),
    "integer[]": ("'{2147483647, NULL}'", "'{}'"),
    "bit(3)": ("'101'",),
    "money": ("'-92233720368547758.08'", "'92233720368547758.07'"),
    "inet": ("'::1'", "'255.255.255.255'"),
    "oid": ("0", "4294967295"),
    "int4range": ("'(,)'", "'empty'"),
    "point": ("'(1e308, NaN)'",),
    "tsvector": ("'a:1'",),
    "pg_lsn": ("'FFFFFFFF/FFFFFFFF'",),
}
SPARK = {
    "TINYINT": ("-128", "127"),
    "SMALLINT": ("-32768", "32767"),
    "INT": ("'-2147483648'", "2147483647"),
    "BIGINT": ("'-9223372036854775808'", "9223372036854775807"),
    "DECIMAL(9,2)": ("'9999999.99'", "'-9999999.99'"),
    "DECIMAL(38,0)": ("repeat('9', 38)", "concat('-', repeat('9', 38))"),
    "DECIMAL(38,10)": ("concat(repeat('9', 28), '.', repeat('9', 10))", "repeat('9', 28)", "'7.0'"),
    "DECIMAL(38,38)": ("concat('0.', repeat('9', 38))", "'0'"),
    "FLOAT": ("'3.4028235e38'", "'-3.4028235e38'", "'1e-45'", "'NaN'", "'Infinity'", "'-0.0'"),
    "DOUBLE": (f"'{LARGEST}'", f"'-{LARGEST}'", f"'{LEAST}'", "'NaN'", "'Infinity'", "'-Infinity'", "'-0.0'"),
    "BOOLEAN": ("true", "false"),
    "STRING": TEXTS,
    "DATE": ("'0001-01-01'", "'9999-12-31'", "'+294247-01-10'", "'+5881580-07-11'", "'-5877641-06-23'"),
    "TIMESTAMP": ("'0001-01-01'", "'+294247-01-10T04:00:54.775807Z'", "'-290308-12-21T19:59:06.224192Z'"),
    "TIMESTAMP_NTZ": ("'0001-01-01'", "'+294247-01-10T04:00:54.775807'", "'-290308-12-21T19:59:06.224192'"),
    "BINARY": ("X'00FF'", "X''"),
    "ARRAY<INT>": ("array(2147483647, NULL)", "array()"),
    "MAP<STRING, INT>": ("map('a', 1)",),
    "STRUCT<a: INT>": ("named_struct('a', 7)",),
}
DECLARED: dict[str, dict[str, Any]] = {
    "whole": {"type": "integer"},
    "steps": {"type": "integer", "low": -3, "high": 5},
    "wide": {"type": "integer", "low": -(2**40), "high": 2**40},
    "number": {"type": "decimal"},
    "cents": {"type": "decimal", "low": -2, "high": 2, "resolution": "0.01"},
    "thirds": {"type": "decimal", "low": 0, "high": 9, "resolution": "0.3"},
    "word": {"type": "text"},
    "free": {"type": "category"},
    "kind": {"type": "category", "values": ["a", "", "7"]},
    "flag": {"type": "boolean"},
    "day": {"type": "date"},
    "near": {"type": "date", "low": "2000-01-01", "high": "2010-01-01"},
    "time": {"type": "timestamp"},
    "late": {"type": "timestamp", "low": "2000-01-01T00:00:00", "high": "2010-01-01T00:00:00"},
}
QUESTIONS = (
    "SELECT " + ", ".join(f"COUNT({name}) AS n{place}" for place, name in enumerate(DECLARED)) + " FROM t",
    "SELECT SUM(steps) AS a, SUM(wide) AS b, AVG(cents) AS c, SUM(thirds) AS d, COUNT(DISTINCT free) AS e, "
    "COUNT_IF(flag) AS f, COUNT_IF(kind = 'a') AS g, COUNT_IF(whole > 3) AS h, COUNT_IF(number < 0.5) AS i "
    "FROM t",
    "SELECT COUNT(CAST(word AS DOUBLE)) AS a, COUNT(CAST(word AS INTEGER)) AS b, COUNT(CAST(free AS DATE)) "
    "AS c, COUNT_IF(word LIKE '%a%9%a%b_') AS d, COUNT(SUBSTR(word, -2, 3)) AS e, COUNT_IF(YEAR(day) = 2020) "
    "AS f, COUNT_IF(UPPER(word) = LOWER(free)) AS g, COUNT(whole * whole) AS h, COUNT(number / whole) AS i, "
    "COUNT(ROUND(number, 3)) AS j, COUNT(DATE_TRUNC('week', time)) AS k, COUNT(CAST(number AS VARCHAR)) AS l "
    "FROM t",
)
OF_PEOPLE = "SELECT COUNT(*) AS n, SUM(s) AS s FROM (SELECT who, SUM(steps) AS s FROM t GROUP BY who)"
BY_DAY = {"VARCHAR", "STRING", "DECIMAL(38,10)", "DATE", "text", "numeric", "date", "numeric(1000,0)"}


PERSONS = [
    pytest.param(person, marks=() if person == "" else pytest.mark.night)
    for person in ("", "integer", "text")
]
"""Who a person is, on Spark: without a column by day, by each kind of column by night."""


def by_day(types: Mapping[str, object]) -> list[Any]:
    """Few types by day, all of them by night."""
    return [pytest.param(name, marks=() if name in BY_DAY else pytest.mark.night) for name in types]


def columns(person: str = "") -> dict[str, Any]:
    who = {"who": {"type": person, "role": "identifier"}} if person else {}
    return {**DECLARED, **who}


def policy(source: str, *, person: str = "", **more: Any) -> Policy:
    table: dict[str, Any] = {"source": source, "columns": columns(person)}
    if person:
        table |= {"person": "who", "rows_per_person": 3}
    promise = {"prior": "1%", "posterior": "5%"}
    return Policy.model_validate({"promise": promise, "tables": {"t": table}, **more})


def selected(values: tuple[str, ...], kind: str) -> str:
    """A table of the values, each in every declared column, and of NULL."""
    rows = " UNION ALL ".join(f"SELECT CAST({value} AS {kind}) AS x" for value in (*values, "NULL"))
    shown = ", ".join(f"x AS {name}" for name in (*DECLARED, "who"))
    return f"SELECT {shown} FROM ({rows}) AS v"


def assert_counts(engine: Engine, terms: Policy, question: str) -> None:
    made = plan_query(question, terms, PROMISE, epsilon=1)
    for statement in (made.statement, *(each.statement for each in made.value_selections.values())):
        assert engine.count(statement).secret.num_rows > 0


@contextmanager
def refused_or_open(opened: Any) -> Iterator[Engine | None]:
    """An engine over a policy, or None where the policy's columns are refused."""
    with ExitStack() as stack:
        try:
            engine = stack.enter_context(opened())
        except RequestError:
            engine = None
        yield engine


# -- DuckDB -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("person", ["", "integer", "text"])
@pytest.mark.parametrize("kind", by_day(DUCKDB))
def test_no_value_of_a_file_raises(kind: str, person: str, tmp_path: Path) -> None:
    source = tmp_path / "t.duckdb"
    with duckdb.connect(str(source)) as connection:
        connection.execute(f"CREATE TABLE t AS {selected(DUCKDB[kind], kind)}")
    terms = policy(f"{source}#t", person=person)
    with refused_or_open(lambda: DuckDB.open(prepare_store(terms, None))) as engine:
        if engine is not None:
            for question in (OF_PEOPLE,) if person else QUESTIONS:
                assert_counts(engine, terms, question)


# -- PostgreSQL ---------------------------------------------------------------------------------------------


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("kind", by_day(POSTGRES))
def test_no_value_of_postgresql_raises(kind: str, postgres: PostgresServer) -> None:
    schema = f"x{next(postgres._numbers)}"
    postgres.run(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.t AS {selected(POSTGRES[kind], kind)}")
    for person in ("", "integer", "text"):
        for store in ({}, {"store": f"{schema}_store{person}"}):
            terms = policy(f"{schema}.t", person=person, engine=postgres.url, **store)
            if store:
                postgres.run(f"CREATE SCHEMA {store['store']}")
            with refused_or_open(lambda terms=terms: PostgreSQL.open(terms, postgres.url, KEY)) as engine:
                if engine is not None:
                    for question in (OF_PEOPLE,) if person else QUESTIONS:
                        assert_counts(engine, terms, question)


# -- Spark --------------------------------------------------------------------------------------------------


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("person", PERSONS)
@pytest.mark.parametrize("kind", by_day(SPARK))
def test_no_value_of_spark_raises(kind: str, person: str, spark: SparkServer, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    source = str(tmp_path / "t.parquet")
    session: Any = SparkSession.active()
    session.sql(selected(SPARK[kind], kind)).write.parquet(source)
    terms = policy(source, person=person, engine=ADDRESS)
    with refused_or_open(lambda: Spark.open(terms, ADDRESS, KEY)) as engine:
        if engine is not None:
            for question in (OF_PEOPLE,) if person else QUESTIONS:
                assert_counts(engine, terms, question)
