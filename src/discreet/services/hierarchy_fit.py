"""Check that a hierarchy fits a column, as far as the policy alone determines it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from discreet.core.hierarchy_entry import HierarchyEntry, iterate_leaf_paths
from discreet.core.policy import Column, ColumnType

NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
DAYS = (ColumnType.DATE, ColumnType.TIMESTAMP)
TEXTS = (ColumnType.TEXT, ColumnType.CATEGORY, ColumnType.INTEGER)
TYPES: dict[str, tuple[ColumnType, ...]] = {"widths": NUMBERS, "cuts": NUMBERS, "dates": DAYS, "mask": TEXTS}


def find_hierarchy_misfit(name: str, entry: HierarchyEntry, column: Column) -> str | None:
    """Return what does not fit (type, domain or uncovered values), or None."""
    allowed = TYPES.get(entry.kind, tuple(ColumnType))
    if column.type not in allowed:
        listed = " or ".join(kind.value for kind in allowed)
        return f"the hierarchy {name} ({entry.kind}) needs type {listed}; this has {column.type.value}"
    if entry.kind in ("widths", "cuts", "dates"):
        return _find_domain_misfit(name, entry, column)
    covered = _list_covered_values(entry)
    missing = [value for value in column.values or () if covered is not None and value not in covered]
    if missing:
        return f"the hierarchy {name} lacks the value {missing[0]}: add it there"
    return None


def _find_domain_misfit(name: str, entry: HierarchyEntry, column: Column) -> str | None:
    if entry.low is None and column.low is None:
        return f"the hierarchy {name} needs low and high, here or with the hierarchy"
    if entry.low is None or entry.high is None or column.low is None or column.high is None:
        return None
    low, high = _to_comparable((entry.low, entry.high))
    if not all(low <= bound <= high for bound in _to_comparable((column.low, column.high))):
        return f"the hierarchy {name} goes from {entry.low} to {entry.high}, which leaves out some of this"
    return None


def _to_comparable(bounds: Iterable[int | Decimal | date]) -> tuple[Decimal, ...]:
    return tuple(
        Decimal(bound.toordinal()) if isinstance(bound, date) else Decimal(bound) for bound in bounds
    )


def _list_covered_values(entry: HierarchyEntry) -> frozenset[str] | None:
    """Return the values of a hierarchy that is written out in the policy, or None."""
    if entry.kind == "order":
        return frozenset(entry.order or ())
    return frozenset(path[-1] for path in iterate_leaf_paths(entry.tree)) if entry.kind == "tree" else None
