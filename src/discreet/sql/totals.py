"""Totals per person: a subquery that groups by the person column, alone or with other keys.

The result has one row per person, or one per person and key, so a person has no more rows than before. Its
values are exact and are not released.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from discreet.sql.aggregates import counted_if, is_aggregate
from discreet.sql.expressions import Column, Expression
from discreet.sql.names import folded
from discreet.sql.nulls import total_may_be_null
from discreet.sql.refusal import Refusal, refuse, shown
from discreet.sql.rows import Named, Outputs, RowScope
from discreet.sql.scalars import condition, scalar
from discreet.sql.tree import Filter, PerPerson, Project, Rows, Total
from discreet.sql.types import ZERO, Bound, Family, Type, double, grid_ends, grid_step, number, whole

MORE_ROUNDINGS = 8
HALF_ULP = Fraction(1, 2**52)
MOST_WHOLE = 1 << 53

FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


@dataclass
class _Groups:
    """Scope in which keys and aggregates become columns of one row per person."""

    rows: RowScope
    most: int
    alias: str
    keys: list[tuple[Column, Expression]] = field(default_factory=list)
    totals: list[tuple[Column, Total]] = field(default_factory=list)
    named: dict[str, Expression] = field(default_factory=dict)

    def add_key(self, node: exp.Expression) -> None:
        key = scalar(node, self.rows)
        if key not in [known for _, known in self.keys]:
            name, clamped = f"{self.alias}.k{len(self.keys)}", isinstance(key, Column) and key.clamped
            column = Column(name=name, type=key.type, scaled=key.type.exact, clamped=clamped)
            self.keys.append((column, key))

    def column(self, node: exp.Column) -> Expression:
        if not node.table and folded(node.name) in self.named:
            return self.named[folded(node.name)]
        return refuse(
            f"«{shown(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY beside the person, or into an aggregate such as MIN.",
        )

    def other(self, node: exp.Expression) -> Expression | None:
        if is_aggregate(node):
            return self._totalled(node)
        try:
            wanted = scalar(node, self.rows) if self.keys else None
        except Refusal:  # an alias, or made of aggregates: its parts are resolved, and refused, one by one
            return None
        return next((column for column, key in self.keys if key == wanted), None)

    def _totalled(self, node: exp.Expression) -> Column:
        total, kind = _total(node, self.rows, self.most)
        for column, known in self.totals:
            if known == total:
                return column
        function, argument, only = total
        missing = total_may_be_null(function, argument, filtered=only is not None)
        clamped = isinstance(argument, Column) and argument.clamped and function in ("sum", "min", "max")
        name, kind = f"{self.alias}.t{len(self.totals)}", replace(kind, nullable=missing)
        column = Column(name=name, type=kind, scaled=kind.exact, clamped=clamped)
        self.totals.append((column, total))
        return column


def per_person(
    select: exp.Select, scope: RowScope, node: Rows, alias: str, keys: list[exp.Expression]
) -> Named:
    """Return the rows of a subquery that groups by the person and `keys`."""
    groups, outputs = _Groups(scope, node.rows, f"{alias}#totals"), Outputs(alias, {}, [])
    for key in keys:
        groups.add_key(key)
    expressions: list[Expression] = []
    for projection in select.expressions:
        taken = outputs.take(projection, scope)
        if taken is not None:
            name, inner = taken
            expressions.append(outputs.add(name, scalar(inner, groups)))
            groups.named.setdefault(folded(name), expressions[-1])
    having = select.args.get("having")
    only = None if having is None else condition(having.this, groups, "HAVING")
    rows: Rows = PerPerson(source=node, keys=tuple(groups.keys), totals=tuple(groups.totals))
    if only is not None:
        rows = Filter(source=rows, condition=only)
    columns = tuple(outputs.columns.values())
    return outputs.over(Project(source=rows, columns=columns, expressions=tuple(expressions)))


def _total(node: exp.Expression, scope: RowScope, most: int) -> tuple[Total, Type]:
    only, written = None, node
    if isinstance(node, exp.Filter):
        only = condition(node.expression.this, scope, "FILTER")
        node = node.this
    if isinstance(node, exp.CountIf):
        return ("count", None, counted_if(node, scope, only)), whole(0, most)
    function = FUNCTIONS.get(type(node))
    if function == "count" and isinstance(node.this, exp.Distinct) and len(node.this.expressions) == 1:
        return ("count_distinct", scalar(node.this.expressions[0], scope), only), whole(0, most)
    if function is None or isinstance(node.this, exp.Distinct):
        refuse(
            f"«{shown(written)}» is no total per person.",
            "Use COUNT, COUNT(DISTINCT x), SUM, AVG, MIN or MAX.",
        )
    if function == "count" and (node.this is None or isinstance(node.this, exp.Star)):
        return (function, None, only), whole(1 if only is None else 0, most)  # a group has at least one row
    argument = scalar(node.this, scope)
    if function == "count":
        return (function, argument, only), whole(0, most)
    if argument.type.family is not Family.NUMBER and function in ("sum", "avg"):
        refuse(f"«{shown(written)}» needs a number.", "Name a column of type integer or decimal.")
    return (function, argument, only), _kind(function, argument.type, most)


def _kind(function: str, kind: Type, most: int) -> Type:
    """Return the type of a person's total: a sum of exact numbers is exact, a mean is a DOUBLE."""
    if function not in ("sum", "avg"):
        return kind
    low, high = _summed_ends(kind)
    if function == "avg":
        return _rounded_often(low, high, most)
    if low is not None and high is not None:
        low, high = most * min(low, ZERO), most * max(high, ZERO)
    if kind.exact:
        reach = None if kind.reach is None else most * kind.reach
        total = number(low, high, kind.step, numeric=kind.numeric, magnitude=reach)
        if total.exact:
            return total
    if low is None or kind.step is None or kind.exact or kind.most_steps >= MOST_WHOLE:
        return _rounded_often(low, high, most)
    # summed in whole steps
    found = double(low, high) if kind.step == 1 else _rounded_often(low, high, most)
    return replace(found, step=kind.step)


def _summed_ends(kind: Type) -> tuple[Bound, Bound]:
    """Return the bounds of the summed values: a DOUBLE is first rounded to a grid, and may move slightly."""
    if kind.low is None or kind.high is None:
        return None, None
    if kind.exact:
        return kind.low, kind.high
    step = grid_step(kind)
    low, high = grid_ends(kind, step)
    return min(kind.low, low * step), max(kind.high, high * step)


def _rounded_often(low: Bound, high: Bound, most: int) -> Type:
    """Return a DOUBLE type with room for one rounding per row, up to `max_rows`, and those of conversions."""
    if low is None or high is None:
        return double()
    slack = max(abs(low), abs(high)) * (most + MORE_ROUNDINGS) * HALF_ULP
    return double(low - slack, high + slack)
