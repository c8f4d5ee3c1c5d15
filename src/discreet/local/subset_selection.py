"""Subset selection: report d of the k values, the client's own among them with a given probability.

Report      A set of d values, as k bits. It contains the client's value with probability p; the others are a
            uniform choice among the other k - 1 [YB18, WHNWH19].
Guarantee   gamma = p (k - d) / ((1 - p) d), exactly, as p is a multiple of 2**-64: the sets that contain
            a value are d / (k - d) times as many as those that do not.
Estimate    A report supports the values of its set; another value with probability
            q = (p (d - 1) + (1 - p) d) / (k - 1).
Utility     The least error of all operators that keep a promise, up to lower order, for d near
            k / (exp(epsilon) + 1) [YB18]; for few values d is 1, and it is k-ary randomized response.
Sampling    Independent bits give about the right number of values; then uniform values are added or removed
            until it is exact. Both steps treat all other values alike, so every set of the size is equally
            likely.

[YB18]      Ye & Barg, Optimal Schemes for Discrete Distribution Estimation under Locally Differential
            Privacy.
[WHNWH19]   Wang, Huang, Nie, Wang, Hu et al., Local Differential Private Data Aggregation for Discrete
            Distribution Estimation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import require_parameter
from discreet.core.numba_kernels import compile_kernel
from discreet.core.number_checks import Real, require_count
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.bit_sampling import assign_bits, popcount, sample_bits
from discreet.local.exact_sampling import (
    THRESHOLD_SCALE,
    Words32,
    compute_odds_probability,
    draw_words32,
    fraction_to_threshold,
    require_codes,
    require_epsilon,
    require_values,
    round_field_to_threshold,
    sample_coins,
)
from discreet.local.frequency_oracles import BitFrequencyOracle
from discreet.local.report_formats import BitFormat, ReportCounts, Reports
from discreet.mechanisms.sampling import Floats, Integers, Words

WORDS_PER_BATCH = 1 << 14


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(BitFrequencyOracle):
    """A set of `size` values that contains the client's own with probability `truth`.

    >>> SubsetSelection.for_epsilon(1, values=128).size
    34
    """

    values: int
    size: int
    truth: Fraction

    def __post_init__(self) -> None:
        require_values(self, self.values)
        require_count(self, "size", self.size)
        require_parameter(
            self.size < self.values, self, "size", self.size, f"below {self.values}, the number of values"
        )
        round_field_to_threshold(self, "truth")
        likelier = self.truth * self.values > self.size
        require_parameter(likelier, self, "truth", float(self.truth), "above size / values")

    @classmethod
    def for_epsilon(cls, epsilon: Real, values: int) -> Self:
        require_values(cls.__name__, values)
        exact = require_epsilon(cls.__name__, epsilon)
        near = values / (1 + math.exp(exact))
        sizes = {min(max(1, size), values - 1) for size in (math.floor(near), math.ceil(near))}
        made = [
            cls(
                values=values,
                size=d,
                truth=compute_odds_probability(exact, Fraction(values - d, d)),
            )
            for d in sorted(sizes)
        ]
        return min(made, key=lambda each: each.variance(1 / values, 1))

    @property
    def report_format(self) -> BitFormat:
        return BitFormat(width=self.values, ones=self.size)

    @property
    def p(self) -> float:
        return float(self.truth)

    @property
    def q(self) -> float:
        return float((self.truth * (self.size - 1) + (1 - self.truth) * self.size) / (self.values - 1))

    @property
    def gamma(self) -> float:
        if self.truth == 1:
            return math.inf
        return float(self.truth * (self.values - self.size) / ((1 - self.truth) * self.size))

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes = require_codes(self, x, self.values)
        own = sample_coins(fraction_to_threshold(self.truth), codes.size, random)
        reports = sample_bits(THRESHOLD_SCALE * self.size // self.values, codes.size, self.values, random)
        assign_bits(reports, codes, own)
        row = 0
        while row < len(reports):  # random words may run out within a row: the next batch resumes there
            row = _adjust_set_sizes(
                reports, codes, self.values, self.size, draw_words32(WORDS_PER_BATCH, random), row
            )
        return reports

    def estimate_support_variance(self, counts: ReportCounts, weights: Floats) -> float:
        """Return the variance, by sums without replacement given the client's value and its inclusion."""
        k, d, p, shares = self.values, self.size, self.p, self.fit_shares(counts)
        others = k - 1
        mean = (weights.sum() - weights) / others
        square = (weights @ weights - weights**2) / others - mean**2
        within, first = np.zeros(k), np.zeros(k)
        for chance, drawn, own in ((p, d - 1, weights), (1 - p, d, np.zeros(k))):
            centre = own + drawn * mean
            spread = drawn * (others - drawn) / max(others - 1, 1) * square
            first += chance * centre
            within += chance * (spread + centre**2)
        return max(0.0, float(shares @ within - (shares @ first) ** 2))

    def compute_matrix(self) -> Floats:
        held = self.support_matrix
        inside = self.p / math.comb(self.values - 1, self.size - 1)
        outside = (1 - self.p) / math.comb(self.values - 1, self.size)
        return np.where(held.sum(axis=0) == self.size, np.where(held, inside, outside), 0.0)


@compile_kernel
def _adjust_set_sizes(words: Words, codes: Integers, values: int, size: int, units: Words32, row: int) -> int:
    """Bring sets to the size, starting at `row`; return the row at which the random words ran out."""
    at, bound = 0, np.uint64(values)
    refused = np.uint64((1 << 32) % values)
    while row < words.shape[0]:
        held = 0
        for j in range(words.shape[1]):
            held += popcount(words[row, j])
        while held != size:
            if at == units.size:
                return row
            scaled = np.uint64(units[at]) * bound
            at += 1
            place = np.int64(scaled >> np.uint64(32))
            if (scaled & np.uint64(0xFFFFFFFF)) < refused or place == codes[row]:
                continue
            mask = np.uint64(1) << np.uint64(place & 63)
            is_held = (words[row, place >> 6] & mask) != np.uint64(0)
            if is_held == (held > size):
                words[row, place >> 6] ^= mask
                held += -1 if is_held else 1
        row += 1
    return row
