"""What mechanisms that add integer noise share: a grid, sums that cannot overflow, exact interval widths."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.mechanisms.sampling import LARGEST, Integers


def add(values: Integers, noise: Integers) -> Integers:
    """values + noise, without overflow; what leaves the range of 64 bits is moved to its end afterwards."""
    within = values.min(initial=0) > -LARGEST and values.max(initial=0) < LARGEST
    if within and noise.dtype != object:
        return values + noise
    total = values.astype(object) + noise.astype(object)
    ends = np.iinfo(np.int64)
    return np.asarray(np.clip(total, int(ends.min), int(ends.max)), dtype=np.int64)


def least(holds: Callable[[int], bool], around: int) -> int:
    """The least integer of at least 0 from which `holds`, searched for from a float's estimate of it."""
    at = max(around, 0)
    while not holds(at):
        at += 1
    while at > 0 and holds(at - 1):
        at -= 1
    return at


def to_grid(value: Fraction, resolution: Fraction) -> int:
    """The nearest multiple of `resolution`, in steps; halves go up, the same way for every value."""
    return math.floor(Fraction(value) / resolution + Fraction(1, 2))
