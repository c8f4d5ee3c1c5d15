"""Supported aggregates: translate sqlglot's aggregate nodes into measures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import Family
from discreet.sql.query_literals import parse_fraction
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.row_sources import RowScope
from discreet.sql.scalar_expressions import build_call, resolve_condition, resolve_scalar

SIMPLE: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Median: "median",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Mode: "mode",
}
QUANTILES = (exp.PercentileCont, exp.Quantile)
NUMERIC = (
    "sum",
    "avg",
    "median",
    "quantile",
    "min",
    "max",
    "var_samp",
    "var_pop",
    "stddev_samp",
    "stddev_pop",
)
SHOWN = (
    "COUNT(*), COUNT(x), COUNT(DISTINCT x), COUNT_IF(p), SUM, AVG, MIN, MAX, MEDIAN, QUANTILE_CONT, "
    "PERCENTILE_CONT, VARIANCE, VAR_POP, STDDEV, STDDEV_POP, MODE"
)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One aggregate of a query: `function` of `argument` over the rows that satisfy `condition`."""

    function: str
    argument: Expression | None = None
    condition: Expression | None = None
    probability: Fraction = Fraction(1, 2)
    counts_people: bool = False

    @property
    def is_bounded(self) -> bool:
        return self.argument is not None and self.argument.type.is_bounded


def is_aggregate(node: exp.Expression) -> bool:
    return isinstance(node, exp.AggFunc | exp.WithinGroup | exp.Filter)


def resolve_measure(node: exp.Expression, scope: RowScope) -> Measure:
    """Return the measure of an aggregate call, or raise a refusal."""
    only, written = None, node
    if isinstance(node, exp.Filter):
        only = resolve_condition(node.expression.this, scope, "FILTER")
        node = node.this
    if isinstance(node, exp.WithinGroup):
        return _resolve_within_group(node, scope, only)
    if isinstance(node, QUANTILES):
        probability = _parse_probability(node.args.get("quantile") or node.expression, node)
        argument = _require_numeric(resolve_scalar(node.this, scope), node.this, written)
        return Measure(function="quantile", argument=argument, condition=only, probability=probability)
    if isinstance(node, exp.CountIf):
        return Measure(function="count", condition=resolve_count_if(node, scope, only))
    function = SIMPLE.get(type(node))
    if function is None:
        refuse_query(f"the aggregate «{format_snippet(written)}» is not answered.", f"Use one of {SHOWN}.")
    if function == "count" and (node.this is None or isinstance(node.this, exp.Star)):
        return Measure(function="count", condition=only)
    if isinstance(node.this, exp.Distinct):
        return _resolve_distinct(function, node.this, scope, only, written)
    if node.this is None:
        refuse_query(f"«{format_snippet(written)}» aggregates nothing.", "Name a column.")
    argument = resolve_scalar(node.this, scope)
    if function in NUMERIC:
        argument = _require_numeric(argument, node.this, written, allows_constant=function == "sum")
    return Measure(function=function, argument=argument, condition=only)


def resolve_count_if(node: exp.CountIf, scope: RowScope, filter_condition: Expression | None) -> Expression:
    """Return the condition that COUNT_IF counts, combined with a FILTER condition."""
    found = resolve_condition(node.this, scope, "COUNT_IF")
    return found if filter_condition is None else build_call("and", [filter_condition, found], node)


def _resolve_distinct(
    function: str,
    distinct: exp.Distinct,
    scope: RowScope,
    filter_condition: Expression | None,
    written: exp.Expression,
) -> Measure:
    if function != "count" or len(distinct.expressions) != 1:
        refuse_query(
            f"«{format_snippet(written)}» is not answered.", "Use DISTINCT only in COUNT(DISTINCT x)."
        )
    if scope.find_person_source(distinct.expressions[0]) is not None:
        return Measure(function="count_distinct", condition=filter_condition, counts_people=True)
    argument = resolve_scalar(distinct.expressions[0], scope)
    return Measure(function="count_distinct", argument=argument, condition=filter_condition)


def _resolve_within_group(
    node: exp.WithinGroup, scope: RowScope, filter_condition: Expression | None
) -> Measure:
    ordered = node.expression.expressions
    if len(ordered) != 1:
        refuse_query(f"«{format_snippet(node)}» orders by several columns.", "Order by one.")
    argument = resolve_scalar(ordered[0].this, scope)
    if isinstance(node.this, exp.Mode) and node.this.this is None:
        return Measure(function="mode", argument=argument, condition=filter_condition)
    if not isinstance(node.this, exp.PercentileCont) or node.this.expression is not None:
        refuse_query(f"the aggregate «{format_snippet(node)}» is not answered.", f"Use one of {SHOWN}.")
    probability = _parse_probability(node.this.this, node)
    if ordered[0].args.get("desc"):
        probability = 1 - probability
    argument = _require_numeric(argument, ordered[0].this, node)
    return Measure(
        function="quantile", argument=argument, condition=filter_condition, probability=probability
    )


def _parse_probability(node: exp.Expression | None, written: exp.Expression) -> Fraction:
    value = parse_fraction(node)
    if value is None or not 0 <= value <= 1 or value.denominator > 10_000:
        refuse_query(
            f"«{format_snippet(written)}» needs a constant from 0 to 1.",
            "Use four digits at most: 0.9, 0.9975.",
        )
    return value


def _require_numeric(
    argument: Expression,
    argument_node: exp.Expression,
    written: exp.Expression,
    *,
    allows_constant: bool = False,
) -> Expression:
    kind = argument.type
    if kind.family is not Family.NUMBER:
        refuse_query(
            f"«{format_snippet(written)}» needs a number, not a {kind.family.value}.", "Name a number."
        )
    if not kind.is_bounded:
        refuse_query(
            f"«{format_snippet(written)}» needs bounds, and «{format_snippet(argument_node)}» has none.",
            "Declare low and high in the policy, or write LEAST(GREATEST(x, low), high).",
        )
    if kind.low == kind.high and not allows_constant:
        refuse_query(
            f"«{format_snippet(argument_node)}» in «{format_snippet(written)}» is a constant.",
            "For a share of rows write AVG(CASE WHEN … THEN 1 ELSE 0 END).",
        )
    return argument
