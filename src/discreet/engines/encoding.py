"""Clamping and encoding: the SQL that converts, rounds and clamps a source's value as the policy declares.

Total       every expression has a value for whatever the source holds. A value that cannot be read as the
            declared type is NULL; nothing raises, so neither an error nor its absence depends on the data.
Text        that is read as a number is a numeral, the same on every engine (`core.numerals`).
Numbers     with bounds: steps of the declared resolution, rounded to the nearest and clamped, infinities
            too. The conversion through DOUBLE is exact for integers: bounds stay below 2**53, and rounding a
            larger integer does not bring it back between them. Numbers that are whole steps already, as
            integers and narrow decimals may be, are clamped without it. NaN is NULL.
            Without bounds: BIGINT, or DOUBLE without NaN, infinities and negative zero.
Categories  with declared values: an ENUM of them in their order, everything else is NULL. Else VARCHAR.
Text        its first LONGEST_TEXT characters, so that one person's text takes no more time than these.
Times       DATE or TIMESTAMP (UTC), clamped where bounds are declared. Without bounds, times outside of the
            years 1 to 9999 are NULL: date functions and calendars overflow there.
Deferred    an encoding whose last step is done after values were grouped or summed: the text of a category
            that may be none of the declared values, and an exact number that is clamped but not yet
            multiplied to whole steps.
Persons     the text of the identifier. The same whole number is the same person whatever its type in
            the file (7, 7.0), and a fraction (7.4) is another. Empty text and NaN identify nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from discreet.core.numerals import numeral
from discreet.core.policy import LONGEST_TEXT, Column, Kind
from discreet.engines.connection import literal, quoted

YES = "('true', 't', 'yes', 'y', '1', '1.0')"
NO = "('false', 'f', 'no', 'n', '0', '0.0')"
CALENDAR = (date(1, 1, 1), date(9999, 12, 31))
PLAIN = re.compile(
    r"BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|DATE"
    r"|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE"
)
WHOLE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
NARROW = re.compile(r"DECIMAL\((\d+),(\d+)\)")
DIGITS = 18
"""Decimal digits that 64 bits hold."""
ROUNDED = ("FLOAT", "DOUBLE", "DECIMAL")


def encoded(column: Column, name: str, source_type: str) -> str:
    """Return the SQL of the stored value of a source's column `name`, whose type there is `source_type`."""
    return ENCODERS[column.type](column, *_plain(name, source_type))


@dataclass(frozen=True, kw_only=True)
class Late:
    """SQL of a value that becomes the stored one later: a number is multiplied by its steps per unit."""

    text: str
    steps: int = 1


def late(column: Column, name: str, source_type: str) -> Late | None:
    """Return a column's encoding without its last step, or None if no step can be deferred."""
    value, source_type = _plain(name, source_type)
    if column.type is Kind.CATEGORY and column.values is not None:
        return Late(text=_whole_text(value))
    narrow, each = NARROW.fullmatch(source_type), column.step.denominator
    places = len(str(each)) - 1
    whole = narrow is not None and _whole_steps(column, value, source_type) is not None
    if column.grid is None or narrow is None or not whole or each != 10**places:
        return None
    digits, scale = map(int, narrow.groups())
    low, high = (Decimal(bound).scaleb(-places) for bound in column.grid)
    largest = Decimal(10**digits - 1).scaleb(-scale)
    return Late(text=_clamped(value, low, high, largest), steps=each)


def _clamped(value: str, low: Decimal, high: Decimal, largest: Decimal) -> str:
    """Clamp an exact number to its bounds; only NaN is above the largest of its type, and becomes NULL."""
    return (
        f"CASE WHEN {value} BETWEEN {low:f} AND {high:f} THEN {value} WHEN {value} < {low:f} THEN {low:f} "
        f"WHEN {value} <= {largest:f} THEN {high:f} END"
    )


def person(column: Column, name: str, source_type: str) -> str:
    """Return the SQL of a person's identifier as text, or NULL if there is no person."""
    value, source_type = _plain(name, source_type)
    text = f"nullif(TRY_CAST({value} AS VARCHAR), '')"
    whole = f"TRY_CAST({_numeral(value, source_type)} AS HUGEINT)"
    if source_type.startswith(ROUNDED):
        # the largest whole numbers do not fit into DECIMAL(38,10) again for a comparison
        is_whole = f"{value} % 1 = 0" if source_type.startswith("DECIMAL") else f"{value} = {whole}"
        number = f"CASE WHEN {is_whole} THEN coalesce({whole}::VARCHAR, {text}) ELSE {text} END"
        return f"CASE WHEN NOT isnan(TRY_CAST({value} AS DOUBLE)) THEN {number} END"
    if column.type is Kind.INTEGER and source_type == "VARCHAR":
        # a cast rounds: 7.4 is nobody's 7
        is_whole = f"TRY_CAST({_numeral(value, source_type)} AS DOUBLE) = {whole}"
        return f"CASE WHEN {is_whole} THEN {whole}::VARCHAR ELSE {text} END"
    if column.type is Kind.INTEGER:
        return f"coalesce({whole}::VARCHAR, {text})"
    return text


