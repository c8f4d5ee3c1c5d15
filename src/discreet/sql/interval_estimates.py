"""Estimates with confidence intervals: from released primitives to the values of measures.

An interval covers the clamped and bounded quantity with at least the stated confidence, for each group
separately; it does not cover the bias from clamping and bounding. If a number is computed from several
primitives, the allowed error probability is divided among them, and the interval contains every value that
primitives within their own intervals could give.

Weights     With row weights, counts and sums are multiples of 1 / weight_denominator. They are shown rounded
            to whole numbers if they count whole units, so up to a half from the middle of their interval.
Negative    A noisy count may be negative, and stays so in everything computed from it: a sum of clipped
            counts would be biased upwards. `sql.plan_execution` clips displayed counts as the last step. The
            interval is that of the count as displayed, and so at least as wide on the upper side as the
            noise: clipped on both sides, a count far below 0 would be shown as 0 ± 0.
Few rows    A mean needs one row, a variance two. If the count's interval includes fewer, the value is
            unknown: it is NaN, and its interval the whole range.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.sampling import Integers
from discreet.sql.primitives import Grid

Floats = NDArray[np.float64]
Noise = DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Values and intervals of one measure over all groups; NaN means unknown."""

    values: NDArray[Any]
    low: NDArray[np.floating[Any]]
    high: NDArray[np.floating[Any]]


class SupportsHalfWidth(Protocol):
    """A noise law with a confidence half-width."""

    def half_width(self, confidence: float) -> int: ...


@dataclass(frozen=True, kw_only=True)
class ReleasedPrimitive:
    """One released primitive: noisy numbers in units of 1 / `weight_denominator`, and their noise law."""

    numbers: Integers
    noise: SupportsHalfWidth
    weight_denominator: int = 1

    @property
    def values(self) -> Floats:
        """Values in floating point: wide noise may exceed 64 bits."""
        return self.numbers.astype(np.float64) / self.weight_denominator

    @property
    def rounded_values(self) -> Integers:
        """Values rounded to whole numbers, halves to even: always rounding up would bias sums of many groups.

        Quotient and remainder are used because doubling numbers near the limits of 64 bits would overflow.
        """
        whole, rest = self.numbers // self.weight_denominator, 2 * (self.numbers % self.weight_denominator)
        return np.asarray(
            whole
            + ((rest > self.weight_denominator) | ((rest == self.weight_denominator) & (whole % 2 == 1)))
        )

    def get_interval(self, confidence: float) -> tuple[Floats, Floats]:
        half = float(self.noise.half_width(confidence)) / self.weight_denominator
        return self.values - half, self.values + half


def split_confidence(confidence: float, parts: int) -> float:
    """Return the confidence each of `parts` intervals needs for all to hold jointly with `confidence`."""
    return 1 - (1 - confidence) / parts


def estimate_count(primitive: ReleasedPrimitive, confidence: float, *, raw: bool = False) -> Estimate:
    """Return the estimate of a count, a whole number; its interval is nonnegative unless `raw`."""
    low, high = primitive.get_interval(confidence)
    if not raw:
        low, high = np.maximum(low, 0), high + np.maximum(-primitive.values, 0)
    return Estimate(values=primitive.rounded_values, low=low, high=high)


def estimate_sum(primitive: ReleasedPrimitive, unit: Fraction, confidence: float) -> Estimate:
    """Return the estimate of a sum of whole steps."""
    low, high = primitive.get_interval(confidence)
    scale = float(unit)
    values = primitive.rounded_values if unit == 1 else primitive.values * scale
    return Estimate(values=values, low=low * scale, high=high * scale)


def estimate_sum_from_mean(
    centred: ReleasedPrimitive, rows: ReleasedPrimitive, grid: Grid, confidence: float
) -> Estimate:
    """Return a sum from the centred sum S and the count N: (S + (low + high) N) / 2 steps; unbiased."""
    half, middle = float(grid.step) / 2, float(grid.low + grid.high)
    s_low, s_high = centred.get_interval(split_confidence(confidence, 2))
    n_low, n_high = rows.get_interval(split_confidence(confidence, 2))
    ends = [middle * n_low, middle * n_high]
    return Estimate(
        values=(centred.values + middle * rows.values) * half,
        low=(s_low + np.minimum(*ends)) * half,
        high=(s_high + np.maximum(*ends)) * half,
    )


