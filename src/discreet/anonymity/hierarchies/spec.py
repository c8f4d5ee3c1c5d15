"""What a kind of hierarchy is before it meets values, and what becomes of values that it does not cover.

Missing     NULL and the empty text are one: a missing value. A column declares what becomes of it: a category
            of its own, which is shown as the empty text at every level below the top, or its rows are left
            out. A list that holds the empty text says itself what becomes of it. Undeclared, it is refused.
Uncovered   refused by number, never by value: what is raised may end in a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from discreet.anonymity.hierarchies.hierarchy import TOP, Hierarchy, listed
from discreet.core.errors import DataError
from discreet.core.hierarchies import Missing

MISSING = ""


class Spec(Protocol):
    """One kind of hierarchy with its parameters; a frozen dataclass."""

    @property
    def name(self) -> str:
        """What the policy calls it."""

    def over(self, values: Iterable[str]) -> Hierarchy:
        """Its levels for these values, and for all that it lists; refuses values that it does not cover."""

    def uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        """The values that it does not cover: for the custodian's eyes."""

    def domain(self) -> tuple[str, ...]:
        """What it can be shown with before there is data: its values, or some where they are too many."""


def over_column(
    spec: Spec, values: Iterable[str | None], *, missing: Missing | None = None, column: str = ""
) -> Hierarchy:
    """The hierarchy over the values of a column, some of which may be missing."""
    distinct = set(values)
    present = sorted(value for value in distinct if value)
    if not distinct - set(present):
        return spec.over(present)
    if not spec.uncovered([MISSING]):
        return spec.over([*present, MISSING])
    if missing is None:
        raise DataError(
            f"Some rows have no value in column {column or spec.name}, and the policy does not say what "
            "becomes of them.",
            hint="Add missing: category (they are a group of their own) or missing: suppress to the column.",
        )
    hierarchy = spec.over(present)
    return hierarchy if missing == Missing.SUPPRESS else with_missing(hierarchy)


def with_missing(hierarchy: Hierarchy) -> Hierarchy:
    """The same hierarchy with a missing value, which meets the others at the top only."""
    if hierarchy.height == 0:
        hierarchy = _topped(hierarchy)
    below = range(hierarchy.height)
    size = hierarchy.size + 1
    labels = [(*hierarchy.labels[level], MISSING) for level in below]
    maps = [np.append(hierarchy.maps[level], np.int32(len(hierarchy.labels[level]))) for level in below]
    shares = [np.append(hierarchy.shares[level] * hierarchy.size, 1.0) / size for level in below]
    return Hierarchy(
        name=hierarchy.name,
        labels=(*labels, (TOP,)),
        maps=(*maps, np.zeros(len(labels[0]), np.int32)),
        shares=(*shares, np.ones(1)),
        size=size,
        declared=hierarchy.declared,
    )


def over_rows(spec: Spec, rows: Sequence[Sequence[str]], values: Iterable[str]) -> Hierarchy:
    """The hierarchy of a list, which has every value that it covers."""
    refuse(spec.name, len(spec.uncovered(values)))
    return listed(spec.name, rows)


def refuse(name: str, uncovered: int) -> None:
    """Refuse a hierarchy that leaves values out."""
    if uncovered:
        values = "one value" if uncovered == 1 else f"{uncovered} of the values"
        raise DataError(
            f"The hierarchy {name} does not cover {values} in the data.",
            hint="Add what it lacks, or widen its domain; where a policy declares the column, "
            f"`discreet hierarchy {name} --uncovered` lists them.",
        )


def _topped(hierarchy: Hierarchy) -> Hierarchy:
    return replace(
        hierarchy,
        labels=(*hierarchy.labels, (TOP,)),
        maps=(*hierarchy.maps, np.zeros(len(hierarchy.values), np.int32)),
        shares=(*hierarchy.shares, np.ones(1)),
    )
