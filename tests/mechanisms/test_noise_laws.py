"""Laws of noise: variances, tails, half-widths and transforms against sums over every outcome."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from discreet.core.errors import InvalidParameterError
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    describe_noise,
    parse_noise_law,
)
from tests.mechanisms.noise_sums import BETAS, LAPLACE, LAWS, NARROW_LAWS, list_masses, sum_inside


def test_one_cell_of_a_tenth_is_within_sixty() -> None:
    assert LAPLACE.half_width(0.05) == 60
    assert LAPLACE.standard_deviation == pytest.approx(28.28, abs=0.01)


@given(NARROW_LAWS, BETAS)
def test_half_width_is_the_least_that_covers(law: NoiseLaw, beta: float) -> None:
    masses, h = list_masses(law), law.half_width(beta)
    assert sum_inside(masses, h) >= 1 - beta - 1e-14
    assert h == 0 or sum_inside(masses, h - 1) < 1 - beta + 1e-9


@given(NARROW_LAWS)
def test_a_miss_is_bounded_from_above_and_tightly(law: NoiseLaw) -> None:
    masses = list_masses(law)
    for h in range(6):
        miss = 1 - sum_inside(masses, Fraction(h))
        assert miss - 1e-15 <= law.bound_miss(h) <= miss * (1 + 1e-9) + 1e-14


@given(NARROW_LAWS)
def test_variance_is_that_of_the_masses(law: NoiseLaw) -> None:
    assert law.variance == pytest.approx(float(sum(p * z**2 for z, p in list_masses(law).items())), rel=1e-9)


@given(NARROW_LAWS)
@settings(max_examples=50)
def test_transforms_are_those_of_the_masses(law: NoiseLaw) -> None:
    masses = {float(z): float(p) for z, p in list_masses(law).items()}
    angles = np.linspace(-math.pi, math.pi, 9)
    direct = [math.fsum(p * math.cos(t * z) for z, p in masses.items()) for t in angles]
    assert np.exp(law.compute_log_transform(angles)) == pytest.approx(direct, abs=1e-14)
    t = np.array([0.1, 0.4, 0.8]) * min(1.0, law.rate_limit)
    moments = [math.fsum(p * math.exp(each * z) for z, p in masses.items()) for each in t]
    assert (np.exp(law.bound_log_moments(t)) >= np.array(moments) * (1 - 1e-9)).all()


@given(LAWS)
def test_the_transform_is_positive_and_decreases_to_pi(law: NoiseLaw) -> None:
    logs = law.compute_log_transform(np.linspace(0, math.pi, 200))
    assert logs[0] == 0
    assert (np.diff(logs) <= 1e-12 * np.abs(logs[1:])).all()


@given(LAWS, BETAS)
def test_units_scale_the_half_width(law: NoiseLaw, beta: float) -> None:
    assert law.half_width(beta) == law.in_steps.half_width(beta) * law.unit
    assert law.bound_miss(law.half_width(beta)) <= beta


@given(LAWS)
def test_a_stored_law_is_read_back(law: NoiseLaw) -> None:
    assert parse_noise_law(json.loads(json.dumps(law.serialize()))) == law


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"law": "normal", "rate": "1", "unit": "1"},
        {"law": "discrete_laplace", "rate": "0", "unit": "1"},
        {"law": "discrete_laplace", "rate": "1/0", "unit": "1"},
        {"law": "discrete_laplace", "parameter": "1", "unit": "1"},
        {"law": "discrete_gaussian", "parameter": "1", "unit": "x"},
    ],
)
def test_what_is_no_law_is_refused(stored: dict[str, str]) -> None:
    with pytest.raises(InvalidParameterError):
        parse_noise_law(stored)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
def test_a_mechanism_and_the_law_of_its_noise_agree(confidence: float) -> None:
    laplace = DiscreteLaplace(epsilon=Fraction(1, 3), sensitivity=4)
    gaussian = DiscreteGaussian(variance=Fraction(50), squared_sensitivity=Fraction(2))
    for mechanism, kind in ((laplace, DiscreteLaplaceLaw), (gaussian, DiscreteGaussianLaw)):
        law = describe_noise(mechanism, unit=Fraction(1, 10))
        assert isinstance(law, kind)
        assert law.half_width(1 - confidence) * 10 == mechanism.half_width(confidence)


@pytest.mark.parametrize("beta", [0, 1, -0.1, math.nan])
def test_a_probability_of_a_miss_is_between_0_and_1(beta: float) -> None:
    with pytest.raises(InvalidParameterError):
        LAPLACE.half_width(beta)
