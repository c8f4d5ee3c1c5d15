"""One person to the database is one person to us, or the column is refused: every type of every engine.

Each case is a type, values of it in several spellings, and whether a column of it can name people. Where it
can, we see as many people as the engine has different values; where it cannot, opening refuses it by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pytest

from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.postgres import PostgreSQL
from discreet.engines.prepared_store import prepare_store
from tests.engines.servers import ADDRESS, KEY, PostgresServer, SparkServer

postgres_group = pytest.mark.xdist_group("postgres")
spark_group = pytest.mark.xdist_group("spark")
PEOPLE = 'SELECT count(*) AS n FROM "visits" WHERE "_discreet_rank" = 1'
ROWS = 'SELECT count(*) AS n FROM "visits" WHERE "_discreet_rank" <= 2'
GROUPS = 'SELECT count(*) AS n FROM (SELECT "kind" FROM "visits" GROUP BY "kind")'
DISTINCT = 'SELECT count(DISTINCT "kind") AS n FROM "visits"'
NUMBERS = count()


@dataclass(frozen=True, kw_only=True)
class Case:
    """A type, values of it as SQL, and whether it can name people; `day` cases are not left to the night."""

    type: str
    values: Sequence[str]
    named: bool
    day: bool = False


def cases(*found: Case) -> list[Any]:
    return [
        pytest.param(each, id=each.type, marks=() if each.day else (pytest.mark.night,)) for each in found
    ]


def quoted(*texts: str) -> list[str]:
    return [f"'{text}'" for text in texts]


def policy_of(sources: Mapping[str, str], store: str | None = None, person: str = "who") -> Policy:
    columns = {"who": {"type": "text", "role": "identifier"}, "kind": {"type": "text"}}
    tables = {
        name: {"source": source, "person": person, "rows_per_person": 2, "columns": columns}
        for name, source in sources.items()
    }
    return Policy.model_validate({"tables": tables, **({"store": store} if store else {})})


def counted(engine: Engine, sql: str) -> int:
    return int(engine.count(sql).secret.to_pylist()[0]["n"])


def check(engine: Engine, people: int) -> None:
    """Each value stands in two rows, so that nobody is left out who has fewer than two."""
    assert counted(engine, PEOPLE) == people
    assert counted(engine, ROWS) == 2 * people
    assert counted(engine, GROUPS) == counted(engine, DISTINCT)


# -- PostgreSQL ---------------------------------------------------------------------------------------------

POSTGRES = cases(
    Case(type="text", values=quoted("Bob", "bob", "bob ", "Bób", "Bo" + "b"), named=True, day=True),
    Case(type="varchar(9)", values=quoted("a", "a ", "A"), named=True),
    Case(type="char(9)", values=quoted("a", "a ", "a   ", "b"), named=True, day=True),
    Case(type="name", values=quoted("a", "A"), named=True),
    Case(type='"char"', values=quoted("a", "b"), named=True),
    Case(type='text COLLATE "und-x-icu"', values=quoted("Bob", "bob", "é", "é"), named=True),
    Case(type="smallint", values=quoted("7", "07", "-7"), named=True),
    Case(type="bigint", values=quoted("9007199254740993", "9007199254740992"), named=True),
    Case(
        type="numeric",
        values=quoted("1.5", "1.50", "1.500", "1.5001", "7", "7.0", "1e40", "1.0e40"),
        named=True,
        day=True,
    ),
    Case(type="numeric(9,3)", values=quoted("1.5", "1.50", "7"), named=True),
    Case(type="real", values=quoted("0.1", "0", "-0", "1e10"), named=True),
    Case(type="double precision", values=quoted("0.1", "0", "-0", "0.1000", "1e300", "Infinity"), named=True),
    Case(type="boolean", values=quoted("t", "true", "no"), named=True),
    Case(type="date", values=quoted("2020-01-01", "20200101", "infinity"), named=True),
    Case(type="time", values=quoted("10:00", "10:00:00.000"), named=True),
    Case(type="timetz", values=quoted("10:00+00", "11:00+01", "10:00:00+00"), named=True),
    Case(type="timestamp", values=quoted("2020-01-01", "2020-01-01 00:00:00.0"), named=True),
    Case(type="timestamptz", values=quoted("2020-01-01 00:00+00", "2020-01-01 01:00+01"), named=True),
    Case(
        type="uuid",
        values=quoted("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"),
        named=True,
    ),
    Case(type="bytea", values=[r"'\x61'", "'a'", r"'\x6162'"], named=True),
    Case(type="oid", values=quoted("7", "8"), named=True),
    Case(type="inet", values=quoted("10.0.0.1", "10.0.0.1/32", "10.0.0.1/8"), named=True),
    Case(type="cidr", values=quoted("10", "10.0.0.0/8"), named=True),
    Case(type="macaddr", values=quoted("08:00:2b:01:02:03", "08002b010203"), named=True),
    Case(type="bit(3)", values=quoted("101", "001"), named=True),
    Case(type="varbit", values=quoted("101", "0101"), named=True),
    Case(type="t_mood", values=quoted("sad", "Sad"), named=True),
    Case(type="t_number", values=quoted("1.5", "1.50"), named=True),
    Case(type="public.citext", values=quoted("Bob", "bob"), named=False, day=True),
    Case(type="text COLLATE t_folding", values=quoted("Bob", "bob"), named=False, day=True),
    Case(type="varchar(9) COLLATE t_folding", values=quoted("Bob", "bob"), named=False),
    Case(type="char(9) COLLATE t_folding", values=quoted("Bob", "bob"), named=False),
    Case(type="t_folded", values=quoted("Bob", "bob"), named=False),
    Case(type="t_citext", values=quoted("Bob", "bob"), named=False),
    Case(type="t_again", values=quoted("Bob", "bob"), named=False, day=True),
    Case(type="interval", values=quoted("1 day", "24 hours", "1 month", "30 days"), named=False, day=True),
    Case(type="t_span", values=quoted("1 day", "24 hours"), named=False),
    Case(type="jsonb", values=quoted('{"a": 1.0}', '{"a": 1.00}'), named=False),
    Case(type="json", values=quoted("1", "1.0"), named=False),
    Case(type="numeric[]", values=quoted("{1.5}", "{1.50}"), named=False),
    Case(type="public.citext[]", values=quoted("{Bob}", "{bob}"), named=False),
    Case(type="double precision[]", values=quoted("{0}", "{-0}"), named=False),
    Case(type="numrange", values=quoted("[1.5,2)", "[1.50,2)"), named=False),
    Case(type="t_pair", values=quoted("(1.5,Bob)", "(1.50,bob)"), named=False),
    Case(type="money", values=quoted("1", "1.00"), named=False),
    Case(type="point", values=quoted("(1,2)", "(1.0,2)"), named=False),
    Case(type="xml", values=quoted("<a/>", "<a></a>"), named=False),
    Case(type="tsvector", values=quoted("a b", "b a"), named=False),
)
TYPES = (
    "CREATE EXTENSION IF NOT EXISTS citext SCHEMA public",
    "CREATE COLLATION t_folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    "CREATE TYPE t_mood AS ENUM ('sad', 'Sad')",
    "CREATE DOMAIN t_number AS numeric",
    "CREATE DOMAIN t_folded AS text COLLATE t_folding",
    "CREATE DOMAIN t_citext AS public.citext",
    "CREATE DOMAIN t_again AS t_citext CHECK (VALUE IS NOT NULL)",
    "CREATE DOMAIN t_span AS interval",
    "CREATE TYPE t_pair AS (number numeric, name public.citext)",
)


@pytest.fixture(scope="module")
def typed(postgres: PostgresServer) -> PostgresServer:
    postgres.run(*TYPES)
    return postgres


def put(server: PostgresServer, case: Case) -> tuple[str, int]:
    """A table in which each value stands in two rows, and how many different values the server finds."""
    name = f"public.identities{next(NUMBERS)}"
    rows = ", ".join(f"({value}, {value}), ({value}, {value})" for value in case.values)
    server.run(
        f"CREATE TABLE {name} (who {case.type}, kind {case.type})", f"INSERT INTO {name} VALUES {rows}"
    )
    from adbc_driver_postgresql import dbapi

    people = 0
    if case.named:
        with dbapi.connect(server.url) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT count(DISTINCT who) FROM {name}")
            people = cursor.fetchall()[0][0]
    return name, people


@postgres_group
@pytest.mark.parametrize("case", POSTGRES)
def test_one_person_to_postgresql_is_one_person_to_us(case: Case, typed: PostgresServer) -> None:
    source, people = put(typed, case)
    store = f"store{next(NUMBERS)}"
    typed.run(f"CREATE SCHEMA {store}")
    for policy in (policy_of({"visits": source}), policy_of({"visits": source}, store)):
        if not case.named:
            with pytest.raises(RequestError, match=r"column who of table visits .* can be equal and yet"):
                PostgreSQL.open(policy, typed.url, KEY)
            continue
        with PostgreSQL.open(policy, typed.url, KEY) as engine:
            check(engine, people)
    # a column that names nobody may be of any type
    with PostgreSQL.open(_by_row(source), typed.url, KEY) as engine:
        assert counted(engine, 'SELECT count(*) AS n FROM "visits"') == 2 * len(case.values)
        assert counted(engine, GROUPS) == counted(engine, DISTINCT)


def _by_row(source: str) -> Policy:
    table = {"source": source, "columns": {"kind": {"type": "text"}}}
    return Policy.model_validate({"tables": {"visits": table}})


@postgres_group
def test_one_person_spelled_in_many_ways_moves_a_count_by_no_more_than_two_rows(
    typed: PostgresServer,
) -> None:
    spellings = [f"'1.5{'0' * zeros}'" for zeros in range(16)]
    case = Case(type="numeric", values=["'7'", "'8'"], named=True)
    source, _ = put(typed, case)
    store = f"store{next(NUMBERS)}"
    typed.run(f"CREATE SCHEMA {store}")
    for policy in (policy_of({"visits": source}), policy_of({"visits": source}, store)):
        with PostgreSQL.open(policy, typed.url, KEY) as engine:
            assert counted(engine, ROWS) == 4
    typed.run(f"INSERT INTO {source} VALUES {', '.join(f'({each}, {each})' for each in spellings)}")
    raised = {"data_version": 2}
    for policy in (policy_of({"visits": source}), policy_of({"visits": source}, store)):
        with PostgreSQL.open(policy.model_copy(update=raised), typed.url, KEY) as engine:
            assert counted(engine, ROWS) == 6


NUMERALS = ("7", "7.0", "007", " 7", "7e0", "7.4", "-7", "1e2", "100", "x7", "9007199254740993")
WHOLE_NUMBERS = 6
"""The numbers 7, -7, 100 and 9007199254740993, and two texts that are no whole number."""


def _by_number(source: str) -> Policy:
    columns = {"who": {"type": "integer", "role": "identifier"}, "kind": {"type": "text"}}
    table = {"source": source, "person": "who", "rows_per_person": 2, "columns": columns}
    return Policy.model_validate({"tables": {"visits": table}})


def test_one_whole_number_is_one_person_to_duckdb_and_a_fraction_is_another(tmp_path: Path) -> None:
    file, _ = made(tmp_path, Case(type="VARCHAR", values=quoted(*NUMERALS), named=True))
    with DuckDB.open(prepare_store(_by_number(f"{file}#visits"), None)) as engine:
        check(engine, WHOLE_NUMBERS)


@postgres_group
def test_one_whole_number_is_one_person_to_postgresql_and_a_fraction_is_another(
    typed: PostgresServer,
) -> None:
    source, _ = put(typed, Case(type="text", values=quoted(*NUMERALS), named=True))
    with PostgreSQL.open(_by_number(source), typed.url, KEY) as engine:
        check(engine, WHOLE_NUMBERS)


@spark_group
@pytest.mark.night
def test_one_whole_number_is_one_person_to_spark_and_a_fraction_is_another(spark: SparkServer) -> None:
    from discreet.engines.spark import Spark

    case = Case(type="STRING", values=quoted(*NUMERALS), named=True)
    with spark_table(case) as (source, _), Spark.open(_by_number(source), ADDRESS, KEY) as engine:
        check(engine, WHOLE_NUMBERS)


@postgres_group
def test_a_link_and_its_key_are_refused_by_name(typed: PostgresServer) -> None:
    names = {kind: f"public.identities{next(NUMBERS)}" for kind in ("text", "citext")}
    for kind, name in names.items():
        typed.run(
            f"CREATE TABLE {name} (who bigint, visit {'public.citext' if kind == 'citext' else 'text'})"
        )
    for visits, drugs in (("text", "citext"), ("citext", "text")):
        policy = linked(names[visits], names[drugs])
        wrong = "drugs" if drugs == "citext" else "visits"
        with pytest.raises(RequestError, match=f"column visit of table {wrong} identifies people or"):
            PostgreSQL.open(policy, typed.url, KEY)
    PostgreSQL.open(linked(names["text"], names["text"]), typed.url, KEY).close()


def linked(visits: str, drugs: str) -> Policy:
    return Policy.model_validate(
        {
            "tables": {
                "visits": {
                    "source": visits,
                    "person": "who",
                    "columns": {
                        "who": {"type": "integer", "role": "identifier"},
                        "visit": {"type": "text", "role": "identifier"},
                    },
                },
                "drugs": {
                    "source": drugs,
                    "person": {"through": "visit"},
                    "links": {"visit": "visits.visit"},
                    "columns": {"visit": {"type": "text", "role": "identifier"}},
                },
            }
        }
    )


# -- DuckDB -------------------------------------------------------------------------------------------------

DUCKDB = cases(
    Case(type="VARCHAR", values=quoted("Bob", "bob", "bob "), named=True, day=True),
    Case(type="BOOLEAN", values=quoted("true", "t", "no"), named=True),
    Case(type="UTINYINT", values=quoted("7", "07"), named=True),
    Case(type="BIGINT", values=quoted("9007199254740993", "9007199254740992"), named=True),
    Case(type="HUGEINT", values=quoted("170141183460469231731687303715884105727", "1"), named=True),
    Case(type="UHUGEINT", values=quoted("340282366920938463463374607431768211455", "1"), named=True),
    Case(type="DECIMAL(9,2)", values=quoted("1.5", "1.50", "7"), named=True, day=True),
    Case(type="DECIMAL(38,0)", values=quoted("7", "8"), named=True),
    Case(type="FLOAT", values=quoted("0", "-0", "0.1"), named=True),
    Case(type="DOUBLE", values=quoted("0", "-0", "0.1", "1e300", "inf"), named=True, day=True),
    Case(type="DATE", values=quoted("2020-01-01"), named=True),
    Case(type="TIME", values=quoted("10:00:00", "10:00:00.000"), named=True),
    Case(type="TIMETZ", values=quoted("10:00:00+00", "11:00:00+01"), named=True),
    Case(type="TIMESTAMP", values=quoted("2020-01-01", "2020-01-01 00:00:00.000"), named=True),
    Case(type="TIMESTAMP_NS", values=quoted("2020-01-01", "2020-01-01 00:00:00.000000001"), named=True),
    Case(type="TIMESTAMPTZ", values=quoted("2020-01-01 00:00:00+00", "2020-01-01 01:00:00+01"), named=True),
    Case(
        type="UUID",
        values=quoted("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        named=True,
    ),
    Case(type="ENUM('a', 'A')", values=quoted("a", "A"), named=True),
    Case(type="BLOB", values=[r"'\x61'", "'a'", r"'\x5Cx61'"], named=True),
    Case(type="BIT", values=quoted("101", "0101"), named=True),
    Case(type="BIGNUM", values=quoted("7", "007", "-0", "0", "9" * 60), named=True),
    Case(type="VARCHAR COLLATE NOCASE", values=quoted("Bob", "bob"), named=False, day=True),
    Case(type="VARCHAR COLLATE NOACCENT", values=quoted("é", "e"), named=False),
    Case(type="VARCHAR COLLATE NFC", values=quoted("é", "é"), named=False),
    Case(type="VARCHAR COLLATE NOCASE.NOACCENT", values=quoted("É", "e"), named=False),
    Case(type="INTERVAL", values=quoted("1 month", "30 days", "720 hours"), named=False, day=True),
    Case(type="INTEGER[]", values=["[1]", "[1, 2]"], named=False),
    Case(type="STRUCT(a DOUBLE)", values=["{'a': 0.0}", "{'a': -0.0}"], named=False),
    Case(type="MAP(VARCHAR, INTEGER)", values=["MAP {'a': 1}"], named=False),
    Case(type="JSON", values=quoted("1", "1.0"), named=False),
)


def made(folder: Path, case: Case) -> tuple[Path, int]:
    file = folder / f"d{next(NUMBERS)}.duckdb"
    rows = ", ".join(f"({value}, {value}), ({value}, {value})" for value in case.values)
    with closing(duckdb.connect(str(file))) as connection:
        connection.execute(f"CREATE TABLE visits (who {case.type}, kind {case.type})")
        connection.execute(f"INSERT INTO visits VALUES {rows}")
        connection.execute("CREATE VIEW seen AS SELECT upper(kind::VARCHAR) AS k, * FROM visits")
        ((people,),) = connection.execute("SELECT count(DISTINCT who) FROM visits").fetchall()
    return file, people


@pytest.mark.parametrize("case", DUCKDB)
@pytest.mark.parametrize("name", ["visits", "seen"])
def test_one_person_to_duckdb_is_one_person_to_us(case: Case, name: str, tmp_path: Path) -> None:
    file, people = made(tmp_path, case)
    policy = policy_of({"visits": f"{file}#{name}"})
    if case.named:
        with DuckDB.open(prepare_store(policy, None)) as engine:
            check(engine, people)
        with DuckDBPublisher(dict(policy.tables)) as publisher:
            assert counted(publisher, 'SELECT count(DISTINCT "who") AS n FROM "visits"') == people
    else:
        for opened in (lambda: prepare_store(policy, None), lambda: DuckDBPublisher(dict(policy.tables))):
            with pytest.raises(RequestError, match=r"column who of table visits .* can be equal and yet"):
                opened()
    with DuckDB.open(prepare_store(_by_row(f"{file}#{name}"), None)) as engine:
        assert counted(engine, 'SELECT count(*) AS n FROM "visits"') == 2 * len(case.values)
        # by bytes, as everywhere: whatever collation the column has in its file
        texts = 'SELECT count(*) AS n FROM (SELECT encode("kind") FROM "visits" GROUP BY 1)'
        assert counted(engine, GROUPS) == counted(engine, DISTINCT) == counted(engine, texts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("DOUBLE", "DECIMAL(9,2)"),
        ("DECIMAL(9,1)", "DECIMAL(9,2)"),
        ("DATE", "TIMESTAMP"),
        ("FLOAT", "DOUBLE"),
    ],
)
def test_types_that_write_an_equal_value_differently_cannot_name_the_same_people(
    one: str, other: str, tmp_path: Path
) -> None:
    value = "'2020-01-01'" if one == "DATE" else "'1.5'"
    files = {
        name: made(tmp_path, Case(type=kind, values=[value], named=True))[0]
        for name, kind in (("visits", one), ("more", other))
    }
    with pytest.raises(RequestError, match=r"hold the same identifiers in the types"):
        prepare_store(policy_of({name: f"{file}#visits" for name, file in files.items()}), None)
    same = policy_of(dict.fromkeys(files, f"{files['visits']}#visits"))
    with DuckDB.open(prepare_store(same, None)) as engine:
        assert counted(engine, PEOPLE) == 1


# -- Spark --------------------------------------------------------------------------------------------------

SPARK = cases(
    Case(type="STRING", values=quoted("Bob", "bob", "bob "), named=True),
    Case(type="VARCHAR(9)", values=quoted("a", "a "), named=True),
    Case(type="BOOLEAN", values=["true", "false"], named=True),
    Case(type="SMALLINT", values=["7S", "8S"], named=True),
    Case(type="BIGINT", values=["9007199254740993L", "9007199254740992L"], named=True),
    Case(type="DECIMAL(9,2)", values=["1.5BD", "1.50BD", "7BD"], named=True),
    Case(type="FLOAT", values=["CAST(0 AS FLOAT)", "CAST('-0' AS FLOAT)", "CAST(0.1 AS FLOAT)"], named=True),
    Case(type="DOUBLE", values=["0D", "CAST('-0' AS DOUBLE)", "0.1D", "1e300D"], named=True),
    Case(type="BINARY", values=["X'61'", "X'6162'", "X'FF'", "X'FE'", "X'EFBFBD'"], named=True),
    Case(type="DATE", values=["DATE '2020-01-01'"], named=True),
    Case(
        type="TIMESTAMP",
        values=["TIMESTAMP '2020-01-01 00:00:00Z'", "TIMESTAMP '2020-01-01 01:00:00+01:00'"],
        named=True,
    ),
    Case(type="TIMESTAMP_NTZ", values=["TIMESTAMP_NTZ '2020-01-01 00:00:00'"], named=True),
    Case(type="STRING COLLATE UTF8_LCASE", values=quoted("Bob", "bob"), named=False),
    Case(type="STRING COLLATE UNICODE_CI", values=quoted("Bob", "bob"), named=False),
    Case(type="STRING COLLATE UNICODE", values=quoted("é", "é"), named=False),
    Case(type="STRING COLLATE UTF8_BINARY_RTRIM", values=quoted("a", "a "), named=False),
    Case(type="CHAR(9)", values=quoted("a", "a "), named=False),
    Case(type="ARRAY<STRING COLLATE UTF8_LCASE>", values=["array('a')", "array('A')"], named=False),
    Case(type="STRUCT<a: DOUBLE>", values=["named_struct('a', 1D)"], named=False),
    Case(type="INTERVAL DAY TO SECOND", values=["INTERVAL '1 0:0:0' DAY TO SECOND"], named=False),
)


@contextmanager
def spark_table(case: Case) -> Iterator[tuple[str, int]]:
    """A table of the catalogue, and how many different values Spark finds in it."""
    from pyspark.sql import SparkSession

    session = SparkSession.active()
    name = f"identities{next(NUMBERS)}"
    session.sql(f"CREATE TABLE {name} (who {case.type}, kind {case.type}) USING parquet")
    rows = ", ".join(f"({value}, {value}), ({value}, {value})" for value in case.values)
    session.sql(f"INSERT INTO {name} VALUES {rows}")
    try:
        yield name, session.sql(f"SELECT count(DISTINCT who) AS n FROM {name}").collect()[0]["n"]
    finally:
        session.sql(f"DROP TABLE {name}")


@spark_group
@pytest.mark.parametrize("case", SPARK)
def test_one_person_to_spark_is_one_person_to_us(case: Case, spark: SparkServer) -> None:
    from discreet.engines.spark import Spark

    with spark_table(case) as (source, people):
        for store in (None, str(spark.folder / f"store{next(NUMBERS)}")):
            policy = policy_of({"visits": source}, store)
            if not case.named:
                with pytest.raises(RequestError, match=r"column who of table visits .* can be equal and yet"):
                    Spark.open(policy, ADDRESS, KEY)
                continue
            with Spark.open(policy, ADDRESS, KEY) as engine:
                check(engine, people)
        with Spark.open(_by_row(source), ADDRESS, KEY) as engine:
            assert counted(engine, 'SELECT count(*) AS n FROM "visits"') == 2 * len(case.values)
            assert counted(engine, GROUPS) == counted(engine, DISTINCT)
