"""Late columns: a question that is answered without encoding every row finds what the encoded rows hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import duckdb as duckdb_driver
import pytest

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_literal
from discreet.engines import policy_tables
from discreet.engines.deferred_encoding import DEFERRED_PREFIX, build_deferring_translator
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres_connection import connect_postgres, fetch_table
from discreet.engines.postgres_tables import DIALECT, PostgresTable, find_postgres_table
from discreet.engines.prepared_store import prepare_store
from discreet.sql.planner import plan_query
from tests.engines.servers import PostgresServer
from tests.sql.example import LEAK, TAILED

WARDS = ["a", "b ", "it's", "ß", "empty"]
WARD = {"type": "category", "values": WARDS}
COST = {"type": "decimal", "low": "-1.5", "high": 500, "resolution": "0.01"}
COLUMNS = {"ward": WARD, "cost": COST, "age": {"type": "integer", "low": 0, "high": 9}}
FOUND = ["'a'", "'A'", "'b '", "'b'", "'it''s'", "'ß'", "'SS'", "''", "'nowhere'", "NULL"]
COSTS = ["12.34", "-0.01", "-1.50", "-1.51", "-9999999.99", "500.00", "500.01", "9999999.99", "0.29", "NULL"]
NAN = "'NaN'::numeric"


def inserted(costs: list[str]) -> str:
    """Every text beside every number, and each pair as often as its place."""
    rows = [
        f"({ward}, {cost}, {number % 12})"
        for number, ward in enumerate(FOUND)
        for cost in costs[number % 3 :]
        for _ in range(1 + number % 4)
    ]
    return f"INSERT INTO late.visits VALUES {', '.join(rows)}"


CREATED = ("CREATE SCHEMA late", "CREATE TABLE late.visits (ward text, cost numeric(9, 2), age integer)")


def policy(source: str, **more: Any) -> Policy:
    columns = {**COLUMNS, **more}
    table = {"source": source, "person": "row", "columns": columns}
    promise = {"prior": "1%", "posterior": "5%"}
    return Policy.model_validate({"promise": promise, "tables": {"visits": table}})


@pytest.fixture(scope="module")
def filled(postgres: PostgresServer) -> PostgresServer:
    postgres.run(*CREATED, inserted([*COSTS, NAN]), "ANALYZE late.visits")
    return postgres


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same rows for DuckDB, which has no NaN among its exact numbers."""
    path = tmp_path_factory.mktemp("late") / "visits.parquet"
    with duckdb_driver.connect() as connection:
        for each in (*CREATED, inserted([*COSTS, "NULL"])):
            connection.execute(each)
        connection.execute(f"COPY late.visits TO '{path}' (FORMAT parquet)")
    return str(path)


@contextmanager
def both(postgres: PostgresServer, rows: str, **more: Any) -> Iterator[tuple[Engine, Engine]]:
    """An engine that encodes as late as can be, and one that reads what was encoded before."""
    with (
        postgres.open(policy("late.visits", **more)) as late,
        DuckDB.open(prepare_store(policy(rows, **more), None)) as encoded,
    ):
        yield late, encoded


def counted(engine: Engine, statement: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in engine.count(statement).secret.to_pylist()), key=repr)


BY_WARD = "SELECT ward, COUNT(*), SUM(cost), AVG(cost) FROM visits GROUP BY ward"
QUESTIONS = [
    BY_WARD,
    "SELECT ward, age, SUM(cost) FROM visits WHERE age >= 2 GROUP BY ward, age",
    "SELECT COUNT(ward), COUNT(cost), SUM(cost) FROM visits",
    "SELECT ward, COUNT(*) FROM visits WHERE cost > 12 GROUP BY ward",
    "SELECT SUM(cost) FROM visits WHERE ward IS NULL OR ward = 'b '",
    "SELECT ward, SUM(cost) FILTER (WHERE age > 3) AS s FROM visits GROUP BY ward",
    "SELECT ward, STDDEV(cost) FROM visits GROUP BY ward",
    "SELECT ward = 'a' AS k, COUNT(DISTINCT ward), SUM(-cost), SUM(cost) FROM visits GROUP BY k",
    "SELECT UPPER(ward) AS k, MEDIAN(cost) FROM visits GROUP BY k",
    "SELECT w, SUM(c) FROM (SELECT ward AS w, cost AS c FROM visits WHERE age < 7) AS s GROUP BY w",
    "SELECT CASE WHEN cost > 0 THEN ward END AS k, AVG(cost) FROM visits GROUP BY k",
]


