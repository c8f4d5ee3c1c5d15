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

from discreet.core.policy import Policy, Role, Table
from discreet.sql.expressions import Column, Expression
from discreet.sql.names import among, folded, named
from discreet.sql.refusal import known_names, refuse, shown
from discreet.sql.scalars import condition, scalar
from discreet.sql.tree import KEY, LINK, Filter, People, Project, Rows, Scan
from discreet.sql.types import Family, Type, number, of_column

WITHOUT_NAME = {"row": People.ROW, "none": People.NOBODY}


@dataclass(frozen=True)
class Named:
    """Rows under an alias: visible columns by name, the name of the person column, names never released.

    `links` and `keys` are hidden columns by which links join rows of the same person.
    """

    node: Rows
    names: Mapping[str, Column]
    person: str | None
    table: Table | None = None
    hidden: tuple[str, ...] = ()
    links: Mapping[str, Column] = field(default_factory=dict)
    keys: Mapping[str, Column] = field(default_factory=dict)

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.names, *self.hidden)

    def possibly_absent(self) -> Named:
        """Return the source as the right side of a LEFT JOIN: person and values may be missing."""
        names = {
            name: replace(column, type=replace(column.type, nullable=True))
            for name, column in self.names.items()
        }
        return replace(self, names=names, person=None)


@dataclass(frozen=True)
class RowScope:
    """Resolves names among the sources in FROM."""

    sources: Mapping[str, Named]

    def column(self, node: exp.Column) -> Expression:
        found = self._sources_of(node)
        if len(found) > 1:
            aliases = " and ".join(shown(alias) for alias, _ in found)
            refuse(f"the column {shown(node)} is in {aliases}.", "Write alias.column.")
        if not found:
            self._refuse_unknown(node)
        name = among(node.name, found[0][1].known)
        if name is None or name not in found[0][1].names:
            people = self.person_of(node) is not None
            refuse(
                f"the column {shown(node)} identifies people, so it is never released.",
                "Count people with COUNT(DISTINCT …), or join and group per person by it."
                if people
                else "Leave it out; people are counted by the person column of the first table, or as rows.",
            )
        return found[0][1].names[name]

    def other(self, node: exp.Expression) -> Expression | None:
        return None

    def person_of(self, node: exp.Expression) -> Named | None:
        """Return the source whose person column the node refers to; None for other nodes."""
        if not isinstance(node, exp.Column):
            return None
        for _, source in self._sources_of(node):
            if source.person is not None and folded(node.name) == folded(source.person):
                return source
        return None

    def source_of(self, node: exp.Expression) -> Named | None:
        """Return the only source that has a column; None if no source or several have it."""
        found = self._sources_of(node) if isinstance(node, exp.Column) else []
        return found[0][1] if len(found) == 1 else None

    def has(self, name: str) -> bool:
        return any(among(name, source.known) is not None for source in self.sources.values())

    def _sources_of(self, node: exp.Column) -> list[tuple[str, Named]]:
        return [
            (alias, source)
            for alias, source in self.sources.items()
            if (not node.table or folded(node.table) == folded(alias))
            and among(node.name, source.known) is not None
        ]

    def _refuse_unknown(self, node: exp.Column) -> NoReturn:
        if isinstance(node.this, exp.Star):
            refuse(f"«{shown(node)}» would show rows.", "Name the columns, or aggregate.")
        if node.table and among(node.table, self.sources) is None:
            refuse(f"there is no table {shown(node.table)} in FROM.", known_names(node.table, self.sources))
        names = [name for source in self.sources.values() for name in source.names]
        refuse(f"there is no column {shown(node)}.", known_names(node.name, names))


