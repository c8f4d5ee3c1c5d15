"""SQL around aggregations: with so much epsilon that there is no noise, it gives what plain SQL gives."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.sql.plan_execution import build_empty_release, execute_plan, measure_cores
from discreet.sql.planner import QueryPlan, plan_query
from tests.sql.example import LEAK, POLICY, PROMISE, TAILED
from tests.sql.test_answers import NOISELESS, ask, assert_same, listed


def plan(text: str, **options: Any) -> QueryPlan:
    return plan_query(text, POLICY, PROMISE, **{"epsilon": 1, **options})


@pytest.mark.parametrize("question", listed("post_processed.sql"))
def test_an_answer_without_noise_is_what_plain_sql_says(
    question: str, example_engine: Engine, plain: duckdb.DuckDBPyConnection
) -> None:
    assert_same(ask(question, example_engine).table, plain.sql(question).to_arrow_table())


@pytest.mark.parametrize("question", listed("post_processed.sql"))
def test_columns_and_types_are_known_before_anything_is_charged(
    question: str, example_engine: Engine
) -> None:
    made = plan(question, epsilon=NOISELESS)
    full = execute_plan(made, example_engine, Randomness(), query_released_tables).table
    assert build_empty_release(made, query_released_tables).table.schema == full.schema


@pytest.mark.parametrize(
    "question",
    [
        "SELECT MAX(n), sex FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex)",
        "SELECT MAX(SUM(n)) FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex)",
        "SELECT SUM(sex) FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex)",
        "SELECT nope.n FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS a",
        "SELECT missing FROM (SELECT COUNT(*) AS n FROM people)",
        "SELECT k0, m0 FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex)",
        "SELECT sex, COUNT(*), (SELECT age) FROM people GROUP BY sex",
        "SELECT COUNT(*) AS n FROM people UNION ALL SELECT COUNT(*), 1 FROM people",
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING SUM(COUNT(*)) OVER () > 3",
        "SELECT [n] AS x FROM (SELECT COUNT(*) AS n FROM people)",
        "WITH "
        + ", ".join(
            ["a0 AS (SELECT COUNT(*) AS n FROM people)"]
            + [f"a{i + 1} AS (SELECT x.n + y.n AS n FROM a{i} AS x, a{i} AS y, range(9))" for i in range(24)]
        )
        + " SELECT n FROM a24, range(1000000), range(1000000)",
    ],
)
def test_what_fails_over_empty_tables_is_refused_before_anything_is_charged(question: str) -> None:
    made = plan(question)
    with pytest.raises(RequestError, match=r"^ask: .*\.") as caught:
        build_empty_release(made, query_released_tables)
    assert caught.value.hint


def test_several_aggregations_share_epsilon_and_have_one_price(example_engine: Engine) -> None:
    both = plan("SELECT COUNT(*), (SELECT SUM(age) FROM people WHERE age > 30) FROM visits")
    assert [core.table for core in both.cores] == ["r0", "r1"]
    assert sum(both.shares.values()) == 1
    assert both.guarantee.epsilon == 1  # type: ignore[attr-defined]
    names = [name for core in both.cores for name in core.charged_names]
    assert len(set(names)) == len(names)
    assert both.compute_charge(names)[0] == 1
    assert both.compute_charge(names[:1])[0] == both.shares[names[0]]
    assert set(measure_cores(both, example_engine, Randomness())) == {"r0", "r1"}
    assert set(measure_cores(both, example_engine, Randomness(), names[:1])) == {"r0"}


def test_equal_aggregations_are_charged_once() -> None:
    once = plan("SELECT COUNT(*) FROM people")
    for text in (
        "SELECT COUNT(*), (SELECT COUNT(*) FROM people) FROM people",
        "SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM people",
        "WITH a AS (SELECT COUNT(*) AS n FROM people) SELECT x.n + y.n FROM a AS x, a AS y",
    ):
        made = plan(text)
        assert len(made.cores) == 1
        assert made.core.statement == once.core.statement
        assert made.guarantee == once.guarantee


@pytest.mark.parametrize(
    "question",
    [
        "SELECT DISTINCT sex FROM people",
        "SELECT * FROM clinics",
        "SELECT sex, AVG(age) AS a FROM people GROUP BY sex LIMIT 0",
        "SELECT age, sex FROM people WHERE FALSE",
        "SELECT COUNT(*) AS n FROM people WHERE 1 = 0",
    ],
)
def test_what_follows_from_text_and_policy_needs_no_measurement(question: str) -> None:
    class NoRows:
        """An engine that reads public tables alone."""

        def count(self, sql: str) -> Any:
            assert '"people"' not in sql
            raise AssertionError("no rows")

    made = plan(question)
    assert made.cores == ()
    assert made.shares == {}
    if made.split.public_tables:
        return
    found = execute_plan(made, NoRows(), Randomness(), query_released_tables)  # type: ignore[arg-type]
    assert found.table.num_columns


def test_a_public_table_is_read_in_full(example_engine: Engine, plain: duckdb.DuckDBPyConnection) -> None:
    question = "SELECT * FROM clinics ORDER BY id"
    assert_same(ask(question, example_engine).table, plain.sql(question).to_arrow_table())


def test_displayed_counts_are_not_negative_and_others_keep_their_sign(example_engine: Engine) -> None:
    question = (
        "SELECT disease, COUNT(*) AS n, COUNT(*) + 0 AS m FROM visits WHERE days > 99 GROUP BY disease "
        "UNION ALL SELECT 'x', COUNT(*), COUNT(*) + 0 FROM visits WHERE days > 99"
    )
    made, raw = plan(question, epsilon=0.01), plan(question, epsilon=0.01, raw=True)
    rows = [
        row
        for _ in range(20)
        for row in execute_plan(made, example_engine, Randomness(), query_released_tables).table.to_pylist()
    ]
    assert min(row["n"] for row in rows) == 0
    assert min(row["m"] for row in rows) < 0
    release = execute_plan(raw, example_engine, Randomness(), query_released_tables)
    assert release.table["n"] == release.table["m"]


def test_groups_that_nobody_declared_are_selected_in_each_aggregation(example_engine: Engine) -> None:
    text = (
        "SELECT a.trade, a.n, b.m FROM (SELECT trade, COUNT(*) AS n FROM people GROUP BY trade) AS a JOIN "
        "(SELECT trade, AVG(age) AS m FROM people WHERE age > 20 GROUP BY trade) AS b USING (trade)"
    )
    made = plan_query(text, POLICY, TAILED, epsilon=NOISELESS, leak=LEAK)
    assert all(core.partition_selection is not None for core in made.cores)
    deltas = [core.partition_selection.delta for core in made.cores if core.partition_selection]
    single = plan_query(
        "SELECT trade, COUNT(*) FROM people GROUP BY trade", POLICY, TAILED, epsilon=1, leak=LEAK
    )
    assert single.core.partition_selection is not None
    assert sum(deltas) == single.core.partition_selection.delta
    found = execute_plan(made, example_engine, Randomness(), query_released_tables).table
    assert isinstance(found, pa.Table)
    assert set(found["trade"].to_pylist()) == {"baker", "smith", "O'Neil"}


def test_split_weighs_one_plain_aggregation_alone() -> None:
    with pytest.raises(RequestError, match="split weighs"):
        plan(
            "SELECT COUNT(*) AS n, (SELECT AVG(age) FROM people WHERE age > 3) AS a FROM people",
            split={"n": 2},
        )
