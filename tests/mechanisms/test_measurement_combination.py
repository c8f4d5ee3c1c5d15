"""Several measurements of one quantity, and overlapping totals: agreement, accuracy and exact errors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameterError
from discreet.core.randomness import Randomness
from discreet.mechanisms.linear_combinations import LinearCombination
from discreet.mechanisms.measurement_combination import (
    combine_measurements,
    fit_totals,
    spend_on_look,
    split_over_looks,
)
from discreet.mechanisms.noise_laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, Floats, NoiseLaw
from discreet.mechanisms.sampling import sample_discrete_laplace
from tests.mechanisms.noise_sums import LAPLACE, LAWS, TWICE
from tests.statistical import acceptance

ONCE, AGAIN = (LinearCombination.from_equal_cells(law, 1) for law in (LAPLACE, TWICE))
DAYS = np.vstack([np.eye(6), [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]])
TRIALS = 20_000


def test_a_tenth_and_a_fifth_combine_to_less_than_either() -> None:
    combined = combine_measurements(ONCE, AGAIN)
    assert combined.error.standard_deviation == pytest.approx(12.64, abs=0.01)
    assert combined.error.half_width(0.05) == Fraction("26.2")
    assert combined.weights == (Fraction(1, 5), Fraction(4, 5))
    assert combined.estimate([100, 110]) == 108


def test_a_normal_law_would_cover_94_percent_of_that_combination() -> None:
    z = np.arange(-1_000.0, 1_001.0)
    masses = np.outer(LAPLACE.compute_masses(z), TWICE.compute_masses(z))
    fifths = np.abs(np.add.outer(z, 4 * z))
    assert float(masses[fifths <= 131].sum()) >= 0.95
    assert float(masses[fifths <= 130].sum()) < 0.95
    normal = 1.959964 * combine_measurements(ONCE, AGAIN).error.standard_deviation
    assert float(masses[fifths <= 5 * normal].sum()) == pytest.approx(0.940, abs=0.0005)


@given(st.lists(LAWS, min_size=1, max_size=8))
def test_weights_add_up_to_1_and_come_close_to_the_least_variance(laws: list[NoiseLaw]) -> None:
    errors = [LinearCombination.from_weights([(law, 1)]) for law in laws]
    combined = combine_measurements(*errors)
    least = 1 / sum(1 / error.variance for error in errors)
    assert sum(combined.weights) == 1
    assert min(combined.weights) >= 0
    assert least * (1 - 1e-9) <= combined.error.variance <= 1.01 * least + 1e-300


def test_a_number_without_noise_is_taken_alone() -> None:
    combined = combine_measurements(ONCE, LinearCombination(()))
    assert combined.weights == (Fraction(0), Fraction(1))
    assert combined.error.half_width(0.05) == 0


def test_six_looks_at_undivided_beta_cover_too_rarely_and_divided_enough(random: Randomness) -> None:
    """The analyst measures up to six times, and stops at the combination that misses, if one does."""
    noise = sample_discrete_laplace(LAPLACE.rate, TRIALS * 6, random).reshape(TRIALS, 6)
    means = np.abs(noise.cumsum(axis=1) / np.arange(1, 7))
    combined = [combine_measurements(*[ONCE] * look).error for look in range(1, 7)]

    def count_covered(betas: list[float]) -> int:
        widths = [float(each.half_width(beta)) for each, beta in zip(combined, betas, strict=True)]
        return int((means <= np.array(widths) + 1e-9).all(axis=1).sum())

    least = acceptance(0.95, TRIALS, family=3)[0]
    assert count_covered([0.05] * 6) < acceptance(0.88, TRIALS, family=3)[1]
    assert count_covered([split_over_looks(0.05, 6)] * 6) >= least
    assert count_covered([spend_on_look(0.05, look) for look in range(1, 7)]) >= least


def test_any_number_of_looks_spends_at_most_beta() -> None:
    assert math.fsum(spend_on_look(0.05, look) for look in range(1, 10_000)) < 0.05
    with pytest.raises(InvalidParameterError):
        spend_on_look(0.05, 0)
    with pytest.raises(InvalidParameterError):
        split_over_looks(1.5, 2)


def test_days_and_months_agree_after_the_fit() -> None:
    errors = [ONCE] * 6 + [AGAIN] * 2
    fitted = fit_totals(DAYS, errors)
    values = np.random.default_rng(1).normal(100, 30, 8)
    estimates = fitted.estimate(values)
    assert DAYS[6:] @ estimates[:6] == pytest.approx(estimates[6:], abs=1e-8)
    assert fitted.estimate(DAYS @ np.arange(6.0)) == pytest.approx(DAYS @ np.arange(6.0), abs=1e-9)
    assert all(fitted.get_error(i).variance < errors[i].variance for i in range(8))


def test_errors_of_fitted_totals_are_those_of_their_estimates(random: Randomness) -> None:
    fitted = fit_totals(DAYS, [ONCE] * 6 + [AGAIN] * 2)
    days = sample_discrete_laplace(LAPLACE.rate, TRIALS * 6, random).reshape(TRIALS, 6)
    months = sample_discrete_laplace(TWICE.rate, TRIALS * 2, random).reshape(TRIALS, 2)
    missed = np.abs(fitted.weights @ np.hstack([days, months]).T)
    for output in (0, 6):
        covered = int((missed[output] <= float(fitted.get_error(output).half_width(0.05))).sum())
        low, high = acceptance(0.95, TRIALS, family=4)
        assert low <= covered <= acceptance(0.953, TRIALS, family=4)[1], (low, high)


def test_the_fit_is_the_best_unbiased_one() -> None:
    """The month alone, its days alone, and both by inverse variance: the last is the fit."""
    fitted = fit_totals(DAYS, [ONCE] * 6 + [AGAIN] * 2)
    days, month = 3 * LAPLACE.variance, TWICE.variance
    assert fitted.get_error(6).variance == pytest.approx(days * month / (days + month))


def test_other_outputs_are_estimated_where_totals_determine_them() -> None:
    design = np.array([[1.0, 1, 0], [0, 1, 1]])
    fitted = fit_totals(design, [ONCE, ONCE], outputs=np.array([[1.0, 2, 1], [1, 0, -1]]))
    assert fitted.estimate(np.array([10.0, 7.0])) == pytest.approx([17, 3])
    with pytest.raises(InvalidParameterError, match="determine"):
        fit_totals(design, [ONCE, ONCE], outputs=np.array([[1.0, 0, 0]]))


@pytest.mark.parametrize(
    ("design", "errors"),
    [(np.eye(513), 513), (np.eye(3), 2), (np.ones(3), 3), (np.zeros((0, 0)), 0)],
)
def test_designs_that_are_too_large_or_do_not_fit_are_refused(design: Floats, errors: int) -> None:
    with pytest.raises(InvalidParameterError):
        fit_totals(design, [ONCE] * errors)
    with pytest.raises(InvalidParameterError):
        fit_totals(np.eye(2), [ONCE, LinearCombination(())])


@pytest.mark.parametrize("make", [DiscreteLaplaceLaw, DiscreteGaussianLaw])
def test_an_epsilon_that_is_picked_by_the_noise_does_not_make_the_second_mean_miss_too_often(
    make: Any,
) -> None:
    """Someone who knows the noise of the first picks the epsilon at which the mean most likely misses.

    Only a mean is printed whose interval at half of beta is narrower than those of both parts at beta.
    """
    z, worst = np.arange(-2_000.0, 2_001.0), np.zeros(4_001)
    first = _make_law(make, Fraction(1))
    for factor in (Fraction(step, 20) for step in range(4, 60)):
        second = _make_law(make, factor)
        mean = combine_measurements(*(LinearCombination.from_weights([(law, 1)]) for law in (first, second)))
        half = mean.error.half_width(spend_on_look(0.05, 1))
        if half < min(first.half_width(0.05), second.half_width(0.05)):
            one, other = map(float, mean.weights)
            inside = [np.clip((side * float(half) - one * z) / other, -2_000, 2_000) for side in (-1, 1)]
            low, high = np.ceil(inside[0] - 1e-9).astype(int), np.floor(inside[1] + 1e-9).astype(int)
            sums = np.append(0.0, np.cumsum(second.compute_masses(z)))
            worst = np.maximum(worst, 1 - np.where(high >= low, sums[high + 2_001] - sums[low + 2_000], 0.0))
    assert 0.035 < float(worst @ first.compute_masses(z)) < 0.045


def _make_law(make: Any, factor: Fraction) -> NoiseLaw:
    """Return a law of about the width of epsilon .1 times the factor, sensitivity 2."""
    if make is DiscreteLaplaceLaw:
        return DiscreteLaplaceLaw(rate=factor / 20)
    return DiscreteGaussianLaw(parameter=400 / factor**2)
