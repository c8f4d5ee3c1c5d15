"""Two-point mean: report one bit, set more likely the larger the number.

Report      1 with probability P(x), from 1 - p at the lowest number to p at the highest, linear in between
            (in multiples of 2**-64); else 0 [DJW18].
Guarantee   gamma = p / (1 - p), between the two ends of the range.
Estimate    The mean is linear in the share of ones, from 1 - p at low to p at high: unbiased. Its interval is
            the Clopper-Pearson interval of this share, which is conservative [Hoeffding56].
Utility     n times the variance of the mean is at most that of a number in the middle of the range,
            (range / 2)**2 ((exp(epsilon) + 1) / (exp(epsilon) - 1))**2; best for epsilon up to about 1.3.

[DJW18]     Duchi, Jordan & Wainwright, Minimax Optimal Procedures for Locally Private Estimation.
[Hoeffding56] On the Distribution of the Number of Successes in Independent Trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.argument_types import refuse_wrong_types
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, require_count
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.exact_sampling import (
    THRESHOLD_SCALE,
    compute_odds_probability,
    fraction_to_threshold,
    require_codes,
    require_epsilon,
    require_values,
    round_field_to_threshold,
    sample_coins_each,
)
from discreet.local.mean_estimation import (
    DEFAULT_POINTS,
    AverageOperator,
    encode_numbers,
    interpolate_line,
    require_code,
    require_grid,
)
from discreet.local.report_formats import CodeFormat, ReportCounts, Reports
from discreet.mechanisms.sampling import Floats, Integers, Words


@dataclass(frozen=True, kw_only=True)
class TwoPointMean(AverageOperator):
    """The highest number sends 1 with probability `truth`, the lowest sends 0 with it.

    >>> TwoPointMean(values=3, truth=0.75).matrix()
    array([[0.75, 0.25],
           [0.5 , 0.5 ],
           [0.25, 0.75]])
    """

    values: int = DEFAULT_POINTS
    truth: Fraction
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        require_values(self, self.values)
        require_grid(self)
        round_field_to_threshold(self, "truth")
        require_parameter(
            Fraction(1, 2) < self.truth < 1, self, "truth", float(self.truth), "between 1/2 and 1"
        )

    @classmethod
    def for_epsilon(
        cls, epsilon: Real, *, low: float = -1.0, high: float = 1.0, values: int = DEFAULT_POINTS
    ) -> Self:
        exact = require_epsilon(cls.__name__, epsilon)
        return cls(values=values, truth=compute_odds_probability(exact), low=low, high=high)

    @property
    def outputs(self) -> int:
        return 2

    @property
    def report_format(self) -> CodeFormat:
        return CodeFormat(outputs=2)

    @property
    def gamma(self) -> float:
        return float(self.truth / (1 - self.truth))

    @cached_property
    def _one_thresholds(self) -> Words:
        """The threshold t of sending 1, for every value."""
        last, most = self.values - 1, fraction_to_threshold(self.truth)
        least = THRESHOLD_SCALE - most
        return np.array([least + (most - least) * i // last for i in range(self.values)], np.uint64)

    def encode(self, numbers: ArrayLike) -> Integers:
        return encode_numbers(self, numbers)

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes = require_codes(self, x, self.values)
        return sample_coins_each(self._one_thresholds[codes], random).astype(np.int64)

    def likelihood(self, report: Reports) -> Floats:
        return np.asarray(
            self.compute_matrix()[:, int(self.report_format.to_matrix_columns(np.atleast_1d(report))[0])]
        )

    def compute_matrix(self) -> Floats:
        ones = self._one_thresholds / float(THRESHOLD_SCALE)
        return np.column_stack([1 - ones, ones])

    @property
    def unbiased_values(self) -> Floats:
        return interpolate_line(self.low, self.high, float(1 - self.truth), float(self.truth), 2)

    @property
    def least_variance(self) -> float:
        return self.variance(0, 1)

    def interval(self, counts: ReportCounts, confidence: float) -> tuple[float, float]:
        shares = clopper_pearson(counts.cells[1:], counts.clients, alpha=1 - confidence)
        zero, one = self.unbiased_values.tolist()
        low, high = (zero + (one - zero) * float(end[0]) for end in shares)
        return low, high

    @refuse_wrong_types
    def variance(self, code: int, clients: int) -> float:
        require_code(self, code)
        require_count(self, "clients", clients)
        one, p = self._one_thresholds[code] / float(THRESHOLD_SCALE), float(self.truth)
        return float(one * (1 - one) * ((self.high - self.low) / (2 * p - 1)) ** 2 / clients)
