"""The hierarchy of a column without a declared one: its values, and "*" above them all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.anonymity.hierarchies.hierarchy import TOP, Hierarchy, keyed, listed


@dataclass(frozen=True, kw_only=True)
class Flat:
    """Any values with "*" above; values that the policy declares count for shares, in the data or not."""

    name: str
    values: tuple[str, ...] = ()

    def over(self, values: Iterable[str]) -> Hierarchy:
        known = dict.fromkeys(self.values)
        rows = [(value, TOP) for value in (*known, *sorted(set(values) - known.keys()))]
        return listed(self.name, rows) if rows else keyed(self.name, (), [], size=1)

    def uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if value == "")

    def domain(self) -> tuple[str, ...]:
        return self.values
