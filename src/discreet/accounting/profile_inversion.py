"""Inversion of a privacy profile: the least epsilon, or the largest rho, for a delta.

Epsilon     the result e is at least 0, and profile(e) <= delta was evaluated, not interpolated; within 1e-12
            of the least such e, from above; infinite where no epsilon below 512 suffices.
Rho         the result was evaluated and holds, not interpolated; from `LEAST_RHO` to `MOST_RHO`, to the last
            bits of a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.core.errors import InvalidParameterError
from discreet.core.guarantees import Guarantee, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation

FURTHEST = 512.0
"""Odds of exp(512) are no protection; nothing is computed beyond."""

LEAST_RHO, MOST_RHO = Fraction(1, 10**12), Fraction(100)
HALVINGS = 60


def find_least_epsilon(guarantee: Guarantee, delta: float) -> float:
    """Return the least epsilon for which `guarantee` is (epsilon, delta)-DP.

    >>> from discreet.core.guarantees import GaussianDP
    >>> round(find_least_epsilon(GaussianDP(mu=1), 1e-5), 4)
    4.3772
    """
    if guarantee.profile(0.0) <= delta:
        return 0.0
    low, high = 0.0, min(1.0, guarantee.cap)
    while guarantee.profile(high) > delta:
        low, high = high, 2 * high
        if high > FURTHEST:
            return math.inf
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if guarantee.profile(middle) <= delta else (middle, high)
    return high


def find_largest_rho(
    is_allowed: Callable[[ZeroConcentratedDP], bool], relation: Relation
) -> ZeroConcentratedDP:
    """Return the largest zCDP loss that `is_allowed`.

    A rho that is allowed is taken to allow every smaller one.

    >>> float(find_largest_rho(lambda zcdp: zcdp.profile(1.0) <= 1e-9, Relation.VALUE).rho)
    0.0149...
    """

    def to_zcdp(rho: Fraction) -> ZeroConcentratedDP:
        return ZeroConcentratedDP(rho=rho, relation=relation)

    low, high = LEAST_RHO, MOST_RHO
    if not is_allowed(to_zcdp(low)):
        raise InvalidParameterError(
            "The promise leaves no budget to learn with.", hint="Use a larger epsilon, delta or tail."
        )
    for _ in range(HALVINGS):
        middle = Fraction(float(low * high) ** 0.5)
        low, high = (middle, high) if is_allowed(to_zcdp(middle)) else (low, middle)
    return to_zcdp(low)
