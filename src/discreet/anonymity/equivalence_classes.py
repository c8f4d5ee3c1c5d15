"""Counts of a table, which are all that the search and the models see; they never see rows.

Tuples      the distinct combinations of quasi-identifiers, how many rows each has, and how often each
            sensitive value occurs with it.
Classes     the counts after recoding: rows that show the same quasi-identifiers are one equivalence class.
Keys        equal ones are numbered in one pass, with which every grouping of tuples begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.numba_kernels import compile_kernel

MIXER = np.uint64(0x9E3779B97F4A7C15)


@compile_kernel
def number_keys(keys: Integers, numbers: Integers | Codes) -> int:
    """Give equal keys one number, by first appearance, and return how many numbers were given.

    Open addressing with multiplicative hashing, in a table at most half full.
    """
    bits = 4
    while (1 << bits) < 2 * len(keys):
        bits += 1
    mask = (1 << bits) - 1
    shift = np.uint64(64 - bits)
    slots = np.full(1 << bits, -1, np.int32)
    firsts = np.empty(len(keys), np.int64)
    found = 0
    for i in range(len(keys)):
        if i > 0 and keys[i] == keys[i - 1]:  # runs of equal keys are common, and need no look-up
            numbers[i] = numbers[i - 1]
            continue
        slot = np.int64((np.uint64(keys[i]) * MIXER) >> shift)
        while slots[slot] >= 0 and firsts[slots[slot]] != keys[i]:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = found
            firsts[found] = keys[i]
            found += 1
        numbers[i] = slots[slot]
    return found


def number_rows(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[Integers, int]:
    """Return a number for every row, equal where all columns are; column j holds codes below `sizes[j]`.

    Codes are packed into one 64-bit key; where the next column would not fit, the key is numbered first.
    """
    rows = len(columns[0]) if columns else 0
    key, width = np.zeros(rows, np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if width * size >= 2**62:  # the next product might overflow 64 bits
            key, width = _renumber_keys(key)
        key = key * size + codes
        width *= size
    return _renumber_keys(key)


def _renumber_keys(key: Integers) -> tuple[Integers, int]:
    numbers = np.empty(len(key), np.int64)
    return numbers, int(number_keys(key, numbers))


Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


def select_ragged_rows(starts: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Select rows of a ragged array whose row i is at starts[i]:starts[i + 1].

    Return the starts of the selected rows, and the positions of their entries.

    >>> starts, places = select_ragged_rows(np.array([0, 2, 2, 5]), np.array([2, 0]))
    >>> starts.tolist(), places.tolist()
    ([0, 3, 5], [2, 3, 4, 0, 1])
    """
    lengths = np.diff(starts)[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ends, np.repeat(starts[rows] - ends[:-1], lengths) + np.arange(ends[-1])


@dataclass(frozen=True, kw_only=True, eq=False)
class SensitiveCounts:
    """Counts of each value of one sensitive column in each class (or with each tuple).

    Class i holds the values `values[starts[i]:starts[i + 1]]`, each `counts` times (above 0), by rising code.
    `totals` counts every value in the whole input table, which models that compare with the table use, also
    after suppression. `names` are the values as text, in the order of their codes; that order is the order of
    an ordered distance.
    """

    starts: Integers
    values: Codes
    counts: Integers
    totals: Integers
    names: tuple[str, ...]

    def select(self, places: Integers) -> SensitiveCounts:
        """Return the counts of some classes; `totals` still describes the whole table."""
        starts, inside = select_ragged_rows(self.starts, places)
        return replace(self, starts=starts, values=self.values[inside], counts=self.counts[inside])


@dataclass(frozen=True, kw_only=True, eq=False)
class EquivalenceClasses:
    """Equivalence classes, as counts.

    `population[i]` counts the people of the population table who share the quasi-identifiers of class i;
    None without a population table. `rows` counts the whole input table.
    """

    sizes: Integers
    rows: int
    sensitive: Mapping[str, SensitiveCounts] = field(default_factory=dict)
    population: Integers | None = None

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuples:
    """The distinct tuples of quasi-identifiers: `codes[i, j]` is a position in the values of hierarchy j."""

    codes: Codes
    counts: Integers
    sensitive: Mapping[str, SensitiveCounts] = field(default_factory=dict)
    population: Integers | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())


def order_codes(codes: Codes) -> Integers:
    """Return the positions that sort tuples by their codes, whatever the order of counting."""
    found: Integers = np.lexsort(codes.T[::-1]) if codes.shape[1] else np.arange(len(codes))
    return found
