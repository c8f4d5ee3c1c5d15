"""Preview of a hierarchy over a declared domain, and whether it fits its column: no data is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from discreet.anonymity.hierarchies import (
    Dates,
    Flat,
    Hierarchy,
    HierarchySpec,
    Intervals,
    ListedHierarchy,
    Mask,
    Order,
    Tree,
    build_column_spec,
    build_spec,
    draft_hierarchy,
)
from discreet.core.errors import RequestError
from discreet.core.hierarchy_entry import HierarchyEntry, iterate_leaf_paths
from discreet.core.policy import Column, ColumnType, Policy, Table
from discreet.core.sql_quoting import quote_identifier
from discreet.services.policy_errors import find_nearest_name
from discreet.services.publishers import open_publisher

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


KINDS: dict[type[HierarchySpec], str] = {
    ListedHierarchy: "listing",
    Intervals: "intervals",
    Mask: "mask",
    Tree: "tree",
    Dates: "dates",
    Order: "order",
    Flat: "flat",
}


@dataclass(frozen=True, kw_only=True)
class HierarchyPreview:
    """A hierarchy over its domain, and the column that it belongs to, if any.

    `is_complete` is whether the whole domain is shown; otherwise a part of it, or example values.
    """

    spec: HierarchySpec
    hierarchy: Hierarchy
    is_complete: bool
    is_draft: bool
    kind: str
    table: str | None = None
    column: str | None = None
    table_entry: Table | None = None


def preview_hierarchy(policy: Policy, name: str) -> HierarchyPreview:
    """Return the hierarchy of a column, or of a name under `hierarchies`."""
    columns = _find_columns(policy, name)
    if not columns and name not in policy.hierarchies:
        raise _unknown_name_error(policy, name)
    if not columns:
        return _preview_domain(build_spec(name, policy.hierarchies[name]), Column(), is_draft=False)
    (table, column), *others = columns
    facts = policy.tables[table].columns[column]
    if any(policy.tables[other].columns[its] != facts for other, its in others):
        raise RequestError(
            f"hierarchy: tables declare different columns for {name}.",
            hint=f"Name one of them, such as {table}.{column}.",
        )
    found = build_column_spec(column, facts, policy)
    drafted = (facts.hierarchy or column) not in policy.hierarchies and draft_hierarchy(facts) is not None
    return _preview_domain(found, facts, is_draft=drafted, table=table, column=column, policy=policy)


def _find_columns(policy: Policy, name: str) -> list[tuple[str, str]]:
    """Return the columns of that name, else the first that refers to a hierarchy of that name."""
    every = [(table, column) for table, entry in policy.tables.items() for column in entry.columns]
    named = [(table, column) for table, column in every if name in (column, f"{table}.{column}")]
    referring = [
        (table, column) for table, column in every if policy.tables[table].columns[column].hierarchy == name
    ]
    return named or referring[:1]


def _preview_domain(
    spec: HierarchySpec,
    facts: Column,
    *,
    is_draft: bool,
    table: str | None = None,
    column: str | None = None,
    policy: Policy | None = None,
) -> HierarchyPreview:
    open_ended = isinstance(spec, Mask | Flat)
    values = (facts.values or ()) if open_ended else spec.list_example_values()
    shown_values = values or spec.list_example_values()
    hierarchy = spec.build_hierarchy(shown_values)
    partial = isinstance(spec, Intervals | Dates) and len(shown_values) < hierarchy.size
    return HierarchyPreview(
        spec=spec,
        hierarchy=hierarchy,
        is_complete=bool(values) and not partial,
        is_draft=is_draft,
        kind=KINDS[type(spec)],
        table=table,
        column=column,
        table_entry=None if policy is None or table is None else policy.tables[table],
    )


def _unknown_name_error(policy: Policy, name: str) -> RequestError:
    known = [*policy.hierarchies, *(column for table in policy.tables.values() for column in table.columns)]
    meant = find_nearest_name(name, known)
    return RequestError(
        f"hierarchy: the policy has no column and no hierarchy {name}.",
        hint=f"Did you mean {meant}?" if meant else "Name one that it has.",
    )


def read_distinct_values(name: str, table: Table, column: str, address: str) -> list[str | None]:
    """Return the distinct values of the column as sorted text, with None if a value is missing."""
    rows = table.model_copy(update={"columns": {column: table.columns[column]}, "links": {}, "person": "row"})
    with open_publisher(address, {name: rows}) as engine:
        text = (
            f"SELECT DISTINCT CAST({quote_identifier(column)} AS VARCHAR) AS v FROM {quote_identifier(name)}"
        )
        found = engine.count(text).secret["v"].to_pylist()
    return sorted(found, key=lambda value: (value is None, value or ""))
