"""Guarantees: bounds on the privacy loss of a release, in the forms that the literature proves.

The loss at an output y is ln Pr[M(D) = y] / Pr[M(D') = y] for neighbors D, D'. Each guarantee bounds its
distribution for the neighbors of its `relation`, and has three members:

cap         the largest loss that any output can have; infinite where there is none profile(e)  the least d
such that the release is known to be (e, d)-DP for_group   the same release, for neighbors that differ in
`size` people at once

Everything else follows from the profile: composition, belief, and the tail of a promise. Guarantees that can
be summed under a promise with a tail also state their (rho, delta), as `concentrated`.

The protocol of all guarantees, and their conversion to groups of people and to other neighbors.

Guarantees by Rényi divergences: of one order, or of all orders at once (zero-concentrated).

Guarantees of Gaussian noise, whose loss has no cap: continuous, and discrete on one integer.

Guarantees that state an epsilon: pure, one value with Laplace noise, and approximate, with a delta.

[BS16]      Bun & Steinke, Concentrated Differential Privacy.
[CKS20]     Canonne, Kamath & Steinke, The Discrete Gaussian: the conversion to a profile used here.
[DRS22]     Dong, Roth & Su, Gaussian Differential Privacy.
[BW18]      Balle & Wang, Improving the Gaussian Mechanism: the exact Gaussian profile.
[CKS20]     Canonne, Kamath & Steinke, The Discrete Gaussian.
[KOV15]     Kairouz, Oh & Viswanath, The Composition Theorem for Differential Privacy: randomized response
            is the worst (epsilon, delta)-DP mechanism.
[HM24]      Harrison & Manurangsi, Exact zCDP Characterizations: the least rho of pure DP and of Laplace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import scipy

from discreet.core import discrete_gaussian_tails
from discreet.core.errors import RequestError, require_parameter
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import (
    Real,
    coerce_positive_fraction,
    is_real,
    require_count,
    require_nonnegative,
    require_positive,
)


class Guarantee(Protocol):
    """A bound on the privacy loss of a release."""

    @property
    def relation(self) -> Relation:
        """The neighbors that the bound was proven for."""

    @property
    def cap(self) -> float:
        """The largest loss that any output can have."""

    def profile(self, epsilon: float) -> float:
        """Return the least delta for which the release is known to be (epsilon, delta)-DP."""

    def for_group(self, size: int) -> Guarantee:
        """Return the guarantee for neighbors that differ in `size` people."""


@dataclass(frozen=True, kw_only=True)
class GroupOf:
    """Any guarantee for `size` people at once: (e, d) becomes (g e, d (exp(g e) - 1) / (exp(e) - 1))."""

    member: Guarantee
    size: int
    relation: Relation

    def __post_init__(self) -> None:
        coerce_relation(self)

    @property
    def cap(self) -> float:
        return self.member.cap * self.size

    def profile(self, epsilon: float) -> float:
        if epsilon <= 0:
            return 1.0
        share = epsilon / self.size
        # expm1(e) / expm1(e / g), which is at most g exp(e - e / g), without its overflow
        growth = math.exp(min(700.0, epsilon - share)) * math.expm1(-epsilon) / math.expm1(-share)
        return min(1.0, self.member.profile(share) * growth)

    def for_group(self, size: int) -> GroupOf:
        return replace(self, size=self.size * size)


def convert_guarantee(guarantee: Guarantee, relation: Relation | str) -> Guarantee:
    """Return the guarantee for other neighbors: a replacement is a removal and an addition.

    >>> from discreet.core.guarantees import PureDP
    >>> convert_guarantee(PureDP(epsilon=1, relation=Relation.PRESENCE), Relation.VALUE)
    PureDP(epsilon=2, relation=<Relation.VALUE: 'value'>)
    """
    wanted = Relation.parse("convert_guarantee", "relation", relation)
    if guarantee.relation is wanted:
        return guarantee
    if wanted is Relation.PRESENCE:
        raise RequestError(
            "A guarantee for replaced values says nothing about presence.",
            hint="Use a mechanism that is proven for added and removed people.",
        )
    return replace(guarantee.for_group(2), relation=wanted)  # type: ignore[type-var]


@dataclass(frozen=True, kw_only=True)
class RenyiDP:
    """A bound `epsilon` on the Rényi divergence of one `order`."""

    order: Real
    epsilon: Real
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        require_parameter(
            is_real(self.order) and self.order > 1, self, "order", self.order, "a finite number above 1"
        )
        require_nonnegative(self, "epsilon", self.epsilon)

    @property
    def cap(self) -> float:
        return math.inf if self.epsilon > 0 else 0.0

    def profile(self, epsilon: float) -> float:
        """Return exp((a-1)(e_a - e)) / a (1 - 1/a)**(a-1) [CKS20]."""
        return min(1.0, math.exp(min(0.0, _log_delta(float(self.order), float(self.epsilon), epsilon))))

    def for_group(self, size: int) -> Guarantee:
        return self if size == 1 else GroupOf(member=self, size=size, relation=self.relation)


@dataclass(frozen=True, kw_only=True)
class ZeroConcentratedDP:
    """Rényi divergence at most a * rho at every order a > 1, except with probability `delta` [BS16]."""

    rho: Real
    delta: Real = 0
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        require_nonnegative(self, "rho", self.rho)
        require_parameter(
            is_real(self.delta) and 0 <= self.delta < 1, self, "delta", self.delta, "a number in [0, 1)"
        )

    @property
    def cap(self) -> float:
        return 0.0 if self.rho == 0 and self.delta == 0 else math.inf

    def profile(self, epsilon: float) -> float:
        """Return the conversion of [CKS20] at its best order, plus delta."""
        rho, delta = float(self.rho), float(self.delta)
        if rho == 0:
            concentrated = max(0.0, -math.expm1(epsilon))
        else:
            order = _find_best_order(rho, epsilon)
            concentrated = math.exp(min(0.0, _log_delta(order, order * rho, epsilon)))
        return min(1.0, delta + (1 - delta) * concentrated)

    def for_group(self, size: int) -> Guarantee:
        if size > 1 and self.delta > 0:
            return GroupOf(member=self, size=size, relation=self.relation)
        return replace(self, rho=self.rho * size**2)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        return self


def _log_delta(order: float, divergence: float, epsilon: float) -> float:
    """Return ln of the delta that a Rényi divergence of one order allows at `epsilon` [CKS20]."""
    return (order - 1) * (divergence - epsilon) - math.log(order) + (order - 1) * math.log1p(-1 / order)


def _find_best_order(rho: float, epsilon: float) -> float:
    """Return the order that minimizes `_log_delta` at divergence order * rho, which is convex in it."""

    def compute_slope(log_excess: float) -> float:
        excess = math.exp(log_excess)
        return rho + 2 * rho * excess - epsilon - math.log1p(1 / excess)

    most = 2 + max(epsilon, 0.0) / rho + 1 / math.sqrt(rho)
    # every order above 1 is valid; an excess below 1e-9 would be rounded away
    least = math.log(1e-9)
    return 1 + math.exp(
        scipy.optimize.brentq(compute_slope, least, math.log(most), xtol=1e-9)
        if compute_slope(least) < 0
        else least
    )


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


@dataclass(frozen=True, kw_only=True)
class PureDP:
    """A bound `epsilon` on the loss of every output.

    >>> PureDP(epsilon=1.0).profile(0.0)
    0.462...
    """

    epsilon: Real
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        require_nonnegative(self, "epsilon", self.epsilon)

    @property
    def cap(self) -> float:
        return float(self.epsilon)

    def profile(self, epsilon: float) -> float:
        """Return the profile of randomized response, the worst such mechanism [KOV15]."""
        e = float(self.epsilon)
        if epsilon <= -e:
            return -math.expm1(epsilon)
        return -math.expm1(min(epsilon, e) - e) / (1 + math.exp(-e))

    def for_group(self, size: int) -> PureDP:
        return replace(self, epsilon=self.epsilon * size)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """rho = epsilon tanh(epsilon / 2), the smallest rho of epsilon-DP [HM24]."""
        return ZeroConcentratedDP(rho=self.cap * math.tanh(self.cap / 2), relation=self.relation)


@dataclass(frozen=True, kw_only=True)
class LaplaceDP:
    """One value with continuous Laplace noise of scale sensitivity / epsilon; tighter than `PureDP`.

    It holds for a single value only: the profile of a vector is not the one of its L1 distance.
    """

    epsilon: Real
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        require_positive(self, "epsilon", self.epsilon)

    @property
    def cap(self) -> float:
        return float(self.epsilon)

    def profile(self, epsilon: float) -> float:
        if epsilon <= -self.cap:
            return -math.expm1(epsilon)
        return -math.expm1((min(epsilon, self.cap) - self.cap) / 2)

    def for_group(self, size: int) -> LaplaceDP:
        return replace(self, epsilon=self.epsilon * size)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """rho = epsilon + exp(-epsilon) - 1, the smallest rho of Laplace noise [HM24]."""
        e = self.cap
        # where the difference would cancel, epsilon**2 / 2 is above it by a part in three thousand at most
        return ZeroConcentratedDP(rho=e + math.expm1(-e) if e > 1e-3 else e * e / 2, relation=self.relation)


@dataclass(frozen=True, kw_only=True)
class ApproximateDP:
    """(epsilon, delta)-DP: Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta for every set S.

    It does *not* bound the loss by epsilon except with probability delta.
    """

    epsilon: Real
    delta: Real
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        require_nonnegative(self, "epsilon", self.epsilon)
        require_parameter(
            is_real(self.delta) and 0 <= self.delta < 1, self, "delta", self.delta, "a number in [0, 1)"
        )

    @property
    def cap(self) -> float:
        return math.inf if self.delta > 0 else float(self.epsilon)

    def profile(self, epsilon: float) -> float:
        """Return the profile of the worst (epsilon, delta)-DP mechanism [KOV15].

        It leaks everything with probability `delta`, and is randomized response otherwise.
        """
        delta = float(self.delta)
        return delta + (1 - delta) * PureDP(epsilon=self.epsilon).profile(epsilon)

    def for_group(self, size: int) -> ApproximateDP:
        e = float(self.epsilon)
        if size * e > 700:
            growth = math.inf
        else:
            growth = math.expm1(size * e) / math.expm1(e) if e > 0 else float(size)
        delta = float(self.delta) * growth if self.delta > 0 else 0.0
        if delta >= 1:
            raise RequestError(
                f"(epsilon {e:g}, delta {float(self.delta):g}) says nothing about a group of {size}: "
                f"its delta would be {delta:.3g}.",
                hint="Use a smaller epsilon or delta.",
            )
        return replace(self, epsilon=self.epsilon * size, delta=delta)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        rho = PureDP(epsilon=self.epsilon).zcdp.rho
        return ZeroConcentratedDP(rho=rho, delta=self.delta, relation=self.relation)


__all__ = [
    "ApproximateDP",
    "DiscreteGaussianDP",
    "GaussianDP",
    "GroupOf",
    "Guarantee",
    "LaplaceDP",
    "PureDP",
    "RenyiDP",
    "ZeroConcentratedDP",
    "convert_guarantee",
]
