"""Approximate bounds: learn privately between which powers of two the values of a column lie.

Release     For every bin of `PowerBins` the number of rows in it plus integer noise, independent in each, and
            the first and the last bin whose noisy number is at least `threshold`; neither if no bin's is.
            Noise is discrete Laplace, or discrete Gaussian of the same zCDP cost where `is_gaussian`.
Requires    The bins are fixed before the data is read, a row is in at most one of them, and the vector of
            their counts changes by at most `sensitivity` between neighbors, in L1 and in L2.
Guarantee   epsilon-DP, or for Gaussian noise rho-zCDP with the rho of epsilon-DP. The noisy counts are one
            release of a histogram by `DiscreteLaplace` or `DiscreteGaussian`, over all bins and whether or
            not a row is in them, so the argument is theirs. Threshold, first and last bin follow from these
            noisy counts and from constants: they are post-processing. No bin passing is an outcome like
            others.
Utility     An empty bin passes with probability at most p = 1 - (1 - f)**(1 / bins), so that with probability
            at least 1 - f, f = `false_positives`, no empty bin does and the bounds are not too wide.
            `threshold` is the least T >= 1 with Pr[Z >= T] <= p. A bin of T rows passes more often than not:
            values in outer bins of fewer rows may be lost, and are clamped then. With f = 5%, 128 bins and
            epsilon = 0.05, T is 286 where a person is one row whose value is secret, and 13,119 with 46 rows.
            Between the outermost bins that hold values, each bound is off by a factor of two at most.
Why exact   Counts, cuts and noise are integers; see `mechanisms.sampling`.

[WZLDSG19]  Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo & Gipson, Differentially Private SQL with
            Bounded User Contribution: approximate bounds.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy

from discreet.core import discrete_gaussian_tails
from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import DiscreteGaussianDP, PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import coerce_positive_fraction, require_probability
from discreet.core.randomness import Randomness
from discreet.mechanisms.additive_noise import find_least_integer
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sampling import Integers
from discreet.mechanisms.sensitivity import Sensitivity

INT64 = -(2**63), 2**63 - 1
FALSE_POSITIVES = Fraction(1, 20)


@dataclass(frozen=True, kw_only=True)
class PowerBins:
    """Bins of the integers from `least` to `most`, which double in width away from 0.

    They are {0, 1}, {2}, {3, 4}, {5, …, 8} and so on; below 0 {-1}, {-2}, {-4, -3}, {-8, …, -5} and so on.

    >>> PowerBins(least=-4, most=10).cuts
    (-2, -1, 0, 2, 3, 5, 9)
    >>> PowerBins().size
    128
    """

    least: int = INT64[0]
    most: int = INT64[1]

    def __post_init__(self) -> None:
        holds = self.least <= 0 < self.most
        require_parameter(
            holds, self, "least", self.least, f"at most 0, and most above 0; most is {self.most}"
        )

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """The first integer of every bin after the first."""
        powers = [2**k for k in range(max(-self.least, self.most).bit_length())]
        cuts = {0, *(-power for power in powers), *(power + 1 for power in powers)}
        return tuple(sorted(cut for cut in cuts if self.least < cut <= self.most))

    @property
    def size(self) -> int:
        """The number of bins."""
        return len(self.cuts) + 1

    def get_first(self, place: int) -> int:
        """Return the least integer of a bin."""
        return self.least if place == 0 else self.cuts[place - 1]

    def get_last(self, place: int) -> int:
        """Return the largest integer of a bin."""
        return self.most if place == len(self.cuts) else self.cuts[place] - 1

    def count(self, values: Iterable[int]) -> Integers:
        """Return the number of these integers in each bin; those beyond the ends are in the outermost bins.

        >>> PowerBins(least=-4, most=10).count([0, 1, 7, 8]).tolist()
        [0, 0, 0, 2, 0, 0, 2, 0]
        """
        found = [bisect_right(self.cuts, value) for value in values]
        return np.bincount(np.array(found, np.int64), minlength=self.size).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class BinRange:
    """The noisy counts of all bins, and the outermost bins that passed; None if no bin did."""

    first: int | None
    last: int | None
    noisy: tuple[int, ...]

    @property
    def is_empty(self) -> bool:
        return self.first is None


@dataclass(frozen=True, kw_only=True)
class ApproximateBounds:
    """Learns the outermost bins from counts per bin.

    >>> learner = ApproximateBounds(epsilon=0.05, sensitivity=Sensitivity(l1=2, squared_l2=2))
    >>> learner.threshold
    286
    """

    epsilon: Fraction
    sensitivity: Sensitivity
    bins: PowerBins = PowerBins()
    false_positives: Fraction = FALSE_POSITIVES
    is_gaussian: bool = False
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        coerce_positive_fraction(self, "epsilon")
        require_probability(self, "false_positives", self.false_positives)
        coerce_positive_fraction(self, "false_positives")

    @cached_property
    def noise(self) -> IntegerNoise:
        """The noise of one count."""
        laplace = DiscreteLaplace(
            epsilon=self.epsilon, sensitivity=self.sensitivity.l1, relation=self.relation
        )
        if not self.is_gaussian:
            return laplace
        return DiscreteGaussian.from_rho(
            laplace.guarantee.zcdp.rho,
            squared_sensitivity=self.sensitivity.squared_l2,
            places=self.bins.size,
            relation=self.relation,
        )

    @property
    def guarantee(self) -> PureDP | ZeroConcentratedDP | DiscreteGaussianDP:
        return self.noise.guarantee

    @property
    def false_positives_per_bin(self) -> float:
        """p: the largest probability that an empty bin passes."""
        return -math.expm1(math.log1p(-float(self.false_positives)) / self.bins.size)

    @cached_property
    def threshold(self) -> int:
        """T: the least noisy count of a bin that passes."""
        p = self.false_positives_per_bin
        if isinstance(self.noise, DiscreteLaplace):
            around = -math.log(p * (1 + math.exp(-self.noise.rate))) / float(self.noise.rate)
        else:
            around = -math.sqrt(self.noise.variance) * float(scipy.special.ndtri(p))
        return find_least_integer(lambda t: t >= 1 and self.pass_probability(0, t) <= p, math.ceil(around))

    def pass_probability(self, rows: int, threshold: int | None = None) -> float:
        """Return the probability that a bin of this many rows passes, rounded up for Gaussian noise."""
        reach = (self.threshold if threshold is None else threshold) - rows
        if isinstance(self.noise, DiscreteGaussian):
            return discrete_gaussian_tails.bound_tail(self.noise.variance, reach)[1]
        a = math.exp(-self.noise.rate)
        return a**reach / (1 + a) if reach >= 1 else 1 - a ** (1 - reach) / (1 + a)

    def release(self, counts: Exact[Integers], random: Randomness) -> Released[BinRange]:
        held = getattr(counts.secret, "shape", None)
        require_parameter(
            held == (self.bins.size,), self, "counts", "another", "an array of one count per bin"
        )
        noisy = self.noise.release_many(counts, random).value
        return Released(self.find_range(noisy), self.guarantee)

    def find_range(self, noisy: Integers) -> BinRange:
        """Return the outermost bins whose noisy counts pass; this is post-processing."""
        passed = np.flatnonzero(noisy >= self.threshold)
        first, last = (int(passed[0]), int(passed[-1])) if passed.size else (None, None)
        return BinRange(first=first, last=last, noisy=tuple(noisy.tolist()))
