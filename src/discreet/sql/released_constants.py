"""Constants in conditions on rows that are released first: WHERE age > (SELECT AVG(age) FROM people).

Order        The subquery is an answer: cores of the statement are measured for it, and it is computed of
             what was released. The core around it is measured afterwards, over the rows that its released
             value leaves. Both are priced together, and everything is charged before the first is measured.
Plan         It is complete before any value is known: a constant is a DOUBLE without bounds, as a column
             that declares none, so types, sensitivity and work hold for every value that it may take. It
             stands in conditions alone; what is counted of a row does not depend on it.
Value        The number of its one row, at most 2**53 in magnitude, with 20 places. It is NULL, and no row
             meets a comparison with it, if the answer has no value or several, or is not finite.
Identity     A measurement over rows that a value leaves has the value in its identity. The same stored
             measurements give the same value, and are found again; another noise gives another measurement.
Error        That of the measurement around it: for rows beyond the released value, which the answer names,
             and not beyond the true one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from discreet.core.policy import Policy
from discreet.sql.expression_tree import Call, Expression, Literal, ReleasedConstant
from discreet.sql.query import Query
from discreet.sql.query_size import get_children, iterate_node_expressions
from discreet.sql.relational_algebra import Filter, Join, Rows, Scan

if TYPE_CHECKING:
    from discreet.sql.core_planning import CorePlan

LARGEST = 1 << 53
PLACES = Decimal(1).scaleb(-20)
DIGITS = Context(prec=len(str(LARGEST)) + 20)
ConstantValues = Mapping[str, Decimal | None]
"""The released values of constants by name; None is NULL."""


@dataclass(frozen=True, kw_only=True)
class ConstantQuery:
    """The query over released tables that computes a constant, those of cores that it reads, and its text."""

    query: exp.Expr = field(repr=False)
    cores: tuple[str, ...]
    written: str

    @property
    def sql(self) -> str:
        return self.query.sql(dialect="duckdb", identify=True, comments=False)


def find_open_constants(question: Query) -> frozenset[str]:
    """Return the names of the constants in the conditions of a core that have no value yet."""
    return frozenset(_iterate_names(question.rows))


def _iterate_names(node: Rows) -> Iterator[str]:
    for child in get_children(node):
        yield from _iterate_names(child)
    for expression in iterate_node_expressions(node):
        yield from _iterate_expression_names(expression)


def _iterate_expression_names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, ReleasedConstant):
        yield expression.name
    elif isinstance(expression, Call):
        for each in expression.arguments:
            yield from _iterate_expression_names(each)


def fill_core(core: CorePlan, values: ConstantValues, policy: Policy) -> CorePlan:
    """Return the plan of a core with the values of its constants in its conditions."""
    if not find_open_constants(core.question):
        return core
    question = replace(core.question, rows=_fill_rows(core.question.rows, values))
    filled = replace(core, question=question, bounding=replace(core.bounding, question=question))
    selections = {
        name: filled.replan_selection(name, Fraction(each.guarantee.epsilon), policy)
        for name, each in core.value_selections.items()
    }
    return replace(filled, value_selections=selections)


def _fill_rows(node: Rows, values: ConstantValues) -> Rows:
    if isinstance(node, Scan):
        return node
    if isinstance(node, Join):
        return replace(node, left=_fill_rows(node.left, values), right=_fill_rows(node.right, values))
    source = _fill_rows(node.source, values)
    if isinstance(node, Filter):
        return Filter(source=source, condition=_fill_expression(node.condition, values))
    return replace(node, source=source)


def _fill_expression(expression: Expression, values: ConstantValues) -> Expression:
    if isinstance(expression, ReleasedConstant):
        if expression.name not in values:
            return expression
        return Literal(value=values[expression.name], type=expression.type)
    if not isinstance(expression, Call):
        return expression
    return replace(
        expression, arguments=tuple(_fill_expression(each, values) for each in expression.arguments)
    )


def read_value(table: pa.Table) -> Decimal | None:
    """Return the value of a constant from the answer of its query.

    >>> read_value(pa.table({"a": [38.5]}))
    Decimal('38.50000000000000000000')
    >>> read_value(pa.table({"a": [1e300]}))
    Decimal('9007199254740992.00000000000000000000')
    """
    (column,) = table.columns
    found = column[0].as_py() if len(column) == 1 else None
    if not isinstance(found, int | float | Decimal) or not math.isfinite(found):
        return None
    return max(Decimal(-LARGEST), min(Decimal(LARGEST), Decimal(str(found)))).quantize(PLACES, context=DIGITS)
