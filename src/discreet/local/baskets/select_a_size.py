"""Select-a-size: the number of a client's items that are shown has a given law; false items are added.

Report      A bit for each item. Of the `size` slots of a basket j are shown with probability kept[j], any j
            of them alike; each item that is not held is shown with probability `noise` [ESAG02].
Guarantee   gamma = max v / min v, v(j) = kept[j] / (C(size, j) noise**j (1 - noise)**(size - j)), exactly:
            the law is sampled exactly, for any fractions. With fewer than 2 size items it may be
            smaller, and is computed per report.
Estimate    Each report has the value product(bit - noise) / contrast(k) for the support of a k-itemset.
Utility     `for_epsilon`: a report is exp(epsilon) times as likely from baskets that share at least t
            items with it as from all others; t and `noise` have the least error for rare k-itemsets. Error
            does not depend on how many items there are: n MSE of a pair's support is 5.2 for baskets of 5
            at gamma = 19. (Other laws have less for pairs alone, 3.6 there, and reveal nothing about items.)

[ESAG02]    Evfimievski, Srikant, Agrawal & Gehrke, Privacy Preserving Mining of Association Rules.
[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Self

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, is_real
from discreet.core.randomness import Randomness
from discreet.local.baskets.basket_operator import (
    BasketOperator,
    SizeLaw,
    find_best_noise,
    require_shape,
    require_target,
)
from discreet.local.baskets.basket_packing import sample_law, sample_slots
from discreet.local.exact_sampling import DIGITS, require_epsilon
from discreet.mechanisms.sampling import Booleans, Floats, bound_exp

ROUNDING = 1e-9
GRID = 1 << 32


@dataclass(frozen=True, kw_only=True)
class SelectASize(BasketOperator):
    """j of the slots are shown with probability kept[j]; other items with probability `noise`.

    >>> SelectASize(items=1000, size=2, noise=0.5, kept=(0.125, 0.25, 0.625)).gamma
    5.0
    """

    items: int
    size: int
    noise: Fraction
    kept: SizeLaw
    values: int = field(init=False)

    def __post_init__(self) -> None:
        require_shape(self)
        object.__setattr__(self, "kept", _require_law(self, self.kept))

    @classmethod
    def for_epsilon(cls, epsilon: Real, items: int, size: int, itemset: int = 2) -> Self:
        """Return the law with the least error of rare itemsets of min(`itemset`, `size`) items."""
        k = require_target(cls.__name__, size, itemset)
        gamma = _bound_gamma(require_epsilon(cls.__name__, epsilon))
        noise = find_best_noise(lambda q: _compute_errors(q, size, k, float(gamma)))
        t = 1 + int(np.argmin(_compute_errors(np.array([float(noise)]), size, k, float(gamma))))
        return cls(items=items, size=size, noise=noise, kept=_make_threshold_law(size, noise, t, gamma))

    def draw_shown_slots(self, clients: int, random: Randomness) -> Booleans:
        return sample_slots(self.size, sample_law(self.kept, clients, random), random)


def _make_threshold_law(size: int, noise: Fraction, t: int, gamma: Fraction) -> SizeLaw:
    """Return the law of noise alone, times gamma where at least t slots are shown, normalized."""
    weights = [
        comb(size, j) * noise**j * (1 - noise) ** (size - j) * (gamma if j >= t else 1)
        for j in range(size + 1)
    ]
    return tuple(each / sum(weights) for each in weights)


def _compute_errors(noise: Floats, size: int, k: int, gamma: float) -> Floats:
    """Return the standard deviation of a rare k-itemset's support for one client, by (noise, t).

    Noise alone has no contrast, so the law's contrast comes from the sizes that gamma favors.
    """
    alone, contrast = np.zeros((2, noise.size, size + 1))
    for j in range(size + 1):
        alone[:, j] = comb(size, j) * noise**j * (1 - noise) ** (size - j)
        for i in range(max(0, k - size + j), min(j, k) + 1):
            ways = comb(j, i) * comb(size - j, k - i) / comb(size, k)
            contrast[:, j] += ways * (1 - noise) ** i * (-noise) ** (k - i)
    from_top = slice(None, 0, -1)
    favoured = np.cumsum(alone[:, from_top], axis=1)[:, ::-1]
    told = np.cumsum((alone * contrast)[:, from_top], axis=1)[:, ::-1]
    with np.errstate(all="ignore"):
        law = np.abs((gamma - 1) * told / (1 + (gamma - 1) * favoured))
        errors = (noise * (1 - noise))[:, None] ** (k / 2) / law
    return np.where(np.isfinite(errors), errors, math.inf)


def _bound_gamma(epsilon: Fraction) -> Fraction:
    """Return a short fraction that is provably at most exp(epsilon), and close to it."""
    return Fraction(math.floor(GRID / bound_exp(epsilon, DIGITS)[1]), GRID)


def _require_law(owner: SelectASize, kept: Sequence[Real]) -> SizeLaw:
    most = owner.size
    wanted = f"{most + 1} probabilities, one more than size, with the sum 1, of 0 to {most} items being shown"
    sized = isinstance(kept, Sequence) and len(kept) == owner.size + 1
    require_parameter(sized, owner, "kept", "another number of them", wanted)
    require_parameter(
        all(is_real(each) and each >= 0 for each in kept), owner, "kept", "something else", wanted
    )
    law = [Fraction(each) for each in kept]
    total = sum(law, Fraction())
    require_parameter(abs(total - 1) <= ROUNDING, owner, "kept", f"a sum of {float(total):.10g}", wanted)
    return tuple(each / total for each in law)
