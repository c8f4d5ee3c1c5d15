"""Composition theorems: the joint guarantee of several releases with parameters fixed in advance.

sequential          epsilons and deltas add up
advanced            e = sqrt(2 ln(1/s) sum of e_i**2) + sum of e_i (exp(e_i) - 1), d = s + sum of d_i [DRV10]
optimal             k equal (e0, d0): exact, no bound can be smaller [KOV15]
gaussian            mu**2 adds up, and the sum is Gaussian again: exact [DRS22]
concentrated        rho and delta add up [BS16]
renyi               the divergences of each order add up, by dp-accounting [Mironov17]
loss distribution   the laws of the loss are convolved, whatever they are; pessimistic [SMM19]
single              one release: its own profile

Requires    The parameters (how many, which epsilon, which mechanism) do not depend on earlier outputs; which
            question each release answers may. All are for the same neighbors.
Parallel    Each release reads a part of its own, and a person is in at most one part. Adding or removing her
            changes one part: the largest epsilon. Replacing her record is a removal and an addition: twice
            the largest epsilon if she stays in that part with another value, two different ones if she moves.
            This requires that every release is proven for added and removed people (one proven for replaced
            values may reveal the size of its part).

[DRV10]     Dwork, Rothblum & Vadhan, Boosting and Differential Privacy.
[KOV15]     Kairouz, Oh & Viswanath, The Composition Theorem for Differential Privacy.
[DRS22]     Dong, Roth & Su, Gaussian Differential Privacy.
[BS16]      Bun & Steinke, Concentrated Differential Privacy.
[Mironov17] Mironov, Rényi Differential Privacy.
[SMM19]     Sommer, Meiser & Mohammadi, Privacy Loss Classes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.loss_distribution import LossDistribution
from discreet.accounting.optimal_composition import RepeatedDP
from discreet.accounting.profile_inversion import find_least_epsilon
from discreet.accounting.renyi import compose_renyi
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter
from discreet.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    LaplaceDP,
    PureDP,
    ZeroConcentratedDP,
    convert_guarantee,
)
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, is_real

Events = Mapping[Guarantee, int]

TINY = Fraction(1, 10**30)
"""A smaller rho is rounded up to this: its conversion would be lost in rounding error."""

Theorem = Callable[[Events, Relation, float], Guarantee | None]


@dataclass(frozen=True, kw_only=True)
class Composition:
    """The tightest proven (epsilon, delta), its theorem, and the results of the other theorems."""

    epsilon: float
    delta: float
    theorem: str
    guarantee: Guarantee
    alternatives: Mapping[str, float]


def compose(
    guarantees: Iterable[Guarantee] | Mapping[Guarantee, int],
    *,
    delta: Real,
    relation: Relation | str | None = None,
) -> Composition:
    """Return the joint guarantee of all releases, as (epsilon, delta)-DP for the given `delta`.

    Guarantees for different neighbors raise an error, unless `relation` names the one to convert them to.

    >>> found = compose([LaplaceDP(epsilon=0.01)] * 1_000, delta=1e-6)
    >>> found.theorem, round(found.epsilon, 4)
    ('loss distribution', 1.3629)
    """
    require_parameter(is_real(delta) and 0 <= delta < 1, "compose", "delta", delta, "a number in [0, 1)")
    events, shared = _count_events(guarantees, relation)
    if not events:
        nothing = PureDP(epsilon=0, relation=shared)
        return Composition(
            epsilon=0.0,
            delta=float(delta),
            theorem="sequential",
            guarantee=nothing,
            alternatives={"sequential": 0.0},
        )
    theorems = THEOREMS if delta > 0 else {"sequential": THEOREMS["sequential"]}
    found = {name: each for name, prove in theorems.items() if (each := prove(events, shared, float(delta)))}
    epsilons = {name: _find_epsilon(each, float(delta)) for name, each in found.items()}
    best = min(epsilons, key=lambda name: epsilons[name], default=None)
    if best is None or math.isinf(epsilons[best]):
        raise RequestError(
            f"compose: these guarantees have no epsilon at delta {float(delta):g}.",
            hint="Ask for a larger delta than they leak together, or use pure mechanisms.",
        )
    return Composition(
        epsilon=epsilons[best],
        delta=float(delta),
        theorem=best,
        guarantee=found[best],
        alternatives=epsilons,
    )


def compose_parallel(guarantees: Iterable[Guarantee], relation: Relation | str) -> Guarantee:
    """Return the joint guarantee of releases from parts that share no person; see Parallel above.

    >>> parts = [PureDP(epsilon=e, relation=Relation.PRESENCE) for e in (1, 2, 3)]
    >>> compose_parallel(parts, "presence").cap, compose_parallel(parts, "value").cap
    (3.0, 6.0)
    """
    wanted = Relation.parse("compose_parallel", "relation", relation)
    parts = [_require_guarantee("compose_parallel", each) for each in guarantees]
    if not all(each.relation is Relation.PRESENCE for each in parts):
        raise RequestError(
            "compose_parallel: a release proven for replaced values only may reveal the size of its part.",
            hint="Use mechanisms that are proven for added and removed people.",
        )
    bounds = [_find_epsilon_delta(each) for each in parts]
    sums = [getattr(each, "zcdp", None) for each in parts]
    # the largest of each suffices: one person is in one part only
    if all(each is not None for each in bounds):
        epsilon, delta = (max((each[i] for each in bounds if each), default=Fraction(0)) for i in (0, 1))
        return convert_guarantee(_make_guarantee(epsilon, delta, Relation.PRESENCE), wanted)
    if all(each is not None for each in sums):
        rho, delta = (max(Fraction(getattr(each, name)) for each in sums) for name in ("rho", "delta"))
        return convert_guarantee(ZeroConcentratedDP(rho=rho, delta=delta, relation=Relation.PRESENCE), wanted)
    raise RequestError(
        "compose_parallel: a guarantee has neither an epsilon nor a rho.", hint="Compose it sequentially."
    )


def compose_sequential(events: Events, relation: Relation, delta: float = 0.0) -> Guarantee | None:
    """Return the exact sums of epsilon and of delta, or None where a loss has no cap."""
    del delta
    bounds = [(n, found) for each, n in events.items() if (found := _find_epsilon_delta(each)) is not None]
    if len(bounds) < len(events):
        return None
    leak = sum((n * found[1] for n, found in bounds), Fraction(0))
    return (
        _make_guarantee(sum((n * found[0] for n, found in bounds), Fraction(0)), leak, relation)
        if leak < 1
        else None
    )


def compose_advanced(events: Events, relation: Relation, delta: float) -> ApproximateDP | None:
    """Return the guarantee by advanced composition; the slack is `delta` less the deltas of the events."""
    bounds = [(n, found) for each, n in events.items() if (found := _find_epsilon_delta(each)) is not None]
    slack = Fraction(delta) - sum((n * found[1] for n, found in bounds), Fraction(0))
    # e * expm1(e) is then far above the plain sum, which `compose_sequential` gives
    if len(bounds) < len(events) or slack <= 0 or any(e > 100 for _, (e, _) in bounds):
        return None
    squares = math.fsum(n * float(e) ** 2 for n, (e, _) in bounds)
    drift = math.fsum(n * float(e) * math.expm1(e) for n, (e, _) in bounds)
    epsilon = math.sqrt(-2 * math.log(slack) * squares) + drift
    return ApproximateDP(epsilon=epsilon, delta=delta, relation=relation)


def compose_optimal(events: Events, relation: Relation, delta: float = 0.0) -> RepeatedDP | None:
    """Return the optimal composition of equal (epsilon, delta); a Laplace counts as its epsilon."""
    del delta
    bounds = {_find_epsilon_delta(each) for each in events}
    if len(bounds) > 1 or (each := bounds.pop()) is None or each[1] >= 1:
        return None
    return RepeatedDP(epsilon=each[0], delta=each[1], times=sum(events.values()), relation=relation)


def compose_gaussian(events: Events, relation: Relation, delta: float = 0.0) -> GaussianDP | None:
    del delta
    parts = [math.sqrt(n) * float(each.mu) for each, n in events.items() if isinstance(each, GaussianDP)]
    return GaussianDP(mu=math.hypot(*parts), relation=relation) if len(parts) == len(events) else None


def compose_zcdp(events: Events, relation: Relation, delta: float = 0.0) -> ZeroConcentratedDP | None:
    del delta
    sums = [(n, each.zcdp) for each, n in events.items() if hasattr(each, "zcdp")]
    if len(sums) < len(events):
        return None
    rho = sum((n * max(Fraction(each.rho), TINY) for n, each in sums), Fraction(0))
    leak = sum((n * Fraction(each.delta) for n, each in sums), Fraction(0))
    return ZeroConcentratedDP(rho=rho, delta=leak, relation=relation) if leak < 1 else None


def compose_loss_distributions(
    events: Events, relation: Relation, delta: float = 0.0
) -> LossDistribution | None:
    del relation, delta
    return LossDistribution.from_events(events) if all(map(LossDistribution.supports, events)) else None


def _take_single(events: Events, relation: Relation, delta: float) -> Guarantee | None:
    del relation, delta
    return next(iter(events)) if sum(events.values()) == 1 else None


THEOREMS: Mapping[str, Theorem] = {
    "sequential": compose_sequential,
    "single": _take_single,
    "optimal": compose_optimal,
    "gaussian": compose_gaussian,
    "loss distribution": compose_loss_distributions,
    "renyi": lambda events, relation, delta: compose_renyi(events, relation),
    "concentrated": compose_zcdp,
    "advanced": compose_advanced,
}


def _count_events(
    guarantees: Iterable[Guarantee] | Mapping[Guarantee, int], relation: Relation | str | None
) -> tuple[Events, Relation]:
    """Return equal guarantees counted, all for one relation."""
    counted = Counter(guarantees)
    for each, times in counted.items():
        _require_guarantee("compose", each)
        require_parameter(
            isinstance(times, int) and times >= 0,
            "compose",
            "guarantees",
            times,
            "counted in integers of at least 0",
        )
    # drops what was released zero times
    counted = +counted
    if relation is not None:
        wanted = Relation.parse("compose", "relation", relation)
        restated: Counter[Guarantee] = Counter()
        for each, times in counted.items():
            restated[convert_guarantee(each, wanted)] += times
        return restated, wanted
    found = {each.relation for each in counted}
    if len(found) > 1:
        raise RequestError(
            "compose: some of these guarantees are for replaced values and some for added or removed people.",
            hint="Name the relation to convert them to; only presence can be converted, to value.",
        )
    return counted, found.pop() if found else Relation.VALUE


def _require_guarantee(place: str, guarantee: Guarantee) -> Guarantee:
    if not (isinstance(getattr(guarantee, "relation", None), Relation) and hasattr(guarantee, "profile")):
        raise InvalidParameterError(f"{place}.guarantees must be guarantees; got {guarantee!r}.")
    return guarantee


def _find_epsilon_delta(guarantee: Guarantee) -> tuple[Fraction, Fraction] | None:
    """Return the exact (epsilon, delta) that a guarantee states, or its finite cap, or None."""
    match guarantee:
        case PureDP(epsilon=e) | LaplaceDP(epsilon=e):
            return Fraction(e), Fraction(0)
        case ApproximateDP(epsilon=e, delta=d):
            return Fraction(e), Fraction(d)
        case RepeatedDP(epsilon=e, delta=d, times=k):
            return k * Fraction(e), k * Fraction(d)
    return (Fraction(guarantee.cap), Fraction(0)) if math.isfinite(guarantee.cap) else None


def _make_guarantee(epsilon: Fraction, delta: Fraction, relation: Relation) -> Guarantee:
    if delta > 0:
        return ApproximateDP(epsilon=epsilon, delta=delta, relation=relation)
    return PureDP(epsilon=epsilon, relation=relation)


def _find_epsilon(guarantee: Guarantee, delta: float) -> float:
    """Return the epsilon that a guarantee states, else the least that holds at `delta`."""
    match guarantee:
        case PureDP(epsilon=e):
            return float(e)
        case ApproximateDP(epsilon=e, delta=d):
            return float(e) if d <= delta else math.inf
    return find_least_epsilon(guarantee, delta)
