"""Generalization hierarchies: how the values of a quasi-identifier are made coarser, level by level.

An entry of the policy becomes a `HierarchySpec` of one of the kinds below; a spec applied to the values of a
column gives a `Hierarchy`. A column uses the hierarchy that it names, else the one with its own name, else a
draft from its declaration, else a flat hierarchy with "*" above its values.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

from discreet.anonymity.hierarchies.date_periods import Dates
from discreet.anonymity.hierarchies.generalization_hierarchy import (
    MISSING,
    Hierarchy,
    HierarchySpec,
    add_missing_value,
    build_column_hierarchy,
    hierarchy_from_rows,
)
from discreet.anonymity.hierarchies.hierarchy_drafts import draft_hierarchy, to_day
from discreet.anonymity.hierarchies.hierarchy_formats import (
    ListedHierarchy,
    hierarchy_to_csv,
    hierarchy_to_table,
    read_hierarchy_csv,
)
from discreet.anonymity.hierarchies.interval_hierarchy import Intervals
from discreet.anonymity.hierarchies.label_parsing import parse_label
from discreet.anonymity.hierarchies.listed_hierarchies import Flat, Order, Tree
from discreet.anonymity.hierarchies.mask_hierarchy import Mask
from discreet.core.errors import RequestError
from discreet.core.hierarchy_entry import HierarchyEntry, MaskSide
from discreet.core.policy import Column, ColumnType, Policy


def build_spec(name: str, entry: HierarchyEntry, column: Column | None = None) -> HierarchySpec:
    """Return the spec of a policy entry; a domain that the entry lacks is taken from the column."""
    return KINDS[entry.kind](name, entry, column or Column())


def build_column_spec(name: str, column: Column, policy: Policy | None = None) -> HierarchySpec:
    """Return the spec of a column's hierarchy: named, of the column's name, drafted, or flat."""
    known = {} if policy is None else policy.hierarchies
    called = column.hierarchy or name
    entry = known.get(called) or draft_hierarchy(column)
    return Flat(name=name, values=column.values or ()) if entry is None else build_spec(called, entry, column)


def _build_intervals(name: str, entry: HierarchyEntry, column: Column) -> HierarchySpec:
    low, high = _require_domain(name, entry, column)
    if isinstance(low, date) or isinstance(high, date):
        raise _build_missing_domain_error(name)
    given = [low, high, *(entry.widths or ()), *(cut for level in entry.cut_numbers for cut in level)]
    numbers = [Decimal(number) for number in given]
    return Intervals(
        name=name,
        low=numbers[0],
        high=numbers[1],
        step=column.resolution or Decimal(1),
        whole=column.type is not ColumnType.DECIMAL and all(number == int(number) for number in numbers),
        widths=tuple(map(Decimal, entry.widths or ())),
        cuts=entry.cut_numbers,
    )


def _build_dates(name: str, entry: HierarchyEntry, column: Column) -> HierarchySpec:
    low, high = _require_domain(name, entry, column)
    if not isinstance(low, date) or not isinstance(high, date):
        raise _build_missing_domain_error(name)
    times = column.type is ColumnType.TIMESTAMP
    return Dates(name=name, low=to_day(low), high=to_day(high), periods=entry.dates or (), times=times)


def _require_domain(
    name: str, entry: HierarchyEntry, column: Column
) -> tuple[int | Decimal | date, int | Decimal | date]:
    low, high = (entry.low, entry.high) if entry.low is not None else (column.low, column.high)
    if low is None or high is None:
        raise _build_missing_domain_error(name)
    return low, high


def _build_missing_domain_error(name: str) -> RequestError:
    return RequestError(
        f"The hierarchy {name} has no domain.",
        hint="Add low and high to it or to its column, from what is public.",
    )


def _build_mask(name: str, entry: HierarchyEntry, column: Column) -> HierarchySpec:
    return Mask(
        name=name,
        side=entry.mask or MaskSide.RIGHT,
        alphabet=entry.alphabet,
        length=entry.length,
        values=column.values or (),
    )


def _build_order(name: str, entry: HierarchyEntry, column: Column) -> HierarchySpec:
    widths = tuple(map(int, entry.widths or ()))
    return Order(name=name, values=entry.order or (), widths=widths, cuts=entry.cuts or ())


KINDS: dict[str, Callable[[str, HierarchyEntry, Column], HierarchySpec]] = {
    "csv": lambda name, entry, column: read_hierarchy_csv(name, Path(entry.csv or "")),
    "widths": _build_intervals,
    "cuts": _build_intervals,
    "mask": _build_mask,
    "tree": lambda name, entry, column: Tree(name=name, tree=entry.tree),
    "dates": _build_dates,
    "order": _build_order,
}

__all__ = [
    "KINDS",
    "MISSING",
    "Dates",
    "Flat",
    "Hierarchy",
    "HierarchySpec",
    "Intervals",
    "ListedHierarchy",
    "Mask",
    "Order",
    "Tree",
    "add_missing_value",
    "build_column_hierarchy",
    "build_column_spec",
    "build_spec",
    "draft_hierarchy",
    "hierarchy_from_rows",
    "hierarchy_to_csv",
    "hierarchy_to_table",
    "parse_label",
    "read_hierarchy_csv",
]
