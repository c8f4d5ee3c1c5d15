"""Splits: how a tree divides rows, and where every row is at some depth.

A tree is grown a level at a time. `levels[d][i]` is the split of node i of depth d, whose rows go to nodes 2i
(the bins of `first`) and 2i + 1 of depth d + 1; None where a node is not divided further, and then its rows
are in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.sampling import Integers
from discreet.mining.schema import Codes


@dataclass(frozen=True, kw_only=True)
class Split:
    """Rows whose bin of the attribute (by its place in the schema) is in `first` go to the first child."""

    attribute: int
    first: frozenset[int]


Level = tuple[Split | None, ...]


@dataclass(frozen=True, kw_only=True)
class Splits:
    """The levels that are grown so far; without any, all rows are in the root."""

    levels: tuple[Level, ...] = ()

    @property
    def nodes(self) -> int:
        """How many nodes stand below the last level."""
        return 1 << len(self.levels)

    def grown(self, level: Level) -> Splits:
        """With one level more."""
        return Splits(levels=(*self.levels, level))

    def places(self, codes: Codes) -> Integers:
        """The node below the last level that each row is in; -1 where it went no further."""
        found = np.zeros(len(codes), np.int64)
        for level in self.levels:
            found = _descended(found, level, codes)
        return found


def _descended(places: Integers, level: Level, codes: Codes) -> Integers:
    below = np.full(len(places), -1, np.int64)
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(len(level) + 1))
    for node, split in enumerate(level):
        if split is not None:
            rows = order[starts[node] : starts[node + 1]]
            known = np.zeros(int(codes[:, split.attribute].max(initial=0)) + 1 + max(split.first), np.bool_)
            known[list(split.first)] = True
            below[rows] = 2 * node + ~known[codes[rows, split.attribute]]
    return below
