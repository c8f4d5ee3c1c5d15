"""Hierarchies that list their values.

Flat    The hierarchy of a column without a declared one: its values, and "*" above them all.
Tree    Groups of groups of values. A value with fewer groups above it than others is repeated, so that a
        level has the same depth for all: {"*": {Asia: [Japan], America: {North: [US]}}} gives Japan, Japan,
        Asia, * and US, North, America, *.
Order   Ordered categories by consecutive runs: Preschool, 1st, 2nd, 3rd → Preschool to 1st, 2nd to 3rd → …
        The label of a run names its first and last value; a run of one value is labelled with that value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.anonymity.hierarchies.generalization_hierarchy import (
    TOP,
    Hierarchy,
    build_listed_hierarchy,
    hierarchy_from_keys,
    hierarchy_from_rows,
)
from discreet.core.errors import RequestError
from discreet.core.hierarchy_entry import iterate_leaf_paths


@dataclass(frozen=True, kw_only=True)
class Flat:
    """Any values with "*" above; values that the policy declares count for shares, in the data or not."""

    name: str
    values: tuple[str, ...] = ()

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        known = dict.fromkeys(self.values)
        rows = [(value, TOP) for value in (*known, *sorted(set(values) - known.keys()))]
        return (
            hierarchy_from_rows(self.name, rows) if rows else hierarchy_from_keys(self.name, (), [], size=1)
        )

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if value == "")

    def list_example_values(self) -> tuple[str, ...]:
        return self.values


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Mappings of groups and lists of values; the policy's validation has checked them."""

    name: str
    tree: Any

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        return build_listed_hierarchy(self, self.rows, values)

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if value not in self._covered_values)

    def list_example_values(self) -> tuple[str, ...]:
        return tuple(row[0] for row in self.rows)

    @cached_property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Each value followed by its groups, up to the top."""
        paths = list(iterate_leaf_paths(self.tree))
        depth = max(map(len, paths))
        return tuple((*[path[-1]] * (depth - len(path)), *reversed(path)) for path in paths)

    @cached_property
    def _covered_values(self) -> frozenset[str]:
        return frozenset(self.list_example_values())


@dataclass(frozen=True, kw_only=True)
class Order:
    """Values in rising order, in runs of `widths` values or in runs that begin at the `cuts` of each level.

    Without either, runs double from level to level.
    """

    name: str
    values: tuple[str, ...]
    widths: tuple[int, ...] = ()
    cuts: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        known = set(self.values)
        for row in self.rows:
            clash = [label for label in row[1:] if label in known and label != row[0]]
            if clash:
                raise RequestError(
                    f"The hierarchy {self.name} has a value {clash[0]!r} that is also the label of a run.",
                    hint="Rename the value, or write the groups as a tree.",
                )

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        return build_listed_hierarchy(self, self.rows, values)

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        known = set(self.values)
        return tuple(value for value in values if value not in known)

    def list_example_values(self) -> tuple[str, ...]:
        return self.values

    @cached_property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Each value followed by the labels of its runs."""
        levels = [self._label_runs(starts) for starts in self._find_run_starts()]
        return tuple(zip(self.values, *levels, strict=True))

    def _find_run_starts(self) -> list[list[int]]:
        """Return the positions at which runs begin, for each level."""
        if self.cuts:
            return [sorted({0, *map(self.values.index, level)}) for level in self.cuts]
        count = len(self.values)
        doubling = tuple(2**power for power in range(1, count.bit_length()) if 2**power < count)
        return [list(range(0, count, width)) for width in self.widths or doubling]

    def _label_runs(self, starts: list[int]) -> list[str]:
        ends = [*starts[1:], len(self.values)]
        names = [self._format_run(start, end) for start, end in zip(starts, ends, strict=True)]
        return [names[bisect_right(starts, place) - 1] for place in range(len(self.values))]

    def _format_run(self, start: int, end: int) -> str:
        first, last = self.values[start], self.values[end - 1]
        return first if end - start == 1 else f"{first} to {last}"
