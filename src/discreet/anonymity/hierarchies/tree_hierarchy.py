"""Hierarchies as trees: groups of groups of values.

A value with fewer groups above it than others is repeated, so that a level has the same depth for all values:
{"*": {Asia: [Japan], America: {North: [US]}}} gives Japan, Japan, Asia, * and US, North, America, *.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy, build_listed_hierarchy
from discreet.core.hierarchy_entry import iterate_leaf_paths


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
