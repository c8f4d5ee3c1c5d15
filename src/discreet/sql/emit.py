"""SQL of a plan's expressions, literals and identifiers; the query's text is never passed on."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from discreet.sql import exact
from discreet.sql.expressions import Column, Expression, Literal
from discreet.sql.functions import FUNCTIONS
from discreet.sql.types import Family, Type

MOST = 1 << 61
ORDERING = frozenset(("less", "at_most", "more", "at_least", "between", "greatest", "least"))


def quoted(name: str) -> str:
    """Return a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """Return the SQL of a constant; text is escaped."""
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
    """Return the SQL of an expression's value as answers show it: numbers that are not whole are DOUBLE."""
    if isinstance(expression, Column) and not expression.scaled:
        return quoted(expression.name)
    return exact.shown(operand(expression), expression.type)


def operand(expression: Expression) -> str:
    """Return the SQL of an expression for functions and subqueries: exact numbers are in steps."""
    if isinstance(expression, Literal):
        return held(expression.value, expression.type)
    if isinstance(expression, Column):
        return _column(expression)
    if expression.type.known and expression.type.exact and expression.type.low is not None:
        return exact.on_grid("", expression.type, expression.type.step or Fraction(1))  # a constant
    function = FUNCTIONS[expression.function]
    write = ordering_operand if expression.function in ORDERING else operand
    arguments = tuple(write(each) for each in expression.arguments)
    types = tuple(each.type for each in expression.arguments)
    return function.duckdb(arguments, types, expression.type, expression.options)


def ordering_operand(expression: Expression) -> str:
    """Return the SQL of an operand that is compared by order.

    Engines store a category as an ENUM in the order of its declared values. Text is ordered by characters,
    as in the source, so a category is compared as text.
    """
    sql = operand(expression)
    stored = expression.type.family is Family.TEXT and not isinstance(expression, Literal)
    return f"CAST({sql} AS VARCHAR)" if stored else sql


def held(value: object, kind: Type) -> str:
    """Return the SQL of a constant as an operand of a type: exact numbers are in steps."""
    if kind.exact and kind.step is not None and isinstance(value, int | Decimal):
        return str(int(Fraction(value) / kind.step))
    return literal(value)


def places(count: int) -> str:
    """Return the positions of the first `count` columns for GROUP BY, or () for none.

    GROUP BY ALL would ignore constants, and return a group for no rows.
    """
    return ", ".join(str(place + 1) for place in range(count)) or "()"


def total(sum_of: str) -> str:
    """Return the SQL of a 128-bit sum clamped to ±2**61.

    Clamping moves two sums no further apart, and nothing overflows.
    """
    return f"CAST({cut_off(f'coalesce({sum_of}, 0)', MOST)} AS BIGINT)"


def cut_off(number: str, most: int) -> str:
    """Return the SQL of a number clamped to ±`limit`."""
    return f"greatest(-{most}, least({most}, {number}))"


def _column(column: Column) -> str:
    """Return the SQL of a column; numbers of a released table are rounded to steps."""
    name, step = quoted(column.name), column.type.step
    if column.scaled or not column.type.exact or step is None or step == 1:
        return name
    return f"CAST(round(CAST({name} AS DOUBLE) * {step.denominator} / {step.numerator}) AS BIGINT)"
