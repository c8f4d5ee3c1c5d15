"""Laplace and Gaussian on a declared grid: the papers' laws, and nothing in the low bits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import GaussianDP
from discreet.core.randomness import Randomness
from discreet.mechanisms.additive_noise import round_to_grid
from discreet.mechanisms.gaussian import Gaussian, exact_sigma, textbook_sigma
from discreet.mechanisms.laplace import Laplace
from tests.statistical import assert_probability

LAPLACE = Laplace(epsilon=Fraction(2), sensitivity=Fraction(9, 4), resolution=Fraction(1, 1000))
GAUSSIAN = Gaussian(sigma=Fraction(3), sensitivity=Fraction(1), resolution=Fraction(1, 50))
REALS = st.fractions(-50, 50, max_denominator=997)


def grid(value: Fraction, resolution: Fraction) -> int:
    return round_to_grid("test", Exact(value), resolution).secret


@given(REALS, REALS, st.fractions(Fraction(1, 90), 3, max_denominator=90))
def test_rounding_to_the_grid_widens_a_distance_to_the_next_step_at_most(
    a: Fraction, b: Fraction, resolution: Fraction
) -> None:
    steps = abs(grid(a, resolution) - grid(b, resolution))
    assert steps <= math.ceil(abs(a - b) / resolution)
    assert abs(grid(a, resolution) * resolution - a) <= resolution / 2


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
def test_outputs_lie_on_the_grid_whatever_the_value(
    mechanism: Laplace | Gaussian, random: Randomness
) -> None:
    """The attack on low bits finds the same grid in both worlds."""
    for value in (Fraction(1, 3), Fraction(4)):
        released = [mechanism.release(Exact(value), random).value for _ in range(500)]
        assert all((y / mechanism.resolution).denominator == 1 for y in released)


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
def test_intervals_cover_the_value_rounding_included(
    mechanism: Laplace | Gaussian, random: Randomness
) -> None:
    value, trials = Fraction(7, 3), 4_000
    half = mechanism.half_width(0.9)
    hits = sum(abs(mechanism.release(Exact(value), random).value - value) <= half for _ in range(trials))
    assert_probability(hits, trials, 0.9)
    assert mechanism.beta(half) <= 0.1 + 1e-12


def test_laplace_tends_to_the_papers_density() -> None:
    masses = [
        LAPLACE.integer_mechanism.mass(grid(Fraction(x), LAPLACE.resolution)) * 1000 for x in (0.5, 1.0, 2.25)
    ]
    assert masses == pytest.approx([LAPLACE.density(x) for x in (0.5, 1.0, 2.25)], rel=1e-6)
    assert LAPLACE.density(1.041) == pytest.approx(0.176177, abs=1e-6)  # LPB, Table I


def test_likelihood_ratios_are_those_of_the_law_that_is_drawn() -> None:
    drawn = LAPLACE.integer_mechanism.mass(1041) / LAPLACE.integer_mechanism.mass(3041)
    assert LAPLACE.likelihood(5.041, 4) / LAPLACE.likelihood(5.041, 2) == pytest.approx(drawn, rel=1e-9)


def test_a_coarse_grid_pays_for_its_rounding() -> None:
    coarse = Laplace(epsilon=Fraction(1), sensitivity=Fraction(12, 10), resolution=Fraction(1))
    assert coarse.scale == 2.0


@given(st.floats(0.01, 20), st.floats(1e-12, 0.4))
def test_exact_sigma_meets_delta_and_no_smaller_one_does(epsilon: float, delta: float) -> None:
    sigma = exact_sigma(epsilon, delta)
    assert GaussianDP(mu=1 / sigma).profile(epsilon) == pytest.approx(delta, rel=1e-5)
    assert GaussianDP(mu=1 / (0.99 * sigma)).profile(epsilon) > delta


def test_textbook_sigma_is_loose_and_then_not_enough() -> None:
    assert textbook_sigma(1, 1e-5) == pytest.approx(4.941, abs=5e-4)
    assert exact_sigma(1, 1e-5) == pytest.approx(3.731, abs=5e-4)
    safe, unsafe = (GaussianDP(mu=1 / textbook_sigma(e, 1e-5)).profile(e) for e in (9.3, 9.6))
    assert safe < 1e-5 < unsafe


def test_gaussian_guarantee_tends_to_the_normal_profile() -> None:
    for epsilon in (0.0, 0.5, 1.5):
        assert GAUSSIAN.guarantee.profile(epsilon) == pytest.approx(
            GaussianDP(mu=Fraction(1, 3)).profile(epsilon), rel=1e-2
        )


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
@pytest.mark.parametrize(
    ("kind", "name"),
    [(Laplace, name) for name in ("epsilon", "sensitivity", "resolution")]
    + [(Gaussian, name) for name in ("sigma", "sensitivity", "resolution")],
)
def test_requires_positive_parameters(kind: type, name: str, value: float) -> None:
    first = "epsilon" if kind is Laplace else "sigma"
    parameters = {first: 1, "sensitivity": 1, "resolution": 1, name: value}
    with pytest.raises(
        InvalidParameterError, match=rf"^{kind.__name__}\.{name} must be a finite number above 0"
    ):
        kind(**parameters)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-5), (1, 0), (1, 1), (math.nan, 0.1), (1, math.nan)])
def test_calibration_refuses_parameters_without_meaning(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^exact_sigma: `(epsilon|delta)=` must be"):
        exact_sigma(epsilon, delta)


def test_numpy_integers_do_not_wrap_around_on_a_fine_grid(random: Randomness) -> None:
    fine = Laplace(epsilon=100, sensitivity=1, resolution=0.001)  # type: ignore[arg-type]
    for value in (np.int64(7), np.int64(12), np.int32(-11)):
        released = fine.release(Exact(value), random)  # type: ignore[arg-type]
        assert float(released.value) == pytest.approx(int(value), abs=2)


@pytest.mark.parametrize("secret", ["HIV+", 1.5, math.nan, None, True])
def test_what_is_no_number_is_refused_without_being_shown(secret: object, random: Randomness) -> None:
    with pytest.raises(InvalidParameterError) as refusal:
        LAPLACE.release(Exact(secret), random)  # type: ignore[arg-type]
    assert str(refusal.value) == (
        f"Laplace.value must be an integer or a fraction; got a {type(secret).__name__}."
    )
