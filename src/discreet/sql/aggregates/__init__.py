"""Aggregates: one file for each, or for a close family of them.

Being listed in `AGGREGATES` makes one known to the parser, the planner, the SQL reference and the conformance
suite (tests/conformance/test_aggregates.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from sqlglot import exp

from discreet.sql.aggregates.average import Average
from discreet.sql.aggregates.base import Aggregate, SupportsAnswerTotals, SupportsPersonTotals
from discreet.sql.aggregates.boolean import BoolAnd, BoolOr
from discreet.sql.aggregates.count import Count, CountDistinct
from discreet.sql.aggregates.mode import Mode
from discreet.sql.aggregates.quantile import Maximum, Median, Minimum, Quantile
from discreet.sql.aggregates.sum import Sum
from discreet.sql.aggregates.variance import (
    PopulationDeviation,
    PopulationVariance,
    SampleDeviation,
    SampleVariance,
)
from discreet.sql.expression_tree import Expression
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.relational_algebra import Total
from discreet.sql.row_sources import RowScope
from discreet.sql.scalar_expressions import resolve_condition, resolve_scalar

AGGREGATES: tuple[type[Aggregate], ...] = (
    Count,
    CountDistinct,
    Sum,
    Average,
    Minimum,
    Maximum,
    Median,
    Quantile,
    SampleVariance,
    PopulationVariance,
    SampleDeviation,
    PopulationDeviation,
    Mode,
    BoolOr,
    BoolAnd,
)

SQL_NAMES = ", ".join(name for each in AGGREGATES for name in each.sql_names)
NODES = {node: each.parts for each in AGGREGATES for node in each.nodes}
"""sqlglot's nodes of all aggregates, and the parts of each that may be given."""

_BY_NAME = {each.name: each for each in AGGREGATES}
_BY_NODE = {node: each for each in AGGREGATES for node in each.nodes}


def get_aggregate(name: str) -> type[Aggregate]:
    """Return the aggregate of a name.

    >>> get_aggregate("avg").sql_names
    ('AVG',)
    """
    return _BY_NAME[name]


def _list_names(kinds: Iterable[type[Aggregate]]) -> str:
    """Return names for a hint: A, B or C."""
    *names, last = (each.sql_names[0].removesuffix("(*)") for each in kinds)
    return f"{', '.join(names)} or {last}"


# -- Measures -----------------------------------------------------------------------------------------------


def resolve_measure(node: exp.Expression, scope: RowScope) -> Aggregate:
    """Return the measure of an aggregate call, or raise a refusal."""
    call, condition = _split_filter(node, scope)
    if isinstance(call, exp.WithinGroup):
        return _resolve_within_group(call, scope, condition)
    found = _BY_NODE.get(type(call))
    if found is None:
        _refuse_aggregate(node)
    return found.resolve(call, node, scope, condition)


def _split_filter(node: exp.Expression, scope: RowScope) -> tuple[exp.Expression, Expression | None]:
    """Return an aggregate call without its FILTER, and the condition of that."""
    if not isinstance(node, exp.Filter):
        return node, None
    return node.this, resolve_condition(node.expression.this, scope, "FILTER")


def _resolve_within_group(node: exp.WithinGroup, scope: RowScope, condition: Expression | None) -> Aggregate:
    ordered = node.expression.expressions
    if len(ordered) != 1:
        refuse_query(f"«{format_snippet(node)}» orders by several columns.", "Order by one.")
    argument, kind = resolve_scalar(ordered[0].this, scope), _BY_NODE.get(type(node.this))
    is_descending = bool(ordered[0].args.get("desc"))
    if kind is not None:
        found = kind.resolve_within_group(node, argument, condition, is_descending=is_descending)
        if found is not None:
            return found
    return _refuse_aggregate(node)


def _refuse_aggregate(node: exp.Expression) -> NoReturn:
    refuse_query(f"the aggregate «{format_snippet(node)}» is not answered.", f"Use one of {SQL_NAMES}.")


# -- Totals per person --------------------------------------------------------------------------------------


def resolve_person_total(node: exp.Expression, scope: RowScope) -> SupportsPersonTotals:
    """Return the total per person of an aggregate call, or raise a refusal."""
    call, condition = _split_filter(node, scope)
    found = _BY_NODE.get(type(call))
    if found is None or not issubclass(found, SupportsPersonTotals) or not found.has_person_total(call):
        refuse_query(
            f"«{format_snippet(node)}» is no total per person.",
            f"Use {_list_names(each for each in AGGREGATES if issubclass(each, SupportsPersonTotals))}.",
        )
    return found.resolve_person_total(call, node, scope, condition)


def restore_person_total(total: Total) -> SupportsPersonTotals:
    """Return the aggregate of a total per person in a tree of rows."""
    name, argument, condition = total
    found = get_aggregate(name)(argument=argument, condition=condition)
    assert isinstance(found, SupportsPersonTotals)
    return found


# -- Totals over an answer ----------------------------------------------------------------------------------


def find_answer_total(node: exp.Expression) -> type[SupportsAnswerTotals]:
    """Return the aggregate of a call over an answer, or refuse a call that is not answered there."""
    totals = [each for each in AGGREGATES if issubclass(each, SupportsAnswerTotals)]
    found = next((each for each in totals if type(node) in each.answer_nodes), None)
    if found is None or isinstance(node.this, exp.Distinct):
        refuse_query(
            f"«{format_snippet(node)}» is not answered over an answer.",
            f"Use {_list_names(totals)} of its columns.",
        )
    return found


def get_answer_total(name: str) -> type[SupportsAnswerTotals]:
    """Return the aggregate of a total over an answer in a post-processing stage."""
    found = get_aggregate(name)
    assert issubclass(found, SupportsAnswerTotals)
    return found
