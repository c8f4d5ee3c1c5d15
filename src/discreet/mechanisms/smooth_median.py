"""Median by smooth sensitivity: noise whose width depends on the data around the median.

Release     M(D) = x_m + Z, x_m the value of rank m = ceil(n / 2) among n rows, Z discrete Laplace noise with
            Pr[Z = z] proportional to exp(-r |z|), r = alpha / S(D), alpha = epsilon / 2, S the beta-smooth
            sensitivity of x_m (see `mechanisms.smooth_median`),
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

Smooth sensitivity: a smooth bound on the change of an answer by one person, on data near this data.

Definition  LS(D) is the largest |f(D) - f(D')| over the neighbors D' of D, and A_k(D) the largest LS of any
            table that differs from D in at most k rows. The beta-smooth sensitivity is S(D) = max over k >= 0
            of exp(-beta k) A_k(D).
Smooth      S(D) >= A_0(D) = LS(D), and S(D) <= exp(beta) S(D') for neighbors, because a table within k of D
            is within k + 1 of D'. The larger of S and a constant is smooth as well.
Ranks       For f(D) = the value of rank m among n rows x_1 <= ... <= x_n in [low, high], n fixed, A_k = max
            over 0 <= t <= k + 1 of x_{m+t} - x_{m+t-k-1}, with low for ranks below 1 and high for ranks above
            n: k changed rows bring f to x_{m+t} or x_{m+t-k} at the far ends, one more across the rest.
Window      A_k is at most high - low and does not fall with k. So ranks from m - K to m + K suffice, where
            exp(-beta K) (high - low) has fallen to the constant; and between two evaluated ks, i < j, no
            weight is above exp(-beta (i + 1)) A_j: where that is at most the best so far, all are skipped.

[NRS07]     Nissim, Raskhodnikova & Smith, Smooth Sensitivity and Sampling in Private Data Analysis.
"""

from __future__ import annotations

import heapq
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
from discreet.mechanisms.quantile import ValueCounts, require_integer_range
from discreet.mechanisms.sampling import Integers, sample_discrete_laplace


def smooth_rank_sensitivity(
    rows: ValueCounts, rank: int, *, low: int, high: int, beta: float, floor: float
) -> float:
    """Return the larger of S and `floor`, for the value of `rank` among ordered rows in [low, high].

    The result is right to a factor of 1 ± 2**-42 while ln((high - low) / floor) is below 100: a weight is an
    integer times an exponential, whose exponent is off by at most 100 units of 2**-52.
    """
    within = math.log((high - low) / floor) / beta
    reach = max(0, min(int(rows.counts.sum()), math.ceil(within) + 1))
    ranks = np.arange(rank - reach - 1, rank + reach + 2)
    return _find_largest_weight(rows.values_at_ranks(ranks, low, high), reach, beta, floor)


def local_sensitivity_at_distance(window: Integers, k: int) -> int:
    """Return A_k, from the values of consecutive ranks with the target rank in the middle."""
    middle = window.size // 2
    return int((window[middle : middle + k + 2] - window[middle - k - 1 : middle + 1]).max())


def _find_largest_weight(window: Integers, reach: int, beta: float, floor: float) -> float:
    """Return max(floor, exp(-beta k) A_k over 0 <= k <= reach), by branch and bound."""
    first, last = local_sensitivity_at_distance(window, 0), local_sensitivity_at_distance(window, reach)
    best = max(floor, float(first), last * math.exp(-beta * reach))
    stretches = [(-last * math.exp(-beta), 0, reach, last)]
    while stretches:
        bound, i, j, at_j = heapq.heappop(stretches)
        if -bound <= best:
            break
        if j - i < 2:
            continue
        k = (i + j) // 2
        at_k = local_sensitivity_at_distance(window, k)
        best = max(best, at_k * math.exp(-beta * k))
        heapq.heappush(stretches, (-at_k * math.exp(-beta * (i + 1)), i, k, at_k))
        heapq.heappush(stretches, (-at_j * math.exp(-beta * (k + 1)), k, j, at_j))
    return best


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
