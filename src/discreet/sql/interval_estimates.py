"""Estimates with confidence intervals: from released primitives to the values of measures.

An interval covers the clamped and bounded quantity with at least the stated confidence, for each group
separately; it does not cover the bias from clamping and bounding. If a number is computed from several
primitives, the allowed error probability is divided among them, and the interval contains every value that
primitives within their own intervals could give.

Weights     With row weights, or as the mean of several measurements, counts and sums are multiples of
            1 / weight_denominator. They are shown rounded to whole numbers if they count whole units, so up
            to a half from the middle of their interval.
Negative    A noisy count may be negative, and stays so in everything computed from it: a sum of clipped
            counts would be biased upwards. `sql.plan_execution` clips displayed counts as the last step. The
            interval is that of the count as displayed, and so at least as wide on the upper side as the
            noise: clipped on both sides, a count far below 0 would be shown as 0 ± 0.
Few rows    A mean needs one row, a variance two. If the count's interval includes fewer, the value is
            unknown: it is NaN, and its interval the whole range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.combined_noise import ReleasedNoise
from discreet.mechanisms.sampling import Integers

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Values and intervals of one measure over all groups; NaN means unknown."""

    values: NDArray[Any]
    low: NDArray[np.floating[Any]]
    high: NDArray[np.floating[Any]]


@dataclass(frozen=True, kw_only=True)
class ReleasedPrimitive:
    """One released primitive: noisy numbers in units of 1 / `weight_denominator`, and their noise law."""

    numbers: Integers
    noise: ReleasedNoise
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


def divide_or_nan(top: Floats, bottom: Floats) -> Floats:
    """Return the quotients; NaN, "unknown", where the divisor is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom > 0, top / bottom, np.nan)
