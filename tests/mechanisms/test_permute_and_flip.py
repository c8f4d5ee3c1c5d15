"""Permute-and-flip: one group of tests per labelled line of its docstring."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.sampling import Integers
from tests.mechanisms.selecting import first_head, heads, largest_loss, scores
from tests.statistical import FALSE_ALARM, assert_probability, power

TRIALS = 6_000
EXAMPLE = PermuteAndFlip(epsilon=Fraction(3, 2), sensitivity=2)
TABLE = scores(3, 1, 9, 2)
TABLES = st.lists(st.integers(-12, 12), min_size=1, max_size=6).map(lambda each: scores(*each))
EPSILONS = st.fractions(Fraction(1, 20), 5, max_denominator=100)


def draw(mechanism: PermuteAndFlip, table: Integers, random: Randomness) -> list[int]:
    return [mechanism.release(Exact(table), random).value for _ in range(TRIALS)]


def by_permutations(table: Integers, rate: float) -> list[float]:
    orders = list(permutations(range(table.size)))
    laws = [first_head(heads(table, rate), order) for order in orders]
    return [float(each) for each in np.sum(laws, axis=0) / len(orders)]


@given(TABLES, EPSILONS)
def test_release_has_the_law_of_coins_in_random_order(table: Integers, epsilon: Fraction) -> None:
    mechanism = PermuteAndFlip(epsilon=epsilon, sensitivity=1)
    assert mechanism.probabilities(table) == pytest.approx(
        by_permutations(table, float(epsilon) / 2), abs=1e-12
    )


def test_release_follows_that_law(random: Randomness) -> None:
    picks = draw(EXAMPLE, TABLE, random)
    for i, probability in enumerate(by_permutations(TABLE, 0.375)):
        assert_probability(picks.count(i), TRIALS, probability, family=4)


def test_release_check_would_notice_the_exponential_mechanism() -> None:
    other = Exponential(epsilon=EXAMPLE.epsilon, sensitivity=2).probabilities(TABLE)
    true = EXAMPLE.probabilities(TABLE)
    assert max(power(float(p), float(q), TRIALS, family=4) for p, q in zip(true, other, strict=True)) > 0.99


def test_release_law_of_many_candidates_sums_to_one() -> None:
    table = np.arange(700, dtype=np.int64) // 7
    assert EXAMPLE.probabilities(table).sum() == pytest.approx(1)


def test_requires_presence_for_monotone_scores() -> None:
    with pytest.raises(InvalidParameterError, match=r"^PermuteAndFlip\.monotone must be False unless"):
        PermuteAndFlip(epsilon=Fraction(1), sensitivity=1, monotone=True)


@given(TABLES.filter(lambda table: table.size <= 4), EPSILONS)
def test_guarantee_bounds_the_loss_at_every_output(table: Integers, epsilon: Fraction) -> None:
    mechanism = PermuteAndFlip(epsilon=epsilon, sensitivity=2)
    assert largest_loss(mechanism, table, (-2, 0, 2)) <= epsilon * (1 + 1e-9)


@given(TABLES.filter(lambda table: table.size <= 5), EPSILONS)
def test_guarantee_holds_for_monotone_scores_at_twice_the_rate(table: Integers, epsilon: Fraction) -> None:
    mechanism = PermuteAndFlip(epsilon=epsilon, sensitivity=1, monotone=True, relation=Relation.PRESENCE)
    assert largest_loss(mechanism, table, (0, 1)) <= epsilon * (1 + 1e-9)


def test_guarantee_is_attained_and_half_the_sensitivity_breaks_it() -> None:
    far = scores(0, 20)
    honest, broken = (PermuteAndFlip(epsilon=Fraction(1), sensitivity=s) for s in (2, 1))
    assert largest_loss(honest, far, (-2, 2)) == pytest.approx(1, abs=1e-3)
    assert largest_loss(broken, far, (-2, 2)) == pytest.approx(2, abs=1e-3)


def test_guarantee_survives_an_audit_that_catches_half_the_sensitivity(random: Randomness) -> None:
    here, there = scores(0, 4), scores(2, 2)
    found = []
    for sensitivity in (2, 1):
        mechanism = PermuteAndFlip(epsilon=Fraction(2), sensitivity=sensitivity)
        hits, others = (draw(mechanism, table, random).count(0) for table in (there, here))
        found.append(compute_epsilon_lower_bound(hits, others, TRIALS, error_rate=FALSE_ALARM))
    assert 1.2 < found[0] <= 2 < found[1]


@given(TABLES, EPSILONS)
def test_utility_is_never_worse_than_the_exponential_mechanism(table: Integers, epsilon: Fraction) -> None:
    behind = table.max() - table
    ours, theirs = (
        float(kind(epsilon=epsilon, sensitivity=1).probabilities(table) @ behind)
        for kind in (PermuteAndFlip, Exponential)
    )
    assert ours <= theirs * (1 + 1e-9)
    assert ours >= theirs / 2 * (1 - 1e-9)


@given(TABLES, EPSILONS, st.floats(0.01, 0.99))
def test_utility_bounds_how_far_the_pick_is_behind(
    table: Integers, epsilon: Fraction, confidence: float
) -> None:
    mechanism = PermuteAndFlip(epsilon=epsilon, sensitivity=1)
    late = table.max() - table > mechanism.shortfall(table.size, confidence)
    assert mechanism.probabilities(table)[late].sum() <= 1 - confidence + 1e-12
