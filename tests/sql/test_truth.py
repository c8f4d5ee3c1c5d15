"""True values, which the custodian may be shown: what the database itself counts, beside the right rows."""

from __future__ import annotations

import duckdb
import pytest

from discreet.core.engine import Engine
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.sql.plan_execution import execute_plan
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.true_values import compute_true_values
from tests.sql import example


def planned(sql: str, *, epsilon: int = 1) -> QueryPlan:
    return plan_query(sql, example.POLICY, example.PROMISE, epsilon=epsilon)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM people",
        "SELECT sex, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY sex",
        "SELECT sex, AVG(height) AS a, VAR_POP(age) AS v FROM people GROUP BY sex",
        "SELECT sex, MIN(age) AS low, MAX(age) AS high FROM people GROUP BY sex",
        "SELECT sex, smoker, COUNT(*) AS n FROM people GROUP BY sex, smoker",
    ],
)
def test_what_is_shown_as_true_is_what_the_database_counts(
    example_engine: Engine, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    found = compute_true_values(planned(sql), example_engine)
    expected = plain.sql(sql).to_arrow_table()
    beside = found.align_with(expected)
    assert beside
    for name, values in beside.items():
        assert values == pytest.approx(expected[name].to_pylist()), name


def test_the_true_median_and_mode_are_values_of_the_middle_and_commonest_rows(
    example_engine: Engine, plain: duckdb.DuckDBPyConnection
) -> None:
    found = compute_true_values(
        planned("SELECT MEDIAN(age) AS m, MODE(sex) AS k FROM people"), example_engine
    )
    low, high, commonest = plain.sql(
        "SELECT quantile_disc(age, 0.5), quantile_disc(age, 0.5 ORDER BY age DESC), mode(sex) FROM people"
    ).fetchall()[0]
    ((median,), (mode,)) = (list(found.columns[name].values()) for name in ("m", "k"))
    assert low <= median <= high
    assert mode == commonest


def test_true_values_follow_their_groups_whatever_the_released_rows_are_sorted_by(
    example_engine: Engine, plain: duckdb.DuckDBPyConnection
) -> None:
    sql = "SELECT COUNT(*) AS many, shop AS place FROM orders GROUP BY shop ORDER BY many DESC LIMIT 2"
    made = planned(sql)
    released = execute_plan(made, example_engine, Randomness(), query_released_tables).table
    exact = dict.fromkeys(("a", "b", "c"), 0) | {
        key: count for (key,), count in compute_true_values(made, example_engine).columns["many"].items()
    }
    beside = compute_true_values(made, example_engine).align_with(released)["many"]
    assert beside == [exact[place] for place in released["place"].to_pylist()]
    assert len(beside) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM people GROUP BY sex",
        "SELECT SUM(n) AS s FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS g",
    ],
)
def test_rows_that_are_no_groups_have_nothing_beside_them(example_engine: Engine, sql: str) -> None:
    assert compute_true_values(planned(sql), example_engine).columns == {}


def test_what_is_computed_from_measures_has_no_true_value(example_engine: Engine) -> None:
    found = compute_true_values(
        planned("SELECT sex, COUNT(*) / 2 AS half, COUNT(*) AS n FROM people GROUP BY sex"), example_engine
    )
    assert list(found.columns) == ["n"]


def test_printing_shows_nothing_of_it(example_engine: Engine) -> None:
    found = compute_true_values(planned("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"), example_engine)
    assert str(max(found.columns["n"].values())) not in repr(found)  # type: ignore[type-var]
