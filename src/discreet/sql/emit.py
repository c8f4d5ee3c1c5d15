"""From a plan's expressions to an engine's SQL; a question's text is never passed on."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from discreet.sql.expressions import Column, Expression, Literal
from discreet.sql.functions import FUNCTIONS
from discreet.sql.types import Type

MOST = 1 << 61


def quoted(name: str) -> str:
    """An identifier, whatever it is called."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """A constant; text can hold anything."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, Decimal):
        return f"CAST({value:f} AS DOUBLE)"
    return "'" + str(value).replace("'", "''") + "'"


def value(expression: Expression) -> str:
    """The SQL of an expression's value."""
    if isinstance(expression, Literal):
        return literal(expression.value)
    if isinstance(expression, Column):
        return _column(expression)
    function = FUNCTIONS[expression.function]
    arguments = tuple(value(each) for each in expression.arguments)
    types = tuple(each.type for each in expression.arguments)
    return function.duckdb(arguments, types, expression.type, expression.options)


def places(count: int) -> str:
    """The first columns, to group by; GROUP BY ALL would leave constants out, and give a group of no rows."""
    return ", ".join(str(place + 1) for place in range(count)) or "()"


def total(sum_of: str) -> str:
    """A sum in 128 bits, cut off at 2**61: cutting moves two sums no further apart, and nothing overflows."""
    return f"CAST({cut_off(f'coalesce({sum_of}, 0)', MOST)} AS BIGINT)"


def cut_off(number: str, most: int) -> str:
    """The number, or the nearer of two bounds."""
    return f"greatest(-{most}, least({most}, {number}))"


def _column(column: Column) -> str:
    """A scaled number is divided, not multiplied, so that 3 steps of 0.1 are the literal 0.3.

    Products that whole numbers need not hold are computed in floating point, which does not err.
    """
    name, step = quoted(column.name), column.type.step
    if not column.scaled or step is None or step == 1:
        return name
    if step.numerator != 1 and not _holds(column.type, step.denominator):
        name = f"CAST({name} AS DOUBLE)"
    if step.denominator == 1:
        return f"({name} * {step.numerator})"
    top = name if step.numerator == 1 else f"{name} * {step.numerator}"
    return f"(CAST({top} AS DOUBLE) / {step.denominator})"


def _holds(kind: Type, denominator: int) -> bool:
    """Whether 64 bits hold its numbers times the denominator of its step, with room to spare."""
    if kind.low is None or kind.high is None:
        return False
    return max(-kind.low, kind.high) * denominator < 1 << 53
