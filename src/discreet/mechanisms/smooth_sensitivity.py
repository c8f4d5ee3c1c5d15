"""Smooth sensitivity: a smooth bound on the change of an answer by one person, on data near this data.

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

import numpy as np

from discreet.mechanisms.sampling import Integers
from discreet.mechanisms.value_counts import ValueCounts


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
