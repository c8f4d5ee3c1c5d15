"""Rows of one integer column, as an engine returns them: distinct values, and the number of rows of each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.core.errors import require_parameter
from discreet.mechanisms.sampling import Integers


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Values (in any order) and the number of rows that have each; printing one shows nothing."""

    values: Integers = field(repr=False)
    counts: Integers = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("values", "counts"):
            column = getattr(self, name)
            fits = isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype == np.int64
            require_parameter(fits, self, name, type(column).__name__, "a one-dimensional array of int64")
        same = self.values.size == self.counts.size
        require_parameter(same, self, "counts", "another number", "one count for each value")

    @classmethod
    def from_rows(cls, rows: Integers) -> ValueCounts:
        """Return the distinct values of these rows, with their counts.

        >>> ValueCounts.from_rows(np.array([3, 1, 3])).counts
        array([1, 2])
        """
        values, counts = np.unique(np.asarray(rows, dtype=np.int64), return_counts=True)
        return cls(values, counts.astype(np.int64))

    def clamp(self, low: int, high: int) -> ValueCounts:
        """Return the rows clamped to [low, high], in increasing order; values without rows are left out."""
        held = self.counts > 0
        values, counts = np.clip(self.values[held], low, high), self.counts[held]
        order = np.argsort(values, kind="stable")
        values, counts = values[order], counts[order]
        # low - 1 is below every clamped value, so that the first one starts a run
        starts = np.flatnonzero(np.diff(values, prepend=low - 1))
        return ValueCounts(values[starts], np.add.reduceat(counts, starts) if starts.size else counts)

    def values_at_ranks(self, ranks: Integers, low: int, high: int) -> Integers:
        """Return the values of these ranks, counted from 1; `low` below the first and `high` above the last.

        The rows must be in order, as `clamp` returns them.
        """
        ends = np.cumsum(self.counts)
        padded = np.concatenate([self.values, [high]])
        found = padded[np.searchsorted(ends, ranks, side="left")]
        return np.where(ranks < 1, low, found)
