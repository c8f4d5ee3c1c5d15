"""From a profile back to epsilon: the least epsilon at which a guarantee's delta is small enough.

Statement   the result e is at least 0, and profile(e) <= delta was evaluated, not interpolated.
Precision   within 1e-12 of the least such e, from above; infinite where no epsilon below 512 will do.
"""

from __future__ import annotations

import math

from discreet.core.guarantees import Guarantee

FURTHEST = 512.0
"""Odds of exp(512) are no protection; nothing is computed beyond."""


def least_epsilon(guarantee: Guarantee, delta: float) -> float:
    """The least epsilon for which `guarantee` is (epsilon, delta)-DP.

    >>> from discreet.core.guarantees import GaussianDP
    >>> round(least_epsilon(GaussianDP(mu=1), 1e-5), 4)
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
