"""Guarantees by Rényi divergences: of one order, or of all orders at once (zero-concentrated).

[BS16]      Bun & Steinke, Concentrated Differential Privacy.
[CKS20]     Canonne, Kamath & Steinke, The Discrete Gaussian: the conversion to a profile used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import scipy

from discreet.core.errors import require_parameter
from discreet.core.guarantees.guarantee import GroupOf, Guarantee
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import Real, is_real, require_nonnegative


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

    def slope(log_excess: float) -> float:
        excess = math.exp(log_excess)
        return rho + 2 * rho * excess - epsilon - math.log1p(1 / excess)

    most = 2 + max(epsilon, 0.0) / rho + 1 / math.sqrt(rho)
    # every order above 1 is valid; an excess below 1e-9 would be rounded away
    least = math.log(1e-9)
    return 1 + math.exp(
        scipy.optimize.brentq(slope, least, math.log(most), xtol=1e-9) if slope(least) < 0 else least
    )
