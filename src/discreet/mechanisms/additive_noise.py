"""Helpers of mechanisms that add integer noise: sums that cannot overflow, exact interval widths."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact
from discreet.mechanisms.sampling import LARGEST, Integers


def add_noise(values: Integers, noise: Integers) -> Integers:
    """Return values + noise without overflow.

    Sums beyond 64 bits are moved to the end of the range, which is post-processing.
    """
    within = values.min(initial=0) > -LARGEST and values.max(initial=0) < LARGEST
    if within and noise.dtype != object:
        return values + noise
    total = values.astype(object) + noise.astype(object)
    ends = np.iinfo(np.int64)
    return np.asarray(np.clip(total, int(ends.min), int(ends.max)), dtype=np.int64)


def find_least_integer(is_enough: Callable[[int], bool], estimate: int) -> int:
    """Return the least integer of at least 0 from which `is_enough` holds.

    The search starts at a float's `estimate`, in steps that double, and then bisects: for wide noise the
    estimate is off by as much as it is large.
    """
    low, high, step = -1, max(estimate, 0), 1
    while not is_enough(high):
        low, high, step = high, high + step, 2 * step
    step = 1
    while high - step > low and is_enough(high - step):
        high, step = high - step, 2 * step
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def require_integer(owner: object, value: Exact[int]) -> int:
    """Return the integer inside; only its type can be wrong, so the error reveals nothing about its value."""
    secret = value.secret
    fits = isinstance(secret, Integral) and not isinstance(secret, bool)
    require_parameter(fits, owner, "value", f"a {type(secret).__name__}", "an integer")
    return int(secret)


def require_integer_column(owner: object, values: Exact[Integers]) -> Integers:
    """Return the integers inside: a one-dimensional array, so that every one gets noise of its own."""
    secret = values.secret
    fits = isinstance(secret, np.ndarray) and secret.ndim == 1 and secret.dtype == np.int64
    require_parameter(fits, owner, "values", f"a {type(secret).__name__}", "a one-dimensional array of int64")
    return secret
