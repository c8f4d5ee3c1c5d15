"""Tables of a search: the distinct tuples at the levels of a node, rolled up from those of a lower node.

Roll-up     As in Incognito, a node is counted from a lower node, not from rows. Columns are ordered, the one
            with most values first, because it merges most. The table of a node is rolled up from the one
            whose last coarser column is a level lower (or lower still, if that was not built yet), and is
            cached for the nodes that need it. A column at level 0 costs nothing.
Numbers     Labels are renumbered to those that occur and packed into the bits of one key a row. Most nodes
            differ in the last columns alone, which are dense: together they have so few combinations that an
            array finds equal rows. Where an earlier column changes, rows are first ordered by their stem.
Memory      The cache holds LEAST_KEPT bytes, or four times the first table, up to MOST_KEPT; the least
            recently used table is evicted first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity.equivalence_classes import (
    Codes,
    EquivalenceClasses,
    Integers,
    SensitiveCounts,
    Tuples,
)
from discreet.anonymity.hierarchies.generalization_hierarchy import Floats, Hierarchy
from discreet.anonymity.search.grouping_kernels import (
    Truths,
    merge_sensitive_counts,
    order_by_stem,
    pack_field,
    roll_up,
    roll_up_wide,
    sum_by_group,
)

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


LEAST_KEPT = 64 << 20
MOST_KEPT = 384 << 20

AS_IT_IS: Codes = np.empty(0, np.int32)
NOTHING: Mapping[str, SensitiveCounts] = {}

Levels = tuple[int, ...]


class LazySensitiveCounts(Mapping[str, SensitiveCounts]):
    """The sensitive counts of a table's classes, merged from its source's on first access."""

    def __init__(self, source: Mapping[str, SensitiveCounts], inverse: Codes, classes: int) -> None:
        self._source, self._inverse, self._classes = source, inverse, classes
        self._found: dict[str, SensitiveCounts] = {}

    def __getitem__(self, name: str) -> SensitiveCounts:
        if name not in self._found:
            held = self._source[name]
            starts, values, counts = merge_sensitive_counts(
                self._inverse, self._classes, held.starts, held.values, held.counts, len(held.totals)
            )
            self._found[name] = SensitiveCounts(
                starts=starts, values=values, counts=counts, totals=held.totals, names=held.names
            )
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeTable:
    """The classes of a node: their keys, their sizes, and their sensitive counts."""

    keys: Integers
    sizes: Integers
    sensitive: Mapping[str, SensitiveCounts]
    population: Integers | None

    def __len__(self) -> int:
        return len(self.sizes)

    def materialize(self) -> NodeTable:
        """Return the table with all counts computed and arrays trimmed, so that it references no other."""
        held = {name: self.sensitive[name] for name in self.sensitive} if self.sensitive else NOTHING
        keys, sizes = _trim_array(self.keys), _trim_array(self.sizes)
        return NodeTable(keys=keys, sizes=sizes, sensitive=held, population=self.population)

    @property
    def byte_size(self) -> int:
        """The approximate memory that it uses."""
        held = sum([len(one.values) for one in self.sensitive.values()]) if self.sensitive else 0
        return self.keys.nbytes + self.sizes.nbytes + 20 * held


class NodeTables:
    """The tables of one search, with a cache."""

    def __init__(self, tuples: Tuples, hierarchies: Sequence[Hierarchy]) -> None:
        self.rows = tuples.rows
        self.columns, self.order, keys = pack_columns(tuples, hierarchies)
        self._dense = count_dense_bits(self.columns, self.order)
        self._traced = bool(tuples.sensitive) or tuples.population is not None
        self._inverse = np.empty(0 if self._traced else len(tuples), np.int32)
        self._kept: OrderedDict[Levels, NodeTable] = OrderedDict()
        self._kept_bytes = 0
        self.bottom = NodeTable(
            keys=keys, sizes=tuples.counts, sensitive=tuples.sensitive, population=tuples.population
        )
        self._passing = _allocate_arrays(self.bottom)
        self._room = min(max(LEAST_KEPT, 4 * self.bottom.byte_size), MOST_KEPT)

    def get_table(self, levels: Sequence[int]) -> NodeTable:
        """Return the classes of a node; if its last column is coarser, valid only until the next call."""
        return self._get_or_build(_strip_zeros(tuple([levels[j] for j in self.order])))

    def partition(self, levels: Sequence[int]) -> tuple[Integers, Codes]:
        """Return the sizes of a node's classes, and the class of every tuple."""
        table, inverse = self.bottom, np.arange(len(self.bottom), dtype=np.int32)
        for column, level in zip(self.columns, levels, strict=True):
            if level:
                step = np.empty(len(table), np.int32)
                table = self._roll_up(table, column, 0, level, step).materialize()
                inverse = step[inverse]
        return table.sizes, inverse

    def to_classes(self, table: NodeTable) -> EquivalenceClasses:
        """Return the classes of a table, as the models judge them."""
        return EquivalenceClasses(
            sizes=table.sizes, rows=self.rows, sensitive=table.sensitive, population=table.population
        )

    def _get_or_build(self, wanted: Levels) -> NodeTable:
        """Return the table of levels in roll-up order, without those after the last coarser column."""
        if not wanted:
            return self.bottom
        kept = self._kept.get(wanted)
        if kept is not None:
            self._kept.move_to_end(wanted)
            return kept
        before, level = wanted[:-1], wanted[-1]
        low, table = self._find_source(before, level)
        inverse = np.empty(len(table), np.int32) if self._traced else self._inverse
        column, last = self.columns[self.order[len(before)]], len(wanted) == len(self.columns)
        made = self._roll_up(table, column, low, level, inverse, self._passing if last else None)
        return made if last else self._cache_table(wanted, made)

    def _find_source(self, before: Levels, level: int) -> tuple[int, NodeTable]:
        """Return the table to roll up from, and the level of its last column."""
        for low in range(level - 1, 0, -1):
            kept = self._kept.get((*before, low))
            if kept is not None:
                return low, kept
        return 0, self._get_or_build(_strip_zeros(before))

    def _roll_up(
        self,
        table: NodeTable,
        column: SearchColumn,
        low: int,
        high: int,
        inverse: Codes,
        room: tuple[Integers, Integers] | None = None,
    ) -> NodeTable:
        keys, sizes = _allocate_arrays(table) if room is None else room
        labels, made = column.climb(low, high), (keys, sizes, inverse)
        if table.keys.ndim > 1:
            size = roll_up_wide(table.keys, table.sizes, column.field, labels, *made)
        else:
            # only the first table, and one whose stems change, has to be sorted
            apart = table is self.bottom or column.field[1] >= self._dense
            order = order_by_stem(table.keys, column.field, labels, self._dense) if apart else AS_IT_IS
            size = roll_up(table.keys, table.sizes, order, column.field, labels, self._dense, *made)
        people = table.population
        return NodeTable(
            keys=keys[:size],
            sizes=sizes[:size],
            sensitive=LazySensitiveCounts(table.sensitive, inverse, size) if self._traced else NOTHING,
            population=None if people is None else sum_by_group(inverse, people, size),
        )

    def _cache_table(self, levels: Levels, table: NodeTable) -> NodeTable:
        kept = self._kept[levels] = table.materialize()
        self._kept_bytes += kept.byte_size
        while self._kept_bytes > self._room and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.byte_size
        return kept


def _allocate_arrays(table: NodeTable) -> tuple[Integers, Integers]:
    """Return arrays for the keys and sizes of a table rolled up from this one."""
    return np.empty(table.keys.shape, np.int64), np.empty(len(table), np.int64)


def _trim_array(part: Integers) -> Integers:
    """Return a copy if more than a quarter of the whole array is unused."""
    whole = part.base
    return part.copy() if isinstance(whole, np.ndarray) and 4 * len(part) < 3 * len(whole) else part


def _strip_zeros(levels: Levels) -> Levels:
    end = len(levels)
    while end and levels[end - 1] == 0:
        end -= 1
    return levels[:end]
