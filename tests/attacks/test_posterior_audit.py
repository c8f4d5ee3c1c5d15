"""The posterior audit: nobody above the cap under tail 0, at most the tail otherwise; twins are caught."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from discreet.attacks.neighbor_pairs import make_sampler
from discreet.attacks.privacy_audit import audit_posteriors, compute_posteriors
from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from tests.conftest import seeded

PURE = Promise(0.01, 0.05)
RUNS = 20_000


def believed(
    noise: DiscreteLaplace | DiscreteGaussian, prior: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What attackers who know the law come to believe of the true answer 1, where the other is 0."""
    released = np.asarray(make_sampler(noise, 1, seeded(1))(RUNS), np.int64)
    outputs, places = np.unique(released, return_inverse=True)
    losses = [log(noise.likelihood(int(y), 1) / noise.likelihood(int(y), 0)) for y in outputs]
    return compute_posteriors(prior, np.array(losses)[places])


def test_nobody_ends_above_the_cap_under_tail_0_and_many_end_at_it() -> None:
    noise = DiscreteLaplace(epsilon=Fraction(PURE.epsilon), sensitivity=1)
    found = audit_posteriors(believed(noise, 0.01), PURE)
    assert found.fraction == 0
    assert found.holds
    assert found.highest == pytest.approx(0.05)
    assert found.verdict.startswith("0 of 20,000 attackers ended above 5%")


def test_noise_that_is_a_tenth_too_small_is_caught() -> None:
    noise = DiscreteLaplace(epsilon=Fraction(PURE.epsilon) * Fraction(10, 9), sensitivity=1)
    found = audit_posteriors(believed(noise, 0.01), PURE)
    assert found.fraction > 0.5
    assert not found.holds
    assert found.verdict.startswith("The promise is broken: ")


def test_with_a_tail_no_more_than_the_tail_end_above_the_cap() -> None:
    promise = Promise(0.01, 0.05, tail=0.01)
    sigma = Fraction(promise.gaussian_scale(1))
    kept = DiscreteGaussian(variance=sigma**2, squared_sensitivity=Fraction(1))
    broken = DiscreteGaussian(variance=(sigma / 2) ** 2, squared_sensitivity=Fraction(1))
    found, other = (
        audit_posteriors(believed(noise, 0.01), promise, confidence=0.999) for noise in (kept, broken)
    )
    assert 0 < found.fraction <= 0.01
    assert found.holds
    assert not other.holds


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"^audit_posteriors: `posteriors=` must be one or more"):
        audit_posteriors([0.2, 1.2], PURE)
