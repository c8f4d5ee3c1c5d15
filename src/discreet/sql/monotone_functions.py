"""Monotone functions of a number, applied to the ends of its interval, and rounded outward.

An end outside a function's domain is moved to its edge, because the true value, if the function has one
there, is inside; an interval wholly outside has no image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
OUTWARD = 2.0**-50  # relative; covers the rounding of library functions


def apply_function(name: str, arguments: Sequence[Fraction], ends: Ends) -> Ends:
    """Return the interval of a function of all numbers in an interval.

    >>> low, high = apply_function("sqrt", (), (np.array([-1.0, 4.0]), np.array([9.0, 16.0])))
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([0.0, 2.0], [3.0, 4.0])
    """
    with np.errstate(all="ignore"):
        low, high = FUNCTIONS[name]([float(each) for each in arguments], *ends)
        if name in EXACT_FUNCTIONS:
            return low, high
        return low - OUTWARD * np.abs(low), high + OUTWARD * np.abs(high)


def _scale(arguments: list[float], low: Floats, high: Floats) -> Ends:
    one, other = low * arguments[0], high * arguments[0]
    return np.minimum(one, other), np.maximum(one, other)


def _shift(arguments: list[float], low: Floats, high: Floats) -> Ends:
    return low + arguments[0], high + arguments[0]


def _round(arguments: list[float], low: Floats, high: Floats) -> Ends:
    """Round to digits; halves outward, however the engine rounds them."""
    unit = 10.0 ** arguments[0]
    slack = 1e-9
    return np.ceil(low * unit - 0.5 - slack) / unit, np.floor(high * unit + 0.5 + slack) / unit


def _take_root(arguments: list[float], low: Floats, high: Floats) -> Ends:
    return np.sqrt(np.maximum(low, 0)), np.sqrt(high)


def _make_logarithm(base: float | None) -> Callable[[list[float], Floats, Floats], Ends]:
    def take_logarithm(arguments: list[float], low: Floats, high: Floats) -> Ends:
        divisor = np.log(arguments[0] if base is None else base)
        high = np.where(high > 0, high, np.nan)
        return np.log(np.maximum(low, 0)) / divisor, np.log(high) / divisor

    return take_logarithm


def _take_exponential(arguments: list[float], low: Floats, high: Floats) -> Ends:
    return np.exp(low), np.exp(high)


def _take_cube_root(arguments: list[float], low: Floats, high: Floats) -> Ends:
    return np.cbrt(low), np.cbrt(high)


def _take_magnitude(arguments: list[float], low: Floats, high: Floats) -> Ends:
    one, other = np.abs(low), np.abs(high)
    crosses = (low <= 0) & (high >= 0)
    return np.where(crosses, 0.0, np.minimum(one, other)), np.maximum(one, other)


def _floor(arguments: list[float], low: Floats, high: Floats) -> Ends:
    return np.floor(low), np.floor(high)


def _ceil(arguments: list[float], low: Floats, high: Floats) -> Ends:
    return np.ceil(low), np.ceil(high)


FUNCTIONS: dict[str, Callable[[list[float], Floats, Floats], Ends]] = {
    "scale": _scale,
    "shift": _shift,
    "round": _round,
    "sqrt": _take_root,
    "cbrt": _take_cube_root,
    "ln": _make_logarithm(float(np.e)),
    "log": _make_logarithm(None),
    "exp": _take_exponential,
    "abs": _take_magnitude,
    "floor": _floor,
    "ceil": _ceil,
}
EXACT_FUNCTIONS = frozenset({"round", "floor", "ceil", "abs"})
