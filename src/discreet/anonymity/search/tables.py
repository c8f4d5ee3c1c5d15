"""Tables of a search: the distinct tuples at the levels of a node, rolled up from those of a lower node.

Roll-up     Columns are ordered, the one with most values first, because it merges most. The table of a node
            is rolled up from the one whose last coarser column is a level lower (or lower still, if that was
            not built yet), and is cached for the nodes that need it. A column at level 0 costs nothing.
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

import numpy as np

from discreet.anonymity.classes import Classes, Codes, Integers, Sensitive, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.search.columns import Column, dense, packed
from discreet.anonymity.search.kernels import added, roll_up, roll_up_wide, together, united

LEAST_KEPT = 64 << 20
MOST_KEPT = 384 << 20

AS_IT_IS: Codes = np.empty(0, np.int32)
NOTHING: Mapping[str, Sensitive] = {}

Levels = tuple[int, ...]


class Occurring(Mapping[str, Sensitive]):
    """The sensitive counts of a table's classes, merged from its source's on first access."""

    def __init__(self, source: Mapping[str, Sensitive], inverse: Codes, classes: int) -> None:
        self._source, self._inverse, self._classes = source, inverse, classes
        self._found: dict[str, Sensitive] = {}

    def __getitem__(self, name: str) -> Sensitive:
        if name not in self._found:
            held = self._source[name]
            starts, values, counts = united(
                self._inverse, self._classes, held.starts, held.values, held.counts, len(held.totals)
            )
            self._found[name] = Sensitive(
                starts=starts, values=values, counts=counts, totals=held.totals, names=held.names
            )
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """The classes of a node: their keys, their sizes, and their sensitive counts."""

    keys: Integers
    sizes: Integers
    sensitive: Mapping[str, Sensitive]
    population: Integers | None

    def __len__(self) -> int:
        return len(self.sizes)

    def settled(self) -> Table:
        """Return the table with all counts computed and arrays trimmed, so that it references no other."""
        held = {name: self.sensitive[name] for name in self.sensitive} if self.sensitive else NOTHING
        keys, sizes = _trimmed(self.keys), _trimmed(self.sizes)
        return Table(keys=keys, sizes=sizes, sensitive=held, population=self.population)

    @property
    def bytes(self) -> int:
        """The approximate memory that it uses."""
        held = sum([len(one.values) for one in self.sensitive.values()]) if self.sensitive else 0
        return self.keys.nbytes + self.sizes.nbytes + 20 * held


class Tables:
    """The tables of one search, with a cache."""

    def __init__(self, tuples: Tuples, hierarchies: Sequence[Hierarchy]) -> None:
        self.rows = tuples.rows
        self.columns, self.order, keys = packed(tuples, hierarchies)
        self._dense = dense(self.columns, self.order)
        self._traced = bool(tuples.sensitive) or tuples.population is not None
        self._inverse = np.empty(0 if self._traced else len(tuples), np.int32)
        self._kept: OrderedDict[Levels, Table] = OrderedDict()
        self._kept_bytes = 0
        self.bottom = Table(
            keys=keys, sizes=tuples.counts, sensitive=tuples.sensitive, population=tuples.population
        )
        self._passing = _arrays(self.bottom)
        self._room = min(max(LEAST_KEPT, 4 * self.bottom.bytes), MOST_KEPT)

    def at(self, levels: Sequence[int]) -> Table:
        """Return the classes of a node; if its last column is coarser, valid only until the next call."""
        return self._at(_without_zeros(tuple([levels[j] for j in self.order])))

    def partition(self, levels: Sequence[int]) -> tuple[Integers, Codes]:
        """Return the sizes of a node's classes, and the class of every tuple."""
        table, inverse = self.bottom, np.arange(len(self.bottom), dtype=np.int32)
        for column, level in zip(self.columns, levels, strict=True):
            if level:
                step = np.empty(len(table), np.int32)
                table = self._rolled_up(table, column, 0, level, step).settled()
                inverse = step[inverse]
        return table.sizes, inverse

    def classes(self, table: Table) -> Classes:
        """Return the classes of a table, as the models judge them."""
        return Classes(
            sizes=table.sizes, rows=self.rows, sensitive=table.sensitive, population=table.population
        )

    def _at(self, wanted: Levels) -> Table:
        """Return the table of levels in roll-up order, without those after the last coarser column."""
        if not wanted:
            return self.bottom
        kept = self._kept.get(wanted)
        if kept is not None:
            self._kept.move_to_end(wanted)
            return kept
        before, level = wanted[:-1], wanted[-1]
        low, table = self._source(before, level)
        inverse = np.empty(len(table), np.int32) if self._traced else self._inverse
        column, last = self.columns[self.order[len(before)]], len(wanted) == len(self.columns)
        made = self._rolled_up(table, column, low, level, inverse, self._passing if last else None)
        return made if last else self._keep(wanted, made)

    def _source(self, before: Levels, level: int) -> tuple[int, Table]:
        """Return the table to roll up from, and the level of its last column."""
        for low in range(level - 1, 0, -1):
            kept = self._kept.get((*before, low))
            if kept is not None:
                return low, kept
        return 0, self._at(_without_zeros(before))

    def _rolled_up(
        self,
        table: Table,
        column: Column,
        low: int,
        high: int,
        inverse: Codes,
        room: tuple[Integers, Integers] | None = None,
    ) -> Table:
        keys, sizes = _arrays(table) if room is None else room
        labels, made = column.climb(low, high), (keys, sizes, inverse)
        if table.keys.ndim > 1:
            size = roll_up_wide(table.keys, table.sizes, column.field, labels, *made)
        else:
            # only the first table, and one whose stems change, has to be sorted
            apart = table is self.bottom or column.field[1] >= self._dense
            order = together(table.keys, column.field, labels, self._dense) if apart else AS_IT_IS
            size = roll_up(table.keys, table.sizes, order, column.field, labels, self._dense, *made)
        people = table.population
        return Table(
            keys=keys[:size],
            sizes=sizes[:size],
            sensitive=Occurring(table.sensitive, inverse, size) if self._traced else NOTHING,
            population=None if people is None else added(inverse, people, size),
        )

    def _keep(self, levels: Levels, table: Table) -> Table:
        kept = self._kept[levels] = table.settled()
        self._kept_bytes += kept.bytes
        while self._kept_bytes > self._room and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.bytes
        return kept


def _arrays(table: Table) -> tuple[Integers, Integers]:
    """Return arrays for the keys and sizes of a table rolled up from this one."""
    return np.empty(table.keys.shape, np.int64), np.empty(len(table), np.int64)


def _trimmed(part: Integers) -> Integers:
    """Return a copy if more than a quarter of the whole array is unused."""
    whole = part.base
    return part.copy() if isinstance(whole, np.ndarray) and 4 * len(part) < 3 * len(whole) else part


def _without_zeros(levels: Levels) -> Levels:
    end = len(levels)
    while end and levels[end - 1] == 0:
        end -= 1
    return levels[:end]
