"""The informed adversary, against a direct count of what the mechanism does."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.belief import compute_posterior, highest_posterior, uniform_prior
from discreet.core.errors import InvalidParameterError
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from tests.statistical import assert_probability


@dataclass(frozen=True)
class ContinuousLaplace:
    scale: float

    def likelihood(self, output: float, truth: float) -> float:
        return math.exp(-abs(output - truth) / self.scale) / (2 * self.scale)


def test_the_posterior_is_the_share_of_worlds_that_lead_to_the_output() -> None:
    """Draw worlds and noise; among the runs that released 3, count how many came from each world."""
    mechanism = DiscreteLaplace(epsilon=Fraction(1), sensitivity=1)
    worlds, prior = {"healthy": 2, "ill": 3}, {"healthy": 0.8, "ill": 0.2}
    random = np.random.default_rng(11)
    ill = random.random(200_000) < 0.2
    weight = np.exp(-1.0)
    noise = random.geometric(1 - weight, ill.size) - random.geometric(1 - weight, ill.size)
    seen = 2 + ill + noise == 3
    believed = compute_posterior(mechanism, worlds, prior, 3)
    assert_probability(int(ill[seen].sum()), int(seen.sum()), believed["ill"])
    assert sum(believed.values()) == pytest.approx(1)


def test_no_output_leads_further_than_epsilon_allows() -> None:
    mechanism = ContinuousLaplace(scale=1 / 1.6)
    reached = [
        compute_posterior(mechanism, {0: 0.0, 1: 1.0}, {0: 0.99, 1: 0.01}, y)[1]
        for y in np.linspace(-3, 4, 71)
    ]
    assert max(reached) == pytest.approx(highest_posterior(0.01, 1.6))


@pytest.mark.parametrize(
    "prior",
    [{"a": 1.0}, {"a": 0.5, "b": 0.6}, {"a": -0.5, "b": 1.5}, {"a": math.nan, "b": 1.0}, {"a": "1", "b": 0}],
)
def test_requires_a_prior_over_just_the_worlds(prior: dict[str, float]) -> None:
    with pytest.raises(InvalidParameterError, match=r"^compute_posterior: `prior=` must be .*; got "):
        compute_posterior(ContinuousLaplace(1.0), {"a": 0.0, "b": 1.0}, prior, 0.0)


def test_requires_an_output_that_some_world_allows() -> None:
    with pytest.raises(InvalidParameterError, match=r"^compute_posterior: `output=` must be possible"):
        compute_posterior(ContinuousLaplace(1.0), {"a": 0.0, "b": 1.0}, {"a": 0.5, "b": 0.5}, 1e6)
    with pytest.raises(InvalidParameterError, match=r"^uniform_prior: `worlds=` must be at least one world"):
        uniform_prior({})
