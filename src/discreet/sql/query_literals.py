"""Literals of a query: exact numbers as written, dates, timestamps and text."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from discreet.sql.expression_tree import Expression, Literal
from discreet.sql.expression_types import (
    BOOLEAN,
    NULL,
    TEXT,
    Family,
    Numeric,
    Type,
    make_double_type,
    make_number_type,
)
from discreet.sql.expression_types import DIGITS as EXACT_DIGITS
from discreet.sql.refusal import format_snippet, refuse_query

DIGITS = 40
SMALLEST = 30
MOMENTS = {"DATE": Family.DATE, "TIMESTAMP": Family.TIMESTAMP, "TIMESTAMPNTZ": Family.TIMESTAMP}
NOTHING = Literal(value=None, type=NULL)


class ConstantNode(exp.Expression, exp.Func):
    """A subquery that is a constant, released first; `written` is its text. No text is parsed as one."""

    arg_types = {"this": True, "written": True}  # noqa: RUF012  (as sqlglot declares them)
    _sql_names = ["SUBQUERY"]  # noqa: RUF012


def parse_constant(node: exp.Expression) -> Literal | None:
    """Return the constant of a literal node; None for other nodes."""
    if isinstance(node, exp.Null):
        return NOTHING
    if isinstance(node, exp.Boolean):
        return Literal(value=bool(node.this), type=replace(BOOLEAN, is_nullable=False))
    if isinstance(node, exp.Literal) and node.is_string:
        return Literal(value=str(node.this), type=replace(TEXT, is_nullable=False))
    if isinstance(node, exp.Literal):
        return parse_number(str(node.this))
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        return _parse_moment(node, node.this)
    return None


def _parse_moment(node: exp.Cast, written: exp.Literal) -> Literal | None:
    family = MOMENTS.get(node.to.this.name)
    if family is None:
        return None
    found = parse_date_literal(str(written.this), family)
    if found is None:
        refuse_query(
            f"{format_snippet(str(written.this))} is no {family.value}.",
            "Write DATE '2024-01-31', without a zone.",
        )
    return found


def parse_number(text: str) -> Literal:
    """Return a number exactly as written, with the type that DuckDB gives it.

    >>> [parse_number(text).type.numeric.value for text in ("2", "2.0", "2e0")]
    ['integer', 'decimal', 'double']
    """
    value = _parse_decimal(text)
    if value is None or abs(value) >= 2**53:
        refuse_query(f"the number {format_snippet(text)} is too large.", "Use numbers below 2**53.")
    kind = replace(_infer_number_type(text, Fraction(value)), is_constant=True, is_nullable=False)
    return Literal(value=int(value) if kind.step == 1 else value, type=kind)


def _infer_number_type(text: str, value: Fraction) -> Type:
    """Return DOUBLE for an exponent or too many digits, else INTEGER or DECIMAL; trailing zeros count."""
    before, point, behind = text.replace("_", "").partition(".")
    if "e" in text.lower() or len(before) + len(behind) > EXACT_DIGITS:
        return make_double_type(value, value, Fraction(1) if value.denominator == 1 else None)
    numeric = Numeric.DECIMAL if point else Numeric.INTEGER
    return make_number_type(value, value, Fraction(1, 10 ** len(behind)), numeric=numeric)


def parse_whole_number(node: exp.Expression | None, *, max_value: int) -> int | None:
    """Return the whole number from 0 to `max_value` of a literal node; None for other nodes."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    text = str(node.this)
    if not text.isascii() or not text.isdigit() or len(text) > len(str(max_value)):
        return None
    return int(text) if int(text) <= max_value else None


def parse_fraction(node: exp.Expression | None) -> Fraction | None:
    """Return the exact number of a literal node; None for other nodes."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    value = _parse_decimal(str(node.this))
    return None if value is None else Fraction(value)


def _parse_decimal(text: str) -> Decimal | None:
    """Return the number; None if not finite or too large; refuse one with too many digits to compute with."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or value.adjusted() > SMALLEST:
        return None
    if value.adjusted() < -SMALLEST or len(value.as_tuple().digits) > DIGITS:
        refuse_query(f"the number {format_snippet(text)} has too many digits.", f"Use at most {DIGITS}.")
    return value


def parse_date_literal(text: str, family: Family) -> Literal | None:
    """Return the date or timestamp in a text without time zone; None if it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is not None or (family is Family.DATE and moment.time() != time()):
        return None
    value: date = moment.date() if family is Family.DATE else moment
    return Literal(value=value, type=Type(family=family, first=value, last=value, is_nullable=False))


def coerce_date_literal(side: Expression, other: Expression) -> Expression:
    """Convert a literal that is compared with a date: text to a date, a date to a timestamp at midnight."""
    if other.type.family not in (Family.DATE, Family.TIMESTAMP) or not isinstance(side, Literal):
        return side
    if isinstance(side.value, str):
        return parse_date_literal(side.value, other.type.family) or side
    if other.type.family is Family.TIMESTAMP and side.type.family is Family.DATE:
        return parse_date_literal(str(side.value), Family.TIMESTAMP) or side
    return side
