"""Conversions and floating-point arithmetic for PostgreSQL, whose own raise instead of returning a value.

Text is matched against a pattern, and dates against the calendar, before it is converted. {x} is the operand.

PostgreSQL raises on overflow, underflow and division by 0. Such results are computed case by case: CASE is
evaluated in order, so an operation that would raise is never evaluated.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from math import isfinite

from discreet.core.numeral_patterns import NUMBER, SPECIAL
from discreet.engines.dialects.sql_types import TypeFamily

INFINITY = "CAST('Infinity' AS double precision)"
NAN = "CAST('NaN' AS double precision)"
ZERO = "CAST('0' AS double precision)"


def write_round_half_away(x: str) -> str:
    """Round half away from 0; the fraction is exact, and from 2**52 on all numbers are whole."""
    away = f"trunc({x}) + trunc(2 * ({x} - trunc({x})))"
    return f"CASE WHEN abs({x}) < 4503599627370496 THEN {away} ELSE {x} END"


def write_safe_add(a: str, operator: str, b: str) -> str:
    """Add without overflow: the sum of halves shows it; a far smaller summand cannot cause it."""
    halves = f"({a} * 0.5 {operator} {b} * 0.5)"
    return (
        f"CASE WHEN abs({a}) <= 8e307 AND abs({b}) <= 8e307 THEN {a} {operator} {b} "
        f"WHEN abs({a}) >= {INFINITY} OR abs({b}) >= {INFINITY} THEN {a} {operator} {b} "
        f"WHEN abs({a}) < 1e290 OR abs({b}) < 1e290 THEN {a} {operator} {b} "
        f"WHEN {halves} > {sys.float_info.max / 2!r} THEN {INFINITY} "
        f"WHEN {halves} < {-sys.float_info.max / 2!r} THEN -{INFINITY} ELSE {a} {operator} {b} END"
    )


def write_safe_scale(a: str, operator: str, b: str, size: float) -> str:
    """Multiply or divide by a constant: only overflow or only underflow is possible."""

    def compute_result(number: float) -> float:
        return number * size if operator == "*" else number / size

    if (size > 1) == (operator == "*"):
        most = _find_last(lambda number: isfinite(compute_result(number)))
        over = f"sign({a}) * sign({b}) * {INFINITY}"
        return (
            f"CASE WHEN abs({a}) > {_write_exact_double(most)} AND abs({a}) < {INFINITY} THEN {over} "
            f"ELSE {a} {operator} {b} END"
        )
    least = _find_last(lambda number: compute_result(number) == 0)
    return f"CASE WHEN abs({a}) <= {_write_exact_double(least)} THEN {ZERO} ELSE {a} {operator} {b} END"


def _write_exact_double(number: float) -> str:
    return f"CAST('{number!r}' AS double precision)"


def _find_last(holds: Callable[[float], bool]) -> float:
    """Return the largest number for which a downward-closed condition holds; it holds for 0.

    >>> _find_last(lambda number: number * 2 <= 1)
    0.5
    """
    low, high = 0, 0x7FE << 52 | (1 << 52) - 1  # positive floats sort like their bits

    def to_number(bits: int) -> float:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(to_number(middle)) else (low, middle - 1)
    return to_number(low)


def write_safe_multiply(a: str, b: str) -> str:
    """Multiply without overflow or underflow, which a product scaled by powers of 2 shows beforehand.

    Scaling by a power of 2 is exact, so the scaled product is rounded like the product itself. If a factor is
    NULL, 0, infinite or NaN, the plain product cannot raise.
    """
    large, small = f"greatest(abs({a}), abs({b}))", f"least(abs({a}), abs({b}))"
    down, up = _write_exact_double(2.0**-512), _write_exact_double(2.0**530)
    return (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL OR {small} = 0 OR {large} >= {INFINITY} THEN {a} * {b} "
        f"WHEN {small} > 1 THEN CASE WHEN ({large} * {down}) * ({small} * {down}) >= 1 "
        f"THEN sign({a}) * sign({b}) * {INFINITY} ELSE {a} * {b} END "
        f"WHEN {large} >= 1 OR {small} >= 1e-150 THEN {a} * {b} "
        f"WHEN {large} < 1e-162 THEN {ZERO} "
        f"WHEN ({small} * {up}) * ({large} * {up}) <= {2.0**-15!r} THEN {ZERO} ELSE {a} * {b} END"
    )


def write_safe_divide(a: str, b: str) -> str:
    """Divide as in IEEE 754, also by 0; a small divisor may overflow, a large one underflow."""
    x, y = f"abs({a})", f"abs({b})"
    down, up = (_write_exact_double(2.0**power) for power in (-600, 600))
    smaller, larger = (_write_exact_double(2.0**power) for power in (-500, 500))
    over = f"sign({a}) * sign({b}) * {INFINITY}"
    return (
        f"CASE WHEN {b} = 0 THEN CASE WHEN {a} = 0 OR {a} = {NAN} THEN {NAN} ELSE sign({a}) * {INFINITY} END "
        f"WHEN {x} >= {INFINITY} OR {y} >= {INFINITY} OR {a} = 0 THEN {a} / {b} "
        f"WHEN {y} < 1 THEN CASE WHEN {x} < {2.0**-60!r} THEN {a} / {b} "
        f"WHEN {y} >= {smaller} THEN CASE WHEN {x} * {down} / {y} >= {_write_exact_double(2.0**424)} "
        f"THEN {over} "
        f"ELSE {a} / {b} END "
        f"WHEN {x} * {down} / ({y} * {larger}) >= {_write_exact_double(2.0**-76)} THEN {over} ELSE "
        f"{a} / {b} END "
        f"WHEN {x} >= 1 THEN {a} / {b} "
        f"WHEN {y} < {larger} THEN CASE WHEN {x} * {up} / {y} <= {_write_exact_double(2.0**-475)} "
        f"THEN {ZERO} "
        f"ELSE {a} / {b} END "
        f"WHEN {x} * {up} / ({y} * {smaller}) <= {2.0**25!r} THEN {ZERO} ELSE {a} / {b} END"
    )


DAY = r"^\s*([0-9]{1,6})([-/ ])([0-9]{1,2})\2([0-9]{1,2})"
CLOCK = (
    r"((?: +|T)([0-9]{1,2}):([0-9]{1,2})(:([0-9]{1,2})(\.[0-9]+)?)?\s*(Z|[+-][0-9]{1,2}(:?[0-9]{2})?)?)?\s*$"
)
MOMENT = r"((?: +|T)[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]+)?)?(Z|[+-][0-9]{1,2}(:?[0-9]{2})?)?\s*)?$"

MAX_DATE_LENGTH = 200
"""Longer text is not a date: endless blanks and digits would make the pattern backtrack."""
_TRIMMED = "btrim({x}, ' \t\n\v\f\r')"
_NUMERIC = f"CAST({_TRIMMED} AS numeric)"
_TO_DOUBLE = (
    f"CASE WHEN abs({{n}}) >= 1.797693134862315807937e308 THEN sign({{n}}) * {INFINITY} "
    f"WHEN abs({{n}}) < 2.4703282292062328e-324 THEN {ZERO} ELSE CAST({{n}} AS double precision) END"
)
_IS_NUMBER = f"{{x}} ~ '{NUMBER}'"
_TEXT_DOUBLE = (
    f"(CASE WHEN {_IS_NUMBER} THEN {_TO_DOUBLE.replace('{n}', _NUMERIC)} "
    f"WHEN {{x}} ~ '{SPECIAL}' THEN CAST({_TRIMMED} AS double precision) END)"
)


_INTEGERS = "BETWEEN -9223372036854775808 AND 9223372036854775807"
_TEXT_INTEGER = (
    f"(CASE WHEN {_IS_NUMBER} THEN CASE WHEN round({_NUMERIC}) {_INTEGERS} "
    f"THEN CAST(round({_NUMERIC}) AS bigint) END END)"
)
_TEXT_WIDE = (
    f"(CASE WHEN {_IS_NUMBER} THEN CASE WHEN abs(round({_NUMERIC})) < 1e38 THEN round({_NUMERIC}) END END)"
)
READ_DECIMAL = (
    f"(CASE WHEN {_IS_NUMBER} THEN CASE WHEN abs(round({_NUMERIC}, {{places}})) < {{end}} "
    f"THEN round({_NUMERIC}, {{places}}) END END)"
)
_DOUBLE_INTEGER = (
    "(CASE WHEN {x} >= -9223372036854775808e0 AND {x} < 9223372036854775808e0 THEN CAST({x} AS bigint) END)"
)
_DECIMAL_DOUBLE = (
    f"(CASE WHEN {{x}} = CAST('NaN' AS numeric) THEN {NAN} WHEN abs({{x}}) >= 1.797693134862315807937e308 "
    f"THEN CASE WHEN {{x}} > 0 THEN {INFINITY} ELSE -{INFINITY} END "
    f"WHEN abs({{x}}) < 2.4703282292062328e-324 THEN {ZERO} ELSE CAST({{x}} AS double precision) END)"
)


def _write_date_field(place: int) -> str:
    return f"CAST({{x}}[{place}] AS integer)"


_YEAR, _MONTH, _DAY = _write_date_field(1), _write_date_field(3), _write_date_field(4)
_LEAP = f"(({_YEAR} % 4 = 0 AND {_YEAR} % 100 <> 0) OR {_YEAR} % 400 = 0)"
_FEBRUARY = f"CASE WHEN {_LEAP} THEN 29 ELSE 28 END"
_DAYS = f"CASE WHEN {_MONTH} IN (4, 6, 9, 11) THEN 30 WHEN {_MONTH} = 2 THEN {_FEBRUARY} ELSE 31 END"
_IS_DAY = f"{_YEAR} BETWEEN 1 AND 99999 AND {_MONTH} BETWEEN 1 AND 12 AND {_DAY} BETWEEN 1 AND {_DAYS}"
_HOUR, _MINUTE, _SECOND = (f"coalesce({_write_date_field(place)}, 0)" for place in (6, 7, 9))
_IS_TIME = f"{_HOUR} < 24 AND {_MINUTE} < 60 AND {_SECOND} < 60"
_FRACTION = "coalesce(CAST(rpad(substr({x}[10], 2, 6), 6, '0') AS integer), 0)"
_ZONE = "{x}[11]"
_MINUTES = (
    f"CASE WHEN {_ZONE} IS NULL OR {_ZONE} = 'Z' THEN 0 "
    f"ELSE (CASE WHEN {_ZONE} LIKE '-%' THEN -1 ELSE 1 END) * "
    f"(60 * CAST((regexp_match({_ZONE}, '^[+-]([0-9]{{1,2}})'))[1] AS integer) + "
    f"coalesce(CAST((regexp_match({_ZONE}, '^[+-][0-9]{{1,2}}:?([0-9]{{2}})$'))[1] AS integer), 0)) END"
)
_DATE = f"(CASE WHEN {_IS_DAY} AND {_IS_TIME} THEN make_date({_YEAR}, {_MONTH}, {_DAY}) END)"
_TIMESTAMP = (
    f"(CASE WHEN {_IS_DAY} AND {_IS_TIME} THEN CAST(make_date({_YEAR}, {_MONTH}, {_DAY}) AS timestamp) "
    f"+ make_interval(0, 0, 0, 0, {_HOUR}, {_MINUTE} - ({_MINUTES}), {_SECOND}) "
    f"+ {_FRACTION} * INTERVAL '1 microsecond' END)"
)
_IS_SHORT = f"length({{x}}) <= {MAX_DATE_LENGTH}"
_TEXT_DATE = f"(CASE WHEN {_IS_SHORT} THEN regexp_match({{x}}, '{DAY}{CLOCK}') END)"
_TEXT_MOMENT = (
    f"(CASE WHEN {_IS_SHORT} THEN CASE WHEN {{x}} ~ '{DAY}{MOMENT}' "
    f"THEN regexp_match({{x}}, '{DAY}{CLOCK}') END END)"
)
_TIMESTAMPS = "< DATE '294277-01-01' OR {x} = DATE 'infinity'"
_DOUBLE_TEXT = (
    "(CASE WHEN {x} = 'NaN' THEN 'nan' WHEN {x} = 'Infinity' THEN 'inf' WHEN {x} = '-Infinity' THEN '-inf' "
    "WHEN abs({x}) >= 1e15 AND abs({x}) < 1e16 AND {x} = trunc({x}) "
    "THEN CAST(CAST({x} AS bigint) AS text) || '.0' "
    "WHEN CAST({x} AS text) ~ '[.e]' THEN CAST({x} AS text) ELSE CAST({x} AS text) || '.0' END)"
)
_TEXT_BOOLEAN = (
    "(CASE WHEN lower({x}) IN ('true', 't', 'yes', 'y', '1') THEN TRUE "
    "WHEN lower({x}) IN ('false', 'f', 'no', 'n', '0') THEN FALSE END)"
)
_B, _I, _W, _E, _D = (
    TypeFamily.BOOLEAN,
    TypeFamily.INTEGER,
    TypeFamily.WIDE,
    TypeFamily.DECIMAL,
    TypeFamily.DOUBLE,
)
_T, _N, _A, _S, _Z = TypeFamily.TEXT, TypeFamily.ENUM, TypeFamily.DATE, TypeFamily.TIMESTAMP, TypeFamily.ZONED
_AS_TEXT = '(CAST({x} AS text) COLLATE "C")'

CONVERSIONS: dict[tuple[TypeFamily, TypeFamily], str] = {
    (_B, _I): "CAST(CAST({x} AS integer) AS bigint)",
    (_B, _D): "CAST(CAST({x} AS integer) AS double precision)",
    (_B, _T): "CASE WHEN {x} THEN 'true' WHEN NOT {x} THEN 'false' END",
    (_I, _I): "{x}",
    (_I, _B): "({x} <> 0)",
    (_I, _W): "CAST({x} AS numeric)",
    (_I, _E): "CAST({x} AS numeric)",
    (_I, _D): "CAST({x} AS double precision)",
    (_I, _T): _AS_TEXT,
    (_W, _I): f"(CASE WHEN {{x}} {_INTEGERS} THEN CAST({{x}} AS bigint) END)",
    (_W, _E): "{x}",
    (_W, _D): "CAST({x} AS double precision)",
    (_W, _T): _AS_TEXT,
    (_E, _I): f"(CASE WHEN round({{x}}) {_INTEGERS} THEN CAST(round({{x}}) AS bigint) END)",
    (_E, _W): "(CASE WHEN abs({x}) < 1e38 THEN round({x}) END)",
    (_E, _D): _DECIMAL_DOUBLE,
    (_E, _T): _AS_TEXT,
    (_D, _I): _DOUBLE_INTEGER,
    (_D, _W): f"CAST({_DOUBLE_INTEGER} AS numeric)",
    (_D, _B): "({x} <> 0)",
    (_D, _T): f'({_DOUBLE_TEXT} COLLATE "C")',
    (_T, _I): _TEXT_INTEGER,
    (_T, _W): _TEXT_WIDE,
    (_T, _D): _TEXT_DOUBLE,
    (_T, _B): _TEXT_BOOLEAN,
    (_T, _A): _TEXT_DATE,
    (_T, _S): _TEXT_MOMENT,
    (_T, _T): _AS_TEXT,
    (_N, _T): "{x}",
    (_A, _T): _AS_TEXT,
    (_A, _S): f"(CASE WHEN {{x}} {_TIMESTAMPS} THEN CAST({{x}} AS timestamp) END)",
    (_A, _B): "CAST(CASE WHEN {x} IS NULL THEN NULL END AS boolean)",
    (_S, _A): "CAST({x} AS date)",
    (_S, _B): "CAST(CASE WHEN {x} IS NULL THEN NULL END AS boolean)",
    (_S, _T): _AS_TEXT,
    (_Z, _S): "({x} AT TIME ZONE 'UTC')",
    (_Z, _A): "CAST(({x} AT TIME ZONE 'UTC') AS date)",
    (_Z, _T): "(CAST(({x} AT TIME ZONE 'UTC') AS text) || '+00' COLLATE \"C\")",
}
SECOND_STEPS = {(_T, _A): _DATE, (_T, _S): _TIMESTAMP}
"""Second step of a conversion from text: its {x} is the array of groups that the pattern matched."""
UNGUARDED_CONVERSIONS = {_I: "CAST({x} AS bigint)", _D: "CAST({x} AS double precision)"}
