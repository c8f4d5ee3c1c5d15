"""A policy's table as the models of anonymity see it: quasi-identifiers, sensitive columns, hierarchies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from discreet.anonymity.hierarchies import (
    Hierarchy,
    HierarchySpec,
    build_column_hierarchy,
    build_column_spec,
)
from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.anonymity.models import Model
from discreet.anonymity.tuple_counts import (
    Combinations,
    ReleaseSource,
)
from discreet.core.column_entry import ColumnType, Role
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.table_entry import Table

NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.DATE, ColumnType.TIMESTAMP)


def build_release_source(
    name: str,
    table: Table,
    models: Sequence[Model],
    *,
    unit: str | None = None,
    population: str | None = None,
) -> ReleaseSource:
    """Return the release source of a policy's table; raise if a column is missing or has the wrong role."""
    quasi = tuple(each for each, column in table.columns.items() if column.role is Role.QUASI)
    if not quasi:
        raise RequestError(
            "anonymize: the table has no quasi-identifiers.",
            hint="Give role: quasi to the columns that an attacker may know, in the policy or with `quasi=`.",
        )
    wanted = dict.fromkeys(model.column for model in models if model.column is not None)
    for column in wanted:
        if column not in table.columns:
            raise RequestError(
                f"anonymize: a model is about the column {column}, which the table does not have.",
                hint=f"It has {', '.join(table.columns)}.",
            )
        if column in quasi:
            raise RequestError(
                f"anonymize: {column} is a quasi-identifier, so no model can treat it as sensitive.",
                hint="Give it role: sensitive, or leave the model out.",
            )
    sensitive = [each for each, column in table.columns.items() if column.role is Role.SENSITIVE]
    person = None if table.person in ("row", "none") or unit == "row" else table.person
    if not isinstance(person, str | None):
        raise RequestError(
            f"anonymize: the people in {name} are identified by another table.",
            hint='Publish a table with its own person column, or count rows with `unit="row"`.',
        )
    return ReleaseSource(
        table=name,
        quasi=quasi,
        sensitive=tuple(dict.fromkeys([*wanted, *sensitive])),
        person=person,
        population=population,
    )


def build_hierarchies(
    combinations: Combinations, table: Table, policy: Policy, *, span_domain: bool = False
) -> tuple[Hierarchy, ...]:
    """Return the hierarchy of every quasi-identifier over the values that occur, named after its column.

    With `span_domain`, hierarchies of numbers and times cover the whole declared domain, so that an interval
    can end at any value and not only at values that occur.
    """
    made = []
    for name, found in combinations.collect_values().items():
        column = table.columns[name]
        spec = build_column_spec(name, column, policy)
        values = _span_domain(spec, found) if span_domain and column.type in NUMBERS else found
        made.append(
            replace(build_column_hierarchy(spec, values, missing=column.missing, column=name), name=name)
        )
    return tuple(made)


def _span_domain(spec: HierarchySpec, found: Collection[str]) -> list[str]:
    present = set(found)
    numbers = {parse_number(value) for value in found} - {None}
    between = (
        value
        for value in spec.list_example_values()
        if value not in present and parse_number(value) not in numbers
    )
    return [*found, *between]
