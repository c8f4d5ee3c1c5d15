"""The noise with the least error: of a rare itemset's support, which is what a promise makes hard to see."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
from scipy.special import expit

from discreet.core.errors import require
from discreet.core.numbers import require_count
from discreet.mechanisms.sampling import Floats

GRID = 1 << 50  # noise is a multiple of 1 / GRID, which floats hold exactly
MOST_SLOTS = 64
WIDEST, POINTS, ROUNDS = 33.0, 256, 5


def least(errors: Callable[[Floats], Floats]) -> tuple[float, Fraction]:
    """The least of the errors, and the noise at which it is; infinite errors are of what is not allowed."""
    centre, reach = 0.0, WIDEST
    for _ in range(ROUNDS):
        logits = centre + np.linspace(-reach, reach, POINTS)
        noise = np.clip(np.rint(expit(logits) * GRID), 1, GRID - 1) / GRID
        found = errors(noise)
        best = int(np.argmin(found))
        centre, reach = float(logits[best]), 4 * reach / POINTS
    return float(found[best]), Fraction(float(noise[best]))


def spread_of(noise: Floats, kept: Floats, k: int) -> Floats:
    """The standard deviation of one report's worth to a rare k-itemset, for each noise and row of `kept`."""
    size = kept.shape[1] - 1
    contrast = np.zeros(noise.shape)
    for j in range(size + 1):
        for i in range(max(0, k - size + j), min(j, k) + 1):
            ways = comb(j, i) * comb(size - j, k - i) / comb(size, k)
            contrast += kept[:, j] * ways * (1 - noise) ** i * (-noise) ** (k - i)
    with np.errstate(divide="ignore"):
        return np.asarray((noise * (1 - noise)) ** (k / 2) / np.abs(contrast))


def require_target(owner: object, size: int, itemset: int) -> int:
    """The size of the itemsets that the least error is wanted for: no larger than baskets are."""
    require_size(owner, size)
    require_count(owner, "itemset", itemset)
    return min(size, itemset)


def require_size(owner: object, size: int) -> None:
    """Refuse a number of slots that is not from 1 to 64."""
    require_count(owner, "size", size)
    require(size <= MOST_SLOTS, owner, "size", size, f"at most {MOST_SLOTS}")
