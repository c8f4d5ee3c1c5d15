"""The median mechanism's knowledge: all small databases that agree with what was released.

Candidates  C: at first every database of `size` rows over the cells, as counts. A database S answers a
            question with its share of rows, times the number n of rows of the table.
Hardness    r = the mean over S in C of exp(-|f(D) - n f(S)| / width), between 0 and 1: near 1 where most of
            C answers as the data does [EGM19, equation 5, which is all that it quotes of RR10]. What is
            tested is 1 - r on a grid of `GRID` steps, which is hard from 1/4 on, so r up to 3/4.
Sensitivity one person moves f(D) by at most R rows, so each term of r by at most R / width. Every term is
            rounded down to the grid, the terms' mean too: floor(a) and floor(b) differ by at most the next
            integer above |a - b|, so all by `GRID R / width`, rounded up, and one more for what a float's
            exp may be off.
Easy        the (lower) median over C of n f(S). Where it is off by x, half of C is off by x or more on one
            side, so r <= (1 + exp(-x / width)) / 2, and x <= -width ln(2 r - 1).
Hard        a noisy count a; S stays in C if |n f(S) - a| <= `band`, and where none is that close those that
            are closest stay.

The paper's steps are these: r, a noisy r against a noisy threshold of about 3/4, the median or a noisy count,
fewer candidates, an end after so many hard questions. Its constants are given here as we remember them, and
were not compared with its text: m = 160,000 ln k ln(1/e) / e**2 rows, beyond any table's size, and a band of
e/50, e n being the `width`. Ours differ. The band is never less than what `size` rows can express or what the
noise hides, nor the width less than `STEPS` of those rows, else C would soon be empty and all questions hard.
The threshold's noise is the sparse vector's, where the paper draws it from a few steps above 3/4; the end is
where the plan has it. So the paper's bounds on error are not claimed: `StreamPlan.error95` follows from what
is above. Privacy hangs on none of this: it is the sparse vector's and the noisy counts', a larger width only
lowers the sensitivity, and C follows from what was released.

[RR10]      Roth & Roughgarden, Interactive Privacy via the Median Mechanism.
[EGM19]     The Epsilon Generation Model.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.mechanisms.sampling import Booleans, Floats, Integers

GRID = 1 << 30
HARDNESS_THRESHOLD = GRID // 4
MAX_ENTRIES = 8_000_000
MIN_SIZE = 10
"""Databases of fewer rows answer no question within a twentieth."""
STEPS = 4
MAX_SIZE = 1_000
PAPERS_BAND = 50


def count_databases(cells: int, size: int) -> int:
    """Return the number of databases of `size` rows.

    >>> count_databases(4, 2)
    10
    """
    return math.comb(size + cells - 1, cells - 1)


def find_largest_size(cells: int) -> int:
    """Return the most rows with which all databases can be enumerated; 0 if not even one."""
    size = 0
    while size < MAX_SIZE and count_databases(cells, size + 1) * cells <= MAX_ENTRIES:
        size += 1
    return size


def widen_to_resolution(width: int, rows: int, size: int) -> int:
    """Return the width, or the resolution of databases of `size` rows if that is coarser."""
    return max(width, -(-STEPS * rows // size))


def compute_grid_sensitivity(rows_per_person: int, width: int) -> int:
    """Return the sensitivity of the hardness to one person."""
    return -(-GRID * rows_per_person // width) + 1


class CandidateDatabases:
    """The remaining databases, for a table of `rows` rows."""

    def __init__(self, cells: int, *, size: int, rows: int, width: int, band: float) -> None:
        self._left = list_databases(cells, size)
        self._size, self._rows, self._width = size, rows, widen_to_resolution(width, rows, size)
        self._band = max(band, self._width / PAPERS_BAND, rows / (2 * size))

    def __len__(self) -> int:
        return len(self._left)

    def estimate_count(self, query: Booleans) -> int:
        """Return the median answer."""
        below = np.cumsum(self._tally_answers(query)[0])
        median = int(np.searchsorted(below, -(-len(self._left) // 2)))
        return round(self._rows * median / self._size)

    def compute_hardness(self, query: Booleans, count: int) -> int:
        """Return (1 - r) GRID, for the exact count."""
        number, values = self._tally_answers(query)
        terms = np.floor(GRID * np.exp(-np.abs(count - values) / self._width)).astype(np.int64)
        return int(number @ (GRID - terms)) // len(self._left)

    def update(self, query: Booleans, answer: int) -> None:
        """Remove the databases that disagree with a released count."""
        off = np.abs(self._rows * self._count_rows(query) / self._size - answer)
        self._left = self._left[off <= max(self._band, float(off.min()))]

    def _count_rows(self, query: Booleans) -> Integers:
        return np.asarray(self._left[:, query].sum(axis=1, dtype=np.int64))

    def _tally_answers(self, query: Booleans) -> tuple[Integers, Floats]:
        """Return how many candidates have each number of rows inside, and its scale in the table."""
        number = np.bincount(self._count_rows(query), minlength=self._size + 1).astype(np.int64)
        return number, np.linspace(0.0, self._rows, self._size + 1)


def list_databases(cells: int, size: int) -> Integers:
    """Return every way to put `size` rows into the cells.

    >>> list_databases(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    found = np.zeros((1, 0), np.int64)
    for _ in range(cells - 1):
        left = size - found.sum(axis=1)
        ways = left + 1
        before = np.repeat(found, ways, axis=0)
        first = np.cumsum(ways) - ways
        last = np.arange(len(before)) - np.repeat(first, ways)
        found = np.column_stack([before, last])
    return np.column_stack([found, size - found.sum(axis=1)])
