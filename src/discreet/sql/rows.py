"""FROM, JOIN, WHERE and row-level subqueries: from sqlglot's nodes to a tree of rows.

Joins       by the person column of both tables, or by a foreign key that the policy declares. Anything else
            would let one person's row meet any number of others, so it is refused.
Subqueries  select and compute on rows, or make one row of each person (GROUP BY the person column alone).
            A subquery that groups by anything else is a question of its own; see `resolve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.core.policy import Policy, Role, Table
from discreet.sql.expressions import Column, Expression
from discreet.sql.refusal import refuse, shown
from discreet.sql.scalars import scalar
from discreet.sql.tree import Filter, Join, People, PerPerson, Project, Rows, Scan
from discreet.sql.types import Family, Type, number, of_column, whole

PER_PERSON: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


@dataclass(frozen=True)
class Named:
    """A tree under an alias: visible names to columns, and the person column's name where there is one."""

    node: Rows
    names: Mapping[str, Column]
    person: str | None
    table: Table | None = None


@dataclass(frozen=True)
class RowScope:
    """Looks names up in what FROM brought together."""

    sources: Mapping[str, Named]

    def column(self, node: exp.Column) -> Expression:
        found = [
            (alias, source)
            for alias, source in self.sources.items()
            if (not node.table or node.table.lower() == alias.lower()) and _key(source, node.name) is not None
        ]
        if len(found) > 1:
            aliases = " and ".join(alias for alias, _ in found)
            refuse(f"the column {shown(node)} is in {aliases}.", "Write alias.column.")
        if not found:
            refuse(f"there is no column {shown(node)}.", f"There are {self._known()}.")
        source = found[0][1]
        name = _key(source, node.name)
        assert name is not None
        if name not in source.names:
            refuse(
                f"the column {shown(node)} identifies people, so it never leaves.",
                "Count people with COUNT(DISTINCT …), or join and group per person by it.",
            )
        return source.names[name]

    def other(self, node: exp.Expression) -> Expression | None:
        return None

    def person_of(self, node: exp.Expression) -> Named | None:
        """The source whose person column the node names."""
        if not isinstance(node, exp.Column):
            return None
        for alias, source in self.sources.items():
            named = not node.table or node.table.lower() == alias.lower()
            if named and source.person is not None and node.name.lower() == source.person.lower():
                return source
        return None

    def _known(self) -> str:
        names = [name for source in self.sources.values() for name in source.names]
        return ", ".join(names[:12]) + (" …" if len(names) > 12 else "")


def _key(source: Named, name: str) -> str | None:
    """The source's own spelling of a name; SQL does not tell cases apart."""
    known = [*source.names, *([source.person] if source.person else [])]
    return next((each for each in known if each.lower() == name.lower()), None)


def scan(policy: Policy, name: str, alias: str) -> Named:
    """A declared table, of which each person's first rows by rank are kept."""
    table_name = next((each for each in policy.tables if each.lower() == name.lower()), None)
    if table_name is None:
        refuse(f"there is no table {shown(name)}.", f"There are {', '.join(policy.tables)}.")
    table = policy.tables[table_name]
    stored = [each for each, column in table.columns.items() if column.role is not Role.IDENTIFIER]
    columns = {
        each: Column(
            name=f"{alias}.{each}",
            type=of_column(table.columns[each]),
            scaled=table.columns[each].grid is not None,
        )
        for each in stored
    }
    people = {"row": People.ROW, "none": People.NOBODY}.get(table.person, People.COLUMN)
    rows = table.rows_per_person * (table.groups_per_person or 1)
    node = Scan(
        table=table_name,
        alias=alias,
        columns=tuple(columns.values()),
        stored=tuple(stored),
        people=people,
        rows=rows,
        kept=rows if people is People.COLUMN else None,
    )
    return Named(node, columns, table.person if people is People.COLUMN else None, table)


def joined(left: Mapping[str, Named], node: Rows, join: exp.Join, right: tuple[str, Named]) -> Join:
    """`node`, made of the sources in `left`, joined with one more."""
    alias, source = right
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or join.args.get("method"):
        refuse(f"{' '.join(filter(None, (side, kind)))} JOIN is not allowed.", "Use JOIN or LEFT JOIN … ON.")
    condition = join.args.get("on")
    if join.args.get("using"):
        name = join.args["using"][0].name
        owner = next((each for each, named in left.items() if _key(named, name) is not None), "")
        condition = exp.EQ(this=exp.column(name, table=owner), expression=exp.column(name, table=alias))
    if not isinstance(condition, exp.EQ) or len(join.args.get("using") or [1]) != 1:
        refuse(
            f"«{shown(join)}» is no join by one equality.", "Use ON a.person = b.person or a declared link."
        )
    scope = RowScope({**left, alias: source})
    sides = (condition.this, condition.expression)
    people = [scope.person_of(each) for each in sides]
    if all(people) and {id(source)} < {id(each) for each in people}:
        return Join(left=node, right=source.node, keys=None, outer=side == "LEFT")
    keys = _linked(left, source, alias, sides)
    if keys is None:
        refuse(
            f"«{shown(join)}» joins by columns that are neither the person nor a declared link.",
            "Join by the person column of both, or declare the foreign key under links in the policy.",
        )
    if source.node.people is not People.NOBODY:
        refuse(
            f"«{shown(join)}» links to {alias}, whose rows are about other people.",
            "Only public tables (person: none) can be linked so; join people by the person column.",
        )
    return Join(left=node, right=source.node, keys=keys, outer=side == "LEFT")


