"""Guarantees that state an epsilon: pure, one value with Laplace noise, and approximate, with a delta.

[KOV15]     Kairouz, Oh & Viswanath, The Composition Theorem for Differential Privacy: randomized response
            is the worst (epsilon, delta)-DP mechanism.
[HM24]      Harrison & Manurangsi, Exact zCDP Characterizations: the least rho of pure DP and of Laplace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from discreet.core.errors import RequestError, require_parameter
from discreet.core.guarantees.concentrated_dp import ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import Real, is_real, require_nonnegative, require_positive


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
