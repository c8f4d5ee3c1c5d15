"""Clamping and encoding: the SQL that converts, rounds and clamps a source's value as the policy declares.

Total       every expression has a value for whatever the source holds. A value that cannot be read as the
            declared type is NULL; nothing raises, so neither an error nor its absence depends on the data.
Text        that is read as a number is a numeral, the same on every engine (`core.numeral_patterns`).
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

from discreet.core.column_entry import LONGEST_TEXT, Column, ColumnType
from discreet.core.numeral_patterns import extract_numeral_sql
from discreet.core.sql_quoting import quote_identifier, quote_literal

TRUE_WORDS = "('true', 't', 'yes', 'y', '1', '1.0')"
FALSE_WORDS = "('false', 'f', 'no', 'n', '0', '0.0')"
CALENDAR = (date(1, 1, 1), date(9999, 12, 31))
PLAIN_TYPES = re.compile(
    r"BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|DATE"
    r"|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE"
)
INTEGER_TYPES = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
DECIMAL_TYPE = re.compile(r"DECIMAL\((\d+),(\d+)\)")
MAX_BIGINT_DIGITS = 18
"""Decimal digits that 64 bits hold."""
FRACTIONAL_TYPES = ("FLOAT", "DOUBLE", "DECIMAL")
WIDEST_STEPS = 2**52
"""Numbers of more steps are not told apart where values are looked at before they are clamped."""


def encode_column(column: Column, name: str, source_type: str) -> str:
    """Return the SQL of the stored value of a source's column `name`, whose type there is `source_type`."""
    return ENCODERS[column.type](column, *read_plain_type(name, source_type))


def encode_unclamped(column: Column, name: str, source_type: str) -> str:
    """Return the SQL of a value as its type, but not clamped to the column's bounds; NULL if it is none.

    Numbers with bounds are in steps of the resolution, clamped to WIDEST_STEPS alone.
    """
    if column.grid_bounds is None:
        return encode_column(column.model_copy(update={"low": None, "high": None}), name, source_type)
    value, source_type = read_plain_type(name, source_type)
    if source_type == "VARCHAR":
        # DuckDB also reads underscores among digits (and `+-5`); a pattern takes three times as long
        value = f"CASE WHEN NOT contains({value}, '_') THEN {value} END"
    return _encode_steps(column, (-WIDEST_STEPS, WIDEST_STEPS), value, source_type)


def find_fraction(name: str, source_type: str) -> str | None:
    """Return the SQL of whether a number of a source has a fraction; None if its type has none."""
    value, source_type = read_plain_type(name, source_type)
    if source_type == "VARCHAR":
        number = f"TRY_CAST({_read_numeral(value, source_type)} AS DOUBLE)"
        # few texts have a point, and the others are not read again
        return f"CASE WHEN contains({value}, '.') THEN {number} <> floor({number}) ELSE false END"
    return f"{value} <> floor({value})" if source_type.startswith(FRACTIONAL_TYPES) else None


@dataclass(frozen=True, kw_only=True)
class DeferredEncoding:
    """SQL of a value that becomes the stored one later: a number is multiplied by its steps per unit."""

    text: str
    steps_per_unit: int = 1


def defer_encoding(column: Column, name: str, source_type: str) -> DeferredEncoding | None:
    """Return a column's encoding without its last step, or None if no step can be deferred."""
    value, source_type = read_plain_type(name, source_type)
    if column.type is ColumnType.CATEGORY and column.values is not None:
        return DeferredEncoding(text=_cast_to_text(value))
    narrow, each = DECIMAL_TYPE.fullmatch(source_type), column.grid_step.denominator
    places = len(str(each)) - 1
    whole = narrow is not None and _encode_exact_steps(column, value, source_type) is not None
    if column.grid_bounds is None or narrow is None or not whole or each != 10**places:
        return None
    digits, scale = map(int, narrow.groups())
    low, high = (Decimal(bound).scaleb(-places) for bound in column.grid_bounds)
    largest = Decimal(10**digits - 1).scaleb(-scale)
    return DeferredEncoding(text=_clamp_exact_number(value, low, high, largest), steps_per_unit=each)


