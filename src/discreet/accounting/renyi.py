"""Rényi composition: the divergences of each order add up.

Statement   releases with Rényi divergence r_i(a) at order a have at most the sum of r_i(a) together
            [Mironov17]; each order gives a delta at every epsilon, the least of them counts. Releases whose
            divergence holds but for a probability of d_i add the sum of d_i.
Requires    at one order preset in advance, also a filter; at the best of many orders, fixed parameters.
Conversion  of dp-accounting, at its orders; a `RenyiDP` is known at its own order only.

[Mironov17] Mironov, Rényi Differential Privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    GroupOf,
    Guarantee,
    LaplaceDP,
    PureDP,
    RenyiDP,
)
from discreet.core.neighbor_relations import Relation

if TYPE_CHECKING:
    import dp_accounting

NOISE = 1e-14
"""A smaller divergence is rounded up to this."""

LEAST, MOST = 1e-4, 100
"""Outside of these a divergence is lost in rounding or overflows; the bound by rho is used there."""


@dataclass(frozen=True, kw_only=True)
class RenyiCurve:
    """Rényi divergence at most `divergences[i]` at `orders[i]`, but for a probability of `delta`."""

    orders: tuple[float, ...]
    divergences: tuple[float, ...]
    delta: float = 0.0
    relation: Relation = Relation.VALUE

    @property
    def cap(self) -> float:
        return math.inf if any(self.divergences) or self.delta > 0 else 0.0

    def profile(self, epsilon: float) -> float:
        if epsilon < 0:
            return 1.0
        from dp_accounting.rdp import rdp_privacy_accountant as rdp  # it takes a second to load

        return min(1.0, self.delta + float(rdp.compute_delta(self.orders, self.divergences, epsilon)[0]))

    def for_group(self, size: int) -> Guarantee:
        return self if size == 1 else GroupOf(member=self, size=size, relation=self.relation)


def compose_renyi(events: Mapping[Guarantee, int], relation: Relation) -> RenyiCurve | None:
    """Return the summed curve, or None where an event has no curve, or curves share no order."""
    import dp_accounting  # it takes a second to load, and few ledgers need it
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    known = {float(each.order) for each in events if isinstance(each, RenyiDP)}
    if len(known) > 1:
        return None
    account = rdp.RdpAccountant(
        orders=list(known) or None, neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE
    )
    at_order, delta = 0.0, 0.0
    for event, count in events.items():
        if isinstance(event, RenyiDP):
            at_order += count * float(event.epsilon)
        elif (named := _to_dp_event(event)) is not None:
            account.compose(named[0], count)
            delta += count * named[1]
        else:
            return None
    if delta >= 1:
        return None
    return RenyiCurve(
        orders=tuple(map(float, account.orders)),
        divergences=tuple(max(float(each) + at_order, NOISE) for each in account.rdp),
        delta=delta,
        relation=relation,
    )


def _to_dp_event(guarantee: Guarantee) -> tuple[dp_accounting.DpEvent, float] | None:
    """Return dp-accounting's event, and the delta beside its divergences, or None where it has no event."""
    import dp_accounting

    match guarantee:
        case PureDP(epsilon=e) | ApproximateDP(epsilon=e) if LEAST <= e <= MOST:
            # the worst release: with probability 2 / (1 + exp(e)) one of two answers at random
            leak = float(guarantee.delta) if isinstance(guarantee, ApproximateDP) else 0.0
            return dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.exp(e)), 2), leak
        case LaplaceDP(epsilon=e) if LEAST <= e <= MOST:
            return dp_accounting.LaplaceDpEvent(1 / float(e)), 0.0
        case GaussianDP(mu=mu) if LEAST <= mu <= MOST:
            return dp_accounting.GaussianDpEvent(1 / float(mu)), 0.0
    concentrated = getattr(guarantee, "zcdp", None)
    if concentrated is None or concentrated.rho > MOST:
        return None
    return dp_accounting.ZCDpEvent(float(concentrated.rho)), float(concentrated.delta)
