"""Neighboring inputs for each mechanism, as far apart as its sensitivity allows, and samplers of its outputs.

Audits run on such pairs. For additive noise the inputs are exactly the sensitivity apart; for selection, one
score rises as all others fall, with enough candidates for the fall to matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreet.attacks.distinguishing_events import Outputs
from discreet.attacks.privacy_audit import Sampler
from discreet.core.errors import RequestError, require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import Guarantee
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, is_real, require_positive
from discreet.core.randomness import Randomness
from discreet.mechanisms import MECHANISMS, get_mechanism_name
from discreet.mechanisms.approximate_bounds import ApproximateBounds, BinRange, PowerBins
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian, exact_sigma
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.partition_selection import GroupCounts, GroupSelection
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.quantile import Quantile, ValueCounts
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sensitivity import ContributionBounds
from discreet.mechanisms.smooth_median import SmoothMedian

DELTA = 1e-6
MANY_RUNS, FEW_RUNS = 100_000, 10_000
CANDIDATES = 12
FINE = Fraction(1, 1000)
ALIASES: dict[type, tuple[str, ...]] = {
    DiscreteLaplace: ("geometric", "twosidedgeometric", "geometricmechanism"),
    PermuteAndFlip: ("permuteflip",),
    NoisyMax: ("reportnoisymax",),
    SmoothMedian: ("median",),
}
"""Names of mechanisms in other libraries."""


class AuditableMechanism(Protocol):
    """The interface of every mechanism."""

    @property
    def guarantee(self) -> Guarantee: ...

    def release(self, value: Any, random: Randomness) -> Released[Any]: ...


@dataclass(frozen=True, kw_only=True)
class NeighborPair:
    """A mechanism and two exact inputs from neighboring tables."""

    mechanism: AuditableMechanism
    value: object
    neighbor_value: object

    @property
    def default_runs(self) -> int:
        """The number of runs that takes seconds."""
        return (
            MANY_RUNS
            if isinstance(self.mechanism, Laplace | Gaussian) or _get_batch_release(self.mechanism, 1)
            else FEW_RUNS
        )

    def make_samplers(self, random: Randomness) -> tuple[Sampler, Sampler]:
        """Return samplers of the outputs on the two inputs."""
        return make_sampler(self.mechanism, self.value, random), make_sampler(
            self.mechanism, self.neighbor_value, random
        )


def make_sampler(mechanism: AuditableMechanism, truth: object, random: Randomness) -> Sampler:
    """Return a sampler of independent outputs of a mechanism on one exact input."""

    def sample(runs: int) -> Outputs:
        if isinstance(mechanism, Laplace | Gaussian) and isinstance(truth, Fraction):
            # inputs of pairs lie on the grid, so nothing is rounded
            steps = make_sampler(mechanism.integer_mechanism, int(truth / mechanism.resolution), random)(runs)
            return np.asarray(steps, np.float64) * float(mechanism.resolution)
        many = _get_batch_release(mechanism, runs)
        if many is not None and isinstance(truth, int):
            alone: Outputs = many(Exact(np.full(runs, truth, np.int64)), random).value
            return alone
        return [_to_plain_output(mechanism.release(Exact(truth), random).value) for _ in range(runs)]

    return sample


def _get_batch_release(
    mechanism: AuditableMechanism, runs: int
) -> Callable[[Any, Randomness], Released[Any]] | None:
    """Return the release of many integers at once, with the noise that each would have alone, or None."""
    alone = replace(mechanism, places=runs) if isinstance(mechanism, DiscreteGaussian) else mechanism
    return getattr(alone, "release_many", None)


def build_pair(name: str, *, epsilon: Real, delta: Real = DELTA) -> NeighborPair:
    """Return a mechanism's pair by name, as `discrete-laplace`, `DiscreteLaplace` or an alternative name."""
    require_positive("audit", "epsilon", epsilon)
    require_parameter(
        is_real(delta) and 0 < delta <= 0.5, "audit", "delta", delta, "a number above 0 and at most 1/2"
    )
    wanted = re.sub(r"[\W_]", "", name).lower()
    for kind in MECHANISMS:
        if kind.__name__.lower() == wanted or wanted in ALIASES.get(kind, ()):
            return PAIR_BUILDERS[kind](Fraction(epsilon), Fraction(delta))
    known = ", ".join(get_mechanism_name(kind) for kind in MECHANISMS)
    raise RequestError(f"audit: there is no mechanism {name}.", hint=f"There are {known}.")


