"""What a plan says of errors holds, by the exact law and in whole answers; `within` costs the least."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile, ValueCounts
from discreet.mechanisms.sampling import Floats, Integers
from discreet.sql.accuracy import (
    find_error_bound,
    find_least_epsilon,
    find_measures_by_column,
    find_rank_error,
)
from discreet.sql.aggregates.average import estimate_mean
from discreet.sql.interval_estimates import ReleasedPrimitive, split_confidence
from discreet.sql.plan_execution import build_released_table, execute_plan, measure_core
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.refusal import Refusal
from tests.sql.example import LEAK, POLICY, PROMISE, TAILED
from tests.sql.remembering import Remembering
from tests.sql.test_coverage import ON
from tests.statistical import acceptance

CONFIDENCE = 0.95
RUNS = 1_500


def priced(
    text: str, least_rows: int | None = None, promise: Promise = PROMISE
) -> Callable[[Real], QueryPlan]:
    leak = LEAK if promise.tail else 0
    return lambda epsilon: plan_query(
        text, POLICY, promise, epsilon=epsilon, leak=leak, least_rows=least_rows
    )


# -- Means ---------------------------------------------------------------------------------------------------


@given(
    st.integers(-3_000, 3_000),
    st.integers(1, 120),
    st.fractions(Fraction(1, 4), 8),
    st.fractions(Fraction(1, 4), 8),
)
def test_no_interval_of_a_mean_reaches_further_than_is_proven(
    s: int, n: int, of_sum: Fraction, of_count: Fraction
) -> None:
    noises = (
        DiscreteLaplace(epsilon=of_sum, sensitivity=2 * ON.width),
        DiscreteLaplace(epsilon=of_count, sensitivity=2),
    )
    centred, rows = (
        ReleasedPrimitive(numbers=np.array([number]), noise=noise)
        for number, noise in zip((s, n), noises, strict=True)
    )
    found = estimate_mean(centred, rows, ON, CONFIDENCE)
    h, k = (noise.half_width(split_confidence(CONFIDENCE, 2)) for noise in noises)
    if n - k < 1:
        assert np.isnan(found.values[0])
        assert (found.low[0], found.high[0]) == (ON.low / 2, ON.high / 2)
        return
    most = float((h + ON.width * k) * ON.step / (2 * (n - k)))
    assert max(found.high[0] - found.values[0], found.values[0] - found.low[0]) <= most * (1 + 1e-12)


@pytest.mark.parametrize("table", ["all at the upper end", "spread"])
def test_means_of_enough_rows_keep_to_the_error_that_was_asked_for(
    table: str, example_engine: Engine, random: Randomness
) -> None:
    """As often as the confidence says, the shown ± is no wider and holds the truth."""
    column = {"all at the upper end": "CASE WHEN age < -1 THEN 0 ELSE 120 END", "spread": "age"}[table]
    text = f"SELECT AVG({column}) AS a FROM people"
    made = priced(text, 401)(find_least_epsilon(5, priced(text, 401)))
    truth = float(
        execute_plan(priced(text)(10**9), example_engine, random, query_released_tables).table["a"][0].as_py()
    )
    kept, engine = 0, Remembering(example_engine)
    for _ in range(RUNS):
        released = build_released_table(made, made.core, measure_core(made.core, engine, random))
        shown, *ends = (released[name][0].as_py() for name in ("m0", "m0.low", "m0.high"))
        assert ends[0] is not None
        assert ends[1] is not None
        within = shown is not None and max(ends[1] - shown, shown - ends[0]) <= 5 + 1e-9
        kept += within and ends[0] - 1e-9 <= truth <= ends[1] + 1e-9
    assert kept >= acceptance(CONFIDENCE, RUNS)[0]


def test_a_mean_needs_less_for_more_rows_and_none_said_is_refused() -> None:
    text = "SELECT sex, AVG(age) AS a FROM people GROUP BY sex"
    costs = [find_least_epsilon(5, priced(text, rows)) for rows in (50, 500, 5_000)]
    assert costs[0] > costs[1] > costs[2]
    with pytest.raises(Refusal, match="depends on how many rows a group has") as refusal:
        find_least_epsilon(5, priced(text))
    assert "`least_rows=100`" in refusal.value.hint


@pytest.mark.parametrize("promise", [PROMISE, TAILED], ids=["tail 0", "tail"])
@pytest.mark.parametrize(
    ("text", "within", "least_rows"),
    [
        ("SELECT COUNT(*) AS n FROM people", 10, None),
        ("SELECT sex, SUM(age) AS s, AVG(age) AS a FROM people GROUP BY sex", 300, 200),
        ("SELECT sex, AVG(height) AS a, COUNT(*) AS n FROM people GROUP BY sex", 20, 200),
        ("SELECT AVG(cost) AS a FROM visits", Fraction(7, 2), 5_000),
    ],
)
def test_within_is_the_least_epsilon_that_keeps_the_error(
    text: str, within: Real, least_rows: int | None, promise: Promise
) -> None:
    plans = priced(text, least_rows, promise)
    epsilon = find_least_epsilon(within, plans)

    def worst(made: QueryPlan) -> Fraction:
        return max(find_error_bound(made, output) or Fraction(0) for output in made.outputs)

    assert worst(plans(epsilon)) <= within < worst(plans(epsilon * Fraction(98, 100)))


def test_groups_that_nobody_declared_can_be_asked_within_an_error() -> None:
    plans = priced("SELECT trade, COUNT(*) AS n FROM people GROUP BY trade", promise=TAILED)
    made = plans(find_least_epsilon(10, plans))
    assert find_error_bound(made, made.outputs[0]) == 10


# -- Ranks ---------------------------------------------------------------------------------------------------

PICKED = "MEDIAN(age) AS m, QUANTILE_CONT(age, 0.9) AS q, MIN(age) AS lo, MAX(age) AS hi, MODE(sex) AS k"
AGES = st.lists(st.tuples(st.integers(0, 120), st.integers(1, 60)), max_size=8)


@given(AGES, st.sampled_from(["", "sex, "]), st.sampled_from([Fraction(1, 2), Fraction(4)]))
def test_what_is_said_of_ranks_holds_by_the_exact_law(
    rows: list[tuple[int, int]], keys: str, epsilon: Fraction
) -> None:
    made = plan_query(f"SELECT {keys}{PICKED} FROM people GROUP BY "
                      "ALL" if keys else f"SELECT {PICKED} FROM people",
                POLICY, PROMISE, epsilon=epsilon)  # fmt: skip
    counts = np.zeros(121, np.int64)
    for age, count in rows:
        counts[age] += count
    for output in made.outputs:
        mechanism, said = made.value_selections[output.column].mechanism, find_rank_error(made, output)
        assert said is not None
        if isinstance(mechanism, Quantile):
            law = mechanism.probabilities(ValueCounts(np.arange(121)[counts > 0], counts[counts > 0]))
            missed = _missed(counts, float(mechanism.probability))
            assert law[missed <= said.rows + 1e-9].sum() >= CONFIDENCE - 1e-12
        else:
            assert isinstance(mechanism, Exponential)
            scores = np.array([counts[:60].sum(), counts[60:].sum()])
            law = mechanism.probabilities(scores)
            assert law[scores.max() - scores <= said.rows].sum() >= CONFIDENCE - 1e-12


def _missed(counts: Integers, probability: float) -> Floats:
    """By how many rows each age misses the rank: those below it, up to those not above it, are its ranks."""
    below, total = np.cumsum(counts) - counts, counts.sum()
    over, under = below - probability * total, probability * total - below - counts
    return np.asarray(np.maximum(np.maximum(over, under), 0), np.float64)


def test_what_is_said_of_ranks_holds_in_whole_answers(example_engine: Engine, random: Randomness) -> None:
    made = plan_query("SELECT MEDIAN(age) AS m FROM people", POLICY, PROMISE, epsilon=Fraction(1, 2))
    counts = np.zeros(121, np.int64)
    exact = example_engine.count(made.value_selections["m0"].statement).secret
    for value, count in zip(exact["v"].to_pylist(), exact["n"].to_pylist(), strict=True):
        counts[value] += count
    said, missed = find_rank_error(made, made.outputs[0]), _missed(counts, 0.5)
    assert said is not None
    shown = [
        execute_plan(made, example_engine, random, query_released_tables).table["m"][0].as_py()
        for _ in range(300)
    ]
    assert sum(missed[value] <= said.rows for value in shown) >= acceptance(CONFIDENCE, 300)[0]


def test_ranks_can_be_asked_within_a_part_of_so_many_rows() -> None:
    plans = priced("SELECT MEDIAN(age) AS m, MAX(age) AS hi FROM people", 1_000)
    made = plans(find_least_epsilon("2%", plans))
    rows = [found.rows for output in made.outputs if (found := find_rank_error(made, output))]
    assert 19 <= max(rows) <= 20


@pytest.mark.parametrize(
    ("text", "within", "least_rows", "reason", "hint"),
    [
        ("SELECT MEDIAN(age) FROM people", 1, 100, "how dense they are", '`within="2%"` `least_rows='),
        ("SELECT MEDIAN(age) FROM people", "2%", None, "how many rows a group has", "`least_rows="),
        ("SELECT COUNT(*) FROM people", "2%", 100, "COUNT has no rank", "as a number"),
        ("SELECT MODE(sex) FROM people", "2%", 100, "MODE has no rank", "as a number"),
        ("SELECT MODE(sex) FROM people", 2, 100, "depends on the data", "epsilon"),
        ("SELECT VARIANCE(age) FROM people", 2, 100, "depends on the data", "epsilon"),
    ],
)
def test_an_error_that_cannot_be_promised_is_refused_with_the_way_out(
    text: str, within: Real | str, least_rows: int | None, reason: str, hint: str
) -> None:
    with pytest.raises(Refusal, match=reason) as refusal:
        find_least_epsilon(within, priced(text, least_rows))
    assert hint in refusal.value.hint


@pytest.mark.parametrize("within", [0, -1, float("nan"), "2", "0%", "x%", "200%", True])
def test_what_is_no_error_is_refused(within: Real | str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^ask: `within=` must be"):
        find_least_epsilon(within, priced("SELECT COUNT(*) FROM people"))


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_what_is_no_number_of_rows_is_refused(rows: int) -> None:
    with pytest.raises(InvalidParameterError, match=r"^ask: `least_rows=` must be an integer"):
        priced("SELECT COUNT(*) FROM people", rows)(1)


def test_what_is_taken_of_groups_changes_neither_noise_nor_key() -> None:
    text = "SELECT AVG(age) AS a FROM people"
    here, there = priced(text)(1), priced(text, 100)(1)
    assert (here.release_key, here.noisy_primitives) == (there.release_key, there.noisy_primitives)


def test_measures_are_followed_through_outer_queries() -> None:
    text = "SELECT m AS middle, m + 1 AS more FROM (SELECT sex, MEDIAN(age) AS m FROM people GROUP BY sex)"
    assert list(find_measures_by_column(priced(text)(1))) == ["middle"]
    assert find_measures_by_column(priced("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM people)")(1)) == {}