def _linked(
    left: Mapping[str, Named], source: Named, alias: str, sides: tuple[exp.Expression, exp.Expression]
) -> tuple[Expression, Expression] | None:
    scope = RowScope({**left, alias: source})
    for here, there in (sides, sides[::-1]):
        if not (isinstance(here, exp.Column) and isinstance(there, exp.Column)):
            continue
        for named in left.values():
            for name, link in (named.table.links if named.table else {}).items():
                same = isinstance(source.node, Scan) and source.node.table == link.table
                if same and here.name.lower() == name.lower() and there.name.lower() == link.column.lower():
                    return scope.column(here), scope.column(there)
    return None


def per_person(select: exp.Select, scope: RowScope, node: Rows, alias: str) -> Named:
    """A subquery that groups by the person column alone: one row for each person."""
    if node.people is not People.COLUMN:
        refuse(
            "this table's people are its rows, so there is nothing to group per person.",
            "Leave GROUP BY out.",
        )
    columns: dict[str, Column] = {}
    totals: list[tuple[str, Expression | None, Expression | None]] = []
    person = None
    for place, projection in enumerate(select.expressions):
        inner = projection.this if isinstance(projection, exp.Alias) else projection
        name = projection.alias_or_name or f"column{place}"
        if scope.person_of(inner) is not None:
            person = name
            continue
        function, argument, condition, kind = _total(inner, scope, node.rows)
        kept = isinstance(argument, Column) and argument.scaled and function in ("sum", "min", "max")
        columns[name] = Column(name=f"{alias}.{name}", type=kind, scaled=kept)
        totals.append((function, argument, condition))
    result = PerPerson(source=node, columns=tuple(columns.values()), totals=tuple(totals))
    return Named(result, columns, person)


def _total(
    node: exp.Expression, scope: RowScope, rows: int
) -> tuple[str, Expression | None, Expression | None, Type]:
    condition = None
    if isinstance(node, exp.Filter):
        condition = scalar(node.expression.this, scope)
        node = node.this
    function = PER_PERSON.get(type(node))
    if function is None or isinstance(node.this, exp.Distinct):
        refuse(f"«{shown(node)}» is no total per person.", "Use COUNT, SUM, AVG, MIN or MAX of a column.")
    if isinstance(node.this, exp.Star):
        return function, None, condition, whole(0, rows)
    argument = scalar(node.this, scope)
    kind = argument.type
    if function == "count":
        return function, argument, condition, whole(0, rows)
    if kind.family is not Family.NUMBER and function in ("sum", "avg"):
        refuse(f"«{shown(node)}» needs a number.", "Name a column of type integer or decimal.")
    if function == "sum" and kind.low is not None and kind.high is not None:
        total = number(rows * min(kind.low, Fraction(0)), rows * max(kind.high, Fraction(0)), kind.step)
        return function, argument, condition, total
    if function == "sum":
        return function, argument, condition, number()
    if function == "avg":
        return function, argument, condition, number(kind.low, kind.high)
    return function, argument, condition, kind


def filtered(node: Rows, where: exp.Expression | None, scope: RowScope) -> Rows:
    if where is None:
        return node
    condition = scalar(where.this, scope)
    if condition.type.family not in (Family.BOOLEAN, Family.NULL):
        refuse(f"WHERE needs a condition; «{shown(where.this)}» is none.", "Compare it with something.")
    return Filter(source=node, condition=condition)


def projected(select: exp.Select, scope: RowScope, node: Rows, alias: str) -> Named:
    """A row-level subquery: its columns under the names that it gives them."""
    columns: dict[str, Column] = {}
    expressions: list[Expression] = []
    person = None
    for place, projection in enumerate(_spread(select, scope)):
        inner = projection.this if isinstance(projection, exp.Alias) else projection
        name = projection.alias_or_name or f"column{place}"
        if scope.person_of(inner) is not None:
            person = name
            continue
        expression = scalar(inner, scope)
        if name in columns:
            refuse(f"the subquery names two columns {shown(name)}.", "Give each a name of its own.")
        scaled = isinstance(expression, Column) and expression.scaled
        columns[name] = Column(name=f"{alias}.{name}", type=expression.type, scaled=scaled)
        expressions.append(expression)
    project = Project(source=node, columns=tuple(columns.values()), expressions=tuple(expressions))
    return Named(project, columns, person)


def _spread(select: exp.Select, scope: RowScope) -> list[exp.Expression]:
    """SELECT * written out."""
    spread: list[exp.Expression] = []
    for projection in select.expressions:
        if isinstance(projection, exp.Star):
            for alias, source in scope.sources.items():
                names = [*source.names, *([source.person] if source.person else [])]
                spread += [exp.column(name, table=alias) for name in names]
        else:
            spread.append(projection)
    return spread
