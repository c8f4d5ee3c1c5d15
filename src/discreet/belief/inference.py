"""What the informed adversary concludes: one who knows all records but one, and the mechanism.

Knows       the prior of every value that the last record may have; what the query would truly return in each
            of these worlds; the mechanism, so how likely it is to release what was seen.
Learns      Pr[world | output], proportional to prior(world) * likelihood(output | truth in that world).
            For a continuous mechanism the likelihood is a density; only ratios matter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Protocol, TypeVar

from discreet.core.errors import InvalidParameterError, require
from discreet.core.numbers import Real, is_real

World = TypeVar("World", bound=Hashable)
T_contra = TypeVar("T_contra", contravariant=True)


class Likelihood(Protocol[T_contra]):
    """A mechanism that knows how likely each of its outputs is."""

    def likelihood(self, output: T_contra, truth: T_contra) -> float:
        """Pr[output], or its density, where the exact answer is `truth`."""


def posterior(
    mechanism: Likelihood[T_contra],
    worlds: Mapping[World, T_contra],
    prior: Mapping[World, Real],
    output: T_contra,
) -> dict[World, float]:
    """The belief in each world after `output`; `worlds` maps each to the exact answer in it."""
    require(
        set(prior) == set(worlds), "posterior", "prior", sorted(map(str, prior)), "given for just the worlds"
    )
    holds = all(is_real(p) and p >= 0 for p in prior.values()) and math.isclose(
        sum(map(float, prior.values())), 1, abs_tol=1e-9
    )
    require(holds, "posterior", "prior", list(prior.values()), "probabilities that sum to 1")
    joint = {
        world: float(prior[world]) * mechanism.likelihood(output, truth) for world, truth in worlds.items()
    }
    total = math.fsum(joint.values())
    if not 0 < total < math.inf:
        raise InvalidParameterError(
            f"posterior.output must be possible in at least one world of positive prior; got {output}."
        )
    return {world: each / total for world, each in joint.items()}


def uniform(worlds: Mapping[World, object]) -> dict[World, float]:
    """Every world alike: the prior of an adversary who can only guess.

    >>> uniform({"flu": 1, "none": 0})
    {'flu': 0.5, 'none': 0.5}
    """
    require(len(worlds) > 0, "uniform", "worlds", "none", "at least one world")
    return dict.fromkeys(worlds, 1 / len(worlds))
