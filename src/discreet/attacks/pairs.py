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

from discreet.attacks.audit import Draw
from discreet.attacks.events import Outputs
from discreet.core.errors import RequestError, require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import Guarantee
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, is_real, require_positive
from discreet.core.randomness import Randomness
from discreet.mechanisms import MECHANISMS, get_mechanism_name
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian, exact_sigma
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.partition_selection import GroupCounts, GroupSelection
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.smooth_median import SmoothMedian
from discreet.mechanisms.value_counts import ValueCounts

DELTA = 1e-6
MANY, FEW = 100_000, 10_000
CANDIDATES = 12
FINE = Fraction(1, 1000)
CALLED: dict[type, tuple[str, ...]] = {
    DiscreteLaplace: ("geometric", "twosidedgeometric", "geometricmechanism"),
    PermuteAndFlip: ("permuteflip",),
    NoisyMax: ("reportnoisymax",),
    SmoothMedian: ("median",),
}
"""Names of mechanisms in other libraries."""


class Mechanism(Protocol):
    """The interface of every mechanism."""

    @property
    def guarantee(self) -> Guarantee: ...

    def release(self, value: Any, random: Randomness) -> Released[Any]: ...


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A mechanism and two exact inputs from neighboring tables."""

    mechanism: Mechanism
    here: object
    there: object

    @property
    def runs(self) -> int:
        """The number of runs that takes seconds."""
        return MANY if isinstance(self.mechanism, Laplace | Gaussian) or _many(self.mechanism, 1) else FEW

    def draws(self, random: Randomness) -> tuple[Draw, Draw]:
        """Return samplers of the outputs on the two inputs."""
        return draws(self.mechanism, self.here, random), draws(self.mechanism, self.there, random)


def draws(mechanism: Mechanism, truth: object, random: Randomness) -> Draw:
    """Return a sampler of independent outputs of a mechanism on one exact input."""

    def drawn(runs: int) -> Outputs:
        if isinstance(mechanism, Laplace | Gaussian) and isinstance(truth, Fraction):
            # inputs of pairs lie on the grid, so nothing is rounded
            steps = draws(mechanism.integer_mechanism, int(truth / mechanism.resolution), random)(runs)
            return np.asarray(steps, np.float64) * float(mechanism.resolution)
        many = _many(mechanism, runs)
        if many is not None and isinstance(truth, int):
            alone: Outputs = many(Exact(np.full(runs, truth, np.int64)), random).value
            return alone
        return [_plain(mechanism.release(Exact(truth), random).value) for _ in range(runs)]

    return drawn


def _many(mechanism: Mechanism, runs: int) -> Callable[[Any, Randomness], Released[Any]] | None:
    """Return the release of many integers at once, with the noise that each would have alone, or None."""
    alone = replace(mechanism, places=runs) if isinstance(mechanism, DiscreteGaussian) else mechanism
    return getattr(alone, "release_many", None)


def pair(name: str, *, epsilon: Real, delta: Real = DELTA) -> Pair:
    """Return a mechanism's pair by name, as `discrete-laplace`, `DiscreteLaplace` or an alternative name."""
    require_positive("audit", "epsilon", epsilon)
    require_parameter(
        is_real(delta) and 0 < delta <= 0.5, "audit", "delta", delta, "a number above 0 and at most 1/2"
    )
    wanted = re.sub(r"[\W_]", "", name).lower()
    for kind in MECHANISMS:
        if kind.__name__.lower() == wanted or wanted in CALLED.get(kind, ()):
            return PAIRS[kind](Fraction(epsilon), Fraction(delta))
    known = ", ".join(get_mechanism_name(kind) for kind in MECHANISMS)
    raise RequestError(f"audit: there is no mechanism {name}.", hint=f"There are {known}.")


def _plain(output: object) -> object:
    return output.people if isinstance(output, GroupCounts) else output


def _scores() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    here = np.zeros(CANDIDATES, np.int64)
    here[0] = 1
    return here, 1 - here


def _chosen(kind: Any) -> Callable[[Fraction, Fraction], Pair]:
    def made(epsilon: Fraction, _: Fraction) -> Pair:
        here, there = _scores()
        return Pair(mechanism=kind(epsilon=epsilon, sensitivity=1), here=here, there=there)

    return made


def _gaussian_variance(epsilon: Fraction, delta: Fraction) -> Fraction:
    return Fraction(exact_sigma(epsilon, float(delta))) ** 2


def _quantile(epsilon: Fraction, _: Fraction) -> Pair:
    """Return a pair in which one of two rows leaves the lower bound, so that the values become equal."""
    mechanism = Quantile(epsilon=epsilon, low=0, high=10)
    return Pair(
        mechanism=mechanism,
        here=ValueCounts.from_rows(np.array([0, 10])),
        there=ValueCounts.from_rows(np.array([10, 10])),
    )


def _median(epsilon: Fraction, delta: Fraction) -> Pair:
    """Return a pair in which the middle row moves from one bound to the other."""
    here, there = (np.array([0] * 5 + [middle] + [100] * 5) for middle in (0, 100))
    mechanism = SmoothMedian(epsilon=epsilon, delta=delta, low=0, high=100)
    return Pair(mechanism=mechanism, here=ValueCounts.from_rows(here), there=ValueCounts.from_rows(there))


def _groups(epsilon: Fraction, delta: Fraction) -> Pair:
    """Return a pair in which one group, shown about as often as not, gains one person."""
    mechanism = GroupSelection(epsilon=epsilon, delta=delta, relation=Relation.PRESENCE)
    here, there = (
        GroupCounts(np.array(["group"]), np.array([mechanism.threshold + more], np.int64)) for more in (1, 0)
    )
    return Pair(mechanism=mechanism, here=here, there=there)


PAIRS: dict[type, Callable[[Fraction, Fraction], Pair]] = {
    DiscreteLaplace: lambda e, _: Pair(mechanism=DiscreteLaplace(epsilon=e, sensitivity=1), here=0, there=1),
    Laplace: lambda e, _: Pair(
        mechanism=Laplace(epsilon=e, sensitivity=Fraction(1), resolution=FINE),
        here=Fraction(0),
        there=Fraction(1),
    ),
    DiscreteGaussian: lambda e, d: Pair(
        mechanism=DiscreteGaussian(variance=_gaussian_variance(e, d), squared_sensitivity=Fraction(1)),
        here=0,
        there=1,
    ),
    Gaussian: lambda e, d: Pair(
        mechanism=Gaussian(
            sigma=Fraction(exact_sigma(e, float(d))), sensitivity=Fraction(1), resolution=FINE
        ),
        here=Fraction(0),
        there=Fraction(1),
    ),
    Exponential: _chosen(Exponential),
    PermuteAndFlip: _chosen(PermuteAndFlip),
    NoisyMax: _chosen(NoisyMax),
    RandomizedResponse: lambda e, _: Pair(mechanism=RandomizedResponse(epsilon=e), here=0, there=1),
    Quantile: _quantile,
    SmoothMedian: _median,
    GroupSelection: _groups,
}
