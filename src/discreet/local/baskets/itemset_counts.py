"""Itemset counts: how many reports show all items of an itemset, in memory or in an engine.

Packed      The reports transposed: for every item one bit per client, so that an itemset is counted by AND
            and popcount. Transposed once, queried often.
Stored      Reports in an engine's table, in the columns of their format; only counts come back.
Patterns    The subset of an itemset that a report shows exactly. Their counts follow from how many reports
            show all of each subset, by inclusion and exclusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
from sqlglot import exp

from discreet.core.engine import Engine
from discreet.core.numba_kernels import compile_kernel
from discreet.local.bit_sampling import WORD, popcount
from discreet.mechanisms.sampling import Integers, Words

WORDS_IN_CACHE = 2048  # words of each item that are processed together, so that they stay in the cache
SUMS_PER_STATEMENT = 512


class ItemsetCounts(Protocol):
    """Counts of itemsets over reports."""

    @property
    def clients(self) -> int:
        """The number of reports."""

    @property
    def item_counts(self) -> Integers:
        """The number of reports that show each item."""

    def count_itemsets(self, itemsets: Integers) -> Integers:
        """Return how many reports show all items of each itemset, a row of at least two items."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedReports:
    """Reports in memory: a row for every item, with a bit for every client."""

    clients: int
    columns: Words

    @cached_property
    def item_counts(self) -> Integers:
        return np.array([np.bitwise_count(row).sum(dtype=np.int64) for row in self.columns])

    def count_itemsets(self, itemsets: Integers) -> Integers:
        found = np.zeros(len(itemsets), np.int64)
        _count_in_columns(self.columns, np.ascontiguousarray(itemsets), found)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredReports:
    """Reports in the columns w0, w1, ... of a table; `item_counts` were counted with the format check."""

    engine: Engine
    table: str
    clients: int
    item_counts: Integers

    def count_itemsets(self, itemsets: Integers) -> Integers:
        rows, found = itemsets.tolist(), []
        source = exp.to_identifier(self.table, quoted=True).sql(dialect="duckdb")
        for start in range(0, len(rows), SUMS_PER_STATEMENT):
            part = rows[start : start + SUMS_PER_STATEMENT]
            sums = ", ".join(f"SUM({_all_shown_sql(itemset)}) AS c{i}" for i, itemset in enumerate(part))
            table = self.engine.count(f"SELECT {sums} FROM {source}").secret
            found += [int(table[f"c{i}"][0].as_py()) for i in range(len(part))]
        return np.array(found, np.int64)


def count_patterns(tally: ItemsetCounts, itemsets: Integers) -> Integers:
    """Return how many reports show exactly each pattern of each itemset; bit i stands for the i-th item."""
    k = itemsets.shape[1]
    found = np.empty((len(itemsets), 1 << k), np.int64)
    found[:, 0] = tally.clients
    for places in (some for size in range(1, k + 1) for some in combinations(range(k), size)):
        found[:, sum(1 << i for i in places)] = _count_itemsets(tally, itemsets[:, places])
    for i in range(k):
        halves = found.reshape(len(itemsets), -1, 2, 1 << i)
        halves[:, :, 0] -= halves[:, :, 1]
    return found


def transpose_bits(words: Words) -> Words:
    """Return rows of bits transposed: a row for every bit, with a bit for every row."""
    found = np.zeros((words.shape[1] * WORD, -(-len(words) // WORD)), np.uint64)
    _transpose_words(np.ascontiguousarray(words), found)
    return found


def _count_itemsets(tally: ItemsetCounts, itemsets: Integers) -> Integers:
    if itemsets.shape[1] == 1:
        return tally.item_counts[itemsets[:, 0]]
    distinct, back = np.unique(itemsets, axis=0, return_inverse=True)
    return tally.count_itemsets(distinct)[back.reshape(-1)]


def _all_shown_sql(itemset: list[int]) -> str:
    return " & ".join([*(f"(w{item // WORD} >> {item % WORD})" for item in itemset), "1"])


@compile_kernel
def _count_in_columns(columns: Words, itemsets: Integers, found: Integers) -> None:
    width, k = columns.shape[1], itemsets.shape[1]
    shared = np.empty(WORDS_IN_CACHE, np.uint64)
    for start in range(0, width, WORDS_IN_CACHE):
        size = min(WORDS_IN_CACHE, width - start)
        for i in range(itemsets.shape[0]):
            first = columns[itemsets[i, 0], start : start + size]
            for r in range(1, k - 1):
                other = columns[itemsets[i, r], start : start + size]
                for w in range(size):
                    shared[w] = first[w] & other[w]
                first = shared[:size]
            last = columns[itemsets[i, k - 1], start : start + size]
            total = 0
            for w in range(size):
                total += popcount(first[w] & last[w])
            found[i] += total


@compile_kernel
def _transpose_words(words: Words, found: Words) -> None:
    """Transpose 64 by 64 bits at a time; eight such blocks write to the same cache line."""
    rows, width = words.shape
    block = np.empty(64, np.uint64)
    for first in range(0, rows, 512):
        for j in range(width):
            for start in range(first, min(first + 512, rows), 64):
                for i in range(64):
                    block[i] = words[start + i, j] if start + i < rows else np.uint64(0)
                _transpose_block(block)
                for i in range(64):
                    found[64 * j + i, start >> 6] = block[i]


@compile_kernel
def _transpose_block(block: Words) -> None:
    """Transpose a block of 64 by 64 bits: exchange halves across the diagonal, then halves of halves."""
    step, mask = 32, np.uint64(0x00000000FFFFFFFF)
    while step:
        for half in range(0, 64, 2 * step):
            for i in range(half, half + step):
                moved = ((block[i] >> np.uint64(step)) ^ block[i + step]) & mask
                block[i] ^= moved << np.uint64(step)
                block[i + step] ^= moved
        step >>= 1
        mask ^= mask << np.uint64(step)
