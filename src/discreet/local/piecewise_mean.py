"""Piecewise mean: report a number from a range slightly wider than the values, likelier near the client's.

Report      y in 0 .. k + w - 2. With probability `share` uniform among the w that begin at y = x, else
            uniform among all [WXYHSSY19]; the grid makes the law finite, so that it is drawn exactly.
Guarantee   gamma = 1 + share (k + w - 1) / ((1 - share) w), exactly, as the share is a multiple of 2**-64.
Estimate    The mean of a report is linear in x, as no window is cut off; inverting it is unbiased.
Utility     n times the variance of the mean is least in the middle of the range and grows towards its ends;
            w minimizes the variance at the ends. Better than two points for epsilon above 1.2, and for values
            near the middle also below that.

[WXYHSSY19] Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu, Collecting and Analyzing Multidimensional Data with
            Local Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.belief.breaches import Mask
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, require_count
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.exact_sampling import (
    compute_mixture_probability,
    fraction_to_threshold,
    require_codes,
    require_epsilon,
    require_values,
    round_field_to_threshold,
    sample_coins,
    sample_uniform,
)
from discreet.local.mean_estimation import (
    DEFAULT_POINTS,
    AverageOperator,
    compute_step,
    encode_numbers,
    interpolate_line,
    require_grid,
)
from discreet.local.operator import TwoLevelOperator
from discreet.local.report_formats import Reports
from discreet.mechanisms.sampling import Floats, Integers

CANDIDATE_WIDTHS = 40


@dataclass(frozen=True, kw_only=True)
class PiecewiseMean(TwoLevelOperator, AverageOperator):
    """A place in a window of `window` places with probability `share`, else any place.

    >>> PiecewiseMean(values=3, window=2, share=0.5).gamma
    3.0
    """

    values: int = DEFAULT_POINTS
    window: int
    share: Fraction
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        require_values(self, self.values)
        require_count(self, "window", self.window)
        require_parameter(self.window <= self.values, self, "window", self.window, f"at most {self.values}")
        require_grid(self)
        round_field_to_threshold(self, "share")
        require_parameter(0 < self.share < 1, self, "share", float(self.share), "between 0 and 1")

    @classmethod
    @refuse_wrong_types
    def for_epsilon(
        cls, epsilon: Real, *, low: float = -1.0, high: float = 1.0, values: int = DEFAULT_POINTS
    ) -> Self:
        """Return the operator of the candidate width with the least variance at the range's ends."""
        require_values(cls.__name__, values)
        exact = require_epsilon(cls.__name__, epsilon)
        # over the whole range this width has the least variance [WXYHSSY19]; at its ends a wider one has
        least = max(1.0, (values - 1) * math.exp(-exact / 2))
        widths = {round(each) for each in np.geomspace(least, values, CANDIDATE_WIDTHS).tolist()}
        made = []
        for width in sorted(widths):
            share = compute_mixture_probability(exact, Fraction(values + width - 1, width))
            made.append(cls(values=values, window=width, share=share, low=low, high=high))
        return min(made, key=lambda each: each.variance(0, 1))

    @property
    def outputs(self) -> int:
        return self.values + self.window - 1

    @property
    def gamma(self) -> float:
        return float(1 + self.share * self.outputs / ((1 - self.share) * self.window))

    def encode(self, numbers: ArrayLike) -> Integers:
        return encode_numbers(self, numbers)

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes = require_codes(self, x, self.values)
        near = codes + sample_uniform(self.window, codes.size, random)
        kept = sample_coins(fraction_to_threshold(self.share), codes.size, random)
        return np.where(kept, near, sample_uniform(self.outputs, codes.size, random))

    def support_mask(self, outputs: Integers, values: Integers) -> Mask:
        return np.asarray((outputs >= values) & (outputs < values + self.window))

    def sum_supported_weights(self, weights: Floats) -> Floats:
        sums = np.concatenate(
            [np.zeros(self.window), np.cumsum(weights), np.full(self.window, weights.sum())]
        )
        return np.asarray(sums[self.window : self.window + self.outputs] - sums[: self.outputs])

    @property
    def unbiased_values(self) -> Floats:
        kept = float(self.share)
        first = kept * (self.window - 1) / 2 + (1 - kept) * (self.outputs - 1) / 2
        return interpolate_line(self.low, self.high, first, first + kept * (self.values - 1), self.outputs)

    @property
    def least_variance(self) -> float:
        return self.variance(self.values // 2, 1)

    @refuse_wrong_types
    def variance(self, code: int, clients: int) -> float:
        require_count(self, "clients", clients)
        kept, w, m = float(self.share), self.window, self.outputs
        near, middle = code + (w - 1) / 2, (m - 1) / 2
        apart = kept * (1 - kept) * (near - middle) ** 2
        within = kept * (w * w - 1) / 12 + (1 - kept) * (m * m - 1) / 12
        return (apart + within) / kept**2 * compute_step(self) ** 2 / clients
