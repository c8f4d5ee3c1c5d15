"""Questions that schema, policy and public tables answer: nothing is charged at any frontend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from discreet.pgwire.postgres_types import PostgresType
from discreet.services.curator import Curator
from tests.http.served import Server, both_listeners
from tests.pgwire.served import PASSWORD, write_data, write_public_table

TYPES = {
    "integer": (pa.types.is_integer, PostgresType.BIGINT),
    "number": (pa.types.is_floating, PostgresType.DOUBLE),
    "text": (pa.types.is_string, PostgresType.TEXT),
    "boolean": (pa.types.is_boolean, PostgresType.BOOLEAN),
    "date": (pa.types.is_date, PostgresType.DATE),
}
PEOPLE = {"age": "integer", "height": "number", "sex": "text", "smoker": "boolean", "born": "date"}
BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(height) AS h FROM people GROUP BY sex"
SEXES = [["Male"], ["Female"], ["Other"]]
WARDS = [[1], [2]]
Rows = Sequence[Sequence[object]]
NONE: Rows = ()
FREE: list[tuple[str, dict[str, str], Rows]] = [
    (f"{BY_SEX} LIMIT 0", {"sex": "text", "n": "integer", "h": "number"}, NONE),
    (f"SELECT * FROM ({BY_SEX}) AS t LIMIT 0", {"sex": "text", "n": "integer", "h": "number"}, NONE),
    (f"SELECT h, n FROM ({BY_SEX}) AS t WHERE 1 = 0", {"h": "number", "n": "integer"}, NONE),
    ("SELECT sex, SUM(age) AS s FROM people WHERE FALSE GROUP BY sex", {"sex": "text", "s": "integer"}, NONE),
    (
        "SELECT COUNT(*) AS n, SUM(age) AS s FROM people WHERE FALSE",
        {"n": "integer", "s": "integer"},
        [[0, None]],
    ),
    ("SELECT * FROM (SELECT * FROM visits) AS v WHERE 1 <> 1", {"cost": "integer"}, NONE),
    ("SELECT age, height, sex, smoker, born FROM people LIMIT 0", PEOPLE, NONE),
    (
        "SELECT born, age + 1 AS a FROM people WHERE age > 30 AND FALSE",
        {"born": "date", "a": "integer"},
        NONE,
    ),
    (
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING FALSE",
        {"sex": "text", "n": "integer"},
        NONE,
    ),
    ("SELECT DISTINCT sex FROM people", {"sex": "text"}, SEXES),
    ("SELECT sex AS s FROM people GROUP BY sex", {"s": "text"}, SEXES),
    ("SELECT DISTINCT sex FROM people ORDER BY sex DESC NULLS LAST LIMIT 1", {"sex": "text"}, [["Other"]]),
    ("SELECT DISTINCT smoker FROM people", {"smoker": "boolean"}, [[False], [True]]),
    ("SELECT COUNT(*) AS n FROM (SELECT DISTINCT sex FROM people) AS t", {"n": "integer"}, [[3]]),
    ("SELECT * FROM wards", {"ward": "integer"}, WARDS),
    ("SELECT SUM(ward) AS s, AVG(ward) AS a FROM wards", {"s": "integer", "a": "number"}, [[3, 1.5]]),
    (
        "SELECT a.ward, RANK() OVER (ORDER BY b.ward DESC) AS r FROM wards AS a JOIN wards AS b USING (ward)",
        {"ward": "integer", "r": "integer"},
        [[2, 1], [1, 2]],
    ),
]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("free")
    write_data(folder)
    write_public_table(folder)
    with both_listeners(folder) as running:
        yield running


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    folder: Path = tmp_path_factory.mktemp("python")
    write_data(folder)
    write_public_table(folder)
    with Curator.open(folder / "privacy.yaml", analyst="alice") as curator:
        yield curator


@pytest.fixture
def connection(serving: Server) -> Iterator[psycopg.Connection]:
    address: dict[str, Any] = {"host": "127.0.0.1", "port": serving.postgres, "dbname": "discreet"}
    with psycopg.connect(**address, user="alice", password=PASSWORD, autocommit=True) as connection:
        yield connection


def sort_rows(rows: Rows) -> list[str]:
    return sorted(map(str, map(list, rows)))


@pytest.mark.parametrize(("sql", "columns", "rows"), FREE)
def test_python_is_answered_for_nothing(
    curator: Curator, sql: str, columns: dict[str, str], rows: Rows
) -> None:
    plan, answer = curator.plan(sql), curator.ask(sql)
    assert (plan.cost, plan.repeated, answer.epsilon, answer.entries) == (0, True, 0, ())
    assert answer.table.column_names == [*columns]
    for name, kind in columns.items():
        assert TYPES[kind][0](answer.table.schema.field(name).type), name
    assert sort_rows(answer.rows) == sort_rows(rows)
    assert curator.ask(sql, free=True).table.equals(answer.table)
    assert curator.ledger.list_entries() == []


@pytest.mark.parametrize(("sql", "columns", "rows"), FREE)
def test_http_is_answered_for_nothing(serving: Server, sql: str, columns: dict[str, str], rows: Rows) -> None:
    charged = serving.charges()
    with serving.client() as client:
        plan = client.post("/api/plan", json={"sql": sql}).json()
        answer = client.post("/api/ask", json={"sql": sql}).json()
        arrow = client.post("/api/ask?format=arrow", json={"sql": sql}).content
    assert (plan["epsilon"], answer["epsilon"], answer["entries"]) == (0, 0, [])
    assert answer["columns"] == [*columns]
    assert sort_rows(answer["rows"]) == sort_rows(rows)
    schema = pa.ipc.open_stream(arrow).schema
    assert all(TYPES[kind][0](schema.field(name).type) for name, kind in columns.items())
    assert serving.charges() == charged


@pytest.mark.parametrize(("sql", "columns", "rows"), FREE)
def test_psql_is_answered_for_nothing(
    serving: Server, connection: psycopg.Connection, sql: str, columns: dict[str, str], rows: Rows
) -> None:
    charged, notices = serving.charges(), list[str]()
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    cursor = connection.execute(sql)
    told = [(each.name, each.type_code) for each in cursor.description or ()]
    assert told == [(name, TYPES[kind][1].oid) for name, kind in columns.items()]
    assert sort_rows([[*row] for row in cursor.fetchall()]) == sort_rows(rows)
    assert any(each.startswith("cost: nothing") for each in notices)
    explained = [line for (line,) in connection.execute(f"EXPLAIN {sql}").fetchall()]
    assert explained[0] == "cost: nothing: it follows from the question and the policy"
    assert serving.charges() == charged


def test_a_question_is_explained_for_nothing_or_refused_with_the_way(
    serving: Server, connection: psycopg.Connection
) -> None:
    charged = serving.charges()
    lines = [line for (line,) in connection.execute(f"EXPLAIN {BY_SEX}").fetchall()]
    assert lines[0].startswith("cost: epsilon 0.1")
    with serving.client() as client:
        refused = client.post("/api/ask", json={"sql": f"EXPLAIN {BY_SEX}"})
        assert (refused.status_code, refused.json()["hint"]) == (
            400,
            "Plan the SELECT instead, which is free.",
        )
        assert client.post("/api/plan", json={"sql": BY_SEX}).json()["epsilon"] == 0.1
    assert serving.charges() == charged