def _clamp_exact_number(value: str, low: Decimal, high: Decimal, largest: Decimal) -> str:
    """Clamp an exact number to its bounds; only NaN is above the largest of its type, and becomes NULL."""
    return (
        f"CASE WHEN {value} BETWEEN {low:f} AND {high:f} THEN {value} WHEN {value} < {low:f} THEN {low:f} "
        f"WHEN {value} <= {largest:f} THEN {high:f} END"
    )


def encode_person(column: Column, name: str, source_type: str) -> str:
    """Return the SQL of a person's identifier as text, or NULL if there is no person."""
    value, source_type = read_plain_type(name, source_type)
    text = f"nullif(TRY_CAST({value} AS VARCHAR), '')"
    whole = f"TRY_CAST({_read_numeral(value, source_type)} AS HUGEINT)"
    if source_type.startswith(FRACTIONAL_TYPES):
        # the largest whole numbers do not fit into DECIMAL(38,10) again for a comparison
        is_whole = f"{value} % 1 = 0" if source_type.startswith("DECIMAL") else f"{value} = {whole}"
        number = f"CASE WHEN {is_whole} THEN coalesce({whole}::VARCHAR, {text}) ELSE {text} END"
        return f"CASE WHEN NOT isnan(TRY_CAST({value} AS DOUBLE)) THEN {number} END"
    if column.type is ColumnType.INTEGER and source_type == "VARCHAR":
        # a cast rounds: 7.4 is nobody's 7
        is_whole = f"TRY_CAST({_read_numeral(value, source_type)} AS DOUBLE) = {whole}"
        return f"CASE WHEN {is_whole} THEN {whole}::VARCHAR ELSE {text} END"
    if column.type is ColumnType.INTEGER:
        return f"coalesce({whole}::VARCHAR, {text})"
    return text


def encode_identity(column: Column, name: str, source_type: str) -> str:
    """Return the SQL of a value that is equal where the identifier's text is; integers stay numbers."""
    return (
        quote_identifier(name)
        if INTEGER_TYPES.fullmatch(source_type)
        else encode_person(column, name, source_type)
    )


def read_plain_type(name: str, source_type: str) -> tuple[str, str]:
    """Return a value and its type; other than plain types become text, as TRY_CAST raises for some."""
    if PLAIN_TYPES.fullmatch(source_type):
        return quote_identifier(name), source_type
    return f"TRY_CAST({quote_identifier(name)} AS VARCHAR)", "VARCHAR"


def _read_numeral(value: str, source_type: str) -> str:
    """Return the SQL of a value that is read as a number; text must be a numeral."""
    return extract_numeral_sql(value) if source_type == "VARCHAR" else value


def _encode_integer(column: Column, value: str, source_type: str) -> str:
    value = _read_numeral(value, source_type)
    if column.grid_bounds is not None:
        return _encode_steps(column, column.grid_bounds, value, source_type)
    return f"TRY_CAST({value} AS BIGINT)"


def _encode_decimal(column: Column, value: str, source_type: str) -> str:
    value = _read_numeral(value, source_type)
    if column.grid_bounds is not None:
        return _encode_steps(column, column.grid_bounds, value, source_type)
    number = f"TRY_CAST({value} AS DOUBLE)"
    return f"CASE WHEN {number} = 0 THEN '0'::DOUBLE WHEN isfinite({number}) THEN {number} END"


def _encode_steps(column: Column, grid: tuple[int, int], value: str, source_type: str) -> str:
    """Return the SQL of a number in steps of the column's resolution, rounded and clamped to its bounds."""
    whole = _encode_exact_steps(column, value, source_type)
    if whole is not None:
        nearest = f"greatest({grid[0]}, least({grid[1]}, {whole}))"
        return f"CASE WHEN {value} IS NOT NULL THEN CAST({nearest} AS BIGINT) END"
    low, high, p, q = (
        f"'{float(number)!r}'::DOUBLE"
        for number in (*grid, column.grid_step.numerator, column.grid_step.denominator)
    )
    number = f"TRY_CAST({value} AS DOUBLE)"
    clamped = f"greatest({low}, least({high}, round({number} * {q} / {p})))"
    # To greatest and least, NaN is larger than every number, and NULL is ignored.
    return f"CASE WHEN NOT isnan({number}) THEN CAST({clamped} AS BIGINT) END"


