"""The noise of totals and weighted means of released numbers: its law, and what intervals follow from it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameterError
from discreet.core.randomness import Randomness
from discreet.mechanisms.combined_noise import CombinedNoise, describe_error, find_mechanism
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.sampling import sample_discrete_laplace
from discreet.sql.aggregates.count import estimate_count
from discreet.sql.aggregates.sum import find_sum_half_width
from discreet.sql.interval_estimates import ReleasedPrimitive
from tests.statistical import acceptance

ONCE = DiscreteLaplace(epsilon=Fraction(1, 10), sensitivity=2)
AGAIN = DiscreteLaplace(epsilon=Fraction(1, 5), sensitivity=2)
MEAN = CombinedNoise.from_weights([(ONCE, 20), (AGAIN, 80)])


def test_a_noise_that_was_drawn_has_the_half_width_of_its_law() -> None:
    gaussian = DiscreteGaussian(variance=Fraction(50), squared_sensitivity=Fraction(4), places=10)
    for noise in (ONCE, AGAIN, gaussian):
        alone = CombinedNoise.from_weights([(noise, 1)])
        for confidence in (0.5, 0.95, 0.999):
            assert alone.half_width(confidence) == noise.half_width(confidence)
        assert alone.variance == pytest.approx(float(noise.variance))


def test_the_mean_of_two_measurements_has_the_stated_deviation_and_half_width() -> None:
    assert MEAN.variance**0.5 / 100 == pytest.approx(12.64, abs=0.01)
    assert MEAN.half_width(0.95) == 2_620
    found = ReleasedPrimitive(numbers=np.array([51_250]), noise=MEAN, weight_denominator=100)
    assert found.rounded_values.tolist() == [512]
    low, high = found.get_interval(0.95)
    assert (low[0], high[0]) == pytest.approx((512.5 - 26.2, 512.5 + 26.2))


def test_the_interval_of_a_mean_covers_as_often_as_it_says(random: Randomness) -> None:
    runs = 20_000
    numbers = 20 * sample_discrete_laplace(ONCE.rate, runs, random)
    numbers = numbers + 80 * sample_discrete_laplace(AGAIN.rate, runs, random)
    shown = estimate_count(
        ReleasedPrimitive(numbers=numbers + 100_000, noise=MEAN, weight_denominator=100), 0.95
    )
    covered = int(((shown.low <= 1_000) & (shown.high >= 1_000)).sum())
    assert acceptance(0.95, runs)[0] <= covered <= acceptance(0.953, runs)[1]
    # what is printed is around the rounded count
    half = np.maximum(shown.high - shown.values, shown.values - shown.low)
    assert int((np.abs(shown.values - 1_000) <= half).sum()) >= covered


def test_a_total_over_cells_has_the_law_of_the_sum() -> None:
    total = CombinedNoise.from_cells(ONCE, 656)
    assert total.half_width(0.95) == 1_420
    assert CombinedNoise.from_cells(total, 2) == CombinedNoise.from_cells(ONCE, 1_312)
    cells = CombinedNoise.from_cells(MEAN, 3)
    assert cells.variance == pytest.approx(3 * MEAN.variance)


def test_a_sum_of_combined_and_drawn_numbers_is_bounded_by_their_joint_law() -> None:
    mean = ReleasedPrimitive(numbers=np.array([0]), noise=MEAN, weight_denominator=100)
    other = ReleasedPrimitive(numbers=np.array([0]), noise=ONCE)
    width = find_sum_half_width([(mean, Fraction(1)), (other, Fraction(-1))], 0.95)
    joint = describe_error(MEAN, unit=Fraction(1, 100)) + describe_error(ONCE)
    assert width == float(joint.half_width(0.05))
    assert find_sum_half_width([(mean, Fraction(0))], 0.95) == 0


def test_looks_are_carried_along() -> None:
    looked = CombinedNoise(error=MEAN.error, looks=frozenset({7}))
    later = CombinedNoise(error=MEAN.error, looks=frozenset({9}))
    assert CombinedNoise.from_cells(looked, 4).looks == {7}
    assert CombinedNoise.from_weights([(looked, 1), (later, 1), (ONCE, 1)]).looks == {7, 9}


def test_the_mechanism_is_that_of_the_widest_part() -> None:
    narrow = DiscreteGaussian(variance=Fraction(1), squared_sensitivity=Fraction(4), places=10)
    assert find_mechanism(CombinedNoise.from_weights([(narrow, 1), (ONCE, 1)])) is DiscreteLaplace
    assert find_mechanism(narrow) is DiscreteGaussian


def test_a_confidence_outside_of_0_and_1_is_refused() -> None:
    with pytest.raises(InvalidParameterError):
        MEAN.half_width(1.0)
