"""Repeatable draws in integer arithmetic, so that a sample table is the same on every machine.

This makes up *data*; it is no source of noise. Noise comes from `discreet.core.randomness` alone. Only the
raw words of PCG64 are used (NumPy keeps a bit generator's stream fixed between versions, a `Generator`'s
not), and every choice from them is made by integers, so no platform's floating point has a say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class Dice:
    """A fixed seed's stream; the modulo bias of its draws is below 2**-31 times their bound."""

    def __init__(self, seed: int) -> None:
        self._words = np.random.PCG64(seed)

    def below(self, bound: int | Integers, count: int) -> Integers:
        """Uniform in [0, bound) for each of `count` rows; bounds stay under 2**31."""
        words = (self._words.random_raw(count) >> np.uint64(33)).astype(np.int64)
        return (words * bound) >> 31

    def chance(self, per_mille: int | Integers, count: int) -> Booleans:
        """True for `per_mille` of 1,000 rows, or with a rate of its own for each row."""
        return np.asarray(self.below(1000, count) < per_mille)

    def pick(self, weights: Sequence[int], count: int) -> Integers:
        """Indices in proportion to the weights."""
        cumulated = np.cumsum(np.asarray(weights, np.int64))
        draw = self.below(int(cumulated[-1]), count)
        return np.searchsorted(cumulated, draw, side="right").astype(np.int64)

    def pick_each(self, weights: Integers) -> Integers:
        """One index per row, by the row's own weights."""
        cumulated = np.cumsum(weights, axis=1)
        draw = self.below(cumulated[:, -1], len(weights))
        return np.asarray((cumulated <= draw[:, None]).sum(axis=1), np.int64)

    def shuffle(self, values: Integers) -> Integers:
        return values[np.argsort(self._words.random_raw(values.size), kind="stable")]

    def bell(self, spread: int, count: int) -> Integers:
        """A bell-shaped error: four uniform draws, centred; standard deviation spread / sqrt(3)."""
        draws = np.array([self.below(2 * spread, count) for _ in range(4)])
        return np.asarray(draws.sum(axis=0) // 2 - 2 * spread, np.int64)


def shares(weights: Sequence[int], total: int) -> Integers:
    """`total` split in proportion to the weights, by largest remainder.

    >>> shares([1, 1, 1], 10).tolist()
    [4, 3, 3]
    """
    weighed = np.asarray(weights, np.int64) * total
    parts, left = np.divmod(weighed, int(np.sum(weights)))
    parts[np.argsort(-left, kind="stable")[: total - int(parts.sum())]] += 1
    return np.asarray(parts, np.int64)
