"""Discrete Laplace: one group of tests per labelled line of the mechanism's docstring."""

from __future__ import annotations

import math
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from tests.statistical import FALSE_ALARM, assert_probability, power

TRIALS = 40_000
EXAMPLE = DiscreteLaplace(epsilon=Fraction(3, 2), sensitivity=3)
EPSILONS = st.fractions(Fraction(1, 100), 10, max_denominator=1_000)
MECHANISMS = st.builds(DiscreteLaplace, epsilon=EPSILONS, sensitivity=st.integers(1, 20))


def draw(count: int, random: Randomness, mechanism: DiscreteLaplace = EXAMPLE) -> list[int]:
    counts = Exact(np.full(TRIALS, count, dtype=np.int64))
    released: list[int] = mechanism.release_many(counts, random).value.tolist()
    return released


def test_release_follows_the_stated_mass(random: Randomness) -> None:
    noise = draw(0, random)
    for z in range(-5, 6):
        assert_probability(noise.count(z), TRIALS, EXAMPLE.mass(z), family=11)


def test_release_check_would_notice_ten_percent_less_noise() -> None:
    weaker = DiscreteLaplace(epsilon=EXAMPLE.epsilon * Fraction(11, 10), sensitivity=3)
    assert power(EXAMPLE.mass(0), weaker.mass(0), TRIALS, family=11) > 1 - 1e-4


def test_release_of_one_count_follows_the_same_law(random: Randomness) -> None:
    released = [EXAMPLE.release(Exact(7), random).value for _ in range(5_000)]
    for y in range(5, 10):
        assert_probability(released.count(y), 5_000, EXAMPLE.likelihood(y, 7), family=5)


@pytest.mark.parametrize("end", [np.iinfo(np.int64).max, np.iinfo(np.int64).min])
def test_release_at_the_end_of_the_range_does_not_wrap_around(end: int, random: Randomness) -> None:
    released = EXAMPLE.release_many(Exact(np.full(50, end, dtype=np.int64)), random).value
    assert (np.sign(released) == np.sign(end)).all()


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "named"),
    [
        (0, 1, "epsilon"),
        (-1, 1, "epsilon"),
        (math.nan, 1, "epsilon"),
        (math.inf, 1, "epsilon"),
        ("1", 1, "epsilon"),
        (1, 0, "sensitivity"),
        (1, math.inf, "sensitivity"),
        (1, 1.5, "sensitivity"),
        (1, -2, "sensitivity"),
    ],
)
def test_requires_positive_parameters(epsilon: float, sensitivity: int, named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^DiscreteLaplace\.{named} must be .*; got .*\.$"):
        DiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity)  # type: ignore[arg-type]


@given(MECHANISMS, st.integers(-50, 50), st.floats(-1, 1))
def test_guarantee_bounds_the_loss_at_every_output(mechanism: DiscreteLaplace, y: int, part: float) -> None:
    shift = round(part * mechanism.sensitivity)
    assert log(mechanism.mass(y) / mechanism.mass(y - shift)) <= mechanism.epsilon + 1e-9


def test_guarantee_survives_an_audit_that_comes_close(random: Randomness) -> None:
    at_zero, at_neighbour = (sum(y <= 0 for y in draw(count, random)) for count in (0, 3))
    found = compute_epsilon_lower_bound(at_zero, at_neighbour, TRIALS, error_rate=FALSE_ALARM)
    assert 0.8 * EXAMPLE.epsilon < found <= EXAMPLE.epsilon


def test_guarantee_audit_catches_a_twin_with_a_third_of_the_sensitivity(random: Randomness) -> None:
    broken = DiscreteLaplace(epsilon=Fraction(3, 2), sensitivity=1)
    at_zero, at_neighbour = (sum(y <= 0 for y in draw(count, random, broken)) for count in (0, 3))
    assert compute_epsilon_lower_bound(at_zero, at_neighbour, TRIALS, error_rate=FALSE_ALARM) > broken.epsilon


def test_guarantee_of_a_vector_is_met_by_the_whole_vector(random: Randomness) -> None:
    """One person moves three counts by one each: the losses of the three places add up, and no further."""
    base, moved = (np.tile(np.array(row, dtype=np.int64), TRIALS) for row in ([0, 0, 0], [1, 1, 1]))
    hits = [
        int((EXAMPLE.release_many(Exact(v), random).value.reshape(-1, 3) <= 0).all(axis=1).sum())
        for v in (base, moved)
    ]
    found = compute_epsilon_lower_bound(hits[0], hits[1], TRIALS, error_rate=FALSE_ALARM)
    assert 0.5 * EXAMPLE.epsilon < found <= EXAMPLE.epsilon


@given(MECHANISMS, st.integers(1, 40))
def test_utility_states_the_tail(mechanism: DiscreteLaplace, k: int) -> None:
    inside = sum(mechanism.mass(z) for z in range(-k, k + 1))
    assert inside + mechanism.beta(k) == pytest.approx(1)
    assert mechanism.beta(k + 0.5) == mechanism.beta(k)


@given(EPSILONS)
def test_utility_states_the_variance(epsilon: Fraction) -> None:
    mechanism = DiscreteLaplace(epsilon=epsilon, sensitivity=1)
    reach = int(60 / epsilon) + 2
    z = np.arange(-reach, reach + 1)
    masses = math.tanh(epsilon / 2) * np.exp(-float(epsilon) * np.abs(z))
    assert (masses * z**2).sum() == pytest.approx(mechanism.variance, rel=1e-9)


@given(MECHANISMS, st.floats(0.01, 0.999999))
def test_utility_interval_is_the_smallest_that_covers(mechanism: DiscreteLaplace, confidence: float) -> None:
    h = mechanism.half_width(confidence)
    assert mechanism.beta(h) <= 1 - confidence
    assert h == 0 or mechanism.beta(h - 1) > 1 - confidence


def test_utility_matches_the_check_value_of_the_theory() -> None:
    """A count within 10 at 95% needs epsilon 0.2996 by the Laplace tail; the geometric one is lighter."""
    assert DiscreteLaplace(epsilon=0.2996, sensitivity=1).beta(10) == pytest.approx(  # type: ignore[arg-type]
        2 * exp(-0.2996 * 11) / (1 + exp(-0.2996))
    )
    assert DiscreteLaplace(epsilon=0.2996, sensitivity=1).half_width(0.95) == 10  # type: ignore[arg-type]


def test_the_width_of_the_widest_noise_is_found_soon() -> None:
    for exponent in (20, 60, 120):
        mechanism = DiscreteLaplace(epsilon=Fraction(1, 2**exponent), sensitivity=2**58)
        assert float(mechanism.half_width(0.95) * mechanism.rate) == pytest.approx(math.log(20), rel=1e-9)
