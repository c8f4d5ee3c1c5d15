"""The informed adversary, who knows all records but one, and the mechanism.

Knows       the prior of every value that the last record may have; the true answer of the query in each of
            these worlds; the mechanism, and so the probability of each output.
Learns      Pr[world | output], proportional to prior(world) * likelihood(output | truth in that world).
            For a continuous mechanism the likelihood is a density; only ratios matter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Protocol, TypeVar

from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import Real, is_real

World = TypeVar("World", bound=Hashable)
T_contra = TypeVar("T_contra", contravariant=True)


class SupportsLikelihood(Protocol[T_contra]):
    """A mechanism that can compute the likelihood of its outputs."""

    def likelihood(self, output: T_contra, truth: T_contra) -> float:
        """Return Pr[output], or its density, where the exact answer is `truth`."""


def compute_posterior(
    mechanism: SupportsLikelihood[T_contra],
    worlds: Mapping[World, T_contra],
    prior: Mapping[World, Real],
    output: T_contra,
) -> dict[World, float]:
    """Return the belief in each world after `output`; `worlds` maps each world to its exact answer."""
    require_parameter(
        set(prior) == set(worlds),
        "compute_posterior",
        "prior",
        sorted(map(str, prior)),
        "given for exactly the worlds",
    )
    holds = all(is_real(p) and p >= 0 for p in prior.values()) and math.isclose(
        sum(map(float, prior.values())), 1, abs_tol=1e-9
    )
    require_parameter(
        holds, "compute_posterior", "prior", list(prior.values()), "probabilities that sum to 1"
    )
    joint = {
        world: float(prior[world]) * mechanism.likelihood(output, truth) for world, truth in worlds.items()
    }
    total = math.fsum(joint.values())
    if not 0 < total < math.inf:
        raise InvalidParameterError(
            f"compute_posterior.output must be possible in a world of positive prior; got {output}."
        )
    return {world: each / total for world, each in joint.items()}


def uniform_prior(worlds: Mapping[World, object]) -> dict[World, float]:
    """Return the uniform prior: that of an adversary who can only guess.

    >>> uniform_prior({"flu": 1, "none": 0})
    {'flu': 0.5, 'none': 0.5}
    """
    require_parameter(len(worlds) > 0, "uniform_prior", "worlds", "none", "at least one world")
    return dict.fromkeys(worlds, 1 / len(worlds))
