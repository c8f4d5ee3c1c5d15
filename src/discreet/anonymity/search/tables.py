"""Tables of a search: the distinct tuples at the levels of a node, made from those of a node below it.

Roll-up     Columns have an order, the one with most values first, because it merges most. The table of a node
            is made from the one whose last coarser column is a level lower (or lower still, where that was
            not made yet), and is kept for the nodes that need it. A column at level 0 costs nothing.
Numbers     Labels are renumbered to those that occur and packed into the bits of one key a row.
Memory      Kept tables hold LEAST_KEPT bytes, or four times the first table, up to MOST_KEPT; the one longest
            unused goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.classes import Classes, Codes, Integers, Sensitive, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.search.columns import Column, packed
from discreet.anonymity.search.kernels import added, roll_up, roll_up_wide, united

LEAST_KEPT = 64 << 20
MOST_KEPT = 384 << 20

NOTHING: Mapping[str, Sensitive] = {}

Levels = tuple[int, ...]


class Occurring(Mapping[str, Sensitive]):
    """The sensitive values of a table's classes, united from its source's when they are first asked for."""

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
    """The classes of a node: their keys, their sizes, and what occurs in them."""

    keys: Integers
    sizes: Integers
    sensitive: Mapping[str, Sensitive]
    population: Integers | None

    def __len__(self) -> int:
        return len(self.sizes)

    def settled(self) -> Table:
        """The same with everything counted and in arrays of its own, so that it needs no other."""
        held = {name: self.sensitive[name] for name in self.sensitive} if self.sensitive else NOTHING
        return Table(
            keys=self.keys.copy(), sizes=self.sizes.copy(), sensitive=held, population=self.population
        )

    @property
    def bytes(self) -> int:
        """The memory that it holds, near enough."""
        held = sum([len(one.values) for one in self.sensitive.values()]) if self.sensitive else 0
        return self.keys.nbytes + self.sizes.nbytes + 20 * held


class Tables:
    """The tables of one search."""

    def __init__(self, tuples: Tuples, hierarchies: Sequence[Hierarchy]) -> None:
        self.rows = tuples.rows
        self.columns, keys = packed(tuples, hierarchies)
        self.order = sorted(range(len(hierarchies)), key=lambda j: -len(self.columns[j].counts))
        self._traced = bool(tuples.sensitive) or tuples.population is not None
        self._slots = np.empty(1 << (2 * len(tuples)).bit_length(), np.int32)
        self._keys, self._sizes = np.empty_like(keys), np.empty(len(tuples), np.int64)
        self._kept: OrderedDict[Levels, Table] = OrderedDict()
        self._kept_bytes = 0
        self.bottom = Table(
            keys=keys, sizes=tuples.counts, sensitive=tuples.sensitive, population=tuples.population
        )
        self._room = min(max(LEAST_KEPT, 4 * self.bottom.bytes), MOST_KEPT)

    def at(self, levels: Sequence[int]) -> Table:
        """The classes of a node; what is not settled is overwritten when the next one is asked for."""
        return self._at(_without_zeros(tuple([levels[j] for j in self.order])))

    def partition(self, levels: Sequence[int]) -> tuple[Integers, Codes]:
        """The sizes of a node's classes, and the class of every tuple."""
        table, inverse = self.bottom, np.arange(len(self.bottom), dtype=np.int32)
        for column, level in zip(self.columns, levels, strict=True):
            if level:
                step = np.empty(len(table), np.int32)
                table = self._rolled_up(table, column, 0, level, step).settled()
                inverse = step[inverse]
        return table.sizes, inverse

    def classes(self, table: Table) -> Classes:
        """What the models judge."""
        return Classes(
            sizes=table.sizes, rows=self.rows, sensitive=table.sensitive, population=table.population
        )

    def _at(self, wanted: Levels) -> Table:
        """The table of levels in the order of roll-up, those after the last coarser column left out."""
        if not wanted:
            return self.bottom
        if wanted in self._kept:
            self._kept.move_to_end(wanted)
            return self._kept[wanted]
        *before, level = wanted
        for low in range(level - 1, 0, -1):
            if (*before, low) in self._kept:
                table = self._kept[*before, low]
                break
        else:
            low, table = 0, self._at(_without_zeros(tuple(before)))
        inverse = np.empty(len(table) if self._traced else 0, np.int32)
        made = self._rolled_up(table, self.columns[self.order[len(before)]], low, level, inverse)
        return made if len(wanted) == len(self.columns) else self._keep(wanted, made)

    def _rolled_up(self, table: Table, column: Column, low: int, high: int, inverse: Codes) -> Table:
        run = roll_up if table.keys.ndim == 1 else roll_up_wide
        size = run(
            table.keys,
            table.sizes,
            column.field,
            column.climb(low, high),
            self._keys,
            self._sizes,
            self._slots[: 1 << (2 * len(table)).bit_length()],
            inverse,
        )
        people = table.population
        return Table(
            keys=self._keys[:size],
            sizes=self._sizes[:size],
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


def _without_zeros(levels: Levels) -> Levels:
    end = len(levels)
    while end and levels[end - 1] == 0:
        end -= 1
    return levels[:end]
