"""Noise modulo k: the value is shifted by a uniform step within a window, or replaced by a uniform value.

Report      With probability `share`, x + step modulo k, the step uniform in -reach .. reach; else a uniform
            value. R2 of [EGS03] has share 1, R3 share 1/2.
Guarantee   gamma = 1 + share k / ((1 - share) w), w = 2 reach + 1; exactly, as the share is a multiple of
            2**-64. With share 1 it is infinite: a report rules out all values beyond the window, so a belief
            may become certainty.
Estimate    The matrix is circulant, so it is inverted by a Fourier transform, where w and k have no common
            factor; shares are the exact maximum of the likelihood, by iterative Bayes.
Utility     Nearby values are hardest to distinguish: use it for ordered values with a smooth distribution.
            Shares of single values have a larger error than those of k-ary randomized response at the same
            gamma.

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.belief.breaches import Mask
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import Real, require_count
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.distribution_fitting import Channel
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
from discreet.local.frequency_oracles import LinearOperator
from discreet.local.operator import TwoLevelOperator
from discreet.local.report_formats import Reports
from discreet.mechanisms.sampling import Floats, Integers


@dataclass(frozen=True, kw_only=True)
class ModularNoise(TwoLevelOperator, LinearOperator):
    """A step of at most `reach` with probability `share`, else a uniform value.

    >>> round(ModularNoise(values=1001, reach=100, share=0.5).gamma, 2)
    5.98
    """

    values: int
    reach: int
    share: Fraction

    def __post_init__(self) -> None:
        require_values(self, self.values)
        require_count(self, "reach", self.reach, minimum=0)
        narrow = self.window < self.values
        require_parameter(narrow, self, "reach", self.reach, f"below {self.values / 2:g}, half of the values")
        round_field_to_threshold(self, "share")
        require_parameter(self.share > 0, self, "share", float(self.share), "above 0")

    @classmethod
    @refuse_wrong_types
    def for_epsilon(cls, epsilon: Real, values: int, reach: int) -> Self:
        """Return the operator with the largest share that epsilon allows."""
        exact = require_epsilon(cls.__name__, epsilon)
        require_count(cls.__name__, "reach", reach, minimum=0)
        share = compute_mixture_probability(exact, Fraction(values, 2 * reach + 1))
        return cls(values=values, reach=reach, share=share)

    @property
    def window(self) -> int:
        """The number w of values that a step may lead to."""
        return 2 * self.reach + 1

    @property
    def outputs(self) -> int:
        return self.values

    @property
    def gamma(self) -> float:
        if self.share == 1:
            return math.inf
        return float(1 + self.share * self.values / ((1 - self.share) * self.window))

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes = require_codes(self, x, self.values)
        moved = (codes + sample_uniform(self.window, codes.size, random) - self.reach) % self.values
        stays = sample_coins(fraction_to_threshold(self.share), codes.size, random)
        return np.where(stays, moved, sample_uniform(self.values, codes.size, random))

    def support_mask(self, outputs: Integers, values: Integers) -> Mask:
        return np.asarray((outputs - values + self.reach) % self.values < self.window)

    def sum_supported_weights(self, weights: Floats) -> Floats:
        wrapped = np.concatenate([weights[self.values - self.reach :], weights, weights[: self.reach]])
        sums = np.concatenate([[0.0], np.cumsum(wrapped)])
        return np.asarray(sums[self.window :] - sums[: -self.window])

    @property
    def channel(self) -> Channel:
        return Channel(values=self.values, forward=self._apply_matrix, backward=self._apply_matrix)

    def apply_inverse(self, seen: Floats) -> Floats:
        return self._apply_filter(seen, 1 / self._compute_eigenvalues())

    def apply_squared_inverse(self, seen: Floats) -> Floats:
        each = self._apply_filter(np.eye(1, self.values)[0], 1 / self._compute_eigenvalues())
        return self._apply_filter(seen, np.fft.rfft(each**2))

    def compute_report_values(self, weights: Floats) -> Floats:
        return self.apply_inverse(weights)

    @refuse_wrong_types
    def variance(self, share: float, clients: int) -> float:
        """Return the variance of the unbiased estimate of a share; it is the same for every value."""
        uniform_law = np.full(self.values, 1 / self.values)
        own = self.apply_squared_inverse(self._apply_matrix(np.eye(1, self.values)[0]))[0]
        others = (1 - share) / (self.values - 1)
        mean = self.apply_squared_inverse(uniform_law)[0] * self.values
        return float(others * mean + (share - others) * own - share) / clients

    def _apply_matrix(self, shares: Floats) -> Floats:
        """Return the matrix, which is symmetric, times a nonnegative vector."""
        kept = float(self.share)
        near = np.maximum(self.sum_supported_weights(shares), 0.0) / self.window
        return np.asarray(kept * near + (1 - kept) * shares.sum() / self.values)

    def _compute_eigenvalues(self) -> NDArray[Any]:
        found = np.fft.rfft(self._apply_matrix(np.eye(1, self.values)[0])).real
        # the row is symmetric about the first value, so its transform is real
        if np.abs(found).min() < 1e-12:
            raise InvalidParameterError(
                "ModularNoise cannot be inverted: two distributions of values give the same reports.",
                hint="Choose a reach such that 2 reach + 1 and the number of values have no common factor.",
            )
        return found

    def _apply_filter(self, vector: Floats, factors: NDArray[Any]) -> Floats:
        return np.asarray(np.fft.irfft(np.fft.rfft(vector) * factors, self.values))
