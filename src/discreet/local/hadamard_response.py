"""Hadamard response: report one of K codes, half of which support the client's value.

Report      K = 2**m > k; value v has row v + 1 of the Hadamard matrix of order K, and y supports v where that
            row is +1 in column y: where y and v + 1 share an even number of bits. A report is uniform among
            the K / 2 that support the client's value with probability p, else among the other K / 2 [ASZ19].
Guarantee   gamma = p / (1 - p), exactly, as p is a multiple of 2**-64.
Estimate    Two different rows agree in half of their columns, so any other value is supported with
            probability q = 1/2. All supports come from the counts by one transform of K log K additions.
Utility     n MSE of a raw share is ((exp(epsilon) + 1) / (exp(epsilon) - 1))**2, for any number of values:
            27% above the optimum at epsilon 1, with reports of log2 K bits.

[ASZ19]     Acharya, Sun & Zhang, Hadamard Response: Estimating Distributions Privately, Efficiently, and with
            Little Communication.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.belief.breaches import Mask
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real
from discreet.core.randomness import SYSTEM, Randomness
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
from discreet.mechanisms.sampling import Floats, Integers

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(CodeFrequencyOracle):
    """A code that supports the client's value with probability `truth`.

    >>> HadamardResponse.for_epsilon(1, values=128).outputs
    256
    """

    values: int
    truth: Fraction

    def __post_init__(self) -> None:
        require_values(self, self.values)
        round_field_to_threshold(self, "truth")
        require_parameter(self.truth > Fraction(1, 2), self, "truth", float(self.truth), "above 1/2")

    @classmethod
    def for_epsilon(cls, epsilon: Real, values: int) -> Self:
        exact = require_epsilon(cls.__name__, epsilon)
        return cls(values=values, truth=compute_odds_probability(exact))

    @property
    def outputs(self) -> int:
        return 1 << self.values.bit_length()

    @property
    def p(self) -> float:
        return float(self.truth)

    @property
    def q(self) -> float:
        return 0.5

    @property
    def gamma(self) -> float:
        return float(self.truth / (1 - self.truth)) if self.truth < 1 else math.inf

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        rows = require_codes(self, x, self.values) + 1
        reports = sample_uniform(self.outputs, rows.size, random)
        wanted = sample_coins(fraction_to_threshold(self.truth), rows.size, random)
        even = (np.bitwise_count(reports & rows) & 1) == 0
        # flipping a bit of the row maps each half onto the other, one to one
        return np.where(even == wanted, reports, reports ^ (rows & -rows))

    def support_mask(self, outputs: Integers, values: Integers) -> Mask:
        return np.asarray((np.bitwise_count(outputs & (values + 1)) & 1) == 0)

    def sum_supported_weights(self, weights: Floats) -> Floats:
        placed = np.zeros(self.outputs)
        placed[1 : self.values + 1] = weights
        return np.asarray((weights.sum() + walsh_hadamard_transform(placed)) / 2)

    def count_supports(self, counts: ReportCounts) -> Integers:
        # rows are +1 where a report supports and -1 where not: supports are (n + transform) / 2
        return np.asarray((counts.clients + walsh_hadamard_transform(counts.cells)[1 : self.values + 1]) // 2)


def walsh_hadamard_transform(vector: NDArray[Number]) -> NDArray[Number]:
    """Return the Walsh-Hadamard transform of a vector whose length is a power of 2.

    >>> walsh_hadamard_transform(np.array([3, 1, 0, 0]))
    array([4, 2, 4, 2])
    """
    found, half = vector.copy(), 1
    while half < found.size:
        pairs = found.reshape(-1, 2, half)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return found
