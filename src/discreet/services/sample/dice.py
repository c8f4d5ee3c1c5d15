"""Seeded random draws in integer arithmetic, so that a sample table is the same on every machine.

For sample *data* only; noise comes from `discreet.core.randomness` alone. Draws use the raw words of PCG64
(NumPy keeps a bit generator's stream fixed between versions, but not that of a `Generator`) and integer
arithmetic, so that they do not depend on a platform's floating point.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class Dice:
    """The stream of draws of a seed; their modulo bias is below 2**-31 times their bound."""

    def __init__(self, seed: int) -> None:
        self._words = np.random.PCG64(seed)

    def draw_below(self, bound: int | Integers, count: int) -> Integers:
        """Return `count` uniform integers in [0, bound); bounds must be below 2**31."""
        words = (self._words.random_raw(count) >> np.uint64(33)).astype(np.int64)
        return (words * bound) >> 31

    def draw_booleans(self, per_mille: int | Integers, count: int) -> Booleans:
        """Return `count` booleans, True with probability `per_mille` / 1,000, which may differ by row."""
        return np.asarray(self.draw_below(1000, count) < per_mille)

    def draw_indices(self, weights: Sequence[int], count: int) -> Integers:
        """Return `count` indices, drawn in proportion to the weights."""
        cumulated = np.cumsum(np.asarray(weights, np.int64))
        draw = self.draw_below(int(cumulated[-1]), count)
        return np.searchsorted(cumulated, draw, side="right").astype(np.int64)

    def draw_index_per_row(self, weights: Integers) -> Integers:
        """Return one index per row, drawn in proportion to the row's weights."""
        cumulated = np.cumsum(weights, axis=1)
        draw = self.draw_below(cumulated[:, -1], len(weights))
        return np.asarray((cumulated <= draw[:, None]).sum(axis=1), np.int64)

    def shuffle(self, values: Integers) -> Integers:
        return values[np.argsort(self._words.random_raw(values.size), kind="stable")]

    def draw_bell_shaped(self, spread: int, count: int) -> Integers:
        """Return `count` centred sums of four uniform draws, bell-shaped; deviation spread / sqrt(3)."""
        draws = np.array([self.draw_below(2 * spread, count) for _ in range(4)])
        return np.asarray(draws.sum(axis=0) // 2 - 2 * spread, np.int64)


def apportion(weights: Sequence[int], total: int) -> Integers:
    """Split `total` in proportion to the weights, by largest remainder.

    >>> apportion([1, 1, 1], 10).tolist()
    [4, 3, 3]
    """
    weighed = np.asarray(weights, np.int64) * total
    parts, left = np.divmod(weighed, int(np.sum(weights)))
    parts[np.argsort(-left, kind="stable")[: total - int(parts.sum())]] += 1
    return np.asarray(parts, np.int64)