def _encode_exact_steps(column: Column, value: str, source_type: str) -> str | None:
    """Return the number in steps, if every number of its type is a whole number of steps; else None."""
    if INTEGER_TYPES.fullmatch(source_type) and column.grid_step == 1:
        return value
    narrow = DECIMAL_TYPE.fullmatch(source_type)
    if narrow is None or column.grid_step.numerator != 1:
        return None
    (digits, scale), each = map(int, narrow.groups()), column.grid_step.denominator
    if each % 10**scale or digits + len(str(each)) > MAX_BIGINT_DIGITS:
        return None
    return f"CAST({value} * {each} AS BIGINT)"


def _encode_category(column: Column, value: str, source_type: str) -> str:
    if column.values is None:
        return _encode_text(column, value, source_type)
    return f"TRY_CAST({_cast_to_text(value)} AS ENUM ({', '.join(map(quote_literal, column.values))}))"


def _encode_text(_: Column, value: str, __: str) -> str:
    return f"substr({_cast_to_text(value)}, 1, {LONGEST_TEXT})"


def _cast_to_text(value: str) -> str:
    return f"TRY_CAST({value} AS VARCHAR)"


def _encode_boolean(_: Column, value: str, __: str) -> str:
    word = f"lower(trim(TRY_CAST({value} AS VARCHAR)))"
    return f"CASE WHEN {word} IN {TRUE_WORDS} THEN true WHEN {word} IN {FALSE_WORDS} THEN false END"


def _encode_date(column: Column, value: str, _: str) -> str:
    return _clamp_time(column, read_date(value), "DATE")


def _encode_timestamp(column: Column, value: str, source_type: str) -> str:
    return _clamp_time(column, read_timestamp(value, source_type), "TIMESTAMP")


def read_date(value: str) -> str:
    """Return the SQL of a value that is read as a date."""
    return f"TRY_CAST({value} AS DATE)"


def read_timestamp(value: str, source_type: str) -> str:
    """Return the SQL of a value that is read as a time."""
    # Text may carry an offset, which a plain cast to TIMESTAMP would drop.
    known = f"TRY_CAST({value} AS TIMESTAMPTZ)" if source_type == "VARCHAR" else value
    return f"TRY_CAST({known} AS TIMESTAMP)"


def _clamp_time(column: Column, value: str, kind: str) -> str:
    """Clamp a time to its declared bounds; without bounds, times outside of the calendar are NULL."""
    if column.low is None or column.high is None:
        first, last = (write_time_literal(day, kind) for day in CALENDAR)
        beyond = f"{last} + INTERVAL 1 DAY" if kind == "TIMESTAMP" else f"{last} + 1"
        return f"CASE WHEN {value} >= {first} AND {value} < {beyond} THEN {value} END"
    low, high = (write_time_literal(bound, kind) for bound in (column.low, column.high))
    return f"CASE WHEN {value} IS NOT NULL THEN greatest({low}, least({high}, {value})) END"


def write_time_literal(bound: object, kind: str) -> str:
    if isinstance(bound, datetime) and bound.tzinfo is not None:
        bound = bound.astimezone(UTC).replace(tzinfo=None)
    if isinstance(bound, datetime) and kind == "DATE":
        bound = bound.date()
    assert isinstance(bound, date)
    return f"{kind} '{bound.isoformat()}'"


ENCODERS: dict[ColumnType, Callable[[Column, str, str], str]] = {
    ColumnType.INTEGER: _encode_integer,
    ColumnType.DECIMAL: _encode_decimal,
    ColumnType.CATEGORY: _encode_category,
    ColumnType.TEXT: _encode_text,
    ColumnType.DATE: _encode_date,
    ColumnType.TIMESTAMP: _encode_timestamp,
    ColumnType.BOOLEAN: _encode_boolean,
}
