"""Optimized unary encoding: one bit for every value, the client's own being a fair coin.

Report      k bits. The bit of the client's value is set with probability 1/2, every other with probability q,
            all independent [WBLJ17].
Guarantee   gamma = (1 - q) / q, exactly, as q is a multiple of 2**-64: between two values only their two bits
            differ in law, by factors of (1/2) / q and (1 - q) / (1/2) at most.
Estimate    A report supports the values whose bits are set.
Utility     n MSE of a raw share is 4 exp(epsilon) / (exp(epsilon) - 1)**2 + f, for any number of values: the
            least that independent bits allow, with reports of k bits.

[WBLJ17]    Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.bit_sampling import assign_bits, sample_bits
from discreet.local.exact_sampling import (
    THRESHOLD_SCALE,
    compute_odds_probability,
    fraction_to_threshold,
    require_codes,
    require_epsilon,
    require_values,
    round_field_to_threshold,
    sample_coins,
)
from discreet.local.frequency_oracles import BitFrequencyOracle
from discreet.local.report_formats import BitFormat, ReportCounts, Reports
from discreet.mechanisms.sampling import Floats, Integers


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(BitFrequencyOracle):
    """Bits of other values are set with probability `noise`, the client's own with 1/2.

    >>> UnaryEncoding.for_epsilon(1, values=128).q
    0.268...
    """

    values: int
    noise: Fraction

    def __post_init__(self) -> None:
        require_values(self, self.values)
        round_field_to_threshold(self, "noise")
        require_parameter(self.noise < Fraction(1, 2), self, "noise", float(self.noise), "below 1/2")

    @classmethod
    def for_epsilon(cls, epsilon: Real, values: int) -> Self:
        exact = require_epsilon(cls.__name__, epsilon)
        return cls(values=values, noise=1 - compute_odds_probability(exact))

    @property
    def report_format(self) -> BitFormat:
        return BitFormat(width=self.values)

    @property
    def p(self) -> float:
        return 0.5

    @property
    def q(self) -> float:
        return float(self.noise)

    @property
    def gamma(self) -> float:
        return float((1 - self.noise) / self.noise) if self.noise else math.inf

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes = require_codes(self, x, self.values)
        reports = sample_bits(fraction_to_threshold(self.noise), codes.size, self.values, random)
        assign_bits(reports, codes, sample_coins(THRESHOLD_SCALE // 2, codes.size, random))
        return reports

    def estimate_support_variance(self, counts: ReportCounts, weights: Floats) -> float:
        """Return the variance; bits are independent given the values, which alone cause covariance."""
        p, q, shares = self.p, self.q, self.fit_shares(counts)
        coins_alone = shares * p * (1 - p) + (1 - shares) * q * (1 - q)
        values = shares @ weights**2 - (shares @ weights) ** 2
        return max(0.0, float(coins_alone @ weights**2 + (p - q) ** 2 * values))

    def compute_matrix(self) -> Floats:
        held = self.support_matrix
        others = held.sum(axis=0) - held
        return np.asarray(self.q**others * (1 - self.q) ** (self.values - 1 - others) / 2)