@pytest.mark.parametrize(
    "more",
    [{}, {"ward": {**WARD, "nulls": True}}, {"cost": {**COST, "nulls": True, "resolution": "0.005"}}],
    ids=["", "NULL is a group", "steps of half a cent"],
)
def test_every_question_is_counted_as_if_each_row_were_encoded(
    filled: PostgresServer, rows: str, more: dict[str, Any]
) -> None:
    """Text that is no declared value, or one but for case or blanks, and numbers beyond bounds, and NaN."""
    with both(filled, rows, **more) as (late, encoded):
        for question in QUESTIONS:
            made = plan_query(question, policy(rows, **more), TAILED, epsilon=1, leak=LEAK)
            for statement in (made.statement, *(each.statement for each in made.value_selections.values())):
                assert counted(late, statement) == counted(encoded, statement), question


LISTED = ", ".join(map(quote_literal, WARDS))
VALUES = f"CAST([{LISTED}] AS ENUM ({LISTED})[])"
DOMAIN, NULLABLE = f"SELECT unnest({VALUES}) AS k0", f"SELECT unnest(list_append({VALUES}, NULL)) AS k0"
BESIDE = f"SELECT {{}}.k0 FROM ({DOMAIN}) AS d LEFT JOIN ({DOMAIN}) AS e ON d.k0 = 'a' AND e.k0 = 'ß'"
GROUPS = 'SELECT "ward" AS k0, count(*) AS p0, sum("cost") AS p1 FROM "visits" GROUP BY 1'
JOINED = "SELECT d.k0, g.p0, g.p1 FROM ({}) AS d {} JOIN ({}) AS g ON {}"
SAME = "d.k0 IS NOT DISTINCT FROM g.k0"
STATEMENTS = [
    JOINED.format(DOMAIN, "LEFT", GROUPS, SAME),
    JOINED.format(NULLABLE, "LEFT", GROUPS, SAME),
    JOINED.format(DOMAIN.replace("'a'", "'a', 'nowhere'"), "LEFT", GROUPS, SAME),
    JOINED.format(DOMAIN, "", GROUPS, SAME),
    JOINED.format(DOMAIN, "LEFT", f"{GROUPS} ORDER BY p0 LIMIT 1", SAME),
    JOINED.format(DOMAIN, "LEFT", GROUPS, "d.k0 IS NOT DISTINCT FROM d.k0"),
    JOINED.format(DOMAIN, "LEFT", GROUPS, f"NOT ({SAME})"),
    JOINED.format(DOMAIN, "LEFT", GROUPS, f"{SAME} OR g.p0 > 9"),
    JOINED.format(DOMAIN, "LEFT", GROUPS, "g.p0 > 9"),
    JOINED.format(DOMAIN, "LEFT", GROUPS, f"{SAME} AND g.p0 > 9"),
    JOINED.format(DOMAIN, "LEFT", GROUPS, SAME).replace("SELECT d.k0,", "SELECT g.k0,"),
    JOINED.format(BESIDE.format("d"), "LEFT", GROUPS, SAME),
    JOINED.format(BESIDE.format("e"), "LEFT", GROUPS, SAME),
    JOINED.format(f"SELECT CASE WHEN k0 = 'a' THEN k0 END AS k0 FROM ({DOMAIN}) AS d", "LEFT", GROUPS, SAME),
    JOINED.format(f"SELECT max(k0) AS k0 FROM ({DOMAIN}) AS d WHERE k0 = 'z'", "LEFT", GROUPS, SAME),
    f"SELECT count(*) AS n, max(p0) AS m FROM ({GROUPS}) AS g",
    f"SELECT p0 FROM ({GROUPS}) AS g ORDER BY p0 LIMIT 3",
    f"SELECT p0 FROM ({GROUPS}) AS g UNION ALL SELECT p0 FROM ({GROUPS}) AS g",
    GROUPS,
    'SELECT DISTINCT "ward" FROM "visits"',
    'SELECT count(*) AS n FROM (SELECT DISTINCT "ward", "cost" FROM "visits") AS s',
    'SELECT "ward", "cost" FROM "visits" WHERE "age" = 3',
    'SELECT max("ward") AS w, min("cost") AS c, max("cost") AS d FROM "visits"',
    'SELECT "cost" AS c, count(*) AS n FROM "visits" GROUP BY 1',
    'SELECT "age", count("cost") AS n, count(DISTINCT "cost") AS m FROM "visits" GROUP BY 1',
    'SELECT "age", sum("cost") AS n, sum(2 * "cost") AS s FROM "visits" GROUP BY 1',
    'SELECT sum_no_overflow("cost") AS s, sum("cost") AS t FROM "visits" WHERE "age" > 100',
    'SELECT l."age", sum(r."cost") AS s FROM (SELECT DISTINCT "age" FROM "visits") AS l '
    'LEFT JOIN (SELECT "age" AS a, "cost" FROM "visits") AS r ON l."age" = r.a GROUP BY 1',
]


