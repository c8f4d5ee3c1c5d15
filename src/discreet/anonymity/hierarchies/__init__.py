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

from discreet.anonymity.hierarchies.dates import Dates
from discreet.anonymity.hierarchies.drafts import day, draft
from discreet.anonymity.hierarchies.export import as_csv, as_table
from discreet.anonymity.hierarchies.flat import Flat
from discreet.anonymity.hierarchies.hierarchy import Hierarchy, listed
from discreet.anonymity.hierarchies.intervals import Intervals
from discreet.anonymity.hierarchies.labels import read
from discreet.anonymity.hierarchies.listing import Listing, read_csv
from discreet.anonymity.hierarchies.mask import Mask
from discreet.anonymity.hierarchies.order import Order
from discreet.anonymity.hierarchies.spec import MISSING, Spec, over_column, with_missing
from discreet.anonymity.hierarchies.trees import Tree
from discreet.core.errors import RequestError
from discreet.core.hierarchies import HierarchyEntry, Side
from discreet.core.policy import Column, Kind, Policy


def spec(name: str, entry: HierarchyEntry, column: Column | None = None) -> Spec:
    """Return the spec of a policy entry; a domain that the entry lacks is taken from the column."""
    return KINDS[entry.kind](name, entry, column or Column())


def spec_of(name: str, column: Column, policy: Policy | None = None) -> Spec:
    """Return the spec of a column's hierarchy: named, of the column's name, drafted, or flat."""
    known = {} if policy is None else policy.hierarchies
    called = column.hierarchy or name
    entry = known.get(called) or draft(column)
    return Flat(name=name, values=column.values or ()) if entry is None else spec(called, entry, column)


def _intervals(name: str, entry: HierarchyEntry, column: Column) -> Spec:
    low, high = _domain(name, entry, column)
    if isinstance(low, date) or isinstance(high, date):
        raise _without_domain(name)
    given = [low, high, *(entry.widths or ()), *(cut for level in entry.cut_numbers for cut in level)]
    numbers = [Decimal(number) for number in given]
    return Intervals(
        name=name,
        low=numbers[0],
        high=numbers[1],
        step=column.resolution or Decimal(1),
        whole=column.type is not Kind.DECIMAL and all(number == int(number) for number in numbers),
        widths=tuple(map(Decimal, entry.widths or ())),
        cuts=entry.cut_numbers,
    )


def _dates(name: str, entry: HierarchyEntry, column: Column) -> Spec:
    low, high = _domain(name, entry, column)
    if not isinstance(low, date) or not isinstance(high, date):
        raise _without_domain(name)
    times = column.type is Kind.TIMESTAMP
    return Dates(name=name, low=day(low), high=day(high), periods=entry.dates or (), times=times)


def _domain(
    name: str, entry: HierarchyEntry, column: Column
) -> tuple[int | Decimal | date, int | Decimal | date]:
    low, high = (entry.low, entry.high) if entry.low is not None else (column.low, column.high)
    if low is None or high is None:
        raise _without_domain(name)
    return low, high


def _without_domain(name: str) -> RequestError:
    return RequestError(
        f"The hierarchy {name} has no domain.",
        hint="Add low and high to it or to its column, from what is public.",
    )


def _mask(name: str, entry: HierarchyEntry, column: Column) -> Spec:
    return Mask(
        name=name,
        side=entry.mask or Side.RIGHT,
        alphabet=entry.alphabet,
        length=entry.length,
        values=column.values or (),
    )


def _order(name: str, entry: HierarchyEntry, column: Column) -> Spec:
    widths = tuple(map(int, entry.widths or ()))
    return Order(name=name, values=entry.order or (), widths=widths, cuts=entry.cuts or ())


KINDS: dict[str, Callable[[str, HierarchyEntry, Column], Spec]] = {
    "csv": lambda name, entry, column: read_csv(name, Path(entry.csv or "")),
    "widths": _intervals,
    "cuts": _intervals,
    "mask": _mask,
    "tree": lambda name, entry, column: Tree(name=name, tree=entry.tree),
    "dates": _dates,
    "order": _order,
}

__all__ = [
    "KINDS",
    "MISSING",
    "Dates",
    "Flat",
    "Hierarchy",
    "Intervals",
    "Listing",
    "Mask",
    "Order",
    "Spec",
    "Tree",
    "as_csv",
    "as_table",
    "draft",
    "listed",
    "over_column",
    "read",
    "read_csv",
    "spec",
    "spec_of",
    "with_missing",
]
