"""What all mechanisms that add integer noise share: addition that cannot overflow, and exact interval widths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.mechanisms.sampling import LARGEST, Integers


def add(values: Integers, noise: Integers) -> Integers:
    """values + noise, without overflow; what leaves the range of 64 bits is moved to its end afterwards."""
    if noise.dtype != object and max(abs(int(v)) for v in (values.min(initial=0), values.max(initial=0))) < LARGEST:
        return values + noise
    total = values.astype(object) + noise.astype(object)
    info = np.iinfo(np.int64)
    return np.clip(total, int(info.min), int(info.max)).astype(np.int64)


def least(holds: Callable[[int], bool], around: int) -> int:
    """The least integer of at least 0 from which `holds`, searched for from a float's estimate of it."""
    at = max(around, 0)
    while not holds(at):
        at += 1
    while at > 0 and holds(at - 1):
        at -= 1
    return at
