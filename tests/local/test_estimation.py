"""Estimation: the likeliest distribution, iterative Bayes, intervals, properties and ranges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom

from discreet.core.errors import InvalidParameterError
from discreet.core.randomness import Randomness
from discreet.core.simplex import project_to_simplex
from discreet.local import HadamardResponse, KaryResponse, MatrixOperator, ModularNoise, ReportCounts
from discreet.local.distribution_fitting import (
    MAX_DEFICIT,
    channel_from_matrix,
    fit_by_water_filling,
    fit_iterative_bayes,
    fit_maximum_likelihood,
)

COUNTS = st.lists(st.integers(0, 1000), min_size=2, max_size=8).filter(lambda found: sum(found) > 0)
NUMBERS = st.lists(st.floats(-3, 3), min_size=1, max_size=8)


def log_likelihood(shares: np.ndarray, counts: np.ndarray, matrix: np.ndarray) -> float:
    expected = shares @ matrix
    seen = counts > 0
    return float(counts[seen] @ np.log(expected[seen]))


@given(NUMBERS)
def test_no_distribution_is_nearer_than_the_projection(raw: list[float]) -> None:
    vector = np.array(raw)
    found = project_to_simplex(vector)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    # the condition of optimality: whatever is moved towards any corner of the simplex leads away
    assert np.all((vector - found) @ (np.eye(vector.size) - found).T <= 1e-9)


@given(COUNTS, st.floats(0.1, 4))
def test_no_distribution_is_likelier_than_water_filling(counts: list[int], epsilon: float) -> None:
    """By the conditions of Karush, Kuhn and Tucker: equal slopes at positive shares, none larger."""
    operator = KaryResponse.for_epsilon(epsilon, len(counts))
    cells = np.array(counts)
    found = operator.fit_shares(ReportCounts(clients=int(cells.sum()), cells=cells))
    assert found.sum() == pytest.approx(1)
    matrix = operator.matrix()
    slopes = matrix @ np.divide(cells, found @ matrix) / cells.sum()
    assert slopes.max() <= 1 + 1e-9
    assert slopes[found > 0] == pytest.approx(1)


@given(COUNTS, st.floats(0.3, 3))
def test_maximum_likelihood_of_any_matrix_finds_what_water_filling_finds(
    counts: list[int], epsilon: float
) -> None:
    operator, cells = KaryResponse.for_epsilon(epsilon, len(counts)), np.array(counts)
    exact = fit_by_water_filling(cells, operator.q / (operator.p - operator.q))
    found = fit_maximum_likelihood(cells, operator.matrix())
    gap = log_likelihood(exact, cells, operator.matrix()) - log_likelihood(
        found.shares, cells, operator.matrix()
    )
    assert found.deficit <= MAX_DEFICIT
    assert -1e-6 <= gap <= found.deficit + 1e-6


def test_the_certificate_holds_against_another_optimizer() -> None:
    generator = np.random.default_rng(7)
    matrix = generator.dirichlet(np.ones(7), 5)
    counts = generator.integers(1, 500, 7)

    def loss(logits: np.ndarray) -> float:
        shares = np.exp(logits - logits.max())
        return -log_likelihood(shares / shares.sum(), counts, matrix)

    best = min(float(minimize(loss, generator.normal(size=5)).fun) for _ in range(5))
    found = fit_maximum_likelihood(counts, matrix)
    assert log_likelihood(found.shares, counts, matrix) >= -best - found.deficit - 1e-6
    assert found.deficit <= MAX_DEFICIT


def test_early_stopping_is_a_smoother_and_says_how_far_it_went(random: Randomness) -> None:
    operator = ModularNoise(values=101, reach=10, share=Fraction(1))
    truth = np.repeat([20, 21, 80], [5000, 3000, 2000])
    counts = operator.report_format.count(operator.randomize(truth, random))
    early = fit_iterative_bayes(counts.cells, operator.channel, gain=100)
    late = fit_iterative_bayes(counts.cells, operator.channel, gain=0.01)
    assert early.steps < late.steps
    assert early.deficit > late.deficit
    assert early.shares.max() < late.shares.max() < operator.fit_shares(counts).max()
    assert early.shares.sum() == pytest.approx(1)


def test_steps_that_gain_nothing_are_no_way_to_stop() -> None:
    with pytest.raises(InvalidParameterError, match=r"bayes: `gain=` must be a finite number above 0"):
        fit_iterative_bayes(np.array([1, 2]), channel_from_matrix(np.eye(2)), gain=0)


def test_many_values_are_estimated_far_better_on_the_simplex(random: Randomness) -> None:
    """k-ary randomized response, zipf, k = 1,024, n = 10**6: n MSE about 350 raw, under 20 on the simplex."""
    operator, clients = KaryResponse.for_epsilon(1, 1024), 10**6
    zipf = 1 / np.arange(1, 1025)
    truth = np.repeat(np.arange(1024), np.rint(zipf / zipf.sum() * clients).astype(int))
    shares = np.bincount(truth) / truth.size
    counts = operator.report_format.count(operator.randomize(truth, random))
    found = operator.estimate(counts)

    def error(estimate: np.ndarray) -> float:
        return clients * float(np.mean((estimate - shares) ** 2))

    early = fit_iterative_bayes(
        counts.cells, channel_from_matrix(operator.matrix()), gain=1e-9, most_steps=100
    )
    assert error(found.raw) == pytest.approx(operator.variance(1 / 1024, 1), rel=0.3)
    assert error(found.shares) < 20
    assert error(project_to_simplex(found.raw)) == pytest.approx(error(found.shares), rel=0.05)
    assert error(found.shares) < error(early.shares) < error(found.raw)
    assert early.deficit > 10 * MAX_DEFICIT


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5])
def test_intervals_cover_as_often_as_they_say(share: float) -> None:
    """Exactly, by summing over what may be counted: clients with the value and clients without it."""
    operator, clients, confidence = KaryResponse.for_epsilon(1, 3), 200, 0.9
    having = round(share * clients)
    with_it = binom.pmf(np.arange(having + 1), having, operator.p)
    without = binom.pmf(np.arange(clients - having + 1), clients - having, operator.q)
    law = np.convolve(with_it, without)
    covered = 0.0
    for hits, chance in enumerate(law):
        counts = ReportCounts(clients=clients, cells=np.array([hits, clients - hits, 0]))
        low, high = (each[0] for each in operator.intervals(counts, confidence))
        covered += chance * (low <= having / clients <= high)
    assert covered >= confidence


def test_properties_ranges_and_means_are_weighted_sums_of_the_raw_shares(random: Randomness) -> None:
    operator = HadamardResponse.for_epsilon(2, 10)
    truth = np.arange(100_000) % 10
    found = operator.estimate(operator.randomize(truth, random))
    assert found.estimate_range_share(2, 5).value == pytest.approx(float(found.raw[2:6].sum()))
    assert found.estimate_range_share(2, 5) == found.estimate_share([False] * 2 + [True] * 4 + [False] * 4)
    mean = found.estimate_mean(np.arange(10.0), 1 - 1e-9)
    assert mean.value == pytest.approx(float(found.raw @ np.arange(10)))
    assert mean.low <= 4.5 <= mean.high
    # values that sum to the whole: raw shares need not, but their error is known
    everything = found.estimate_range_share(0, 9, 1 - 1e-9)
    assert everything.low <= 1 <= everything.high


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (3, 2), (0, 5)])
def test_ranges_outside_of_the_domain_are_refused(low: int, high: int, random: Randomness) -> None:
    operator = KaryResponse.for_epsilon(1, 5)
    found = operator.estimate(operator.randomize(np.arange(5), random))
    with pytest.raises(InvalidParameterError, match=r"range_share: `low=` must be with high a range"):
        found.estimate_range_share(low, high)


def test_a_matrix_whose_rows_mix_to_each_other_has_no_unbiased_estimate(random: Randomness) -> None:
    operator = MatrixOperator(rows=[[0.8, 0.2], [0.2, 0.8], [0.5, 0.5]])
    with pytest.raises(InvalidParameterError, match="two distributions of values give the same reports"):
        operator.estimate(operator.randomize(np.array([0, 1, 2]), random))


def test_a_window_that_divides_the_domain_has_no_unbiased_estimate(random: Randomness) -> None:
    operator = ModularNoise(values=9, reach=1, share=Fraction("0.5"))
    with pytest.raises(InvalidParameterError, match=r"2 reach \+ 1"):
        operator.estimate(operator.randomize(np.arange(9), random))


def test_raw_shares_are_never_clipped(random: Randomness) -> None:
    """A clipped estimate is biased: where nobody has a value, the raw one is negative half of the time."""
    operator = KaryResponse.for_epsilon(1, 100)
    found = operator.estimate(operator.randomize(np.zeros(5000, np.int64), random))
    assert 20 < int((found.raw[1:] < 0).sum()) < 79
    assert found.shares.min() == 0
    assert math.isclose(float(found.raw.sum()), 1)
