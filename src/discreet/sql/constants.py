"""Literals of a query: exact numbers as written, dates, timestamps and text."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from discreet.sql.expressions import Expression, Literal
from discreet.sql.refusal import refuse, shown
from discreet.sql.types import BOOLEAN, NULL, TEXT, Family, Numeric, Type, double, number
from discreet.sql.types import DIGITS as EXACT_DIGITS

DIGITS = 40
SMALLEST = 30
MOMENTS = {"DATE": Family.DATE, "TIMESTAMP": Family.TIMESTAMP, "TIMESTAMPNTZ": Family.TIMESTAMP}
NOTHING = Literal(value=None, type=NULL)


def constant(node: exp.Expression) -> Literal | None:
    """Return the constant of a literal node; None for other nodes."""
    if isinstance(node, exp.Null):
        return NOTHING
    if isinstance(node, exp.Boolean):
        return Literal(value=bool(node.this), type=replace(BOOLEAN, nullable=False))
    if isinstance(node, exp.Literal) and node.is_string:
        return Literal(value=str(node.this), type=replace(TEXT, nullable=False))
    if isinstance(node, exp.Literal):
        return numeral(str(node.this))
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        return _moment(node, node.this)
    return None


def _moment(node: exp.Cast, written: exp.Literal) -> Literal | None:
    family = MOMENTS.get(node.to.this.name)
    if family is None:
        return None
    found = dated(str(written.this), family)
    if found is None:
        refuse(
            f"{shown(str(written.this))} is no {family.value}.", "Write DATE '2024-01-31', without a zone."
        )
    return found


def numeral(text: str) -> Literal:
    """Return a number exactly as written, with the type that DuckDB gives it.

    >>> [numeral(text).type.numeric.value for text in ("2", "2.0", "2e0")]
    ['integer', 'decimal', 'double']
    """
    value = _decimal(text)
    if value is None or abs(value) >= 2**53:
        refuse(f"the number {shown(text)} is too large.", "Use numbers below 2**53.")
    kind = replace(_type_of_numeral(text, Fraction(value)), known=True, nullable=False)
    return Literal(value=int(value) if kind.step == 1 else value, type=kind)


def _type_of_numeral(text: str, value: Fraction) -> Type:
    """Return DOUBLE for an exponent or too many digits, else INTEGER or DECIMAL; trailing zeros count."""
    before, point, behind = text.replace("_", "").partition(".")
    if "e" in text.lower() or len(before) + len(behind) > EXACT_DIGITS:
        return double(value, value, Fraction(1) if value.denominator == 1 else None)
    numeric = Numeric.DECIMAL if point else Numeric.INTEGER
    return number(value, value, Fraction(1, 10 ** len(behind)), numeric=numeric)


def whole_number(node: exp.Expression | None, *, most: int) -> int | None:
    """Return the whole number from 0 to `max_value` of a literal node; None for other nodes."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    text = str(node.this)
    if not text.isascii() or not text.isdigit() or len(text) > len(str(most)):
        return None
    return int(text) if int(text) <= most else None


def fraction(node: exp.Expression | None) -> Fraction | None:
    """Return the exact number of a literal node; None for other nodes."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    value = _decimal(str(node.this))
    return None if value is None else Fraction(value)


def _decimal(text: str) -> Decimal | None:
    """Return the number; None if not finite or too large; refuse one with too many digits to compute with."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or value.adjusted() > SMALLEST:
        return None
    if value.adjusted() < -SMALLEST or len(value.as_tuple().digits) > DIGITS:
        refuse(f"the number {shown(text)} has too many digits.", f"Use at most {DIGITS}.")
    return value


def dated(text: str, family: Family) -> Literal | None:
    """Return the date or timestamp in a text without time zone; None if it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is not None or (family is Family.DATE and moment.time() != time()):
        return None
    value: date = moment.date() if family is Family.DATE else moment
    return Literal(value=value, type=Type(family=family, first=value, last=value, nullable=False))


def beside(side: Expression, other: Expression) -> Expression:
    """Convert a literal that is compared with a date: text to a date, a date to a timestamp at midnight."""
    if other.type.family not in (Family.DATE, Family.TIMESTAMP) or not isinstance(side, Literal):
        return side
    if isinstance(side.value, str):
        return dated(side.value, other.type.family) or side
    if other.type.family is Family.TIMESTAMP and side.type.family is Family.DATE:
        return dated(str(side.value), Family.TIMESTAMP) or side
    return side
