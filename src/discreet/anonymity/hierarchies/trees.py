"""Hierarchies as trees: groups of groups of values.

A value with fewer groups above it than others is repeated, so that a level has the same depth for all values:
{"*": {Asia: [Japan], America: {North: [US]}}} gives Japan, Japan, Asia, * and US, North, America, *.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.hierarchies.spec import over_rows
from discreet.core.hierarchies import leaves


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Mappings of groups and lists of values; the policy's validation has checked them."""

    name: str
    tree: Any

    def over(self, values: Iterable[str]) -> Hierarchy:
        return over_rows(self, self.rows, values)

    def uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if value not in self._known)

    def domain(self) -> tuple[str, ...]:
        return tuple(row[0] for row in self.rows)

    @cached_property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Each value followed by its groups, up to the top."""
        paths = list(leaves(self.tree))
        depth = max(map(len, paths))
        return tuple((*[path[-1]] * (depth - len(path)), *reversed(path)) for path in paths)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.domain())
