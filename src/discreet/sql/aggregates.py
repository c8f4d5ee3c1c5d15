"""Supported aggregates: translate sqlglot's aggregate nodes into measures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.sql.constants import fraction
from discreet.sql.expressions import Expression
from discreet.sql.refusal import refuse, shown
from discreet.sql.rows import RowScope
from discreet.sql.scalars import call, condition, scalar
from discreet.sql.types import Family

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
    of_people: bool = False

    @property
    def bounded(self) -> bool:
        return self.argument is not None and self.argument.type.bounded


def is_aggregate(node: exp.Expression) -> bool:
    return isinstance(node, exp.AggFunc | exp.WithinGroup | exp.Filter)


def measure(node: exp.Expression, scope: RowScope) -> Measure:
    """Return the measure of an aggregate call, or raise a refusal."""
    only, written = None, node
    if isinstance(node, exp.Filter):
        only = condition(node.expression.this, scope, "FILTER")
        node = node.this
    if isinstance(node, exp.WithinGroup):
        return _within_group(node, scope, only)
    if isinstance(node, QUANTILES):
        probability = _probability(node.args.get("quantile") or node.expression, node)
        argument = _numeric(scalar(node.this, scope), node.this, written)
        return Measure(function="quantile", argument=argument, condition=only, probability=probability)
    if isinstance(node, exp.CountIf):
        return Measure(function="count", condition=counted_if(node, scope, only))
    function = SIMPLE.get(type(node))
    if function is None:
        refuse(f"the aggregate «{shown(written)}» is not answered.", f"Use one of {SHOWN}.")
    if function == "count" and (node.this is None or isinstance(node.this, exp.Star)):
        return Measure(function="count", condition=only)
    if isinstance(node.this, exp.Distinct):
        return _distinct(function, node.this, scope, only, written)
    if node.this is None:
        refuse(f"«{shown(written)}» aggregates nothing.", "Name a column.")
    argument = scalar(node.this, scope)
    if function in NUMERIC:
        argument = _numeric(argument, node.this, written, constant=function == "sum")
    return Measure(function=function, argument=argument, condition=only)


def counted_if(node: exp.CountIf, scope: RowScope, only: Expression | None) -> Expression:
    """Return the condition that COUNT_IF counts, combined with a FILTER condition."""
    found = condition(node.this, scope, "COUNT_IF")
    return found if only is None else call("and", [only, found], node)


def _distinct(
    function: str,
    distinct: exp.Distinct,
    scope: RowScope,
    only: Expression | None,
    written: exp.Expression,
) -> Measure:
    if function != "count" or len(distinct.expressions) != 1:
        refuse(f"«{shown(written)}» is not answered.", "Use DISTINCT only in COUNT(DISTINCT x).")
    if scope.person_of(distinct.expressions[0]) is not None:
        return Measure(function="count_distinct", condition=only, of_people=True)
    argument = scalar(distinct.expressions[0], scope)
    return Measure(function="count_distinct", argument=argument, condition=only)


def _within_group(node: exp.WithinGroup, scope: RowScope, only: Expression | None) -> Measure:
    ordered = node.expression.expressions
    if len(ordered) != 1:
        refuse(f"«{shown(node)}» orders by several columns.", "Order by one.")
    argument = scalar(ordered[0].this, scope)
    if isinstance(node.this, exp.Mode) and node.this.this is None:
        return Measure(function="mode", argument=argument, condition=only)
    if not isinstance(node.this, exp.PercentileCont) or node.this.expression is not None:
        refuse(f"the aggregate «{shown(node)}» is not answered.", f"Use one of {SHOWN}.")
    probability = _probability(node.this.this, node)
    if ordered[0].args.get("desc"):
        probability = 1 - probability
    argument = _numeric(argument, ordered[0].this, node)
    return Measure(function="quantile", argument=argument, condition=only, probability=probability)


def _probability(node: exp.Expression | None, written: exp.Expression) -> Fraction:
    value = fraction(node)
    if value is None or not 0 <= value <= 1 or value.denominator > 10_000:
        refuse(f"«{shown(written)}» needs a constant from 0 to 1.", "Use four digits at most: 0.9, 0.9975.")
    return value


def _numeric(
    argument: Expression, named: exp.Expression, written: exp.Expression, *, constant: bool = False
) -> Expression:
    kind = argument.type
    if kind.family is not Family.NUMBER:
        refuse(f"«{shown(written)}» needs a number, not a {kind.family.value}.", "Name a number.")
    if not kind.bounded:
        refuse(
            f"«{shown(written)}» needs bounds, and «{shown(named)}» has none.",
            "Declare low and high in the policy, or write LEAST(GREATEST(x, low), high).",
        )
    if kind.low == kind.high and not constant:
        refuse(
            f"«{shown(named)}» in «{shown(written)}» is a constant.",
            "For a share of rows write AVG(CASE WHEN … THEN 1 ELSE 0 END).",
        )
    return argument
