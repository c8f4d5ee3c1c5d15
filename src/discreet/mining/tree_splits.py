"""Tree splits: how a tree divides rows, and the node of every row at each depth.

A tree is grown a level at a time. `levels[d][i]` is the split of node i of depth d, whose rows go to nodes 2i
(the bins of `first`) and 2i + 1 of depth d + 1. A node that nothing divides any more has a split that sends
all of its rows on to the first child, so that every row is somewhere at every depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.sampling import Integers
from discreet.mining.attributes import Codes
from discreet.mining.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Split:
    """Rows whose bin of the attribute (by its place in the schema) is in `first` go to the first child."""

    attribute: int
    first: frozenset[int]


Level = tuple[Split, ...]


@dataclass(frozen=True, kw_only=True)
class Splits:
    """The levels grown so far; without any, all rows are in the root."""

    levels: tuple[Level, ...] = ()

    @property
    def nodes(self) -> int:
        """The number of nodes below the last level."""
        return 1 << len(self.levels)

    def add_level(self, level: Level) -> Splits:
        """Return the splits with one more level."""
        return Splits(levels=(*self.levels, level))

    def locate_rows(self, codes: Codes) -> Integers:
        """Return the node below the last level of each row."""
        found = np.zeros(len(codes), np.int64)
        for level in self.levels:
            found = _descend_level(found, level, codes)
        return found


def _descend_level(places: Integers, level: Level, codes: Codes) -> Integers:
    """Return the child of each row, node by node; deep down most nodes are empty."""
    below = np.empty(len(places), np.int64)
    order = np.argsort(places, kind="stable")
    held, starts = np.unique(places[order], return_index=True)
    for node, rows in zip(held.tolist(), np.split(order, starts[1:]), strict=False):
        inside = np.isin(codes[rows, level[node].attribute], list(level[node].first))
        below[rows] = 2 * node + ~inside
    return below


def list_candidate_splits(schema: Schema) -> tuple[Split, ...]:
    """Return every possible split: at a cut of an ordered attribute, or one bin against the others."""
    found = []
    for j, attribute in enumerate(schema.attributes):
        if attribute.is_ordered:
            firsts = [frozenset(range(k)) for k in range(1, attribute.bins)]
        else:
            firsts = [frozenset([k]) for k in range(attribute.bins)]
        found += [Split(attribute=j, first=first) for first in firsts]
    return tuple(found)


def count_sides(schema: Schema, counts: Integers) -> tuple[Integers, Integers]:
    """Return counts over (node, candidate, class) of both sides, from counts over (node, cell, class)."""
    parts = []
    for j, attribute in enumerate(schema.attributes):
        own = counts[:, schema.offsets[j] : schema.offsets[j + 1]]
        parts.append(np.cumsum(own, axis=1)[:, :-1] if attribute.is_ordered else own)
    first = np.concatenate(parts, axis=1)
    everything = counts[:, : schema.offsets[1]].sum(axis=1, keepdims=True)
    return first, everything - first
