"""Number grids: equally spaced numbers between two bounds, as codes 0 .. values - 1."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import require_parameter
from discreet.core.number_checks import is_real
from discreet.mechanisms.sampling import Integers

DEFAULT_POINTS = (1 << 16) + 1


class NumberGrid(Protocol):
    """`values` equally spaced points from `low` to `high`."""

    @property
    def values(self) -> int: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def require_grid(owner: NumberGrid) -> None:
    """Refuse bounds that are not finite, not increasing, or too far apart."""
    for name in ("low", "high"):
        require_parameter(is_real(getattr(owner, name)), owner, name, getattr(owner, name), "a finite number")
    require_parameter(owner.low < owner.high, owner, "high", owner.high, f"above low, which is {owner.low:g}")
    near = math.isfinite(owner.high - owner.low) and math.isfinite((owner.high - owner.low) ** 2)
    require_parameter(
        near, owner, "high", owner.high, "so near to low that the square of their distance is a number"
    )


def encode_numbers(owner: NumberGrid, numbers: ArrayLike) -> Integers:
    """Return the nearest grid point of each number; numbers beyond a bound are clamped to it."""
    given = np.asarray(numbers, np.float64)
    require_parameter(not np.isnan(given).any(), owner, "numbers", "some that are missing", "numbers")
    part = (np.clip(given, owner.low, owner.high) - owner.low) / (owner.high - owner.low)
    return np.rint(part * (owner.values - 1)).astype(np.int64)


def compute_step(owner: NumberGrid) -> float:
    """Return the distance between two neighboring points."""
    return (owner.high - owner.low) / (owner.values - 1)
