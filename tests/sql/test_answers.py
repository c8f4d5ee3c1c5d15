"""Whole answers, with so much epsilon that there is no noise: they are what plain SQL says of the same rows.

The text is run as it stands by DuckDB over tables that hold what the policy's bounds leave of the rows.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from math import isclose
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from discreet.core.engine import Engine
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.sql.plan_execution import execute_plan
from discreet.sql.planner import plan_query
from discreet.sql.releases import Release
from tests.sql.example import LEAK, POLICY, PROMISE, TAILED

NOISELESS = 10**9

INNER = (
    "SELECT FLOOR(age / 10) * 10 AS decade, sex, COUNT(*) AS n, AVG(height) AS h FROM people "
    "GROUP BY 1, 2 HAVING COUNT(*) > 0"
)


def listed(name: str) -> list[str]:
    """The questions of a file, with a blank line between."""
    return (Path(__file__).parent / name).read_text().replace("(INNER)", f"({INNER})").strip().split("\n\n")


def ask(question: str, engine: Engine, *, tail: bool = False) -> Release:
    promise = TAILED if tail else PROMISE
    made = plan_query(question, POLICY, promise, epsilon=NOISELESS, leak=LEAK if tail else 0)
    return execute_plan(made, engine, Randomness(), query_released_tables)


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, int | float | Decimal) and not isinstance(theirs, bool) and ours is not None:
        return isclose(float(ours), float(theirs), rel_tol=1e-6, abs_tol=1e-6)
    if isinstance(ours, date) and not isinstance(ours, datetime) and isinstance(theirs, datetime):
        return ours == theirs.date()
    return bool(ours == theirs)


def assert_same(ours: pa.Table, theirs: pa.Table) -> None:
    assert ours.column_names == theirs.column_names
    here, there = ([tuple(row.values()) for row in table.to_pylist()] for table in (ours, theirs))
    assert len(here) == len(there), (here, there)
    for a, b in zip(here, there, strict=True):
        assert all(same(x, y) for x, y in zip(a, b, strict=True)), (a, b)


@pytest.mark.parametrize("question", listed("answered.sql"))
def test_an_answer_without_noise_is_what_plain_sql_says(
    question: str, example_engine: Engine, plain: duckdb.DuckDBPyConnection
) -> None:
    assert_same(ask(question, example_engine).table, plain.sql(question).to_arrow_table())


@pytest.mark.parametrize("question", listed("outer.sql"))
def test_an_outer_query_says_of_an_answer_what_plain_sql_says(
    question: str, example_engine: Engine, plain: duckdb.DuckDBPyConnection
) -> None:
    assert_same(ask(question, example_engine).table, plain.sql(question).to_arrow_table())


@pytest.mark.parametrize("total", ["SUM(n)", "SUM(n * 2)", "MAX(n)", "COUNT(*)", "SUM(s)", "MAX(s)"])
def test_totals_of_whole_numbers_are_integers(total: str, example_engine: Engine) -> None:
    inner = "SELECT sex, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY sex"
    for question in (
        f"SELECT {total} AS t FROM ({inner})",
        f"SELECT SUM(t) AS t FROM (SELECT {total} AS t FROM ({inner}))",
    ):
        assert ask(question, example_engine).table.schema.field("t").type == pa.int64()


def test_totals_of_other_numbers_keep_their_places(example_engine: Engine) -> None:
    inner = "SELECT sex, AVG(age) AS a, SUM(height) AS s FROM people GROUP BY sex"
    found = ask(f"SELECT SUM(a) AS a, SUM(s) AS s FROM ({inner})", example_engine).table
    assert [field.type for field in found.schema] == [pa.float64(), pa.float64()]


def test_a_sum_beyond_64_bits_cannot_be_told() -> None:
    made = plan_query(
        "SELECT SUM(n) AS s FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex)",
        POLICY,
        PROMISE,
        epsilon=1,
    )
    released = pa.table({"k0": ["m", "f"], "m0": [2**62, 2**62], "m0.low": [0.0, 0.0], "m0.high": [0.0, 0.0]})
    assert query_released_tables(made.post_processing, {"released": released}).to_pylist() == [{"s": None}]


def test_an_outer_query_costs_nothing() -> None:
    alone = plan_query(INNER, POLICY, PROMISE, epsilon=1)
    for question in listed("outer.sql"):
        outer = plan_query(question, POLICY, PROMISE, epsilon=1)
        assert (outer.guarantee, outer.statement) == (alone.guarantee, alone.statement)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT trade, COUNT(*) AS n FROM people GROUP BY trade ORDER BY trade",
        "SELECT n, COUNT(*) AS people FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) "
        "GROUP BY n ORDER BY n",
    ],
)
def test_groups_that_nobody_declared_are_those_of_plain_sql(
    question: str, example_engine: Engine, plain: duckdb.DuckDBPyConnection
) -> None:
    assert_same(ask(question, example_engine, tail=True).table, plain.sql(question).to_arrow_table())


def test_groups_that_are_declared_and_empty_are_shown(example_engine: Engine) -> None:
    question = "SELECT disease, COUNT(*) AS n FROM visits WHERE days > 99 GROUP BY 1 ORDER BY 1"
    assert [(row["disease"], row["n"]) for row in ask(question, example_engine).table.to_pylist()] == [
        ("Flu", 0),
        ("Gout", 0),
    ]


@pytest.mark.parametrize(
    ("aggregate", "probability"),
    [
        ("MEDIAN(age)", 0.5),
        ("QUANTILE_CONT(age, 0.9)", 0.9),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age)", 0.25),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age DESC)", 0.75),
    ],
)
def test_a_quantile_without_noise_splits_the_rows_as_asked(
    aggregate: str, probability: float, example_engine: Engine, plain: duckdb.DuckDBPyConnection
) -> None:
    (row,) = ask(f"SELECT {aggregate} AS q FROM people", example_engine).table.to_pylist()
    ages = [age for (age,) in plain.execute("SELECT age FROM people").fetchall()]
    below, up_to = sum(age < row["q"] for age in ages), sum(age <= row["q"] for age in ages)
    assert below <= probability * len(ages) <= up_to


def test_the_commonest_value_without_noise_is_that_of_plain_sql(
    example_engine: Engine, plain: duckdb.DuckDBPyConnection
) -> None:
    question = "SELECT MODE(sex) AS m FROM people"
    assert_same(ask(question, example_engine).table, plain.sql(question).to_arrow_table())


def test_an_interval_follows_its_measure_through_outer_queries(example_engine: Engine) -> None:
    inner = 'SELECT sex, COUNT(*) AS "N" FROM people GROUP BY sex'
    question = f'SELECT sex, n AS "People" FROM ({inner}) WHERE sex IS NOT NULL'
    assert set(ask(question, example_engine).intervals) == {"People"}
