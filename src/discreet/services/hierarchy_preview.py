"""Preview of a hierarchy over a declared domain: no data is read."""

from __future__ import annotations

from dataclasses import dataclass

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
from discreet.core.column_entry import Column
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.services.policy_errors import find_nearest_name
from discreet.services.publishers import open_publisher

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
