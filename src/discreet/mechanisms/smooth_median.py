"""Median by smooth sensitivity: noise whose width depends on the data around the median.

Release     M(D) = x_m + Z, x_m the value of rank m = ceil(n / 2) among n rows, Z discrete Laplace noise with
            Pr[Z = z] proportional to exp(-r |z|), r = alpha / S(D), alpha = epsilon / 2, S the beta-smooth
            sensitivity of x_m (see `mechanisms.smooth_sensitivity`),
            exp(beta) - 1 = epsilon / (2 ln(2 / delta)).
Requires    A person is one row; the number of rows is public (replace-one neighbors only); low and high are
            public, rows outside are moved to the nearer end. 0 < delta <= 1/2.
Guarantee   (epsilon, delta)-DP. Let D, D' be neighbors, d = |x_m - x'_m| <= min(S, S'). At an output y with
            u = |y - x_m| the loss is ln(tanh(r/2) / tanh(r'/2)) + r' |y - x'_m| - r u, at most
            ln(tanh(r/2) / tanh(r'/2)) + (r' - r) u + r' d, where r' d <= alpha = epsilon / 2.
            S' >= S: r' <= r, so the middle term is at most 0, and the first at most ln(r / r') <= beta,
            because tanh(x) / x falls; beta <= exp(beta) - 1 <= epsilon / 2 as ln(2 / delta) >= ln 4. So the
            loss is at most epsilon at every y.
            S' < S: the first term is below 0, and (r' - r) u <= (exp(beta) - 1) r u. So the loss is above
            epsilon only if r u > (epsilon / 2) / (exp(beta) - 1) = ln(2 / delta), and
            Pr[r |Z| > ln(2 / delta)] <= 2 exp(-ln(2 / delta)) = delta.
            In each direction just one of the two costs arises beside the shift.
            S is computed in floating point with smoothing beta - 2**-36 and then enlarged by 2**-40, which
            covers its error: it is not below the true one, and neighbors' are within exp(beta).
            S is not below alpha / 64; a constant floor keeps it smooth.
Utility     unbiased around x_m; Pr[|Z| > k] = 2 a**(k+1) / (1 + a), a = exp(-alpha / S). S depends on the
            data, so the width of the noise is for the custodian only. The grid form (`mechanisms.quantile`)
            needs no delta and 10 to 100 times fewer rows; this one is here for comparison.

[NRS07]     Nissim, Raskhodnikova & Smith, Smooth Sensitivity and Sampling in Private Data Analysis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import ApproximateDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import coerce_positive_fraction, is_real
from discreet.core.randomness import Randomness
from discreet.mechanisms.quantile import require_integer_range
from discreet.mechanisms.sampling import sample_discrete_laplace
from discreet.mechanisms.smooth_sensitivity import smooth_rank_sensitivity
from discreet.mechanisms.value_counts import ValueCounts

STEEPEST = 64
ENLARGED = 1 + Fraction(1, 1 << 40)
SPARED = 2.0**-36


@dataclass(frozen=True, kw_only=True)
class SmoothMedian:
    """The median with noise that depends on the data around it.

    >>> mechanism = SmoothMedian(epsilon=1, delta=1e-6, low=0, high=100)
    >>> round(float(mechanism.scale(ValueCounts.from_rows(np.arange(100_001) // 1000))), 3)
    1.0
    """

    epsilon: Fraction
    delta: Fraction
    low: int
    high: int

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "epsilon")
        wanted = "a number above 0 and at most 1/2"
        require_parameter(is_real(self.delta) and 0 < self.delta <= 0.5, self, "delta", self.delta, wanted)
        coerce_positive_fraction(self, "delta")
        require_integer_range(self, self.low, self.high)
        smooth = self._slack > 1024 * SPARED
        require_parameter(smooth, self, "epsilon", self.epsilon, f"above {SPARED * 4096} ln(1/delta)")

    @property
    def _slack(self) -> float:
        return float(self.epsilon) / (2 * (math.log(2) - _log_fraction(self.delta)))

    @property
    def alpha(self) -> Fraction:
        """The part of epsilon that pays for the shift."""
        return self.epsilon / 2

    @property
    def beta(self) -> float:
        """The rate at which the sensitivity may change between neighbors, less an allowance for rounding."""
        return math.log1p(self._slack) - SPARED

    @property
    def guarantee(self) -> ApproximateDP:
        return ApproximateDP(epsilon=self.epsilon, delta=self.delta, relation=Relation.VALUE)

    def median(self, rows: ValueCounts) -> int:
        """Return the value of rank ceil(n / 2): exact, so it must not be released."""
        kept = rows.clamp(self.low, self.high)
        return int(kept.values_at_ranks(np.array([_find_middle_rank(kept)]), self.low, self.high)[0])

    def scale(self, rows: ValueCounts) -> Fraction:
        """Return S(D): it depends on the data, so it must not be released."""
        kept = rows.clamp(self.low, self.high)
        floor = float(self.alpha / STEEPEST)
        found = smooth_rank_sensitivity(
            kept, _find_middle_rank(kept), low=self.low, high=self.high, beta=self.beta, floor=floor
        )
        return Fraction(found) * ENLARGED

    def likelihood(self, output: int, truth: ValueCounts) -> float:
        """Return Pr[M(D) = output] where D has the rows `truth`."""
        rate = float(self.alpha / self.scale(truth))
        return math.tanh(rate / 2) * math.exp(-rate * abs(output - self.median(truth)))

    def release(self, rows: Exact[ValueCounts], random: Randomness) -> Released[int]:
        noise = sample_discrete_laplace(self.alpha / self.scale(rows.secret), 1, random)[0]
        return Released(self.median(rows.secret) + int(noise), self.guarantee)


def _find_middle_rank(rows: ValueCounts) -> int:
    return (int(rows.counts.sum()) + 1) // 2


def _log_fraction(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
