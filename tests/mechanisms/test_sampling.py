"""The samplers follow their laws exactly, also where a float alone could not tell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.randomness import Randomness
from discreet.mechanisms import sampling
from discreet.mechanisms.sampling import (
    bound_exp,
    sample_discrete_gaussian,
    sample_discrete_laplace,
    sample_geometric,
    sample_index,
)
from tests.statistical import assert_probability, power

TRIALS = 200_000
FRACTIONS = st.fractions(Fraction(1, 1000), 60, max_denominator=10_000)


def scripted(words: list[int]) -> Randomness:
    """Randomness that hands out these 64-bit words and then zeros."""
    stock: Iterator[int] = iter(words)

    def source(size: int) -> bytes:
        drawn = b"".join(next(stock, 0).to_bytes(8, "little") for _ in range(-(-size // 8)))
        return drawn[:size]

    return Randomness(source=source)


@pytest.mark.parametrize("rate", [Fraction(3), Fraction(1, 2), Fraction(1, 40)])
def test_discrete_laplace_follows_its_mass(rate: Fraction, random: Randomness) -> None:
    counts = Counter(sample_discrete_laplace(rate, TRIALS, random).tolist())
    for z in range(-10, 11):
        assert_probability(counts[z], TRIALS, math.tanh(rate / 2) * math.exp(-rate * abs(z)), family=21)


def test_the_check_would_notice_ten_percent_less_noise() -> None:
    true, weaker = (math.tanh(rate / 2) for rate in (0.5, 0.55))
    assert power(true, weaker, TRIALS, family=21) > 1 - 1e-9


@pytest.mark.parametrize("scale", [1 << 20, 10**7, 1 << 40, 1 << 58, 1 << 62, 1 << 70])
def test_wide_scales_follow_the_same_law(scale: int, random: Randomness) -> None:
    trials = 4_000 if scale > 1 << 60 else TRIALS
    noise = sample_discrete_laplace(Fraction(1, scale), trials, random)
    for part in (-2.0, -0.5, 0.0, 0.5, 2.0):
        tail = math.exp(-abs(part)) / 2
        expected = 1 - tail if part > 0 else tail
        hits = sum(int(z) <= part * scale for z in noise)
        assert_probability(hits, trials, expected, family=5)


def test_low_bits_of_wide_noise_are_uniform(random: Randomness) -> None:
    noise = sample_geometric(Fraction(1, 10**9), TRIALS, random)
    counts = Counter((noise & 7).tolist())
    for bits in range(8):
        assert_probability(counts[bits], TRIALS, 1 / 8, family=8)


@pytest.mark.parametrize("variance", [Fraction(1, 5), Fraction(1), Fraction(50), Fraction(12_345, 7)])
def test_discrete_gaussian_follows_its_mass(variance: Fraction, random: Randomness) -> None:
    counts = Counter(sample_discrete_gaussian(variance, TRIALS, random).tolist())
    weights = {z: math.exp(-(z**2) / (2 * variance)) for z in range(-2000, 2001)}
    for z in range(-10, 11):
        assert_probability(counts[z], TRIALS, weights[z] / sum(weights.values()), family=21)


def test_wide_discrete_gaussian_is_as_wide_as_stated(random: Randomness) -> None:
    for sigma in (10**6, 10**15, 2**68):
        trials = TRIALS if sigma < 2**60 else 4_000
        noise = sample_discrete_gaussian(Fraction(sigma) ** 2, trials, random)
        hits = sum(abs(int(z)) <= sigma for z in noise)
        assert_probability(hits, trials, math.erf(math.sqrt(0.5)), family=3)


def test_choose_follows_weights_and_multiplicities(random: Randomness) -> None:
    distances, times = np.array([7, 4, 4, 9]), np.array([1, 3, 0, 50])
    weights = times * np.exp(-0.4 * (distances - 4))
    counts = Counter(
        sample_index(distances, Fraction(2, 5), random, multiplicities=times) for _ in range(20_000)
    )
    for i, weight in enumerate(weights):
        assert_probability(counts[i], 20_000, weight / weights.sum(), family=4)


@given(FRACTIONS, st.integers(20, 60))
def test_exp_bounds_enclose_the_true_value(x: Fraction, digits: int) -> None:
    low, high = bound_exp(x, digits)
    with mpmath.workdps(100):
        true = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        assert (
            mpmath.mpf(low.numerator) / low.denominator < true < mpmath.mpf(high.numerator) / high.denominator
        )
    assert (high - low) / low < Fraction(10) ** (3 - digits)


@given(st.integers(1 << 48, (1 << 64) - 1), st.sampled_from([Fraction(1), Fraction(1, 1000), Fraction(7, 3)]))
def test_a_decided_geometric_is_the_inverse_at_high_precision(word: int, rate: Fraction) -> None:
    drawn = int(sample_geometric(rate, 1, scripted([word]))[0])
    with mpmath.workdps(60):
        uniform = mpmath.mpf(word) / mpmath.mpf(2) ** 64
        assert drawn == int(mpmath.floor(-mpmath.log(uniform) * rate.denominator / rate.numerator))


@pytest.mark.parametrize(("more", "expected"), [(0, 1), ((1 << 64) - 1, 0)])
def test_a_word_on_the_boundary_is_settled_by_more_bits(more: int, expected: int) -> None:
    """exp(-1) lies strictly inside the 64-bit cell of its own first bits, so the next word decides."""
    with mpmath.workdps(60):
        word = int(mpmath.floor(mpmath.exp(-1) * mpmath.mpf(2) ** 64))
    assert int(sample_geometric(Fraction(1), 1, scripted([word, more]))[0]) == expected
    assert sampling.sample_bernoulli_exp(Fraction(1), scripted([word, more])) is bool(expected)


@pytest.mark.parametrize(("more", "expected"), [(0, 0), ((1 << 64) - 1, 1)])
def test_a_choice_on_the_boundary_is_settled_by_more_bits(more: int, expected: int) -> None:
    with mpmath.workdps(60):
        word = int(mpmath.floor(mpmath.mpf(2) ** 64 / (1 + mpmath.exp(-1))))
    assert sample_index(np.array([0, 1]), Fraction(1), scripted([word, more])) == expected


def test_no_word_at_all_is_a_tail_not_an_error() -> None:
    """A word of zeros is a value deep in the tail: 64 more bits place it exactly."""
    drawn = int(sample_geometric(Fraction(1), 1, scripted([0, 1 << 63]))[0])
    assert drawn == math.floor(65 * math.log(2))


def test_numpy_logarithm_and_exponential_keep_within_the_margin() -> None:
    """The one thing taken on trust of NumPy, with a factor of a thousand to spare."""
    grid = np.concatenate([np.linspace(1e-19, 1, 4001), np.geomspace(1e-19, 1, 4001)])
    for x in grid:
        logarithm, exponential = float(np.log(np.array([x]))[0]), float(np.exp(np.array([-40 * x]))[0])
        with mpmath.workdps(40):
            assert abs(logarithm - mpmath.log(x)) <= sampling.MARGIN / 1024 * (1 + abs(logarithm))
            assert abs(exponential - mpmath.exp(-mpmath.mpf(40 * x))) <= sampling.MARGIN / 1024


@pytest.mark.parametrize("count", [0, 1, sampling.CHUNK, sampling.CHUNK + 1])
def test_as_many_values_come_as_were_asked_for(count: int, random: Randomness) -> None:
    assert sample_discrete_laplace(Fraction(1), count, random).size == count
    assert sample_discrete_gaussian(Fraction(4), count, random).size == count
