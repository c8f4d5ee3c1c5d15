"""Row sources: translate tables, WHERE and row-level subqueries into relational algebra.

Subqueries  select and compute on rows, or total them per person; see `person_totals`. A subquery that groups
            by anything else is a query of its own; see `resolver`.
Names       are resolved here. Inside the plan a column is named by its source's internal name (without dots),
            a dot, and its own name; no two columns of a source differ only in case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from typing import NoReturn

from sqlglot import exp

from discreet.core.column_entry import Role
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.sql.declared_types import type_from_column
from discreet.sql.expression_tree import Column, Expression
from discreet.sql.expression_types import Family, Type, make_number_type
from discreet.sql.refusal import format_snippet, refuse_query, suggest_names
from discreet.sql.relational_algebra import KEY, LINK, Filter, PrivacyUnit, Project, Rows, Scan
from discreet.sql.scalar_expressions import resolve_condition, resolve_scalar
from discreet.sql.sql_names import find_name, fold_case, split_alias

WITHOUT_NAME = {"row": PrivacyUnit.ROW, "none": PrivacyUnit.NOBODY}


@dataclass(frozen=True)
class RowSource:
    """Rows under an alias: visible columns by name, the name of the person column, names never released.

    `links` and `keys` are hidden columns by which links join rows of the same person.
    """

    node: Rows
    names: Mapping[str, Column]
    person: str | None
    table: Table | None = None
    hidden_names: tuple[str, ...] = ()
    links: Mapping[str, Column] = field(default_factory=dict)
    keys: Mapping[str, Column] = field(default_factory=dict)

    @property
    def all_names(self) -> tuple[str, ...]:
        return (*self.names, *self.hidden_names)

    def make_optional(self) -> RowSource:
        """Return the source as the right side of a LEFT JOIN: person and values may be missing."""
        names = {
            name: replace(column, type=replace(column.type, is_nullable=True))
            for name, column in self.names.items()
        }
        return replace(self, names=names, person=None)


@dataclass(frozen=True)
class RowScope:
    """Resolves names among the sources in FROM."""

    sources: Mapping[str, RowSource]

    def resolve_column(self, node: exp.Column) -> Expression:
        found = self._find_sources(node)
        if len(found) > 1:
            aliases = " and ".join(format_snippet(alias) for alias, _ in found)
            refuse_query(f"the column {format_snippet(node)} is in {aliases}.", "Write alias.column.")
        if not found:
            self._refuse_unknown(node)
        name = find_name(node.name, found[0][1].all_names)
        if name is None or name not in found[0][1].names:
            people = self.find_person_source(node) is not None
            refuse_query(
                f"the column {format_snippet(node)} identifies people, so it is never released.",
                "Count people with COUNT(DISTINCT …), or join and group per person by it."
                if people
                else "Leave it out; people are counted by the person column of the first table, or as rows.",
            )
        return found[0][1].names[name]

    def resolve_special(self, node: exp.Expression) -> Expression | None:
        return None

    def find_person_source(self, node: exp.Expression) -> RowSource | None:
        """Return the source whose person column the node refers to; None for other nodes."""
        if not isinstance(node, exp.Column):
            return None
        for _, source in self._find_sources(node):
            if source.person is not None and fold_case(node.name) == fold_case(source.person):
                return source
        return None

    def find_source(self, node: exp.Expression) -> RowSource | None:
        """Return the only source that has a column; None if no source or several have it."""
        found = self._find_sources(node) if isinstance(node, exp.Column) else []
        return found[0][1] if len(found) == 1 else None

    def has_column(self, name: str) -> bool:
        return any(find_name(name, source.all_names) is not None for source in self.sources.values())

    def _find_sources(self, node: exp.Column) -> list[tuple[str, RowSource]]:
        return [
            (alias, source)
            for alias, source in self.sources.items()
            if (not node.table or fold_case(node.table) == fold_case(alias))
            and find_name(node.name, source.all_names) is not None
        ]

    def _refuse_unknown(self, node: exp.Column) -> NoReturn:
        if isinstance(node.this, exp.Star):
            refuse_query(f"«{format_snippet(node)}» would show rows.", "Name the columns, or aggregate.")
        if node.table and find_name(node.table, self.sources) is None:
            refuse_query(
                f"there is no table {format_snippet(node.table)} in FROM.",
                suggest_names(node.table, self.sources),
            )
        names = [name for source in self.sources.values() for name in source.names]
        refuse_query(f"there is no column {format_snippet(node)}.", suggest_names(node.name, names))


def scan_table(policy: Policy, name: str, alias: str) -> RowSource:
    """Return a declared table, truncated to each person's first rows by rank."""
    table_name = find_name(name, policy.tables)
    if table_name is None:
        refuse_query(f"there is no table {format_snippet(name)}.", suggest_names(name, policy.tables))
    table = policy.tables[table_name]
    stored = [each for each, column in table.columns.items() if column.role is not Role.IDENTIFIER]
    columns = {
        each: Column(
            name=f"{alias}.{each}",
            type=_bound_by_midnight(type_from_column(table.columns[each])),
            is_scaled=type_from_column(table.columns[each]).is_exact,
            is_clamped=table.columns[each].grid_bounds is not None,
        )
        for each in stored
    }
    people = PrivacyUnit.COLUMN if table.has_person_key else WITHOUT_NAME[str(table.person)]
    links = {
        each: _make_hidden_column(alias, f"{LINK} {each}") for each in policy.find_person_links(table_name)
    }
    keys = {each: _make_hidden_column(alias, f"{KEY} {each}") for each in policy.find_person_keys(table_name)}
    own = (*links.values(), *keys.values())
    rows = table.rows_per_person * (table.groups_per_person or 1)
    node = Scan(
        table=table_name,
        alias=alias,
        columns=(*columns.values(), *own),
        stored=(*stored, *(each.name.removeprefix(f"{alias}.") for each in own)),
        people=people,
        rows=rows,
        row_limit=rows if people is PrivacyUnit.COLUMN else None,
    )
    hidden = tuple(each for each in table.columns if each not in columns)
    return RowSource(node, columns, table.person_column, table, hidden, links, keys)


