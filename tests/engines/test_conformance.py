"""Every engine counts what DuckDB counts: the same statements on the same rows, equal to the last integer.

DuckDB is the measure, as its own answers are checked against plain SQL in tests/sql. What an engine cannot do
yet is listed in UNSUPPORTED and refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.sql.planner import QueryPlan, plan_query
from tests.engines.servers import Server, SparkServer
from tests.engines.support import shows
from tests.sql import example
from tests.sql.test_fixtures import TOPICS, questions

SOME = {"spark": 14}
ANSWERED = Path(example.__file__).parent / "answered.sql"
UNSUPPORTED: dict[str, dict[str, str]] = {
    "postgresql": {"SELECT COUNT(*) FROM people WHERE age + 1 - 2 * 3 / 4 % 5 > -age": "remainder"},
    "spark": {},
}


def asked() -> dict[str, list[str]]:
    found = {topic.stem: questions(topic) for topic in TOPICS}
    found["answered"] = [each.strip() for each in re.split(r"\n\n+", ANSWERED.read_text()) if each.strip()]
    return found


def under(sources: dict[str, str], **more: Any) -> Policy:
    """The example's policy over other sources."""
    tables = {name: {"source": sources[name], **table} for name, table in example.TABLES.items()}
    return Policy.model_validate({"promise": {"prior": "1%", "posterior": "5%"}, "tables": tables, **more})


def statements(made: QueryPlan) -> list[str]:
    return [made.statement, *(each.statement for each in made.value_selections.values())]


def listed(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.fixture(scope="module")
def duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("example")
    example.write(folder)
    with DuckDB.open(prepare_store(example.policy(folder), None)) as engine:
        yield engine


OPENED: dict[str, Engine] = {}


@pytest.fixture
def engine(server: Server) -> Engine:
    """The example on each engine, put there once."""
    if server.name not in OPENED:
        OPENED[server.name] = server.open(under(server.put(example.rows())))
    return OPENED[server.name]


@cache
def planned(question: str) -> QueryPlan:
    return plan_query(question, example.POLICY, example.TAILED, epsilon=1, leak=example.LEAK)


@shows("every question of the fixtures of `ask`, every join among them")
@pytest.mark.parametrize("topic", asked())
def test_every_question_is_counted_alike(topic: str, server: Server, engine: Engine, duckdb: Engine) -> None:
    """Spark takes seconds for each, so by day it is asked some of them; `make night` asks it all."""
    left_out = UNSUPPORTED[server.name]
    for question in asked()[topic][:: SOME.get(server.name, 1)]:
        for statement in statements(planned(question)) if question not in left_out else ():
            assert listed(engine.count(statement).secret) == listed(duckdb.count(statement).secret), question


@pytest.mark.night
@pytest.mark.parametrize("topic", asked())
def test_spark_counts_every_question_alike(topic: str, spark: SparkServer, duckdb: Engine) -> None:
    with spark.open(under(spark.put(example.rows()))) as engine:
        for question in asked()[topic]:
            for statement in statements(planned(question)):
                assert listed(engine.count(statement).secret) == listed(duckdb.count(statement).secret)


def test_what_an_engine_cannot_compute_is_refused_before_it_reads_data(
    server: Server, engine: Engine
) -> None:
    for question, word in UNSUPPORTED[server.name].items():
        with pytest.raises(RequestError, match=word):
            engine.validate(planned(question).statement)  # type: ignore[attr-defined]
