"""Guarantees of Gaussian noise, whose loss has no cap: continuous, and discrete on one integer.

[DRS22]     Dong, Roth & Su, Gaussian Differential Privacy.
[BW18]      Balle & Wang, Improving the Gaussian Mechanism: the exact Gaussian profile.
[CKS20]     Canonne, Kamath & Steinke, The Discrete Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import scipy

from discreet.core import discrete_gaussian_tails
from discreet.core.guarantees.concentrated_dp import ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import Real, coerce_positive_fraction, require_count, require_nonnegative


@dataclass(frozen=True, kw_only=True)
class GaussianDP:
    """At most as distinguishable as N(0, 1) and N(mu, 1): Gaussian noise of sigma = L2 sensitivity / mu."""

    mu: Real
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        require_nonnegative(self, "mu", self.mu)

    @property
    def cap(self) -> float:
        return math.inf if self.mu > 0 else 0.0

    def profile(self, epsilon: float) -> float:
        """Return Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) [BW18]."""
        mu = float(self.mu)
        if mu == 0:
            return max(0.0, -math.expm1(epsilon))
        above = float(scipy.special.log_ndtr(mu / 2 - epsilon / mu))
        if above < -745:
            return 0.0  # below the least float; the difference that follows would be rounding error
        below = epsilon + float(scipy.special.log_ndtr(-mu / 2 - epsilon / mu))
        # the two tails are close for a small mu, so a bound on their rounding error is added
        cover = 2.0**-50 * (1 + abs(above) + abs(below))
        return min(1.0, max(0.0, math.exp(above) * (cover - math.expm1(below - above))))

    def for_group(self, size: int) -> GaussianDP:
        return replace(self, mu=self.mu * size)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        return ZeroConcentratedDP(rho=Fraction(self.mu) ** 2 / 2, relation=self.relation)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianDP:
    """One integer that changes by at most `shift`, with discrete Gaussian noise of parameter `variance`.

    It holds for a single integer only; a vector has the `ZeroConcentratedDP` of its L2 distance [CKS20].
    """

    variance: Fraction
    shift: int
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        coerce_positive_fraction(self, "variance")
        require_count(self, "shift", self.shift)

    @property
    def cap(self) -> float:
        return math.inf

    def profile(self, epsilon: float) -> float:
        """Return Pr[Z > t] - exp(e) Pr[Z > t + shift], t = e variance / shift - shift / 2 [CKS20, Theorem 7].

        The loss at z is (2 z shift + shift**2) / (2 variance), so it exceeds `epsilon` exactly for z > t.
        """
        first = math.floor(Fraction(epsilon) * self.variance / self.shift - Fraction(self.shift, 2)) + 1
        _, above = discrete_gaussian_tails.bound_tail(self.variance, first)
        below, _ = discrete_gaussian_tails.bound_tail(self.variance, first + self.shift)
        return min(1.0, max(0.0, above - math.exp(epsilon) * below)) if below > 0 else above

    def for_group(self, size: int) -> DiscreteGaussianDP:
        return replace(self, shift=self.shift * size)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        return ZeroConcentratedDP(rho=Fraction(self.shift) ** 2 / (2 * self.variance), relation=self.relation)
