"""Discrete Laplace (geometric) mechanism: integer noise for counts and bounded integer sums.

Release     M(D) = q(D) + Z,  Pr[Z = z] = (1 - a) / (1 + a) * a**|z|,  a = exp(-epsilon / s).
            A vector gets independent noise in each place.
Requires    |q(D) - q(D')| <= s for all neighbors D, D' (for a vector, in L1).
Guarantee   epsilon-DP. For every output y the loss is
            ln Pr[M(D) = y] / Pr[M(D') = y] = (|y - q(D')| - |y - q(D)|) * epsilon / s,
            at most |q(D) - q(D')| * epsilon / s <= epsilon, by the triangle inequality; over the places of
            a vector the distances add up to at most s.
Utility     unbiased; Var Z = 2a / (1 - a)**2; Pr[|Z| > k] = 2 * a**(k+1) / (1 + a).
Why exact   Sums of doubles reveal their inputs in the low bits [Mironov12]. Here epsilon is a
            fraction and the noise is drawn by `mechanisms.sampling`, which rounds nothing.

[GRS09]     Ghosh, Roughgarden & Sundararajan, Universally Utility-Maximizing Privacy Mechanisms.
[Mironov12] Mironov, On Significance of the Least Significant Bits for Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import exp

from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import (
    coerce_positive_fraction,
    require_count,
    require_nonnegative,
    require_probability,
)
from discreet.core.randomness import Randomness
from discreet.mechanisms.additive_noise import (
    add_noise,
    find_least_integer,
    require_integer,
    require_integer_column,
)
from discreet.mechanisms.sampling import Integers, sample_discrete_laplace


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace:
    """Integer noise, `sensitivity / epsilon` wide.

    >>> DiscreteLaplace(epsilon=Fraction(1, 2), sensitivity=1).variance
    7.835...
    """

    epsilon: Fraction
    sensitivity: int
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        coerce_positive_fraction(self, "epsilon")
        require_count(self, "sensitivity", self.sensitivity)

    @property
    def rate(self) -> Fraction:
        """The decay of the noise per unit: a = exp(-rate)."""
        return self.epsilon / self.sensitivity

    @property
    def guarantee(self) -> PureDP:
        return PureDP(epsilon=self.epsilon, relation=self.relation)

    @property
    def variance(self) -> float:
        return 2 * exp(-self.rate) / math.expm1(-self.rate) ** 2

    def mass(self, z: int) -> float:
        """Return Pr[Z = z], which tests, audits and error bars compare against."""
        return math.tanh(self.rate / 2) * exp(-self.rate * abs(z))

    def likelihood(self, output: int, truth: int) -> float:
        """Return Pr[M(D) = output] where q(D) = truth."""
        return self.mass(output - truth)

    def beta(self, alpha: float) -> float:
        """Return Pr[|Z| > alpha]: the answer is (alpha, beta)-useful."""
        require_nonnegative(self, "alpha", alpha)
        return min(1.0, 2 * exp(-self.rate * (math.floor(alpha) + 1)) / (1 + exp(-self.rate)))

    def half_width(self, confidence: float) -> int:
        """Return the least h with Pr[|Z| <= h] >= confidence: answer ± h is the smallest such interval."""
        require_probability(self, "confidence", confidence)
        reach = -math.log((1 - confidence) * (1 + exp(-self.rate)) / 2) / float(self.rate)
        return find_least_integer(lambda h: self.beta(h) <= 1 - confidence, estimate=math.ceil(reach) - 1)

    def release(self, count: Exact[int], random: Randomness) -> Released[int]:
        noise = sample_discrete_laplace(self.rate, 1, random)[0]
        return Released(require_integer(self, count) + int(noise), self.guarantee)

    def release_many(self, counts: Exact[Integers], random: Randomness) -> Released[Integers]:
        """Release every entry with noise of its own; the L1 `sensitivity` bounds all entries together."""
        values = require_integer_column(self, counts)
        return Released(
            add_noise(values, sample_discrete_laplace(self.rate, values.size, random)), self.guarantee
        )
