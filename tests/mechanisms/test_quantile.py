"""Quantile over a grid: one group of tests per labelled line of its docstring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement as multisets
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.quantile import Quantile, ValueCounts
from tests.statistical import FALSE_ALARM, assert_probability, power

Rows = tuple[int, ...]
TRIALS = 3_000
DOMAIN = range(3)
PROBABILITIES = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)]
ROWS = st.lists(st.integers(-3, 12), max_size=12).map(tuple)


def grouped(rows: Rows) -> ValueCounts:
    return ValueCounts.from_rows(np.array(rows, dtype=np.int64))


def distances(mechanism: Quantile, rows: Rows) -> list[int]:
    """d(c) for every candidate, straight from the definition."""
    low, high, share = mechanism.low, mechanism.high, mechanism.probability
    moved = [min(max(x, low), high) for x in rows]
    n, o, bottom = len(rows), mechanism.offset, share.denominator
    found = []
    for c in range(low, high + 1):
        over = sum(x < c for x in moved) - o - share * n
        under = sum(x > c for x in moved) + o - (1 - share) * n
        found.append(int(max(over, under) * bottom))
    return found


def neighbours(rows: Rows, relation: Relation, most: int) -> Iterator[Rows]:
    """All tables that one person with at most `most` rows can turn `rows` into."""
    for leaving in range(most + 1):
        for gone in set(multisets(sorted(set(rows)), leaving)):
            if Counter(gone) - Counter(rows):
                continue
            rest = tuple((Counter(rows) - Counter(gone)).elements())
            for coming in range(most + 1):
                if relation is Relation.VALUE or leaving == 0 or coming == 0:
                    yield from (rest + new for new in multisets(DOMAIN, coming))


@given(ROWS, st.sampled_from(PROBABILITIES), st.integers(-3, 3))
def test_release_has_the_law_of_every_candidate_scored_alone(
    rows: Rows, share: Fraction, offset: int
) -> None:
    mechanism = Quantile(epsilon=Fraction(1, 2), low=0, high=9, probability=share, offset=offset)
    weights = np.exp(-np.array(distances(mechanism, rows)) * float(mechanism.rate))
    assert mechanism.probabilities(grouped(rows)) == pytest.approx(weights / weights.sum())


@given(ROWS, st.sampled_from(PROBABILITIES))
def test_logarithms_of_the_law_need_no_table_of_every_candidate(rows: Rows, share: Fraction) -> None:
    small, wide = (
        Quantile(epsilon=Fraction(1, 2), low=0, high=high, probability=share) for high in (9, 10**12)
    )
    outputs = np.arange(10)
    assert small.log_likelihoods(outputs, grouped(rows)) == pytest.approx(
        np.log(small.probabilities(grouped(rows)))
    )
    ratio = np.diff(wide.log_likelihoods(np.array([3, 4]), grouped((5,))))
    assert ratio == pytest.approx([0.0])


@given(ROWS.filter(len))
def test_release_scores_the_true_median_best(rows: Rows) -> None:
    mechanism = Quantile(epsilon=Fraction(1), low=-3, high=12)
    law = mechanism.probabilities(grouped(rows))
    for side in ("lower", "higher"):
        median = int(np.quantile(rows, 0.5, method=side))
        assert law[median + 3] == law.max()


def test_release_follows_that_law(random: Randomness) -> None:
    mechanism, rows = Quantile(epsilon=Fraction(1), low=0, high=9), (1, 1, 4, 8, 20)
    drawn = Counter(mechanism.release(Exact(grouped(rows)), random).value for _ in range(TRIALS))
    weights = [exp(-d / 4) for d in distances(mechanism, rows)]
    for c, weight in enumerate(weights):
        assert_probability(drawn[c], TRIALS, weight / sum(weights), family=10)


def test_release_check_would_notice_twice_the_rate() -> None:
    rows = grouped((1, 1, 4, 8, 20))
    true, other = (Quantile(epsilon=Fraction(e), low=0, high=9).probabilities(rows) for e in (1, 2))
    assert max(power(float(p), float(q), TRIALS, family=10) for p, q in zip(true, other, strict=True)) > 0.95


def test_release_takes_values_in_any_order_and_ignores_empty_ones() -> None:
    mechanism = Quantile(epsilon=Fraction(1), low=0, high=9)
    shuffled = ValueCounts(np.array([8, 99, 1, 4, 5]), np.array([1, 1, 2, 1, 0]))
    assert mechanism.probabilities(shuffled) == pytest.approx(
        mechanism.probabilities(grouped((1, 1, 4, 8, 20)))
    )


def test_release_serves_a_million_candidates_and_many_distinct_values(random: Randomness) -> None:
    values = np.arange(0, 1_000_000, 10, dtype=np.int64)
    rows = ValueCounts(values, np.full(values.size, 7))
    mechanism = Quantile(epsilon=Fraction(1), low=0, high=1_000_000, probability=Fraction(9, 10))
    released = mechanism.release(Exact(rows), random).value
    assert abs(released - 900_000) / 10 * 7 <= mechanism.rank_error(1 - 1e-9) + 7


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"low": 5, "high": 5}, "high"),
        ({"low": 0.5}, "low"),
        ({"high": 2**62}, "high"),
        ({"probability": 1.5}, "probability"),
        ({"probability": float("nan")}, "probability"),
        ({"probability": Fraction(1, 10_007)}, "probability"),
        ({"offset": 1.0}, "offset"),
        ({"rows_per_person": 0}, "rows_per_person"),
        ({"relation": "both"}, "relation"),
    ],
)
def test_requires_parameters_for_which_it_is_proven(given_: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^Quantile\.{named} must be .*; got .*\."):
        Quantile(**{"epsilon": Fraction(1), "low": 0, "high": 9, **given_})


def test_requires_reads_a_decimal_as_it_is_written() -> None:
    assert Quantile(epsilon=Fraction(1), low=0, high=9, probability=0.9).probability == Fraction(9, 10)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("share", PROBABILITIES)
@pytest.mark.parametrize("most", [1, 2])
def test_guarantee_uses_the_exact_sensitivity_of_all_small_tables(
    relation: Relation, share: Fraction, most: int
) -> None:
    mechanism = Quantile(
        epsilon=Fraction(1), low=0, high=2, probability=share, relation=relation, rows_per_person=most
    )
    largest = 0
    for size in range(5):
        for rows in multisets(DOMAIN, size):
            here = np.array(distances(mechanism, rows))
            for other in neighbours(rows, relation, most):
                largest = max(largest, int(np.abs(here - np.array(distances(mechanism, other))).max()))
    assert largest == mechanism.sensitivity


@pytest.mark.parametrize("relation", list(Relation))
def test_guarantee_bounds_the_loss_and_half_the_sensitivity_breaks_it(relation: Relation) -> None:
    honest = Quantile(epsilon=Fraction(1), low=0, high=2, relation=relation)
    broken = Quantile(epsilon=Fraction(2), low=0, high=2, relation=relation)
    worst = {}
    for mechanism in (honest, broken):
        losses = [
            np.abs(
                np.log(mechanism.probabilities(grouped(rows)) / mechanism.probabilities(grouped(other)))
            ).max()
            for size in range(5)
            for rows in multisets(DOMAIN, size)
            for other in neighbours(rows, relation, 1)
        ]
        worst[mechanism] = max(losses)
    assert worst[honest] <= 1 + 1e-9
    assert worst[broken] > 1


def test_guarantee_survives_an_audit_that_catches_half_the_sensitivity(random: Randomness) -> None:
    """One row moves from below to above: one candidate gets worse, all those on the other side better."""
    here, there = grouped((4, 5)), grouped((5, 14))
    found = []
    for epsilon in (2, 4):  # the twin runs at 4 where it says 2
        mechanism = Quantile(epsilon=Fraction(epsilon), low=4, high=14)
        hits, others = (
            sum(mechanism.release(Exact(rows), random).value == 4 for _ in range(2 * TRIALS))
            for rows in (here, there)
        )
        found.append(compute_epsilon_lower_bound(hits, others, 2 * TRIALS, error_rate=FALSE_ALARM))
    assert 1 < found[0] <= 2 < found[1]


@given(ROWS.filter(len), st.sampled_from(PROBABILITIES), st.floats(0.01, 0.99))
def test_utility_bounds_the_rank_error(rows: Rows, share: Fraction, confidence: float) -> None:
    mechanism = Quantile(epsilon=Fraction(2), low=-3, high=12, probability=share)
    missed = np.array(distances(mechanism, rows)) / share.denominator
    law = mechanism.probabilities(grouped(rows))
    assert law[missed > mechanism.rank_error(confidence) + 1e-9].sum() <= 1 - confidence + 1e-12


def test_minimum_without_offset_is_spread_below_the_data() -> None:
    law = Quantile(epsilon=Fraction(1), low=0, high=99, probability=Fraction(0)).probabilities(
        grouped((50,) * 500)
    )
    assert law[:51] == pytest.approx(np.full(51, 1 / 51), rel=1e-6)


@pytest.mark.parametrize(("share", "inside"), [(0, slice(20, None)), (1, slice(None, 81))])
def test_minimum_and_maximum_moved_inward_stay_inside_the_data(share: int, inside: slice) -> None:
    rows = ValueCounts.from_rows(np.repeat(np.arange(20, 81), 30))
    mechanism = Quantile(epsilon=Fraction(1), low=0, high=99, probability=Fraction(share)).aim_inward(0.95)
    law = mechanism.probabilities(rows)
    assert law[inside].sum() >= 0.95
    near = slice(20, 24) if share == 0 else slice(77, 81)
    assert law[near].sum() >= 0.9


def test_only_extremes_are_moved_inward() -> None:
    with pytest.raises(InvalidParameterError, match=r"^Quantile\.probability must be 0 or 1"):
        Quantile(epsilon=Fraction(1), low=0, high=9).aim_inward(0.95)


@pytest.mark.parametrize(
    ("column", "low", "high"), [(0, 17, 90), (12, 1, 99), (10, 0, 99_999)], ids=["age", "hours", "gain"]
)
@pytest.mark.parametrize(("epsilon", "fails"), [(Fraction(1, 10), 2.2e-9), (Fraction(1), 1e-80)])
def test_adult_medians_are_exact_but_for_a_stated_chance(
    column: int, low: int, high: int, epsilon: Fraction, fails: float, adult: Path
) -> None:
    lines = (adult / "adult.data").read_text().split("\n")
    rows = np.array([int(line.split(",")[column]) for line in lines if line.strip()])
    law = Quantile(epsilon=epsilon, low=low, high=high).probabilities(ValueCounts.from_rows(rows))
    assert np.delete(law, int(np.median(rows)) - low).sum() < fails