def _to_plain_output(output: object) -> object:
    if isinstance(output, BinRange):
        return output.noisy
    return output.people if isinstance(output, GroupCounts) else output


def _neighboring_scores() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    here = np.zeros(CANDIDATES, np.int64)
    here[0] = 1
    return here, 1 - here


def _make_selection_builder(kind: Any) -> Callable[[Fraction, Fraction], NeighborPair]:
    def build_selection_pair(epsilon: Fraction, _: Fraction) -> NeighborPair:
        here, there = _neighboring_scores()
        return NeighborPair(mechanism=kind(epsilon=epsilon, sensitivity=1), value=here, neighbor_value=there)

    return build_selection_pair


def _gaussian_variance(epsilon: Fraction, delta: Fraction) -> Fraction:
    return Fraction(exact_sigma(epsilon, float(delta))) ** 2


def _build_quantile_pair(epsilon: Fraction, _: Fraction) -> NeighborPair:
    """Return a pair in which one of two rows leaves the lower bound, so that the values become equal."""
    mechanism = Quantile(epsilon=epsilon, low=0, high=10)
    return NeighborPair(
        mechanism=mechanism,
        value=ValueCounts.from_rows(np.array([0, 10])),
        neighbor_value=ValueCounts.from_rows(np.array([10, 10])),
    )


def _build_median_pair(epsilon: Fraction, delta: Fraction) -> NeighborPair:
    """Return a pair in which the middle row moves from one bound to the other."""
    here, there = (np.array([0] * 5 + [middle] + [100] * 5) for middle in (0, 100))
    mechanism = SmoothMedian(epsilon=epsilon, delta=delta, low=0, high=100)
    return NeighborPair(
        mechanism=mechanism, value=ValueCounts.from_rows(here), neighbor_value=ValueCounts.from_rows(there)
    )


def _build_partition_pair(epsilon: Fraction, delta: Fraction) -> NeighborPair:
    """Return a pair in which one group, shown about as often as not, gains one person."""
    mechanism = GroupSelection(epsilon=epsilon, delta=delta, relation=Relation.PRESENCE)
    here, there = (
        GroupCounts(np.array(["group"]), np.array([mechanism.threshold + more], np.int64)) for more in (1, 0)
    )
    return NeighborPair(mechanism=mechanism, value=here, neighbor_value=there)


def _build_bounds_pair(epsilon: Fraction, _: Fraction) -> NeighborPair:
    """Return a pair in which the only row moves from one bin to another."""
    mechanism = ApproximateBounds(
        epsilon=epsilon,
        sensitivity=ContributionBounds(rows=1).count_sensitivity(),
        bins=PowerBins(least=0, most=4),
    )
    here, there = (mechanism.bins.count([value]) for value in (0, 4))
    return NeighborPair(mechanism=mechanism, value=here, neighbor_value=there)


PAIR_BUILDERS: dict[type, Callable[[Fraction, Fraction], NeighborPair]] = {
    DiscreteLaplace: lambda e, _: NeighborPair(
        mechanism=DiscreteLaplace(epsilon=e, sensitivity=1), value=0, neighbor_value=1
    ),
    Laplace: lambda e, _: NeighborPair(
        mechanism=Laplace(epsilon=e, sensitivity=Fraction(1), resolution=FINE),
        value=Fraction(0),
        neighbor_value=Fraction(1),
    ),
    DiscreteGaussian: lambda e, d: NeighborPair(
        mechanism=DiscreteGaussian(variance=_gaussian_variance(e, d), squared_sensitivity=Fraction(1)),
        value=0,
        neighbor_value=1,
    ),
    Gaussian: lambda e, d: NeighborPair(
        mechanism=Gaussian(
            sigma=Fraction(exact_sigma(e, float(d))), sensitivity=Fraction(1), resolution=FINE
        ),
        value=Fraction(0),
        neighbor_value=Fraction(1),
    ),
    Exponential: _make_selection_builder(Exponential),
    PermuteAndFlip: _make_selection_builder(PermuteAndFlip),
    NoisyMax: _make_selection_builder(NoisyMax),
    RandomizedResponse: lambda e, _: NeighborPair(
        mechanism=RandomizedResponse(epsilon=e), value=0, neighbor_value=1
    ),
    Quantile: _build_quantile_pair,
    SmoothMedian: _build_median_pair,
    GroupSelection: _build_partition_pair,
    ApproximateBounds: _build_bounds_pair,
}
