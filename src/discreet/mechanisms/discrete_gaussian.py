"""Discrete Gaussian mechanism: integer noise with light tails, for promises that have a tail.

Release     M(D) = q(D) + Z,  Pr[Z = z] proportional to exp(-z**2 / (2 v)),  v = `variance`.
            A vector gets independent noise in each place.
Requires    |q(D) - q(D')|_2**2 <= `squared_sensitivity` for all neighbors D, D' (over all places together;
            the square, because sqrt(2) is not a fraction).
Guarantee   rho-zCDP with rho = squared_sensitivity / (2 v) [CKS20, Theorem 14]. For one integer also the
            exact profile: the loss is monotone in the output, and the noise is log-concave, so the largest
            shift is the worst and delta(epsilon) is a difference of two tails.
Utility     unbiased; Var Z <= v; Pr[|Z| > k] from exact sums; narrower than the normal law of variance v.
Why exact   see `mechanisms.sampling`; the noise is an integer, drawn without rounding.

[CKS20]     Canonne, Kamath & Steinke, The Discrete Gaussian for Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import scipy

from discreet.core import discrete_gaussian_tails
from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import DiscreteGaussianDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import (
    Real,
    coerce_positive_fraction,
    require_count,
    require_nonnegative,
    require_positive,
    require_probability,
)
from discreet.core.randomness import Randomness
from discreet.mechanisms.additive_noise import (
    add_noise,
    find_least_integer,
    require_integer,
    require_integer_column,
)
from discreet.mechanisms.sampling import Integers, sample_discrete_gaussian

LEAST = Fraction(1, 10**300)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian:
    """Integer noise of parameter `variance`, on `places` integers that are released together.

    >>> DiscreteGaussian.from_rho(Fraction(1, 18), squared_sensitivity=1).half_width(0.95)
    6
    """

    variance: Fraction
    squared_sensitivity: Fraction
    places: int = 1
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        coerce_positive_fraction(self, "variance")
        require_parameter(self.variance > LEAST, self, "variance", self.variance, "above 1e-300")
        coerce_positive_fraction(self, "squared_sensitivity")
        require_count(self, "places", self.places)

    @classmethod
    def from_rho(
        cls, rho: Real, *, squared_sensitivity: Real, places: int = 1, relation: Relation = Relation.VALUE
    ) -> DiscreteGaussian:
        """Return the mechanism with the least noise that is `rho`-zCDP."""
        require_positive(cls.__name__, "rho", rho)
        require_positive(cls.__name__, "squared_sensitivity", squared_sensitivity)
        square = Fraction(squared_sensitivity)
        variance = square / (2 * Fraction(rho))
        return cls(variance=variance, squared_sensitivity=square, places=places, relation=relation)

    @property
    def guarantee(self) -> DiscreteGaussianDP | ZeroConcentratedDP:
        shift = math.isqrt(math.floor(self.squared_sensitivity))
        if self.places == 1 and shift >= 1:
            return DiscreteGaussianDP(variance=self.variance, shift=shift, relation=self.relation)
        return ZeroConcentratedDP(rho=self.squared_sensitivity / (2 * self.variance), relation=self.relation)

    def mass(self, z: int) -> float:
        """Return Pr[Z = z]."""
        return math.exp(
            -(Fraction(z) ** 2) / (2 * self.variance)
        ) / discrete_gaussian_tails.compute_normalizer(self.variance)

    def likelihood(self, output: int, truth: int) -> float:
        """Return Pr[M(D) = output] where q(D) = truth."""
        return self.mass(output - truth)

    def beta(self, alpha: float) -> float:
        """Return Pr[|Z| > alpha], rounded up: the answer is (alpha, beta)-useful."""
        require_nonnegative(self, "alpha", alpha)
        return min(1.0, 2 * discrete_gaussian_tails.bound_tail(self.variance, math.floor(alpha) + 1)[1])

    def half_width(self, confidence: float) -> int:
        """Return the least h with Pr[|Z| <= h] >= confidence."""
        require_probability(self, "confidence", confidence)
        reach = math.sqrt(self.variance) * float(scipy.special.ndtri((1 + confidence) / 2))
        return find_least_integer(lambda h: self.beta(h) <= 1 - confidence, estimate=math.ceil(reach - 0.5))

    def release(self, count: Exact[int], random: Randomness) -> Released[int]:
        noise = sample_discrete_gaussian(self.variance, 1, random)[0]
        return Released(require_integer(self, count) + int(noise), self.guarantee)

    def release_many(self, counts: Exact[Integers], random: Randomness) -> Released[Integers]:
        """Release every entry with noise of its own; the L2 sensitivity bounds all `places` together."""
        values = require_integer_column(self, counts)
        enough = values.size <= self.places
        require_parameter(enough, self, "places", self.places, "the number of integers released together")
        noise = sample_discrete_gaussian(self.variance, values.size, random)
        return Released(add_noise(values, noise), self.guarantee)
