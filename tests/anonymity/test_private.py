"""Sampled generalization: its delta against the loss of every output, and the law of its sample."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import binom

from discreet.anonymity.sampled_generalization import (
    GRID,
    SampledGeneralization,
    compute_least_delta,
    for_guarantee,
    sample_rows,
)
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from tests.statistical import FALSE_ALARM, assert_probability, power

TRIALS = 40_000
CASES = [
    (epsilon, share, k)
    for epsilon in (Fraction(1, 4), Fraction(1), Fraction(2))
    for share in (Fraction(1), Fraction(1, 2))
    for k in (1, 2, 5, 9)
]


def beta_of(epsilon: Fraction, share: Fraction) -> Fraction:
    """A part of the largest beta that an epsilon allows, on the grid."""
    largest = for_guarantee(epsilon=epsilon, delta=Fraction(1, 2)).beta
    return Fraction(int(largest * share * GRID), GRID)


def law(n: int, beta: Fraction, k: int) -> dict[int, mp.mpf]:
    """Pr[a class of n rows is published as j], in exact binomials; 0 stands for not published."""
    chances: dict[int, mp.mpf] = {0: mp.mpf(0)}
    p = mp.mpf(beta.numerator) / beta.denominator
    for j in range(n + 1):
        shown = j if j >= k else 0
        chances[shown] = chances.get(shown, mp.mpf(0)) + mp.binomial(n, j) * p**j * (1 - p) ** (n - j)
    return chances


def exceeding(epsilon: Fraction, first: dict[int, mp.mpf], second: dict[int, mp.mpf]) -> mp.mpf:
    """The sum over outputs of max(0, Pr[first] - exp(epsilon) Pr[second])."""
    factor = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator)
    return mp.fsum(max(mp.mpf(0), p - factor * second.get(j, mp.mpf(0))) for j, p in first.items())


@pytest.mark.parametrize(("epsilon", "share", "k"), CASES)
def test_delta_is_the_loss_of_every_output_of_every_class_and_no_more(
    epsilon: Fraction, share: Fraction, k: int
) -> None:
    beta = beta_of(epsilon, share)
    claimed = compute_least_delta(epsilon, beta, k)
    with mp.workdps(40):
        added, removed = mp.mpf(0), mp.mpf(0)
        for n in range(1, 60):
            more, fewer = law(n, beta, k), law(n - 1, beta, k)
            added = max(added, exceeding(epsilon, more, fewer))
            removed = max(removed, exceeding(epsilon, fewer, more))
    assert removed < 1e-30
    assert float(added) <= claimed <= float(added) * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_k_is_the_smallest_and_never_above_the_one_of_the_literature(epsilon: float, delta: float) -> None:
    found = for_guarantee(epsilon=epsilon, delta=delta)
    assert found.guarantee.delta <= delta < compute_least_delta(found.epsilon, found.beta, found.k - 1)
    beta, k = float(found.beta), found.k
    gamma = 1 - (1 - beta) * exp(-epsilon)
    n = np.arange(max(1, int(np.ceil(k / gamma - 1))), 20_000)
    published = np.max(binom.sf(np.floor(gamma * n), n, beta))
    assert found.guarantee.delta <= published


def test_guarantee_is_about_presence_and_says_its_delta() -> None:
    guarantee = for_guarantee(epsilon=1, delta=1e-6).guarantee
    assert guarantee.relation is Relation.PRESENCE
    assert guarantee.epsilon == 1
    assert 0.5e-6 < guarantee.delta <= 1e-6


def test_every_row_is_drawn_with_probability_beta(random: Randomness) -> None:
    beta = Fraction(5, 8)
    drawn = sample_rows(np.array([0, 3, TRIALS, 0, TRIALS, 1]), beta, random)
    assert drawn[0] == drawn[3] == 0
    for place in (2, 4):
        assert_probability(int(drawn[place]), TRIALS, float(beta), family=2)
    assert power(0.625, 0.5625, TRIALS, family=2) > 1 - FALSE_ALARM


def test_classes_are_sampled_binomially_also_where_chunks_of_rows_end(random: Randomness) -> None:
    """2.4 million rows in classes of 6, so that chunks end inside of classes."""
    drawn = sample_rows(np.full(400_000, 6), Fraction(1, 4), random)
    for j in range(7):
        assert_probability(int((drawn == j).sum()), 400_000, float(binom.pmf(j, 6, 0.25)), family=7)


def test_release_shows_classes_of_k_sampled_rows_and_nothing_of_others(random: Randomness) -> None:
    mechanism = for_guarantee(epsilon=1, delta=1e-6)
    counts = np.repeat([10, 60, 90, 500], 100)
    released = mechanism.release(Exact(counts), random)
    shown = released.value
    assert released.guarantee == mechanism.guarantee
    assert (shown[:200] <= counts[:200]).all()
    assert not shown[:100].any(), "10 rows were published where k is larger"
    assert ((shown == 0) | (shown >= mechanism.k)).all()
    assert (shown[300:] > 0).all()


@pytest.mark.parametrize("beta", [Fraction(1, 3), Fraction(3, 4), 0, 2])
def test_a_beta_without_a_guarantee_is_refused(beta: Fraction) -> None:
    with pytest.raises(InvalidParameterError, match=r"^SampledGeneralization\.beta must be "):
        SampledGeneralization(epsilon=Fraction(1), beta=beta, k=5)


@pytest.mark.parametrize(
    ("epsilon", "delta", "named"),
    [(0, 1e-6, "epsilon"), (-1, 1e-6, "epsilon"), (1, 0, "delta"), (1, 1, "delta")],
)
def test_guarantees_that_mean_nothing_are_refused(epsilon: float, delta: float, named: str) -> None:
    with pytest.raises(InvalidParameterError, match=named):
        for_guarantee(epsilon=epsilon, delta=delta)


def test_a_guarantee_that_needs_huge_classes_is_refused_with_a_way_out() -> None:
    with pytest.raises(RequestError, match="larger delta, or a smaller epsilon"):
        for_guarantee(epsilon=15, delta=1e-9)


def test_an_epsilon_that_needs_classes_too_large_is_told_to_be_smaller() -> None:
    with pytest.raises(RequestError) as refused:
        for_guarantee(epsilon=15, delta=1e-6)
    assert "smaller epsilon" in refused.value.hint
    assert for_guarantee(epsilon=2, delta=1e-6).k < for_guarantee(epsilon=4, delta=1e-6).k
