"""From a plan's expressions to an engine's SQL; a question's text is never passed on."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from discreet.sql import exact
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
    """The SQL of an expression's value, as it is shown: a number that is not whole is a DOUBLE."""
    if isinstance(expression, Column) and not expression.scaled:
        return quoted(expression.name)
    return exact.shown(operand(expression), expression.type)


def operand(expression: Expression) -> str:
    """The SQL of an expression as functions take it and subqueries pass it on: exact numbers in steps."""
    if isinstance(expression, Literal):
        return held(expression.value, expression.type)
    if isinstance(expression, Column):
        return _column(expression)
    if expression.type.known and expression.type.exact and expression.type.low is not None:
        return exact.on_grid("", expression.type, expression.type.step or Fraction(1))  # a constant
    function = FUNCTIONS[expression.function]
    arguments = tuple(operand(each) for each in expression.arguments)
    types = tuple(each.type for each in expression.arguments)
    return function.duckdb(arguments, types, expression.type, expression.options)


def held(value: object, kind: Type) -> str:
    """A constant as an operand of a type."""
    if kind.exact and kind.step is not None and isinstance(value, int | Decimal):
        return str(int(Fraction(value) / kind.step))
    return literal(value)


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
    """A column of a released table shows a number, whose steps are found by rounding."""
    name, step = quoted(column.name), column.type.step
    if column.scaled or not column.type.exact or step is None or step == 1:
        return name
    return f"CAST(round(CAST({name} AS DOUBLE) * {step.denominator} / {step.numerator}) AS BIGINT)"
