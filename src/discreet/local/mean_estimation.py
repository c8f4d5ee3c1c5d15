"""Means estimated as averages: each report has an unbiased value, and the estimate is their mean.

Interval    Student's, of the reports' unbiased values. Its variance is at least that of the randomization,
            since a few reports that agree by chance would otherwise give an interval of length 0. One report
            leaves the whole range. The interval is clipped to the range, which contains the mean of the
            numbers.
Grid        Equally spaced numbers between two bounds, as codes 0 .. values - 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from discreet.core.argument_types import require_floats
from discreet.core.errors import require_parameter
from discreet.core.number_checks import is_real
from discreet.local.estimates import MeanEstimate, MeanOperator
from discreet.local.report_formats import ReportCounts, Reports
from discreet.mechanisms.sampling import Floats, Integers

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


def require_code(owner: NumberGrid, code: int) -> None:
    """Refuse the number of a point that is not on the grid."""
    require_parameter(0 <= code < owner.values, owner, "code", code, f"from 0 to {owner.values - 1}")


def encode_numbers(owner: NumberGrid, numbers: ArrayLike) -> Integers:
    """Return the nearest grid point of each number; numbers beyond a bound are clamped to it."""
    given = require_floats("numbers", numbers)
    require_parameter(not np.isnan(given).any(), owner, "numbers", "some that are missing", "numbers")
    part = (np.clip(given, owner.low, owner.high) - owner.low) / (owner.high - owner.low)
    return np.rint(part * (owner.values - 1)).astype(np.int64)


def compute_step(owner: NumberGrid) -> float:
    """Return the distance between two neighboring points."""
    return (owner.high - owner.low) / (owner.values - 1)


class AverageOperator(MeanOperator, Protocol):
    """A mean operator whose reports are codes, each with an unbiased value."""

    @property
    @abstractmethod
    def unbiased_values(self) -> Floats:
        """The value of each report; its expectation is the number of the client that sent it."""

    @property
    @abstractmethod
    def least_variance(self) -> float:
        """The variance of one report's value, at the number where it is least."""

    def estimate(self, reports: Reports | ReportCounts) -> MeanEstimate:
        counts = self.count_reports(reports)
        mean, variance = self._estimate_moments(counts)
        error = math.sqrt(max(variance, self.least_variance) / counts.clients)
        return MeanEstimate(operator=self, counts=counts, mean=mean, error=error)

    def interval(self, counts: ReportCounts, confidence: float) -> tuple[float, float]:
        if counts.clients == 1:
            return self.low, self.high
        found = self.estimate(counts)
        reach = -float(stdtrit(counts.clients - 1, (1 - confidence) / 2)) * found.error
        return found.mean - reach, found.mean + reach

    def _estimate_moments(self, counts: ReportCounts) -> tuple[float, float]:
        seen = counts.cells / counts.clients
        mean = float(seen @ self.unbiased_values)
        spread = float(seen @ (self.unbiased_values - mean) ** 2)
        return mean, spread * counts.clients / max(counts.clients - 1, 1)


def interpolate_line(low: float, high: float, first: float, last: float, count: int) -> Floats:
    """Return the values of `count` codes on the line through (`first`, `low`) and (`last`, `high`)."""
    return np.asarray(low + (high - low) * (np.arange(count) - first) / (last - first))