def scan(policy: Policy, name: str, alias: str) -> Named:
    """Return a declared table, truncated to each person's first rows by rank."""
    table_name = among(name, policy.tables)
    if table_name is None:
        refuse(f"there is no table {shown(name)}.", known_names(name, policy.tables))
    table = policy.tables[table_name]
    stored = [each for each, column in table.columns.items() if column.role is not Role.IDENTIFIER]
    columns = {
        each: Column(
            name=f"{alias}.{each}",
            type=_timed(of_column(table.columns[each])),
            scaled=of_column(table.columns[each]).exact,
            clamped=table.columns[each].grid is not None,
        )
        for each in stored
    }
    people = People.COLUMN if table.knows_people else WITHOUT_NAME[str(table.person)]
    links = {each: _hidden(alias, f"{LINK} {each}") for each in policy.own_links(table_name)}
    keys = {each: _hidden(alias, f"{KEY} {each}") for each in policy.own_keys(table_name)}
    own = (*links.values(), *keys.values())
    rows = table.rows_per_person * (table.groups_per_person or 1)
    node = Scan(
        table=table_name,
        alias=alias,
        columns=(*columns.values(), *own),
        stored=(*stored, *(each.name.removeprefix(f"{alias}.") for each in own)),
        people=people,
        rows=rows,
        kept=rows if people is People.COLUMN else None,
    )
    hidden = tuple(each for each in table.columns if each not in columns)
    return Named(node, columns, table.person_column, table, hidden, links, keys)


def _hidden(alias: str, stored: str) -> Column:
    return Column(name=f"{alias}.{stored}", type=number(step=Fraction(1)))


def _timed(kind: Type) -> Type:
    """Convert timestamp bounds that the policy gives as dates to midnight, so that they compare."""
    if kind.family is not Family.TIMESTAMP:
        return kind
    first, last = (_midnight(each) for each in (kind.first, kind.last))
    return replace(kind, first=first, last=last)


def _midnight(day: date | datetime | None) -> datetime | None:
    return day if day is None or isinstance(day, datetime) else datetime(day.year, day.month, day.day)


def filtered(node: Rows, where: exp.Expression | None, scope: RowScope) -> Rows:
    if where is None:
        return node
    return Filter(source=node, condition=condition(where.this, scope, "WHERE"))


@dataclass(frozen=True)
class Outputs:
    """Uniquely named columns of a subquery; the person column may be among them but has no value."""

    alias: str
    columns: dict[str, Column]
    people: list[str]

    def take(self, projection: exp.Expression, scope: RowScope) -> tuple[str, exp.Expression] | None:
        """Return the name and the expression of a projection; None if it is the person column."""
        name, inner = named(projection)
        if name.casefold() in {each.casefold() for each in (*self.columns, *self.people)}:
            refuse(f"the subquery names two columns {shown(name)}.", "Give each a name of its own.")
        if scope.person_of(inner) is None:
            return name, inner
        self.people.append(name)
        return None

    def add(self, name: str, expression: Expression) -> Expression:
        own, kind = f"{self.alias}.{name}", expression.type
        clamped = isinstance(expression, Column) and expression.clamped
        self.columns[name] = Column(name=own, type=kind, scaled=kind.exact, clamped=clamped)
        return expression

    def over(self, node: Rows) -> Named:
        person = self.people[0] if self.people else None
        return Named(node, self.columns, person, hidden=tuple(self.people))


def projected(select: exp.Select, scope: RowScope, node: Rows, alias: str) -> Named:
    """Return the rows of a row-level subquery, with its columns under their output names."""
    outputs = Outputs(alias, {}, [])
    expressions: list[Expression] = []
    for projection in _spread(select, scope):
        taken = outputs.take(projection, scope)
        if taken is None:
            continue
        name, inner = taken
        expressions.append(outputs.add(name, scalar(inner, scope)))
    columns = tuple(outputs.columns.values())
    return outputs.over(Project(source=node, columns=columns, expressions=tuple(expressions)))


def _spread(select: exp.Select, scope: RowScope) -> list[exp.Expression]:
    """Return the projections with * and alias.* expanded; the person column appears once."""
    spread: list[exp.Expression] = []
    for projection in select.expressions:
        star = isinstance(projection, exp.Star)
        if not star and not (isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)):
            spread.append(projection)
            continue
        people: set[str] = set()
        for alias, source in scope.sources.items():
            if star or folded(projection.table) == folded(alias):
                spread += [exp.column(name, table=alias, quoted=True) for name in source.names]
                if source.person is not None and folded(source.person) not in people:
                    people.add(folded(source.person))
                    spread.append(exp.column(source.person, table=alias, quoted=True))
    return spread