def _make_hidden_column(alias: str, stored: str) -> Column:
    return Column(name=f"{alias}.{stored}", type=make_number_type(step=Fraction(1)))


def _bound_by_midnight(kind: Type) -> Type:
    """Convert timestamp bounds that the policy gives as dates to midnight, so that they compare."""
    if kind.family is not Family.TIMESTAMP:
        return kind
    first, last = (_to_midnight(each) for each in (kind.first, kind.last))
    return replace(kind, first=first, last=last)


def _to_midnight(day: date | datetime | None) -> datetime | None:
    return day if day is None or isinstance(day, datetime) else datetime(day.year, day.month, day.day)


def apply_where(node: Rows, where: exp.Expression | None, scope: RowScope) -> Rows:
    if where is None:
        return node
    return Filter(source=node, condition=resolve_condition(where.this, scope, "WHERE"))


@dataclass(frozen=True)
class SubqueryColumns:
    """Uniquely named columns of a subquery; the person column may be among them but has no value."""

    alias: str
    columns: dict[str, Column]
    person_names: list[str]

    def take_projection(
        self, projection: exp.Expression, scope: RowScope
    ) -> tuple[str, exp.Expression] | None:
        """Return the name and the expression of a projection; None if it is the person column."""
        name, inner = split_alias(projection)
        if name.casefold() in {each.casefold() for each in (*self.columns, *self.person_names)}:
            refuse_query(
                f"the subquery names two columns {format_snippet(name)}.", "Give each a name of its own."
            )
        if scope.find_person_source(inner) is None:
            return name, inner
        self.person_names.append(name)
        return None

    def add_column(self, name: str, expression: Expression) -> Expression:
        own, kind = f"{self.alias}.{name}", expression.type
        clamped = isinstance(expression, Column) and expression.is_clamped
        self.columns[name] = Column(name=own, type=kind, is_scaled=kind.is_exact, is_clamped=clamped)
        return expression

    def build_source(self, node: Rows) -> RowSource:
        person = self.person_names[0] if self.person_names else None
        return RowSource(node, self.columns, person, hidden_names=tuple(self.person_names))


def project_rows(select: exp.Select, scope: RowScope, node: Rows, alias: str) -> RowSource:
    """Return the rows of a row-level subquery, with its columns under their output names."""
    outputs = SubqueryColumns(alias, {}, [])
    expressions: list[Expression] = []
    for projection in _expand_stars(select, scope):
        taken = outputs.take_projection(projection, scope)
        if taken is None:
            continue
        name, inner = taken
        expressions.append(outputs.add_column(name, resolve_scalar(inner, scope)))
    columns = tuple(outputs.columns.values())
    return outputs.build_source(Project(source=node, columns=columns, expressions=tuple(expressions)))


def _expand_stars(select: exp.Select, scope: RowScope) -> list[exp.Expression]:
    """Return the projections with * and alias.* expanded; the person column appears once."""
    spread: list[exp.Expression] = []
    for projection in select.expressions:
        star = isinstance(projection, exp.Star)
        if not star and not (isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)):
            spread.append(projection)
            continue
        people: set[str] = set()
        for alias, source in scope.sources.items():
            if star or fold_case(projection.table) == fold_case(alias):
                spread += [exp.column(name, table=alias, quoted=True) for name in source.names]
                if source.person is not None and fold_case(source.person) not in people:
                    people.add(fold_case(source.person))
                    spread.append(exp.column(source.person, table=alias, quoted=True))
    return spread
