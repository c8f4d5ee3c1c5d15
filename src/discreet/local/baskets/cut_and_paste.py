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
from discreet.local.baskets.operator import Baskets, Law, require_shape
from discreet.local.baskets.packing import pick
from discreet.local.baskets.searching import MOST_SLOTS, require_target
from discreet.local.draws import coins, uniform
from discreet.local.thresholds import parts_of, require_epsilon
from discreet.mechanisms.sampling import Booleans

MOST_CUTOFF = 4 * MOST_SLOTS
ROUNDING = 1e-12
LEAST_EPSILON = 0.7
PARTS = 1 << 62


@dataclass(frozen=True, kw_only=True)
class CutAndPaste(Baskets):
    """0 to `cutoff` of the slots are shown with certainty; everything else with probability `noise`.

    >>> CutAndPaste(items=1000, size=5, cutoff=2, noise=0.25).gamma
    21.0
    """

    items: int
    size: int
    cutoff: int
    noise: Fraction
    kept: Law = field(init=False)
    values: int = field(init=False)

    def __post_init__(self) -> None:
        require_shape(self)
        require_count(self, "cutoff", self.cutoff)
        require_parameter(self.cutoff <= MOST_CUTOFF, self, "cutoff", self.cutoff, f"at most {MOST_CUTOFF}")
        object.__setattr__(self, "kept", _law(self.size, self.cutoff, self.noise))

    @classmethod
    def under(cls, epsilon: Real, items: int, size: int, itemset: int = 2) -> Self:
        """Return the cutoff and noise with the least error of rare itemsets of at most `itemset` items."""
        k = require_target(cls.__name__, size, itemset)
        gamma = math.exp(require_epsilon(cls.__name__, epsilon)) * (1 - ROUNDING)
        wanted = f"at least {LEAST_EPSILON}, as one item that is shown with certainty costs ln 2"
        require_parameter(epsilon >= LEAST_EPSILON, cls.__name__, "epsilon", float(epsilon), wanted)
        cutoffs = range(1, min(math.ceil(gamma) - 2, 4 * size) + 1)
        found = [(cutoff, _least_noise(size, cutoff, gamma)) for cutoff in cutoffs]
        cutoff, noise = min(found, key=lambda each: _error(size, k, *each))
        return cls(items=items, size=size, cutoff=cutoff, noise=noise)

    def shown(self, clients: int, random: Randomness) -> Booleans:
        sure = np.minimum(uniform(self.cutoff + 1, clients, random), self.size)
        others = coins(parts_of(self.noise), clients * self.size, random).reshape(clients, self.size)
        return pick(self.size, sure, random) | others


def _law(size: int, cutoff: int, noise: Fraction) -> Law:
    return tuple(
        sum(
            (
                Fraction(_times(i, size, cutoff), cutoff + 1)
                * comb(size - i, j - i)
                * noise ** (j - i)
                * (1 - noise) ** (size - j)
                for i in range(min(j, cutoff) + 1)
            ),
            Fraction(),
        )
        for j in range(size + 1)
    )


def _times(i: int, size: int, cutoff: int) -> int:
    """Return how many of the numbers from 0 to cutoff show i slots with certainty."""
    return 1 if i < size else cutoff - size + 1


def _least_noise(size: int, cutoff: int, gamma: float) -> Fraction:
    """Return the least multiple of 1 / PARTS at which gamma is not exceeded."""

    def passes(step: int) -> bool:
        return sum((step / PARTS) ** -min(i, size) for i in range(cutoff + 1)) <= gamma

    return Fraction(1 + bisect_left(range(1, PARTS), True, key=passes), PARTS)


def _error(size: int, k: int, cutoff: int, noise: Fraction) -> float:
    """Return the standard deviation of a rare k-itemset's support for one client.

    A slot that is not shown with certainty differs from `noise` by 0 on average; so the contrast is
    (1 - noise)**k times the probability that all k are shown with certainty.
    """
    sure = sum(comb(min(i, size), k) for i in range(cutoff + 1)) / (cutoff + 1) / comb(size, k)
    return float(noise / (1 - noise)) ** (k / 2) / sure if sure else math.inf
