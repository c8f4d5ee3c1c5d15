"""Totals per person: a subquery that groups by the person column, alone or with other keys.

The result has one row per person, or one per person and key, so a person has no more rows than before. Its
values are exact and are not released.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from discreet.sql.aggregates import is_aggregate, resolve_count_if
from discreet.sql.expression_tree import Column, Expression
from discreet.sql.expression_types import (
    ZERO,
    Bound,
    Family,
    Type,
    choose_grid_step,
    get_grid_bounds,
    make_double_type,
    make_integer_type,
    make_number_type,
)
from discreet.sql.nullability import total_may_be_null
from discreet.sql.refusal import Refusal, format_snippet, refuse_query
from discreet.sql.relational_algebra import Filter, PersonTotals, Project, Rows, Total
from discreet.sql.row_sources import RowScope, RowSource, SubqueryColumns
from discreet.sql.scalar_expressions import resolve_condition, resolve_scalar
from discreet.sql.sql_names import fold_case

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
class _PersonGroups:
    """Scope in which keys and aggregates become columns of one row per person."""

    row_scope: RowScope
    max_rows: int
    alias: str
    keys: list[tuple[Column, Expression]] = field(default_factory=list)
    totals: list[tuple[Column, Total]] = field(default_factory=list)
    outputs_by_name: dict[str, Expression] = field(default_factory=dict)

    def add_key(self, node: exp.Expression) -> None:
        key = resolve_scalar(node, self.row_scope)
        if key not in [known for _, known in self.keys]:
            name, clamped = f"{self.alias}.k{len(self.keys)}", isinstance(key, Column) and key.is_clamped
            column = Column(name=name, type=key.type, is_scaled=key.type.is_exact, is_clamped=clamped)
            self.keys.append((column, key))

    def resolve_column(self, node: exp.Column) -> Expression:
        if not node.table and fold_case(node.name) in self.outputs_by_name:
            return self.outputs_by_name[fold_case(node.name)]
        return refuse_query(
            f"«{format_snippet(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY beside the person, or into an aggregate such as MIN.",
        )

    def resolve_special(self, node: exp.Expression) -> Expression | None:
        if is_aggregate(node):
            return self._add_total(node)
        try:
            wanted = resolve_scalar(node, self.row_scope) if self.keys else None
        except Refusal:  # an alias, or made of aggregates: its parts are resolved, and refused, one by one
            return None
        return next((column for column, key in self.keys if key == wanted), None)

    def _add_total(self, node: exp.Expression) -> Column:
        total, kind = _resolve_total(node, self.row_scope, self.max_rows)
        for column, known in self.totals:
            if known == total:
                return column
        function, argument, only = total
        missing = total_may_be_null(function, argument, filtered=only is not None)
        clamped = isinstance(argument, Column) and argument.is_clamped and function in ("sum", "min", "max")
        name, kind = f"{self.alias}.t{len(self.totals)}", replace(kind, is_nullable=missing)
        column = Column(name=name, type=kind, is_scaled=kind.is_exact, is_clamped=clamped)
        self.totals.append((column, total))
        return column


def total_per_person(
    select: exp.Select, scope: RowScope, node: Rows, alias: str, keys: list[exp.Expression]
) -> RowSource:
    """Return the rows of a subquery that groups by the person and `keys`."""
    groups, outputs = _PersonGroups(scope, node.rows, f"{alias}#totals"), SubqueryColumns(alias, {}, [])
    for key in keys:
        groups.add_key(key)
    expressions: list[Expression] = []
    for projection in select.expressions:
        taken = outputs.take_projection(projection, scope)
        if taken is not None:
            name, inner = taken
            expressions.append(outputs.add_column(name, resolve_scalar(inner, groups)))
            groups.outputs_by_name.setdefault(fold_case(name), expressions[-1])
    having = select.args.get("having")
    only = None if having is None else resolve_condition(having.this, groups, "HAVING")
    rows: Rows = PersonTotals(source=node, keys=tuple(groups.keys), totals=tuple(groups.totals))
    if only is not None:
        rows = Filter(source=rows, condition=only)
    columns = tuple(outputs.columns.values())
    return outputs.build_source(Project(source=rows, columns=columns, expressions=tuple(expressions)))


def _resolve_total(node: exp.Expression, scope: RowScope, max_rows: int) -> tuple[Total, Type]:
    only, written = None, node
    if isinstance(node, exp.Filter):
        only = resolve_condition(node.expression.this, scope, "FILTER")
        node = node.this
    if isinstance(node, exp.CountIf):
        return ("count", None, resolve_count_if(node, scope, only)), make_integer_type(0, max_rows)
    function = FUNCTIONS.get(type(node))
    if function == "count" and isinstance(node.this, exp.Distinct) and len(node.this.expressions) == 1:
        return ("count_distinct", resolve_scalar(node.this.expressions[0], scope), only), make_integer_type(
            0, max_rows
        )
    if function is None or isinstance(node.this, exp.Distinct):
        refuse_query(
            f"«{format_snippet(written)}» is no total per person.",
            "Use COUNT, COUNT(DISTINCT x), SUM, AVG, MIN or MAX.",
        )
    if function == "count" and (node.this is None or isinstance(node.this, exp.Star)):
        return (function, None, only), make_integer_type(
            1 if only is None else 0, max_rows
        )  # a group has at least one row
    argument = resolve_scalar(node.this, scope)
    if function == "count":
        return (function, argument, only), make_integer_type(0, max_rows)
    if argument.type.family is not Family.NUMBER and function in ("sum", "avg"):
        refuse_query(
            f"«{format_snippet(written)}» needs a number.", "Name a column of type integer or decimal."
        )
    return (function, argument, only), _infer_total_type(function, argument.type, max_rows)


def _infer_total_type(function: str, kind: Type, max_rows: int) -> Type:
    """Return the type of a person's total: a sum of exact numbers is exact, a mean is a DOUBLE."""
    if function not in ("sum", "avg"):
        return kind
    low, high = _get_summed_bounds(kind)
    if function == "avg":
        return _widen_by_rounding(low, high, max_rows)
    if low is not None and high is not None:
        low, high = max_rows * min(low, ZERO), max_rows * max(high, ZERO)
    if kind.is_exact:
        reach = None if kind.max_magnitude is None else max_rows * kind.max_magnitude
        total = make_number_type(low, high, kind.step, numeric=kind.numeric, magnitude=reach)
        if total.is_exact:
            return total
    if low is None or kind.step is None or kind.is_exact or kind.max_steps >= MOST_WHOLE:
        return _widen_by_rounding(low, high, max_rows)
    # summed in whole steps
    found = make_double_type(low, high) if kind.step == 1 else _widen_by_rounding(low, high, max_rows)
    return replace(found, step=kind.step)


def _get_summed_bounds(kind: Type) -> tuple[Bound, Bound]:
    """Return the bounds of the summed values: a DOUBLE is first rounded to a grid, and may move slightly."""
    if kind.low is None or kind.high is None:
        return None, None
    if kind.is_exact:
        return kind.low, kind.high
    step = choose_grid_step(kind)
    low, high = get_grid_bounds(kind, step)
    return min(kind.low, low * step), max(kind.high, high * step)


def _widen_by_rounding(low: Bound, high: Bound, max_rows: int) -> Type:
    """Return a DOUBLE type with room for one rounding per row, up to `max_rows`, and those of conversions."""
    if low is None or high is None:
        return make_double_type()
    slack = max(abs(low), abs(high)) * (max_rows + MORE_ROUNDINGS) * HALF_ULP
    return make_double_type(low - slack, high + slack)