def estimate_mean(
    centred: ReleasedPrimitive, rows: ReleasedPrimitive | int, grid: Grid, confidence: float
) -> Estimate:
    """Return a mean, (low + high) / 2 + S / (2 N) steps; unknown if there may be no rows.

    With S within h, N within k, N > k, and range w of S / N, the interval reaches no further from the value
    than (h + w k) / (N - k) in half steps. For |S / N| <= w its upper end is at most max(
    (S + h) / (N - k), (S + h) / (N + k)), which is above S / N by (h + k S / N) / (N - k) if S + h >= 0, and
    by (h - k S / N) / (N + k) else. Where S / N is beyond w, value and one end are both cut off at w, and the
    other end is no further from there than if S were w N. The lower end is the same mirrored.
    """
    if isinstance(rows, int):
        n = n_low = n_high = np.full(centred.values.shape, rows, np.float64)
        s_low, s_high = centred.get_interval(confidence)
    else:
        n = rows.values
        n_low, n_high = (np.maximum(end, 0) for end in rows.get_interval(split_confidence(confidence, 2)))
        s_low, s_high = centred.get_interval(split_confidence(confidence, 2))
    values = _scale_to_range(_divide_or_nan(centred.values, n), grid)
    low = _scale_to_range(np.fmin(_divide_or_nan(s_low, n_low), _divide_or_nan(s_low, n_high)), grid)
    high = _scale_to_range(np.fmax(_divide_or_nan(s_high, n_low), _divide_or_nan(s_high, n_high)), grid)
    unknown = (n_low < 1) | np.isnan(values)
    bottom, top = float(grid.low * grid.step), float(grid.high * grid.step)
    return Estimate(
        values=np.where(unknown, np.nan, values),
        low=np.where(unknown, bottom, low),
        high=np.where(unknown, top, high),
    )


def estimate_variance(
    parts: tuple[ReleasedPrimitive, ...], grid: Grid, confidence: float, *, is_sample: bool, takes_root: bool
) -> Estimate:
    """Return the variance E[y**2] - E[y]**2, or its root, of centred y in half steps."""
    centred, rows, squares = parts
    w2 = float(grid.width) ** 2
    n_low, n_high = (np.maximum(end, 0) for end in rows.get_interval(split_confidence(confidence, 3)))
    n = np.maximum(rows.values, 0)
    share = split_confidence(confidence, 3)
    s_low, s_high = centred.get_interval(share)
    q_low, q_high = squares.get_interval(share)
    value = _compute_variance(centred.values, squares.values, n, w2)
    means = [_divide_or_nan(s, m) for s in (s_low, s_high) for m in (n_low, n_high)]
    second = [
        _clip_values((_divide_or_nan(q, m) + w2) / 2, 0, w2) for q in (q_low, q_high) for m in (n_low, n_high)
    ]
    largest = np.fmax.reduce([np.abs(m) for m in means])
    crosses = (np.sign(s_low) != np.sign(s_high)) | (n_low < 1)
    smallest = np.where(crosses, 0.0, np.fmin.reduce([np.abs(m) for m in means]))
    low = _clip_values(np.fmin.reduce(second) - largest**2, 0, w2)
    high = _clip_values(np.fmax.reduce(second) - smallest**2, 0, w2)
    if is_sample:
        value, low, high = (
            value * _get_bessel_factor(n),
            low * _get_bessel_factor(n_high),
            high * _get_bessel_factor(n_low),
        )
    most = w2 / 4 * (2 if is_sample else 1)
    unknown = n_low < 2
    scale = float(grid.step) ** 2 / 4
    ends = [
        np.where(unknown, np.nan, value),
        np.where(unknown, 0.0, low),
        np.where(unknown, 4 * most, high),
    ]
    shown = [np.sqrt(end * scale) if takes_root else end * scale for end in ends]
    return Estimate(
        values=shown[0],
        low=shown[1],
        high=np.minimum(shown[2], _get_max_variance(grid, is_sample, takes_root)),
    )


def _compute_variance(s: Floats, q: Floats, n: Floats, w2: float) -> Floats:
    first, second = _divide_or_nan(s, n), _clip_values((_divide_or_nan(q, n) + w2) / 2, 0, w2)
    return _clip_values(second - first**2, 0, w2)


def _get_max_variance(grid: Grid, is_sample: bool, takes_root: bool) -> float:
    """Return the largest variance (or its root) of values in the range: half of them at each end."""
    width = float(grid.width * grid.step)
    largest = width**2 / 4 * (2 if is_sample else 1)
    return float(np.sqrt(largest)) if takes_root else largest


def _get_bessel_factor(n: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, n / (n - 1), np.nan)


def _divide_or_nan(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom > 0, top / bottom, np.nan)


def _clip_values(values: Floats, low: float, high: float) -> Floats:
    return np.clip(values, low, high)


def _scale_to_range(above_middle: Floats, grid: Grid) -> Floats:
    """Convert centred half steps to values, clamped to the declared range."""
    values = (above_middle + (grid.low + grid.high)) / 2 * float(grid.step)
    return np.clip(values, float(grid.low * grid.step), float(grid.high * grid.step))
