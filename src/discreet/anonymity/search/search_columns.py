"""Quasi-identifiers as the search stores them: the labels that occur, numbered and packed into keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity.equivalence_classes import Codes, Integers, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.generalization_hierarchy import Floats
from discreet.anonymity.search.grouping_kernels import Truths, pack_field, sum_by_group

WORD = 63  # the bits of a key that is one integer
DENSE = 12  # the bits of a key that an array is indexed by: one that fits into the fastest memory


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchColumn:
    """One quasi-identifier.

    `counts` are the rows of each value that occurs. `labels[level][value]` is the number of its label among
    those that occur at the level, and `places[level][label]` is that label's position in the hierarchy.
    `field` is the column's place in a key: the word, the shift and the mask.
    """

    hierarchy: Hierarchy
    counts: Integers
    labels: tuple[Codes, ...]
    places: tuple[Integers, ...]
    field: tuple[int, int, int]

    def climb(self, low: int, high: int) -> Codes:
        """Return the label at a higher level for each label of a lower one."""
        if (low, high) not in self._climbs:
            above = np.zeros(len(self.places[low]), np.int32)
            above[self.labels[low]] = self.labels[high]
            self._climbs[low, high] = above
        return self._climbs[low, high]

    @cached_property
    def _climbs(self) -> dict[tuple[int, int], Codes]:
        return {}

    @property
    def shares(self) -> list[Floats]:
        """The fraction of the domain that each label covers, at every level."""
        return [self.hierarchy.shares[level][places] for level, places in enumerate(self.places)]

    def count_rows(self, level: int) -> Integers:
        """Return how many rows of the input show each label of a level."""
        return sum_by_group(self.labels[level], self.counts, len(self.places[level]))

    def extract_labels(self, keys: Integers) -> Integers:
        """Return the number of the label that each key shows in this column."""
        word, shift, mask = self.field
        one: Integers = keys if keys.ndim == 1 else keys[:, word]
        return (one >> shift) & mask


def pack_columns(
    tuples: Tuples, hierarchies: Sequence[Hierarchy]
) -> tuple[tuple[SearchColumn, ...], list[int], Integers]:
    """Return the columns of a search, their order by falling number of values, and each tuple's key.

    The last column in the order has the lowest bits.
    """
    codes = [np.ascontiguousarray(tuples.codes[:, j]) for j in range(len(hierarchies))]
    occurs = [_find_occurring(codes[j], hierarchy) for j, hierarchy in enumerate(hierarchies)]
    order = sorted(range(len(hierarchies)), key=lambda j: -int(np.count_nonzero(occurs[j])))
    fields: dict[int, tuple[int, int, int]] = {}
    words: list[Integers] = []
    shift = WORD
    for j in reversed(order):
        bits = max(1, int(np.count_nonzero(occurs[j]) - 1).bit_length())
        if shift + bits > WORD:
            words.append(np.zeros(len(tuples), np.int64))
            shift = 0
        pack_field(words[-1], np.cumsum(occurs[j], dtype=np.int32) - np.int32(1), codes[j], shift)
        fields[j] = (len(words) - 1, shift, (1 << bits) - 1)
        shift += bits
    columns = []
    for j, hierarchy in enumerate(hierarchies):
        counts = sum_by_group(codes[j], tuples.counts, len(hierarchy.values))
        columns.append(_build_column(hierarchy, np.flatnonzero(occurs[j]), counts, fields[j]))
    return tuple(columns), order, words[0] if len(words) == 1 else np.stack(words, axis=1)


def count_dense_bits(columns: Sequence[SearchColumn], order: Sequence[int]) -> int:
    """Return how many of the lowest bits hold dense columns: the last of the order that fit into DENSE."""
    ends = [shift + mask.bit_length() for _, shift, mask in (columns[j].field for j in order)]
    return max((end for end in ends if end <= DENSE), default=0)


def _find_occurring(codes: Codes, hierarchy: Hierarchy) -> Truths:
    occurs = np.zeros(len(hierarchy.values), np.bool_)
    occurs[codes] = True
    return occurs


def _build_column(
    hierarchy: Hierarchy, present: Integers, counts: Integers, field: tuple[int, int, int]
) -> SearchColumn:
    found = [np.unique(level[present], return_inverse=True) for level in hierarchy.maps]
    return SearchColumn(
        hierarchy=hierarchy,
        counts=counts[present],
        labels=tuple(numbers.astype(np.int32) for _, numbers in found),
        places=tuple(places.astype(np.int64) for places, _ in found),
        field=field,
    )
