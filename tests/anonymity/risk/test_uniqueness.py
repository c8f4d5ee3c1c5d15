"""Uniqueness in the population: each law by enumeration, each fit against what it was made from."""

from __future__ import annotations

from math import comb, exp, lgamma, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.risk.reidentification_risk import (
    compute_expected_counts,
    compute_expected_uniques,
    compute_log_likelihood,
    compute_single_draw_probability,
    estimate_by_snb,
    estimate_by_zayatz,
    estimate_uniqueness,
    fit_pitman,
)
from discreet.core.errors import InvalidParameterError
from tests.anonymity.data import adult

SIZES = st.lists(st.integers(1, 12), min_size=2, max_size=30)


def of(sizes: list[int]) -> EquivalenceClasses:
    return EquivalenceClasses(sizes=np.array(sizes), rows=sum(sizes))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 30))
def test_one_of_a_group_is_sampled_with_the_hypergeometric_probability(i: int, drawn: int, more: int) -> None:
    people = max(i, drawn) + more
    wanted = i * comb(people - i, drawn - 1) / comb(people, drawn)
    assert compute_single_draw_probability(np.array([i]), drawn, people)[0] == pytest.approx(wanted)


def test_zayatz_by_hand() -> None:
    # 4 classes of 1 and 3 of 2: 10 of 20 people; h(1) = 1/2, h(2) = 2 * 10 * 10 / (20 * 19)
    once, twice = 1 / 2, 2 * 10 * 10 / (20 * 19)
    wanted = 4 * (4 * once / (4 * once + 3 * twice)) * 2
    assert estimate_by_zayatz(np.array([1, 2]), np.array([4, 3]), 0.5) == pytest.approx(wanted)


def partitions(rows: int, most: int) -> list[list[int]]:
    if rows == 0:
        return [[]]
    return [[n, *rest] for n in range(min(rows, most), 0, -1) for rest in partitions(rows - n, n)]


@pytest.mark.parametrize(("theta", "alpha"), [(0.5, 0.3), (3.0, 0.7), (-0.2, 0.6), (40.0, 0.05)])
def test_pitman_expects_what_its_law_gives_over_all_partitions(theta: float, alpha: float) -> None:
    people, expected, total = 9, 0.0, 0.0
    for sizes in partitions(people, people):
        number, often = np.unique(sizes, return_counts=True)
        ways = lgamma(people + 1) - sum(lgamma(n + 1) for n in sizes) - sum(lgamma(c + 1) for c in often)
        # the likelihood leaves out (θ + 1) ... and the number of ways to fill classes of these sizes
        mass = exp(compute_log_likelihood(theta, alpha, number, often) + ways)
        total += mass
        expected += mass * sizes.count(1)
    assert total == pytest.approx(1)
    assert expected == pytest.approx(compute_expected_uniques(theta, alpha, people))


@settings(max_examples=8)
@given(SIZES)
def test_the_fitted_law_is_likelier_than_any_on_a_grid(sizes: list[int]) -> None:
    number, often = np.unique(sizes, return_counts=True)
    best = compute_log_likelihood(*fit_pitman(number, often), number, often)
    for alpha in np.linspace(0.02, 0.98, 25):
        for theta in np.concatenate([[-alpha / 2], np.logspace(-2, 4, 25)]):
            assert compute_log_likelihood(theta, alpha, number, often) <= best + 1e-6


@pytest.mark.parametrize(("a", "b", "fraction"), [(0.5, 0.2, 0.1), (2.0, 0.7, 0.3), (0.1, 0.05, 0.05)])
def test_snb_expects_what_thinning_its_law_gives(a: float, b: float, fraction: float) -> None:
    sizes = np.arange(1, 4000)
    mass = nbinom.pmf(sizes - 1, a, b)
    q = 1 - fraction
    once = (mass * sizes * fraction * q ** (sizes - 1)).sum()
    twice = (mass * sizes * (sizes - 1) / 2 * fraction**2 * q ** np.maximum(sizes - 2, 0)).sum()
    wanted = ((mass * (1 - q**sizes)).sum(), once, twice)
    assert compute_expected_counts(a, b, fraction) == pytest.approx(wanted)


@pytest.mark.parametrize(("a", "b", "fraction"), [(0.5, 0.2, 0.1), (2.0, 0.7, 0.3), (1.0, 0.5, 0.5)])
def test_snb_finds_the_uniques_of_the_law_it_was_given(a: float, b: float, fraction: float) -> None:
    seen, once, twice = (100_000 * part for part in compute_expected_counts(a, b, fraction))
    found = estimate_by_snb(seen, once, twice, fraction)
    assert found == pytest.approx(100_000 * b**a, rel=1e-3)


def test_snb_says_so_where_no_law_fits() -> None:
    assert estimate_by_snb(10, 0.01, 9.0, 0.9) is None


@settings(max_examples=15)
@given(SIZES, st.sampled_from([0.01, 0.3, 0.9]))
def test_estimates_are_numbers_of_people_in_the_population(sizes: list[int], fraction: float) -> None:
    found = estimate_uniqueness(of(sizes), fraction)
    people = sum(sizes) / fraction
    assert found.sample == sizes.count(1)
    for estimate in (found.zayatz, found.pitman, found.snb):
        assert estimate is None or 0 <= estimate <= people * 1.01


@given(SIZES)
def test_the_whole_population_needs_no_estimate(sizes: list[int]) -> None:
    found = estimate_uniqueness(of(sizes), 1.0)
    assert found.sample == found.zayatz == found.pitman == found.snb == sizes.count(1)


@pytest.mark.parametrize("fraction", [0.0, 1.5, float("nan")])
def test_a_fraction_out_of_range_is_refused(fraction: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"uniqueness: `fraction=` must be a sampling fraction"):
        estimate_uniqueness(of([1]), fraction)


def test_adult_as_a_sample_of_a_known_population() -> None:
    """Every tenth row of Adult stands for all of it: estimates come near the uniques that there are."""
    tuples, _ = adult()
    order = np.repeat(np.arange(len(tuples)), tuples.counts)
    by = np.random.Generator(np.random.Philox(4)).permutation(len(order))
    sizes = np.bincount(order[by[: len(by) // 10]])
    found = estimate_uniqueness(EquivalenceClasses(sizes=sizes[sizes > 0], rows=int(sizes.sum())), 0.1)
    truth = int((tuples.counts == 1).sum())
    assert abs(log(found.pitman / truth)) < log(1.3)
    assert found.zayatz > truth
