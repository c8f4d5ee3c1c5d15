"""BOOL_OR and BOOL_AND are right where their plan says so, unknown without rows, and never ± anything."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.engine import Engine
from discreet.core.policy import ContributionBounding
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.sql.accuracy import find_error_bound, find_least_epsilon, find_rank_error
from discreet.sql.aggregates.base import Decomposition
from discreet.sql.aggregates.boolean import BoolAnd, BoolOr
from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive, split_confidence
from discreet.sql.plan_execution import build_empty_release, execute_plan, values_to_array
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.refusal import Refusal
from discreet.sql.true_values import compute_true_values
from tests.sql.example import POLICY, PROMISE

CONFIDENCE = 0.95
NOISE = DiscreteLaplace(epsilon=Fraction(1, 3), sensitivity=1)
HALF_WIDTH = NOISE.half_width(split_confidence(CONFIDENCE, 2))
ENOUGH = 2 * HALF_WIDTH + 1
TYPICAL = np.arange(-HALF_WIDTH, HALF_WIDTH + 1)
"""All noise within the half-width, which noise is with the stated confidence."""


def planned(sql: str, **options: object) -> QueryPlan:
    return plan_query(sql, POLICY, PROMISE, epsilon=1, **options)  # type: ignore[arg-type]


def decided(kind: type[BoolOr | BoolAnd], settling: int, rows: int, noise: np.ndarray) -> Estimate:
    """What is decided of so many rows, of which some settle the matter, for every noise of their count."""
    parts = [
        ReleasedPrimitive(numbers=settling + noise, noise=NOISE),
        ReleasedPrimitive(numbers=np.full(noise.shape, rows), noise=NOISE),
    ]
    return kind().estimate(Decomposition(primitive_names=("p0", "p1")), parts, CONFIDENCE)


@pytest.mark.parametrize(("kind", "settled"), [(BoolOr, 1.0), (BoolAnd, 0.0)])
def test_typical_noise_decides_rightly_without_settling_rows_and_with_enough(
    kind: type[BoolOr | BoolAnd], settled: float
) -> None:
    assert (decided(kind, 0, 10_000, TYPICAL).values == 1 - settled).all()
    assert (decided(kind, ENOUGH, 10_000, TYPICAL).values == settled).all()


@pytest.mark.parametrize("kind", [BoolOr, BoolAnd])
def test_one_settling_row_less_may_be_decided_either_way(kind: type[BoolOr | BoolAnd]) -> None:
    assert set(decided(kind, ENOUGH - 1, 10_000, TYPICAL).values) == {0.0, 1.0}
    assert set(decided(kind, 1, 10_000, TYPICAL).values) == {0.0, 1.0}


@pytest.mark.parametrize("kind", [BoolOr, BoolAnd])
def test_no_rows_are_unknown_under_typical_noise(kind: type[BoolOr | BoolAnd]) -> None:
    for noise in TYPICAL:
        assert np.isnan(decided(kind, 0, int(noise), TYPICAL).values).all()


def test_there_is_no_interval() -> None:
    found = decided(BoolOr, 3, 10_000, TYPICAL)
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()


def test_plan_states_from_how_many_rows_on_the_answer_is_right() -> None:
    made = planned("SELECT BOOL_OR(age > 60) AS o, BOOL_AND(age > 60) AS a FROM people WHERE sex = 'f'")
    half = made.noisy_primitives["p0"].half_width(split_confidence(CONFIDENCE, 2))
    for output, word in zip(made.outputs, ("true", "false"), strict=True):
        said = find_rank_error(made, output)
        assert find_error_bound(made, output) is None
        assert said is not None
        assert said.rows == 2 * half + 1
        assert said.description == f"right where no row is {word}, or at least {said.rows:,.0f} rows are"


def test_counts_of_the_same_rows_are_shared_and_charged_once() -> None:
    made = planned("SELECT BOOL_OR(smoker) AS o, COUNT_IF(smoker) AS n, COUNT(smoker) AS m FROM people")
    assert len(made.noisy_primitives) == 2


def test_weighted_rows_need_as_many_in_weight() -> None:
    policy = POLICY.model_copy(update={"bounding": ContributionBounding.WEIGHTS})
    sql = "SELECT disease, BOOL_OR(cost > 500) AS o FROM visits GROUP BY disease"
    plans = [plan_query(sql, each, PROMISE, epsilon=1) for each in (POLICY, policy)]
    assert [each.bounding.weight_denominator > 1 for each in plans] == [False, True]
    rows = [found.rows for each in plans if (found := find_rank_error(each, each.outputs[0]))]
    assert rows[1] == pytest.approx(rows[0], rel=0.05)


@pytest.mark.parametrize("within", [0.5, "2%"])
def test_no_tolerance_can_be_asked_for(within: float | str) -> None:
    sql = "SELECT BOOL_OR(smoker) AS o FROM people"
    with pytest.raises(Refusal, match=r"BOOL_OR is true or false|BOOL_OR has no rank"):
        find_least_epsilon(
            within, lambda each: plan_query(sql, POLICY, PROMISE, epsilon=each, least_rows=100)
        )


def test_answer_is_a_boolean_column_whether_it_has_rows_or_not(example_engine: Engine) -> None:
    made = planned("SELECT sex, BOOL_OR(age > 10) AS o, BOOL_AND(age > 10) AS a FROM people GROUP BY sex")
    empty = build_empty_release(made, query_released_tables)
    full = execute_plan(made, example_engine, Randomness(), query_released_tables)
    assert empty.table.schema == full.table.schema
    assert [str(full.table.schema.field(name).type) for name in ("o", "a")] == ["bool", "bool"]
    assert full.intervals["o"] == ([None] * len(full.table), [None] * len(full.table))


def test_a_group_without_rows_is_null_without_noise(example_engine: Engine) -> None:
    found = compute_true_values(
        planned("SELECT BOOL_OR(smoker) FILTER (WHERE age > 500) AS o, BOOL_AND(age >= 0) AS a FROM people"),
        example_engine,
    )
    assert [list(found.columns[name].values()) for name in ("o", "a")] == [[None], [True]]


def test_nan_becomes_null() -> None:
    kind = BoolOr().result_type
    assert values_to_array(np.array([1.0, np.nan, 0.0]), kind).to_pylist() == [True, None, False]
