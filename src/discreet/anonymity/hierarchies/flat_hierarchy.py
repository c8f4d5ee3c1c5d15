"""The hierarchy of a column without a declared one: its values, and "*" above them all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.anonymity.hierarchies.generalization_hierarchy import (
    TOP,
    Hierarchy,
    hierarchy_from_keys,
    hierarchy_from_rows,
)


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
