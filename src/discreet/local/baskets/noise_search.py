"""Search for the noise with the least error of a rare itemset's support."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.special import expit

from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count
from discreet.mechanisms.sampling import Floats

GRID = 1 << 50  # noise is a multiple of 1 / GRID, which floats hold exactly
MAX_SLOTS = 64
MAX_LOGIT, POINTS, ROUNDS = 33.0, 1024, 4


def find_best_noise(errors: Callable[[Floats], Floats]) -> Fraction:
    """Return the noise with the least error; `errors` returns a row of errors for each noise."""
    centre, reach = 0.0, MAX_LOGIT
    for _ in range(ROUNDS):
        logits = centre + np.linspace(-reach, reach, POINTS)
        noise = np.clip(np.rint(expit(logits) * GRID), 1, GRID - 1) / GRID
        best = int(np.argmin(errors(noise).min(axis=1)))
        centre, reach = float(logits[best]), 4 * reach / POINTS
    return Fraction(float(noise[best]))


def require_target(owner: object, size: int, itemset: int) -> int:
    """Return the itemset size to optimize for: no larger than baskets are."""
    require_size(owner, size)
    require_count(owner, "itemset", itemset)
    return min(size, itemset)


def require_size(owner: object, size: int) -> None:
    """Refuse a number of slots that is not from 1 to 64."""
    require_count(owner, "size", size)
    require_parameter(size <= MAX_SLOTS, owner, "size", size, f"at most {MAX_SLOTS}")
