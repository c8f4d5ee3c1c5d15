"""k-ary randomized response: the truth with a given probability, otherwise any other value.

Report      y = x with probability p, else one of the other k - 1 values, each with probability
            q = (1 - p) / (k - 1): the operator R1 of [EGS03], Warner's randomized response for k = 2
            [Warner65], and the gamma-diagonal matrix.
Guarantee   gamma = p / q, p above q; exactly, as p is a multiple of 2**-64.
Estimate    Report y supports the value y alone. The likeliest distribution is exact, by water-filling.
Utility     n MSE of a raw share is about (k - 2 + exp(epsilon)) / (exp(epsilon) - 1)**2: the best for few
            values, and worse than its alternatives from k of about 3 exp(epsilon) + 2 on.

[Warner65]  Warner, Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias.
[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
[KOV16]     Kairouz, Oh & Viswanath, Extremal Mechanisms for Local Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from discreet.belief.breaches import Mask
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import require_parameter
from discreet.core.numba_kernels import compile_kernel
from discreet.core.number_checks import Real
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.distribution_fitting import fit_by_water_filling
from discreet.local.exact_sampling import (
    compute_odds_probability,
    fraction_to_threshold,
    require_codes,
    require_epsilon,
    require_values,
    round_field_to_threshold,
    sample_coins,
    sample_uniform,
)
from discreet.local.frequency_oracles import CodeFrequencyOracle
from discreet.local.report_formats import ReportCounts, Reports
from discreet.mechanisms.sampling import Booleans, Floats, Integers


@dataclass(frozen=True, kw_only=True)
class KaryResponse(CodeFrequencyOracle):
    """The truth with probability `truth`; `for_epsilon` uses the largest one that epsilon allows.

    >>> KaryResponse(values=2, truth=0.75).matrix()
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    values: int
    truth: Fraction

    def __post_init__(self) -> None:
        require_values(self, self.values)
        round_field_to_threshold(self, "truth")
        likelier = self.truth * self.values > 1
        require_parameter(
            likelier, self, "truth", float(self.truth), "above 1 / values: likelier than any one lie"
        )

    @classmethod
    def for_epsilon(cls, epsilon: Real, values: int) -> Self:
        """Return the most truthful operator that epsilon allows: odds of exp(epsilon) to values - 1.

        >>> KaryResponse.for_epsilon(1, values=2).p
        0.731...
        """
        require_values(cls.__name__, values)
        exact = require_epsilon(cls.__name__, epsilon)
        return cls(values=values, truth=compute_odds_probability(exact, values - 1))

    @property
    def outputs(self) -> int:
        return self.values

    @property
    def p(self) -> float:
        return float(self.truth)

    @property
    def q(self) -> float:
        return float((1 - self.truth) / (self.values - 1))

    @property
    def gamma(self) -> float:
        lie = (1 - self.truth) / (self.values - 1)
        return float(self.truth / lie) if lie else math.inf

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes = require_codes(self, x, self.values)
        truthful = sample_coins(fraction_to_threshold(self.truth), codes.size, random)
        # one lie is drawn for every client, so that timing and random bits used do not depend on who lies
        return _replace_with_lies(
            codes, truthful, sample_uniform(self.values - 1, codes.size, random), self.values
        )

    def support_mask(self, outputs: Integers, values: Integers) -> Mask:
        return np.asarray(outputs == values)

    def sum_supported_weights(self, weights: Floats) -> Floats:
        return weights

    def count_supports(self, counts: ReportCounts) -> Integers:
        return counts.cells

    def fit_shares(self, counts: ReportCounts) -> Floats:
        return fit_by_water_filling(counts.cells, self.q / (self.p - self.q))


@compile_kernel
def _replace_with_lies(codes: Integers, truthful: Booleans, lies: Integers, values: int) -> Integers:
    """Return the value itself, or the one 1 + lie places further, wrapping around."""
    found = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        moved = codes[i] + 1 + lies[i]
        found[i] = codes[i] if truthful[i] else moved - values if moved >= values else moved
    return found