def test_no_statement_takes_what_is_late_for_a_value(filled: PostgresServer, rows: str) -> None:
    with both(filled, rows) as (late, encoded):
        for statement in STATEMENTS:
            assert counted(late, statement) == counted(encoded, statement), statement


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (BY_WARD, {"ward", "cost"}),
        ("SELECT ward, age, AVG(cost) FROM visits WHERE age > 3 GROUP BY ward, age", {"ward", "cost"}),
        ("SELECT AVG(cost) FROM visits WHERE ward = 'a'", {"cost"}),
        ("SELECT ward, STDDEV(cost) FROM visits GROUP BY ward", {"ward"}),
        ("SELECT COUNT(DISTINCT ward) FROM visits WHERE cost > 7", set()),
    ],
)
def test_only_columns_of_which_no_row_is_asked_for_its_value_are_late(
    question: str, expected: set[str]
) -> None:
    assert read(question, few={"ward"}) == expected


def test_text_of_many_kinds_is_compared_row_by_row() -> None:
    assert read(BY_WARD, few=set()) == {"cost"}


def test_what_the_server_knows_of_a_column_says_whether_it_has_few_values(filled: PostgresServer) -> None:
    filled.run(
        "CREATE TABLE late.kinds (few text, many text)",
        "INSERT INTO late.kinds SELECT 'x' || i % 5, 'x' || i FROM generate_series(1, 1000) AS i",
    )
    assert known(filled, "late.kinds") == set()
    filled.run("ANALYZE late.kinds", "CREATE VIEW late.seen AS SELECT * FROM late.kinds")
    assert known(filled, "late.kinds") == {"few"}
    assert known(filled, "late.seen") == set()


def known(server: PostgresServer, source: str) -> set[str]:
    """The columns that are known to have few values."""
    with closing(connect_postgres(server.url)) as connection:
        own = find_postgres_table(lambda text: fetch_table(connection, text), "t", source)
    return {column for column in own.column_types if own.has_few_values(column)}


def read(question: str, few: set[str]) -> set[str]:
    """The columns that are late in a question's statement."""
    terms = policy("late.visits")
    types = {"ward": ("text", "text"), "cost": ("numeric", "numeric(9,2)"), "age": ("integer", "integer")}
    own = PostgresTable(
        name="visits",
        source="late.visits",
        qualified_name=("late", "visits"),
        column_types=types,
        low_cardinality_columns=frozenset(few),
        builtin=frozenset(types),
    )
    tables = policy_tables.build_policy_tables(
        terms, {"visits": own.to_engine_table({name: name for name in COLUMNS})}, DIALECT
    )
    encoded = StatementTranslator(dialect=DIALECT, relations=tables.relations)
    written = build_deferring_translator(terms, {"visits": own}, encoded, dict(tables.definitions))
    found = written(plan_query(question, terms, TAILED, epsilon=1, leak=LEAK).statement)
    (called,) = found.tables
    return (
        set(json.loads(called.removeprefix(DEFERRED_PREFIX))[1:])
        if called.startswith(DEFERRED_PREFIX)
        else set()
    )
