"""Optimal composition: the exact guarantee of k releases, each (epsilon, delta)-DP, all fixed in advance.

Statement   k releases, each (e0, d0)-DP, are together (e, d)-DP for
            1 - d = (1 - d0)**k * (1 - sum over i with L_i > e of P_i * (1 - exp(e - L_i))),
            L_i = (2i - k) e0,  P_i = Pr[Binomial(k, exp(e0) / (1 + exp(e0))) = i]; and for no smaller d.
Requires    e0, d0 and k do not depend on earlier outputs. The releases themselves may.
Why exact   Randomized response with a leak of d0 is the worst (e0, d0)-DP release [KOV15]. The k-fold loss
            is then k-fold binomial, and the sum above holds at every e. The published theorem lists only
            e = (k - 2i) e0; between those points it would have to round up.

[KOV15]     Kairouz, Oh & Viswanath, The Composition Theorem for Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import require_parameter
from discreet.core.guarantees import ApproximateDP, GroupOf, Guarantee, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, is_real, require_count, require_nonnegative

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RepeatedDP:
    """`times` releases, each known to be (epsilon, delta)-DP and nothing more.

    >>> RepeatedDP(epsilon=0.01, times=1_000).profile(1.36545)
    9.999...e-07
    """

    epsilon: Real
    delta: Real = 0
    times: int
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        require_nonnegative(self, "epsilon", self.epsilon)
        require_parameter(
            is_real(self.delta) and 0 <= self.delta < 1, self, "delta", self.delta, "a number in [0, 1)"
        )
        require_count(self, "times", self.times)

    @property
    def single_release(self) -> ApproximateDP:
        return ApproximateDP(epsilon=self.epsilon, delta=self.delta, relation=self.relation)

    @property
    def cap(self) -> float:
        return self.single_release.cap * self.times

    def profile(self, epsilon: float) -> float:
        losses, masses = self._losses
        above = losses > epsilon
        lost = min(1.0, float(masses[above] @ -np.expm1(epsilon - losses[above])))
        if lost == 1:
            return 1.0
        return -math.expm1(self.times * math.log1p(-float(self.delta)) + math.log1p(-lost))

    def for_group(self, size: int) -> Guarantee:
        if size == 1:
            return self
        if self.delta > 0:
            return GroupOf(member=self, size=size, relation=self.relation)
        return replace(self, epsilon=self.epsilon * size)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        one = self.single_release.zcdp
        return replace(one, rho=one.rho * self.times, delta=min(one.delta * self.times, 1 - 1e-16))

    @cached_property
    def _losses(self) -> tuple[Floats, Floats]:
        """The k-fold loss; beyond 40 standard deviations a double holds no mass."""
        from scipy.stats import binom  # takes a second to load, and nothing else here needs it

        e, k = float(self.epsilon), self.times
        p = 1 / (1 + math.exp(-e))
        reach = 40 * math.sqrt(k * p * (1 - p)) + 40
        i = np.arange(max(0, math.floor(k * p - reach)), min(k, math.ceil(k * p + reach)) + 1)
        losses = np.asarray((2 * i - k) * e, dtype=np.float64)
        return losses, np.asarray(binom.pmf(i, k, p), dtype=np.float64)
