"""The generalization lattice: one node for every choice of a level in every column.

A node is below another (a specialization of it) if no column has a higher level. Nodes are the cells of an
array with one axis per column, so the nodes below or above a node are a slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy

Levels = tuple[int, ...]
Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True)
class Lattice:
    """The lattice in which column j has `shape[j]` levels."""

    shape: tuple[int, ...]

    @staticmethod
    def from_hierarchies(hierarchies: Sequence[Hierarchy]) -> Lattice:
        """Return the lattice of some hierarchies."""
        return Lattice(tuple(hierarchy.height + 1 for hierarchy in hierarchies))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def top(self) -> Levels:
        return tuple(levels - 1 for levels in self.shape)

    def get_levels(self, place: int) -> Levels:
        """Return the node at a position of the flat array."""
        return tuple([place // stride % count for stride, count in self._strides])

    @cached_property
    def _strides(self) -> list[tuple[int, int]]:
        return [(math.prod(self.shape[j + 1 :]), count) for j, count in enumerate(self.shape)]

    @cached_property
    def counts_below(self) -> Integers:
        """The number of nodes below each node, including itself, in the flat array."""
        sizes = np.ones((), np.int64)
        for count in self.shape:
            sizes = sizes[..., None] * np.arange(1, count + 1)
        return sizes.reshape(-1)

    def walk(self, order: Sequence[int]) -> Iterator[Levels]:
        """Yield all nodes; the level of the last column in `order` changes fastest."""
        ranks = [order.index(j) for j in range(len(order))]
        for levels in product(*(range(self.shape[j]) for j in order)):
            yield tuple([levels[rank] for rank in ranks])

    def find_minimal(self, valid: Truths) -> Truths:
        """Return which valid nodes have no other valid node below them."""
        reached = valid.reshape(self.shape)
        for axis in range(len(self.shape)):
            reached = np.logical_or.accumulate(reached, axis=axis)
        over = np.zeros(self.shape, np.bool_)
        for axis in range(len(self.shape)):
            lower = [slice(None)] * len(self.shape)
            upper = list(lower)
            lower[axis], upper[axis] = slice(None, -1), slice(1, None)
            over[tuple(upper)] |= reached[tuple(lower)]
        return valid & ~over.ravel()


def slice_below(levels: Sequence[int]) -> tuple[slice, ...]:
    """Return the slice of a node and everything below it."""
    return tuple(slice(None, level + 1) for level in levels)


def slice_above(levels: Sequence[int]) -> tuple[slice, ...]:
    """Return the slice of a node and everything above it."""
    return tuple(slice(level, None) for level in levels)


def compute_outer_sum(terms: Sequence[Floats]) -> Floats:
    """Return the sum of one term per column, for every node."""
    total = np.zeros(())
    for term in terms:
        total = total[..., None] + term
    return total
