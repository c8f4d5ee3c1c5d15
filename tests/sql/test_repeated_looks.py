"""The mean of several measurements is exact, unbiased and carries what it combines."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.combined_noise import CombinedNoise
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.repeated_looks import average_measurements, divide_confidence, share_of_look

NOISES = st.one_of(
    st.builds(
        DiscreteLaplace, epsilon=st.fractions(Fraction(1, 50), 2, max_denominator=100), sensitivity=st.just(2)
    ),
    st.builds(
        DiscreteGaussian,
        variance=st.fractions(Fraction(1, 2), 5_000, max_denominator=100),
        squared_sensitivity=st.just(Fraction(4)),
        places=st.just(10),
    ),
)


@given(
    st.lists(st.tuples(NOISES, st.integers(-(10**6), 10**6)), min_size=2, max_size=6),
    st.sampled_from([1, 6, 32]),
)
def test_a_mean_is_exact_unbiased_and_no_wider_than_its_parts(
    parts: list[tuple[IntegerNoise, int]], denominator: int
) -> None:
    released = [
        ReleasedPrimitive(numbers=np.array([number]), noise=noise, weight_denominator=denominator)
        for noise, number in parts
    ]
    mean = average_measurements(released, {2, 3})
    assert isinstance(mean.noise, CombinedNoise)
    assert mean.noise.looks == {2, 3}
    # measurements of one truth have that as their mean
    same = [replace(each, numbers=np.array([7 * denominator])) for each in released]
    assert average_measurements(same, {2}).values.tolist() == [7.0]
    variance = mean.noise.variance / mean.weight_denominator**2
    best = min(float(noise.variance) for noise, _ in parts) / denominator**2
    assert variance <= best * 1.01
    assert mean.numbers.dtype == np.int64


def test_numbers_beyond_64_bits_stay_exact() -> None:
    once, again = (DiscreteLaplace(epsilon=Fraction(1, each), sensitivity=2) for each in (10, 9))
    numbers = np.array([2**62 + 1, -5])
    mean = average_measurements(
        [ReleasedPrimitive(numbers=numbers, noise=noise) for noise in (once, again)], {2}
    )
    assert mean.rounded_values.tolist() == numbers.tolist()


def test_one_measurement_is_its_own_mean() -> None:
    alone = ReleasedPrimitive(
        numbers=np.array([3]), noise=DiscreteLaplace(epsilon=Fraction(1), sensitivity=2)
    )
    assert average_measurements([alone], ()) is alone


def test_the_shares_of_all_means_add_up_to_what_is_stated() -> None:
    assert share_of_look(0.05, ()) == 0.05
    shares = [share_of_look(0.05, range(1, looks + 1)) for looks in range(1, 5_000)]
    assert shares[0] == 0.025
    assert 0.0499 < math.fsum(shares) < 0.05
    assert divide_confidence(0.95, ()) == 0.95
    assert divide_confidence(0.95, {4}) == pytest.approx(0.975)
