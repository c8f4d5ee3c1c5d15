"""Discrete Gaussian: law, guarantee (exact and audited), utility, parameters."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import DiscreteGaussianDP, GaussianDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from tests.statistical import FALSE_ALARM, assert_probability, power

TRIALS = 40_000
EXAMPLE = DiscreteGaussian(variance=Fraction(4), squared_sensitivity=Fraction(4))
MECHANISMS = st.builds(
    DiscreteGaussian,
    variance=st.fractions(Fraction(1, 10), 400, max_denominator=50),
    squared_sensitivity=st.integers(1, 5).map(lambda s: Fraction(s * s)),
)


def law(mechanism: DiscreteGaussian, reach: int = 900) -> dict[int, Fraction]:
    """The masses by high-precision weights, independent of the code under test."""
    weights = {
        z: Fraction(math.exp(-(z**2) / (2 * float(mechanism.variance)))) for z in range(-reach, reach + 1)
    }
    total = sum(weights.values())
    return {z: w / total for z, w in weights.items()}


def test_release_follows_the_stated_mass(random: Randomness) -> None:
    noise = EXAMPLE.release_many(Exact(np.zeros(1, np.int64)), random).value
    assert noise.shape == (1,)
    drawn = [EXAMPLE.release(Exact(0), random).value for _ in range(TRIALS // 10)]
    for z in range(-4, 5):
        assert_probability(drawn.count(z), TRIALS // 10, EXAMPLE.mass(z), family=9)


def test_release_check_would_notice_ten_percent_less_noise() -> None:
    weaker = DiscreteGaussian(variance=EXAMPLE.variance * Fraction(81, 100), squared_sensitivity=Fraction(4))
    assert power(EXAMPLE.mass(0), weaker.mass(0), TRIALS, family=9) > 1 - 1e-4


@given(MECHANISMS, st.floats(0, 4))
def test_guarantee_of_one_integer_is_the_exact_profile(mechanism: DiscreteGaussian, epsilon: float) -> None:
    guarantee = mechanism.guarantee
    assert isinstance(guarantee, DiscreteGaussianDP)
    masses = law(mechanism)
    exact = sum(
        max(0.0, float(p) - math.exp(epsilon) * float(masses.get(z + guarantee.shift, Fraction(0))))
        for z, p in masses.items()
    )
    assert guarantee.profile(epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-13)


@given(st.integers(1, 40), st.floats(0.0, 3.0))
def test_guarantee_grows_with_the_shift(shift: int, epsilon: float) -> None:
    """So the declared sensitivity is the worst of all smaller changes."""
    smaller, larger = (DiscreteGaussianDP(variance=Fraction(300), shift=s) for s in (shift, shift + 1))
    assert smaller.profile(epsilon) <= larger.profile(epsilon) + 1e-12


@pytest.mark.parametrize("sigma", [900, 1_100, 50_000, 10**9])
def test_guarantee_of_wide_noise_is_the_gaussian_one(sigma: int) -> None:
    """Also across the switch from term-by-term sums to bounded integrals."""
    discrete = DiscreteGaussianDP(variance=Fraction(sigma**2), shift=sigma // 3)
    smooth = GaussianDP(mu=Fraction(sigma // 3, sigma))
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        assert discrete.profile(epsilon) == pytest.approx(smooth.profile(epsilon), rel=2e-3)


@given(MECHANISMS, st.floats(0.0, 3.0))
def test_guarantee_of_a_vector_is_concentrated_and_covers_the_exact_one(
    mechanism: DiscreteGaussian, epsilon: float
) -> None:
    vector = DiscreteGaussian(
        variance=mechanism.variance, squared_sensitivity=mechanism.squared_sensitivity, places=9
    )
    assert isinstance(vector.guarantee, ZeroConcentratedDP)
    assert vector.guarantee.profile(epsilon) >= mechanism.guarantee.profile(epsilon) - 1e-12


def test_guarantee_audit_catches_a_twin_with_half_the_sensitivity(random: Randomness) -> None:
    """At delta 0 and epsilon 0 the profile is the total variation: an event on counts comes close to it."""
    sizes = np.zeros(TRIALS, np.int64)
    many = DiscreteGaussian(variance=Fraction(4), squared_sensitivity=Fraction(4), places=TRIALS)
    base = many.release_many(Exact(sizes), random).value
    moved = many.release_many(Exact(sizes + 2), random).value
    allowed = math.log(
        EXAMPLE.guarantee.profile(0.0) + sum(EXAMPLE.mass(z) for z in range(1, 60))
    ) - math.log(sum(EXAMPLE.mass(z) for z in range(1, 60)))
    found = compute_epsilon_lower_bound(
        int((moved > 0).sum()), int((base > 0).sum()), TRIALS, error_rate=FALSE_ALARM
    )
    assert 0.8 * allowed < found <= allowed
    twin = many.release_many(Exact(sizes + 4), random).value
    assert (
        compute_epsilon_lower_bound(
            int((twin > 0).sum()), int((base > 0).sum()), TRIALS, error_rate=FALSE_ALARM
        )
        > allowed
    )


@given(MECHANISMS, st.floats(0.05, 0.9999))
def test_utility_interval_is_the_smallest_that_covers(mechanism: DiscreteGaussian, confidence: float) -> None:
    masses, h = law(mechanism), mechanism.half_width(confidence)
    inside = float(sum(p for z, p in masses.items() if abs(z) <= h))
    narrower = float(sum(p for z, p in masses.items() if abs(z) <= h - 1))
    assert inside >= confidence - 1e-12
    assert narrower < confidence + 1e-12


def test_of_rho_spends_exactly_what_it_is_given() -> None:
    mechanism = DiscreteGaussian.from_rho(Fraction(1, 8), squared_sensitivity=50, places=3)
    assert mechanism.guarantee == ZeroConcentratedDP(rho=Fraction(1, 8))
    assert DiscreteGaussian.from_rho(
        0.5, squared_sensitivity=2, relation=Relation.PRESENCE
    ).guarantee.relation == ("presence")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "4"])
@pytest.mark.parametrize("name", ["variance", "squared_sensitivity"])
def test_requires_positive_parameters(name: str, value: float) -> None:
    given_values = {"variance": 1, "squared_sensitivity": 1, name: value}
    with pytest.raises(
        InvalidParameterError, match=rf"^DiscreteGaussian\.{name} must be a finite number above 0"
    ):
        DiscreteGaussian(**given_values)  # type: ignore[arg-type]


def test_requires_as_many_places_as_are_released(random: Randomness) -> None:
    with pytest.raises(InvalidParameterError, match=r"DiscreteGaussian\.places must be"):
        EXAMPLE.release_many(Exact(np.zeros(2, np.int64)), random)
