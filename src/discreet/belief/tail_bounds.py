"""The tail of a release: a bound on the probability that an odds factor of gamma is exceeded.

Definition  tail(gamma) = min over e < ln gamma of profile(e) / (1 - exp(e - ln gamma)).
Belief      Pr[posterior > rho2 | the claim is true] <= tail(gamma), where gamma leads from prior to rho2; and
            Pr[posterior < rho1 | the claim is false] <= tail(gamma), where gamma leads from rho1 to prior.
Why         Let S be the outputs, of the release or of anything computed from it, at which the odds grow by
            more than gamma. Then P(S) > gamma Q(S), and P(S) - exp(e) Q(S) <= profile(e) for every e, so
            P(S) (1 - exp(e) / gamma) <= profile(e). A claim about several values mixes their laws, and the
            profile of mixtures is no larger. For a true profile the minimum is attained by some such S.
Limits      Pr[loss > ln gamma] is not enough: it can grow under post-processing. Nor does (e, d)-DP imply
            that the loss is at most e except with probability d.

Every e gives a valid bound, so the search below can only be too pessimistic, never too optimistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, is_real

if TYPE_CHECKING:
    from discreet.core.guarantees import Guarantee

POINTS = 33
SECTIONS = 56
GOLDEN = (math.sqrt(5) - 1) / 2
FURTHEST = 512.0
NEAREST = 1e-300


def tail_probability(guarantee: Guarantee, gamma: Real) -> float:
    """Return a bound on the probability that the odds of a true claim grow by more than the factor `gamma`.

    >>> from discreet.core.guarantees import ApproximateDP
    >>> round(tail_probability(ApproximateDP(epsilon=1, delta=1e-6), math.exp(2)), 10)
    1.582e-06
    """
    _require_guarantee("tail_probability", guarantee)
    holds = (is_real(gamma) or gamma == math.inf) and gamma >= 1
    require_parameter(holds, "tail_probability", "gamma", gamma, "a number of at least 1")
    return tail_probability_beyond_loss(guarantee, math.log(gamma))


def smallest_gamma(guarantee: Guarantee, tail: Real) -> float:
    """Return the least odds factor that is exceeded with probability at most `tail`, or infinity."""
    _require_guarantee("smallest_gamma", guarantee)
    require_parameter(is_real(tail) and 0 <= tail < 1, "smallest_gamma", "tail", tail, "a number in [0, 1)")
    loss = smallest_loss(guarantee, float(tail))
    return math.exp(loss) if loss < 709 else math.inf


def _require_guarantee(owner: str, guarantee: object) -> None:
    holds = callable(getattr(guarantee, "profile", None))
    require_parameter(holds, owner, "guarantee", guarantee, "a guarantee, such as that of a mechanism")


def tail_probability_beyond_loss(guarantee: Guarantee, loss: float) -> float:
    """Return `tail_probability` of gamma = exp(loss), for losses of any size."""
    if loss >= guarantee.cap:
        # an infinite loss is never exceeded, but may be attained: then the limit is returned
        return 0.0 if math.isfinite(guarantee.cap) else guarantee.profile(FURTHEST)

    def compute_bound(log_distance: float) -> float:
        e = min(loss - math.exp(log_distance), FURTHEST)
        # loss - e, not the distance itself: the bound must belong to the rounded e
        return guarantee.profile(e) / -math.expm1(e - loss) if e < loss else 1.0

    nearest = loss * 1e-9 or 1e-12
    return min(1.0, _minimize_bound(compute_bound, math.log(nearest), math.log(loss + 40)))


def smallest_loss(guarantee: Guarantee, tail: float) -> float:
    """Return the least loss that is exceeded with probability at most `tail`: ln of `smallest_gamma`.

    tail(gamma) <= tail exactly if ln gamma >= e - ln(1 - profile(e) / tail) for some e with profile(e) <
    tail.
    """
    if tail == 0:
        return guarantee.cap

    def compute_needed_loss(e: float) -> float:
        delta = guarantee.profile(e)
        return e - math.log1p(-delta / tail) if delta < tail else math.inf

    # the profile is at least 1 - exp(e), so it reaches `tail` only above ln(1 - tail)
    low, start = (math.log1p(-tail), 0.0) if guarantee.profile(0.0) < tail else _bracket_tail(guarantee, tail)
    best = min(compute_needed_loss(min(start * factor, FURTHEST)) for factor in (1, 2, 4))
    if math.isfinite(best) and best > low:
        best = min(best, _minimize_bound(compute_needed_loss, low, best))
    # just below the cap a profile may vanish by rounding alone
    return guarantee.cap if best >= guarantee.cap * (1 - 1e-12) else max(0.0, best)


def _bracket_tail(guarantee: Guarantee, tail: float) -> tuple[float, float]:
    """Return two losses, one twice the other, between which the profile falls below `tail`."""
    e = 1.0
    while guarantee.profile(e) >= tail and e < FURTHEST:
        e *= 2
    while guarantee.profile(e / 2) < tail and e > NEAREST:
        e /= 2
    return e / 2, e


def _minimize_bound(bound: Callable[[float], float], low: float, high: float) -> float:
    """Return the least value of `bound` on a grid and on golden sections around its best point.

    Sections and not parabolas, because the profile of a discrete mechanism has kinks.
    """
    grid = np.linspace(low, high, POINTS).tolist()
    values = [bound(x) for x in grid]
    best = values.index(min(values))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, POINTS - 1)]
    x, y = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_x, at_y = bound(x), bound(y)
    least = min(values[best], at_x, at_y)
    for _ in range(SECTIONS):
        if at_x <= at_y:
            right, y, at_y = y, x, at_x
            x = right - GOLDEN * (right - left)
            at_x = bound(x)
        else:
            left, x, at_x = x, y, at_y
            y = left + GOLDEN * (right - left)
            at_y = bound(y)
        least = min(least, at_x, at_y)
    return least
