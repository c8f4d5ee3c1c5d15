"""Hierarchies of values that an attacker with the policy may use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.anonymity.hierarchies import Hierarchy, HierarchySpec, build_column_hierarchy, build_column_spec
from discreet.attacks.published_table import PublishedTable
from discreet.core.hierarchy_entry import MissingValues
from discreet.core.policy import Policy, Table


def find_declared_specs(names: Iterable[str], table: Table, policy: Policy) -> dict[str, HierarchySpec]:
    """Return the hierarchies that a policy declares for some columns; drafted ones are left out."""
    columns = {name: table.columns[name] for name in names if name in table.columns}
    return {
        name: build_column_spec(name, column, policy)
        for name, column in columns.items()
        if (column.hierarchy or name) in policy.hierarchies
    }


def build_covering_hierarchy(spec: HierarchySpec, values: Iterable[str]) -> Hierarchy:
    """Return a hierarchy over the values that it covers."""
    given = list(values)
    beyond = set(spec.find_uncovered([value for value in given if value]))
    covered = [value for value in given if value not in beyond]
    return build_column_hierarchy(spec, covered, missing=MissingValues.CATEGORY, column=spec.name)


def build_sensitive_hierarchies(
    published: PublishedTable, specs: Mapping[str, HierarchySpec]
) -> dict[str, Hierarchy]:
    """Return the hierarchies of sensitive columns, over the values in a release."""
    return {
        name: build_covering_hierarchy(specs[name], column.names)
        for name, column in published.classes.sensitive.items()
        if name in specs
    }
