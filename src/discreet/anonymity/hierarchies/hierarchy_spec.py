"""The protocol of a hierarchy's specification, and the treatment of values that it does not cover.

Missing     NULL and the empty text are both a missing value. The column declares its treatment: a category of
            its own, shown as the empty text at every level below the top, or suppression of its rows. A list
            that contains the empty text gives it labels like any value. Otherwise a missing value is refused.
Uncovered   values are refused with their number, never by value: an error message may end in a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy, hierarchy_from_rows
from discreet.core.errors import DataError
from discreet.core.hierarchy_entry import MissingValues

MISSING = ""


class HierarchySpec(Protocol):
    """One kind of hierarchy with its parameters; a frozen dataclass."""

    @property
    def name(self) -> str:
        """The name of the hierarchy in the policy."""

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy for these and all listed values; raise if a value is not covered."""

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        """Return the values that it does not cover, for the custodian."""

    def list_example_values(self) -> tuple[str, ...]:
        """Return values to illustrate it without data: its own, or a sample where they are too many."""


def build_column_hierarchy(
    spec: HierarchySpec,
    values: Iterable[str | None],
    *,
    missing: MissingValues | None = None,
    column: str = "",
) -> Hierarchy:
    """Return the hierarchy over the values of a column, some of which may be missing."""
    distinct = set(values)
    present = sorted(value for value in distinct if value)
    if not distinct - set(present):
        return spec.build_hierarchy(present)
    if not spec.find_uncovered([MISSING]):
        return spec.build_hierarchy([*present, MISSING])
    if missing is None:
        raise DataError(
            f"Some rows have no value in column {column or spec.name}, and the policy does not declare how "
            "to treat them.",
            hint="Add missing: category (they form their own group) or missing: suppress to the column.",
        )
    hierarchy = spec.build_hierarchy(present)
    return hierarchy if missing == MissingValues.SUPPRESS else add_missing_value(hierarchy)


def add_missing_value(hierarchy: Hierarchy) -> Hierarchy:
    """Return the hierarchy with a missing value that joins the others only at the top."""
    if hierarchy.height == 0:
        hierarchy = _add_top(hierarchy)
    below = range(hierarchy.height)
    size = hierarchy.size + 1  # the missing value is one more value of the domain
    labels = [(*hierarchy.labels[level], MISSING) for level in below]
    maps = [np.append(hierarchy.maps[level], np.int32(len(hierarchy.labels[level]))) for level in below]
    shares = [np.append(hierarchy.shares[level] * hierarchy.size, 1.0) / size for level in below]
    return Hierarchy(
        name=hierarchy.name,
        labels=(*labels, (TOP,)),
        maps=(*maps, np.zeros(len(labels[0]), np.int32)),
        shares=(*shares, np.ones(1)),
        size=size,
        is_declared=hierarchy.is_declared,
    )


def build_listed_hierarchy(
    spec: HierarchySpec, rows: Sequence[Sequence[str]], values: Iterable[str]
) -> Hierarchy:
    """Return the hierarchy of a list, after checking that it covers all values."""
    refuse_uncovered(spec.name, len(spec.find_uncovered(values)))
    return hierarchy_from_rows(spec.name, rows)


def refuse_uncovered(name: str, uncovered: int) -> None:
    """Raise if a hierarchy does not cover some values of the data."""
    if uncovered:
        values = "one value" if uncovered == 1 else f"{uncovered} of the values"
        raise DataError(
            f"The hierarchy {name} does not cover {values} in the data.",
            hint="Add the missing values, or widen its domain; where a policy declares the column, "
            f"`discreet hierarchy {name} --uncovered` lists them.",
        )


def _add_top(hierarchy: Hierarchy) -> Hierarchy:
    return replace(
        hierarchy,
        labels=(*hierarchy.labels, (TOP,)),
        maps=(*hierarchy.maps, np.zeros(len(hierarchy.values), np.int32)),
        shares=(*hierarchy.shares, np.ones(1)),
    )
