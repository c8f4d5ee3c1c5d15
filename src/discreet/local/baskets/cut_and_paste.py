"""Cut-and-paste: up to K of a client's items are shown with certainty, all others by the same coin.

Report      A bit for each item. j is uniform from 0 to `cutoff`; min(j, size) of the `size` slots of a
            basket, any of them alike, are shown. Every other item, held or not, is shown with probability
            `noise` [ESAG02]. So it is select-a-size with the law `kept`.
Guarantee   gamma = sum over i from 0 to cutoff of noise**-min(i, size), exactly: a report that shows j of the
            slots is sum of (C(j, i) / C(size, i)) noise**-i times as likely as noise alone, which grows in
            j. So gamma is above cutoff + 1, and above 2 at least. With fewer than 2 size items it may be
            smaller, and is computed per report.
Estimate    Each report has the value product(bit - noise) / contrast(k) for the support of a k-itemset.
Utility     Three parameters that can be explained to clients. Its error is larger than that of select-a-size
            for the same epsilon: n MSE of a pair's support is 42 for baskets of 5 at gamma = 19.

[ESAG02]    Evfimievski, Srikant, Agrawal & Gehrke, Privacy Preserving Mining of Association Rules.
[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Self

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, require_count
from discreet.core.randomness import Randomness
from discreet.local.baskets.basket_operator import (
    MAX_SLOTS,
    BasketOperator,
    SizeLaw,
    require_shape,
    require_target,
)
from discreet.local.baskets.basket_packing import sample_slots
from discreet.local.exact_sampling import fraction_to_threshold, require_epsilon, sample_coins, sample_uniform
from discreet.mechanisms.sampling import Booleans

MAX_CUTOFF = 4 * MAX_SLOTS
ROUNDING = 1e-12
MIN_EPSILON = 0.7
NOISE_STEPS = 1 << 62


@dataclass(frozen=True, kw_only=True)
class CutAndPaste(BasketOperator):
    """0 to `cutoff` of the slots are shown with certainty; everything else with probability `noise`.

    >>> CutAndPaste(items=1000, size=5, cutoff=2, noise=0.25).gamma
    21.0
    """

    items: int
    size: int
    cutoff: int
    noise: Fraction
    kept: SizeLaw = field(init=False)
    values: int = field(init=False)

    def __post_init__(self) -> None:
        require_shape(self)
        require_count(self, "cutoff", self.cutoff)
        require_parameter(self.cutoff <= MAX_CUTOFF, self, "cutoff", self.cutoff, f"at most {MAX_CUTOFF}")
        object.__setattr__(self, "kept", _compute_law(self.size, self.cutoff, self.noise))

    @classmethod
    def for_epsilon(cls, epsilon: Real, items: int, size: int, itemset: int = 2) -> Self:
        """Return the cutoff and noise with the least error of rare itemsets of at most `itemset` items."""
        k = require_target(cls.__name__, size, itemset)
        gamma = math.exp(require_epsilon(cls.__name__, epsilon)) * (1 - ROUNDING)
        wanted = f"at least {MIN_EPSILON}, as one item that is shown with certainty costs ln 2"
        require_parameter(epsilon >= MIN_EPSILON, cls.__name__, "epsilon", float(epsilon), wanted)
        cutoffs = range(1, min(math.ceil(gamma) - 2, 4 * size) + 1)
        found = [(cutoff, _find_least_noise(size, cutoff, gamma)) for cutoff in cutoffs]
        cutoff, noise = min(found, key=lambda each: _compute_error(size, k, *each))
        return cls(items=items, size=size, cutoff=cutoff, noise=noise)

    def draw_shown_slots(self, clients: int, random: Randomness) -> Booleans:
        sure = np.minimum(sample_uniform(self.cutoff + 1, clients, random), self.size)
        others = sample_coins(fraction_to_threshold(self.noise), clients * self.size, random).reshape(
            clients, self.size
        )
        return sample_slots(self.size, sure, random) | others


def _compute_law(size: int, cutoff: int, noise: Fraction) -> SizeLaw:
    return tuple(
        sum(
            (
                Fraction(_count_cutoffs(i, size, cutoff), cutoff + 1)
                * comb(size - i, j - i)
                * noise ** (j - i)
                * (1 - noise) ** (size - j)
                for i in range(min(j, cutoff) + 1)
            ),
            Fraction(),
        )
        for j in range(size + 1)
    )


def _count_cutoffs(i: int, size: int, cutoff: int) -> int:
    """Return how many of the numbers from 0 to cutoff show i slots with certainty."""
    return 1 if i < size else cutoff - size + 1


def _find_least_noise(size: int, cutoff: int, gamma: float) -> Fraction:
    """Return the least multiple of 1 / PARTS at which gamma is not exceeded."""

    def keeps_gamma(step: int) -> bool:
        return sum((step / NOISE_STEPS) ** -min(i, size) for i in range(cutoff + 1)) <= gamma

    return Fraction(1 + bisect_left(range(1, NOISE_STEPS), True, key=keeps_gamma), NOISE_STEPS)


def _compute_error(size: int, k: int, cutoff: int, noise: Fraction) -> float:
    """Return the standard deviation of a rare k-itemset's support for one client.

    A slot that is not shown with certainty differs from `noise` by 0 on average; so the contrast is
    (1 - noise)**k times the probability that all k are shown with certainty.
    """
    sure = sum(comb(min(i, size), k) for i in range(cutoff + 1)) / (cutoff + 1) / comb(size, k)
    return float(noise / (1 - noise)) ** (k / 2) / sure if sure else math.inf
