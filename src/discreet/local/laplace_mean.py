"""Laplace mean: report a number near the client's own, with bounded Laplace noise that stays in the range.

Report      A point of the grid, y in 0 .. k - 1, with probability a**|x - y| / Z(x): bounded Laplace noise
            [HABM20], drawn from its matrix in multiples of 2**-64.
Guarantee   gamma is the largest ratio within a column of the matrix that is drawn from.
Estimate    The mean of the reports is biased toward the middle. The inverse of the matrix gives each report
            an unbiased value instead, in three operations a point.
Utility     Reports are plausible numbers of the range, which can be inspected one by one. The error of the
            mean is larger than that of two points or of the piecewise mean under every promise; the grid has
            at most 1,024 points, and numbers are rounded to it.

[HABM20]    Holohan, Antonatos, Braghin & Mac Aonghusa, The Bounded Laplace Mechanism in Differential Privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.argument_types import refuse_wrong_types
from discreet.core.number_checks import Real, require_count
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.bounded_laplace import BoundedLaplace
from discreet.local.mean_estimation import AverageOperator, encode_numbers, require_code, require_grid
from discreet.local.report_formats import CodeFormat, Reports
from discreet.mechanisms.sampling import Floats, Integers

DEFAULT_POINTS = 257


@dataclass(frozen=True, kw_only=True)
class LaplaceMean(AverageOperator):
    """Each step away from the number is `decay` times as likely as the one before it.

    >>> LaplaceMean(values=2, decay=0.5).gamma
    2.0
    """

    values: int = DEFAULT_POINTS
    decay: float
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        BoundedLaplace(values=self.values, decay=self.decay)
        require_grid(self)

    @classmethod
    def for_epsilon(
        cls, epsilon: Real, *, low: float = -1.0, high: float = 1.0, values: int = DEFAULT_POINTS
    ) -> Self:
        return cls(values=values, decay=BoundedLaplace.for_epsilon(epsilon, values).decay, low=low, high=high)

    @cached_property
    def noise(self) -> BoundedLaplace:
        """The noise, on the codes of the points."""
        return BoundedLaplace(values=self.values, decay=self.decay)

    @property
    def outputs(self) -> int:
        return self.values

    @property
    def report_format(self) -> CodeFormat:
        return self.noise.report_format

    @property
    def gamma(self) -> float:
        return self.noise.gamma

    def encode(self, numbers: ArrayLike) -> Integers:
        return encode_numbers(self, numbers)

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        return self.noise.randomize(x, random)

    def likelihood(self, report: Reports) -> Floats:
        return self.noise.likelihood(report)

    def compute_matrix(self) -> Floats:
        return self.noise.compute_matrix()

    @cached_property
    def unbiased_values(self) -> Floats:
        return self.noise.compute_report_values(self._points)

    @property
    def _points(self) -> Floats:
        return np.linspace(self.low, self.high, self.values)

    @cached_property
    def _variances(self) -> Floats:
        """The variance of one report's unbiased value, for every number."""
        return np.asarray(self.compute_matrix() @ self.unbiased_values**2 - self._points**2)

    @property
    def least_variance(self) -> float:
        return float(self._variances.min())

    @refuse_wrong_types
    def variance(self, code: int, clients: int) -> float:
        require_code(self, code)
        require_count(self, "clients", clients)
        return float(self._variances[code]) / clients