def identity(column: Column, name: str, source_type: str) -> str:
    """Return the SQL of a value that is equal where the identifier's text is; integers stay numbers."""
    return quoted(name) if WHOLE.fullmatch(source_type) else person(column, name, source_type)


def _plain(name: str, source_type: str) -> tuple[str, str]:
    """Return a value and its type; other than plain types become text, as TRY_CAST raises for some."""
    if PLAIN.fullmatch(source_type):
        return quoted(name), source_type
    return f"TRY_CAST({quoted(name)} AS VARCHAR)", "VARCHAR"


def _numeral(value: str, source_type: str) -> str:
    """Return the SQL of a value that is read as a number; text must be a numeral."""
    return numeral(value) if source_type == "VARCHAR" else value


def _integer(column: Column, value: str, source_type: str) -> str:
    value = _numeral(value, source_type)
    if column.grid is not None:
        return _steps(column, column.grid, value, source_type)
    return f"TRY_CAST({value} AS BIGINT)"


def _decimal(column: Column, value: str, source_type: str) -> str:
    value = _numeral(value, source_type)
    if column.grid is not None:
        return _steps(column, column.grid, value, source_type)
    number = f"TRY_CAST({value} AS DOUBLE)"
    return f"CASE WHEN {number} = 0 THEN '0'::DOUBLE WHEN isfinite({number}) THEN {number} END"


def _steps(column: Column, grid: tuple[int, int], value: str, source_type: str) -> str:
    """Return the SQL of a number in steps of the column's resolution, rounded and clamped to its bounds."""
    whole = _whole_steps(column, value, source_type)
    if whole is not None:
        nearest = f"greatest({grid[0]}, least({grid[1]}, {whole}))"
        return f"CASE WHEN {value} IS NOT NULL THEN CAST({nearest} AS BIGINT) END"
    low, high, p, q = (
        f"'{float(number)!r}'::DOUBLE" for number in (*grid, column.step.numerator, column.step.denominator)
    )
    number = f"TRY_CAST({value} AS DOUBLE)"
    clamped = f"greatest({low}, least({high}, round({number} * {q} / {p})))"
    # To greatest and least, NaN is larger than every number, and NULL is ignored.
    return f"CASE WHEN NOT isnan({number}) THEN CAST({clamped} AS BIGINT) END"


def _whole_steps(column: Column, value: str, source_type: str) -> str | None:
    """Return the number in steps, if every number of its type is a whole number of steps; else None."""
    if WHOLE.fullmatch(source_type) and column.step == 1:
        return value
    narrow = NARROW.fullmatch(source_type)
    if narrow is None or column.step.numerator != 1:
        return None
    (digits, scale), each = map(int, narrow.groups()), column.step.denominator
    if each % 10**scale or digits + len(str(each)) > DIGITS:
        return None
    return f"CAST({value} * {each} AS BIGINT)"


def _category(column: Column, value: str, source_type: str) -> str:
    if column.values is None:
        return _text(column, value, source_type)
    return f"TRY_CAST({_whole_text(value)} AS ENUM ({', '.join(map(literal, column.values))}))"


def _text(_: Column, value: str, __: str) -> str:
    return f"substr({_whole_text(value)}, 1, {LONGEST_TEXT})"


def _whole_text(value: str) -> str:
    return f"TRY_CAST({value} AS VARCHAR)"


def _boolean(_: Column, value: str, __: str) -> str:
    word = f"lower(trim(TRY_CAST({value} AS VARCHAR)))"
    return f"CASE WHEN {word} IN {YES} THEN true WHEN {word} IN {NO} THEN false END"


def _date(column: Column, value: str, _: str) -> str:
    return _within(column, f"TRY_CAST({value} AS DATE)", "DATE")


def _timestamp(column: Column, value: str, source_type: str) -> str:
    # Text may carry an offset, which a plain cast to TIMESTAMP would drop.
    known = f"TRY_CAST({value} AS TIMESTAMPTZ)" if source_type == "VARCHAR" else value
    return _within(column, f"TRY_CAST({known} AS TIMESTAMP)", "TIMESTAMP")


def _within(column: Column, value: str, kind: str) -> str:
    """Clamp a time to its declared bounds; without bounds, times outside of the calendar are NULL."""
    if column.low is None or column.high is None:
        first, last = (_moment(day, kind) for day in CALENDAR)
        beyond = f"{last} + INTERVAL 1 DAY" if kind == "TIMESTAMP" else f"{last} + 1"
        return f"CASE WHEN {value} >= {first} AND {value} < {beyond} THEN {value} END"
    low, high = (_moment(bound, kind) for bound in (column.low, column.high))
    return f"CASE WHEN {value} IS NOT NULL THEN greatest({low}, least({high}, {value})) END"


def _moment(bound: object, kind: str) -> str:
    if isinstance(bound, datetime) and bound.tzinfo is not None:
        bound = bound.astimezone(UTC).replace(tzinfo=None)
    if isinstance(bound, datetime) and kind == "DATE":
        bound = bound.date()
    assert isinstance(bound, date)
    return f"{kind} '{bound.isoformat()}'"


ENCODERS: dict[Kind, Callable[[Column, str, str], str]] = {
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.CATEGORY: _category,
    Kind.TEXT: _text,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.BOOLEAN: _boolean,
}
