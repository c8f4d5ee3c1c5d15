"""SQL of a plan's expressions, literals and identifiers; the query's text is never passed on."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from discreet.core.sql_quoting import quote_identifier
from discreet.sql import exact_numbers
from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.expression_tree import Column, Expression, Literal
from discreet.sql.expression_types import Family, Type

MOST = 1 << 61
ORDERING = frozenset(("less", "at_most", "more", "at_least", "between", "greatest", "least"))


def format_literal(value: object) -> str:
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


def compile_value(expression: Expression) -> str:
    """Return the SQL of an expression's value as answers show it: numbers that are not whole are DOUBLE."""
    if isinstance(expression, Column) and not expression.is_scaled:
        return quote_identifier(expression.name)
    return exact_numbers.convert_for_display(compile_operand(expression), expression.type)


def compile_operand(expression: Expression) -> str:
    """Return the SQL of an expression for functions and subqueries: exact numbers are in steps."""
    if isinstance(expression, Literal):
        return format_operand(expression.value, expression.type)
    if isinstance(expression, Column):
        return _compile_column(expression)
    if expression.type.is_constant and expression.type.is_exact and expression.type.low is not None:
        return exact_numbers.convert_to_grid(
            "", expression.type, expression.type.step or Fraction(1)
        )  # a constant
    function = FUNCTIONS[expression.function]
    write = ordering_operand if expression.function in ORDERING else compile_operand
    arguments = tuple(write(each) for each in expression.arguments)
    types = tuple(each.type for each in expression.arguments)
    return function.to_duckdb_sql(arguments, types, expression.type, expression.options)


def ordering_operand(expression: Expression) -> str:
    """Return the SQL of an operand that is compared by order.

    Engines store a category as an ENUM in the order of its declared values. Text is ordered by characters,
    as in the source, so a category is compared as text.
    """
    sql = compile_operand(expression)
    stored = expression.type.family is Family.TEXT and not isinstance(expression, Literal)
    return f"CAST({sql} AS VARCHAR)" if stored else sql


def format_operand(value: object, kind: Type) -> str:
    """Return the SQL of a constant as an operand of a type: exact numbers are in steps."""
    if kind.is_exact and kind.step is not None and isinstance(value, int | Decimal):
        return str(int(Fraction(value) / kind.step))
    if value is None and kind.family is Family.NUMBER:
        return "CAST(NULL AS DOUBLE)"
    return format_literal(value)


def format_column_positions(count: int) -> str:
    """Return the positions of the first `count` columns for GROUP BY, or () for none.

    GROUP BY ALL would ignore constants, and return a group for no rows.
    """
    return ", ".join(str(place + 1) for place in range(count)) or "()"


def compile_clamped_sum(sum_sql: str) -> str:
    """Return the SQL of a 128-bit sum clamped to ±2**61.

    Clamping moves two sums no further apart, and nothing overflows.
    """
    return f"CAST({clamp_number(f'coalesce({sum_sql}, 0)', MOST)} AS BIGINT)"


def clamp_number(number: str, limit: int) -> str:
    """Return the SQL of a number clamped to ±`limit`."""
    return f"greatest(-{limit}, least({limit}, {number}))"


def _compile_column(column: Column) -> str:
    """Return the SQL of a column; numbers of a released table are rounded to steps."""
    name, step = quote_identifier(column.name), column.type.step
    if column.is_scaled or not column.type.is_exact or step is None or step == 1:
        return name
    return f"CAST(round(CAST({name} AS DOUBLE) * {step.denominator} / {step.numerator}) AS BIGINT)"
