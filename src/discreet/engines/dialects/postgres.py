"""PostgreSQL's way to write.

Floating point  PostgreSQL errs where a result is too large, too small, or divided by 0. What may be so is
                computed case by case: nothing that errs is ever evaluated, since CASE is, in order.
Text            compares by bytes (COLLATE "C"), as it does in DuckDB; upper and lower case are ICU's.
Conversions     PostgreSQL has none that gives NULL. What text is read as a number or a date is told by a
                pattern first, and by what a calendar allows.
Sums            of whole numbers are numeric, which holds them all.
"""

from __future__ import annotations

import hashlib
import re
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from sqlglot import exp, parse_one

from discreet.core.numerals import NUMBER, SPECIAL
from discreet.engines.dialects.dialect import ALIKE, NARROW, conversion, is_wide, told_apart, unsupported
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.marks import plain

LONGEST_NAME, SHORT = 63, 80
LONGEST_EXACT = 1e18
FENCE = " OFFSET BIGINT '0'"
"""A constant of its own type: a plain 0 becomes one only after workers were decided against."""
DAY = r"^\s*([0-9]{1,6})([-/ ])([0-9]{1,2})\2([0-9]{1,2})"
CLOCK = (
    r"((?: +|T)([0-9]{1,2}):([0-9]{1,2})(:([0-9]{1,2})(\.[0-9]+)?)?\s*(Z|[+-][0-9]{1,2}(:?[0-9]{2})?)?)?\s*$"
)
MOMENT = r"((?: +|T)[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]+)?)?(Z|[+-][0-9]{1,2}(:?[0-9]{2})?)?\s*)?$"
ORDER = ("+", "-")
TOTALS = re.compile(
    r"\b(bit_or|bool_and|bool_or|count|dense_rank|first_value|grouping|max|min|row_number|sum)\s*\(|\bOVER\b",
    re.I,
)


@dataclass(frozen=True, kw_only=True)
class Postgres:
    """A `Dialect`."""

    name: str = "PostgreSQL"
    grammar: str = "postgres"
    nothing: str = "()"
    fence: str = FENCE

    @property
    def types(self) -> Mapping[Family, str]:
        return TYPES

    @property
    def functions(self) -> frozenset[str]:
        return FUNCTIONS

    @property
    def constants(self) -> frozenset[str]:
        return CONSTANTS

    def called(self, name: str) -> str:
        """PostgreSQL would cut a long name off, and two might become one."""
        if len(name.encode()) <= LONGEST_NAME:
            return name
        digest = hashlib.sha256(name.encode()).hexdigest()[:24]
        return f"{name.encode()[:32].decode(errors='ignore')}~{digest}"

    def quoted(self, name: str) -> str:
        return '"' + self.called(name).replace('"', '""') + '"'

    def literal(self, text: str) -> str:
        if "\0" in text:
            unsupported(self.name, "text with a zero character")
        return "'" + text.replace("'", "''") + "'"

    def floating(self, text: str) -> str:
        return f"CAST('{float(text)!r}' AS double precision)"

    # -- Floating point ---------------------------------------------------------------------------------

    def computed(self, operator: str, left: Piece, right: Piece) -> str:
        if operator in ORDER:
            return _with_names(lambda a, b: _added(a, operator, b), left.text, right.text)
        if right.constant:
            size = right.constant
            return _with_names(lambda a, b: _scaled(a, operator, b, size), left.text, right.text)
        return _with_names(_multiplied if operator == "*" else _divided, left.text, right.text)

    def quotient(self, left: Piece, right: Piece) -> str:
        return f"({left.text} / {right.text})"

    def remainder(self, left: Piece, right: Piece) -> str:
        unsupported(self.name, "the remainder of numbers that are not whole")

    def exponential(self, of: Piece) -> str:
        if of.kind.largest <= 700:
            return f"exp({of.text})"
        return (
            f"(CASE WHEN {of.text} > 709.78 THEN {INFINITY} WHEN {of.text} < -745.13 THEN {ZERO} "
            f"ELSE exp({of.text}) END)"
        )

    def rounded(self, function: str, of: Piece) -> str:
        if function != "round":
            return {"round_even": f"round({of.text})"}.get(function, f"{function}({of.text})")
        return f"({_with_names(_away, of.text)})"

    def is_finite(self, of: Piece) -> str:
        return f"{of.text} > -{INFINITY} AND {of.text} < {INFINITY}"

    def is_nan(self, of: Piece) -> str:
        return f"{of.text} = {NAN}"

    # -- Conversions ------------------------------------------------------------------------------------

    def converted(self, of: Piece, to: Kind, *, narrow: bool) -> str:
        found = conversion(self.name, CONVERSIONS, of, to)
        if of.kind.family is Family.DECIMAL and of.kind.largest < LONGEST_EXACT:
            found = PLAINLY.get(to.family, found)  # nothing to guard against
        text = _filled(found, of.text)
        return _filled(NARROW, text) if narrow and is_wide(of) else text

    def same(self, left: Piece, right: Piece) -> str:
        """Two equalities, by which tables are joined through hashes; IS NOT DISTINCT FROM has none."""
        a, b, zero = left.text, right.text, ZEROS.get(left.kind.family)
        if zero is None:
            return f"({a} IS NOT DISTINCT FROM {b})"
        return f"(({a} IS NULL) = ({b} IS NULL) AND coalesce({a}, {zero}) = coalesce({b}, {zero}))"

    # -- Text and times ---------------------------------------------------------------------------------

    def like(self, text: Piece, pattern: Piece) -> str:
        return f"({text.text} LIKE {pattern.text} ESCAPE '')"

    def matches(self, text: Piece, pattern: str, *, alike: bool) -> str:
        """What tells upper and lower case alike is said by the operator, and a word's end by \\y."""
        words = f"substr({pattern}, {len(ALIKE) + 1 if alike else 1})"
        whole = f"'^(?:' || replace({words}, '\\b', '\\y') || ')$'"
        return f"({text.text} {'~*' if alike else '~'} ({whole}))"

    def lower(self, text: Piece) -> str:
        return f"(lower({text.text} COLLATE {ICU}) COLLATE {BYTES})"

    def upper(self, text: Piece) -> str:
        sharp = f"replace({text.text}, 'ß', 'ẞ')"  # elsewhere two letters
        return f"(upper({sharp} COLLATE {ICU}) COLLATE {BYTES})"

    def part(self, part: str, of: Piece) -> str:
        return f"CAST(floor(date_part('{part}', {of.text})) AS bigint)"

    def truncated(self, unit: str, of: Piece) -> str:
        return f"date_trunc('{unit}', {of.text})"

    # -- Lists ------------------------------------------------------------------------------------------

    def place(self, values: str, of: Piece) -> str:
        return f"array_position({values}, {of.text})"

    def at(self, values: str, place: str) -> str:
        return f"({values})[{place}]"

    def listed(self, items: Sequence[str], of: Kind) -> str:
        return f"CAST(ARRAY[{', '.join(items)}] AS {TYPES[of.family]}[])"

    def span(self, first: str, end: str) -> str:
        return f"ARRAY(SELECT generate_series(CAST({first} AS bigint), CAST({end} AS bigint) - 1))"

    def moments(self, first: str, end: str, step: str, to: Kind) -> str:
        series = f"generate_series({first}, {end} - INTERVAL '1 microsecond', {step})"
        return f"ARRAY(SELECT CAST({series} AS {TYPES[to.family]}))"

    def appended(self, items: Piece) -> str:
        return f"array_append({items.text}, NULL)"

    def unnested(self, items: Piece) -> str:
        return f"unnest({items.text})"

    # -- Totals -----------------------------------------------------------------------------------------

    def total(self, of: Piece, *, small: bool) -> str:
        return f"sum(CAST({of.text} AS integer))" if small else f"sum({of.text})"

    def total_in_order(self, of: Piece, order: Piece) -> str:
        """NULL where a number is so large that the sum might be too large to hold."""
        fits = f"abs({of.text}) <= 1e290"
        inner = f"CASE WHEN {fits} THEN {of.text} WHEN {of.text} IS NOT NULL THEN {ZERO} END"
        return f"(CASE WHEN bool_and({fits}) THEN sum({inner} ORDER BY {order.text}) END)"

    def any_bits(self, of: Piece) -> str:
        return f"bit_or({of.text})"

    def bits(self, of: Piece) -> str:
        return f"bit_count(CAST({of.text} AS bit(64)))"

    def shifted(self, direction: str, of: Piece, by: Piece) -> str:
        return f"({of.text} {direction} CAST({by.text} AS integer))"

    def grouping(self, names: Sequence[str]) -> str:
        """At most 31 keys at once."""
        parts = [names[start : start + 30] for start in range(0, len(names), 30)]
        text = "CAST(0 AS bigint)"
        for part in parts:
            text = f"(({text} << {len(part)}) | CAST(GROUPING({', '.join(part)}) AS bigint))"
        return text

    # -- Hashes -----------------------------------------------------------------------------------------

    def variable(self, name: str) -> str:
        """Read once for a statement, not for every row."""
        return f"(SELECT current_setting('{name.replace('_', '.', 1)}'))"

    def digest(self, of: Sequence[Piece]) -> str:
        return f"CAST(md5({told_apart(of, 'text', ' || '.join)}) AS uuid)"

    def scattered(self, of: Sequence[Piece]) -> str:
        return f"hash_record_extended(ROW({', '.join(each.text for each in of)}), 0)"


INFINITY = "CAST('Infinity' AS double precision)"
NAN = "CAST('NaN' AS double precision)"
ZERO = "CAST('0' AS double precision)"
ICU, BYTES = '"und-x-icu"', '"C"'

TYPES = {
    Family.BOOLEAN: "boolean",
    Family.INTEGER: "bigint",
    Family.WIDE: "numeric",
    Family.DECIMAL: "numeric",
    Family.DOUBLE: "double precision",
    Family.TEXT: "text",
    Family.ENUM: "text",
    Family.DATE: "date",
    Family.TIMESTAMP: "timestamp",
    Family.ZONED: "timestamp with time zone",
    Family.PERSON: "uuid",
}
ZEROS = {
    Family.BOOLEAN: "FALSE",
    Family.INTEGER: "0",
    Family.WIDE: "0",
    Family.DOUBLE: ZERO,
    Family.TEXT: "''",
    Family.ENUM: "''",
    Family.DATE: "DATE '2000-01-01'",
    Family.TIMESTAMP: "TIMESTAMP '2000-01-01'",
}


def _with_names(form: Callable[..., str], *parts: str) -> str:
    """The form over its parts; those that are long are computed once, under names.

    The fence keeps the planner from writing them out again. A total or a window would be one of the single
    row that the names are of, so it is written out.
    """
    if max(len(plain(part)) for part in parts) <= SHORT or any(TOTALS.search(part) for part in parts):
        return form(*parts)
    names = [f'"v"."{letter}"' for letter in "ab"[: len(parts)]]
    values = ", ".join(f'{part} AS "{letter}"' for part, letter in zip(parts, "ab", strict=False))
    return f'(SELECT {form(*names)} FROM (SELECT {values}{FENCE}) AS "v")'


def _filled(form: str, text: str) -> str:
    if form.count("{x}") == 1:
        return form.replace("{x}", text)
    return _with_names(lambda a: form.replace("{x}", a), text)


def _away(x: str) -> str:
    """Half away from 0, as the fraction is exact; from 2**52 on all numbers are whole."""
    away = f"trunc({x}) + trunc(2 * ({x} - trunc({x})))"
    return f"CASE WHEN abs({x}) < 4503599627370496 THEN {away} ELSE {x} END"


def _added(a: str, operator: str, b: str) -> str:
    """Halves add up like wholes; what is far below the larger one changes nothing that is too large."""
    halves = f"({a} * 0.5 {operator} {b} * 0.5)"
    return (
        f"CASE WHEN abs({a}) <= 8e307 AND abs({b}) <= 8e307 THEN {a} {operator} {b} "
        f"WHEN abs({a}) >= {INFINITY} OR abs({b}) >= {INFINITY} THEN {a} {operator} {b} "
        f"WHEN abs({a}) < 1e290 OR abs({b}) < 1e290 THEN {a} {operator} {b} "
        f"WHEN {halves} > {sys.float_info.max / 2!r} THEN {INFINITY} "
        f"WHEN {halves} < {-sys.float_info.max / 2!r} THEN -{INFINITY} ELSE {a} {operator} {b} END"
    )


def _scaled(a: str, operator: str, b: str, size: float) -> str:
    """By a constant, which makes the number larger or smaller."""

    def result(number: float) -> float:
        return number * size if operator == "*" else number / size

    if size == 1:
        return f"{a} {operator} {b}"
    if (size > 1) == (operator == "*"):
        most = _last(lambda number: isfinite(result(number)))
        over = f"sign({a}) * sign({b}) * {INFINITY}"
        return (
            f"CASE WHEN abs({a}) > {_exactly(most)} AND abs({a}) < {INFINITY} THEN {over} "
            f"ELSE {a} {operator} {b} END"
        )
    least = _last(lambda number: result(number) == 0)
    return f"CASE WHEN abs({a}) <= {_exactly(least)} THEN {ZERO} ELSE {a} {operator} {b} END"


def _exactly(number: float) -> str:
    return f"CAST('{number!r}' AS double precision)"


def _last(holds: Callable[[float], bool]) -> float:
    """The largest number of which something holds that holds of all smaller ones, and of 0.

    >>> _last(lambda number: number * 2 <= 1)
    0.5
    """
    low, high = 0, 0x7FE << 52 | (1 << 52) - 1  # the bits of numbers are in their order

    def number(bits: int) -> float:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(number(middle)) else (low, middle - 1)
    return number(low)


def _multiplied(a: str, b: str) -> str:
    """Where one of them is NULL, 0, infinite or NaN nothing can err; else numbers of a moderate size show it.

    Powers of 2 change no digit, so what is shown is rounded as the product itself.
    """
    large, small = f"greatest(abs({a}), abs({b}))", f"least(abs({a}), abs({b}))"
    down, up = _exactly(2.0**-512), _exactly(2.0**530)
    return (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL OR {small} = 0 OR {large} >= {INFINITY} THEN {a} * {b} "
        f"WHEN {small} > 1 THEN CASE WHEN ({large} * {down}) * ({small} * {down}) >= 1 "
        f"THEN sign({a}) * sign({b}) * {INFINITY} ELSE {a} * {b} END "
        f"WHEN {large} >= 1 OR {small} >= 1e-150 THEN {a} * {b} "
        f"WHEN {large} < 1e-162 THEN {ZERO} "
        f"WHEN ({small} * {up}) * ({large} * {up}) <= {2.0**-15!r} THEN {ZERO} ELSE {a} * {b} END"
    )


def _divided(a: str, b: str) -> str:
    """By 0 as in IEEE; by a small number it may be too large, by a large one too small."""
    x, y = f"abs({a})", f"abs({b})"
    down, up = (_exactly(2.0**power) for power in (-600, 600))
    smaller, larger = (_exactly(2.0**power) for power in (-500, 500))
    over = f"sign({a}) * sign({b}) * {INFINITY}"
    return (
        f"CASE WHEN {b} = 0 THEN CASE WHEN {a} = 0 OR {a} = {NAN} THEN {NAN} ELSE sign({a}) * {INFINITY} END "
        f"WHEN {x} >= {INFINITY} OR {y} >= {INFINITY} OR {a} = 0 THEN {a} / {b} "
        f"WHEN {y} < 1 THEN CASE WHEN {x} < {2.0**-60!r} THEN {a} / {b} "
        f"WHEN {y} >= {smaller} THEN CASE WHEN {x} * {down} / {y} >= {_exactly(2.0**424)} THEN {over} "
        f"ELSE {a} / {b} END "
        f"WHEN {x} * {down} / ({y} * {larger}) >= {_exactly(2.0**-76)} THEN {over} ELSE {a} / {b} END "
        f"WHEN {x} >= 1 THEN {a} / {b} "
        f"WHEN {y} < {larger} THEN CASE WHEN {x} * {up} / {y} <= {_exactly(2.0**-475)} THEN {ZERO} "
        f"ELSE {a} / {b} END "
        f"WHEN {x} * {up} / ({y} * {smaller}) <= {2.0**25!r} THEN {ZERO} ELSE {a} / {b} END"
    )


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
_DOUBLE_INTEGER = (
    "(CASE WHEN {x} >= -9223372036854775808e0 AND {x} < 9223372036854775808e0 THEN CAST({x} AS bigint) END)"
)
_DECIMAL_DOUBLE = (
    f"(CASE WHEN {{x}} = CAST('NaN' AS numeric) THEN {NAN} WHEN abs({{x}}) >= 1.797693134862315807937e308 "
    f"THEN CASE WHEN {{x}} > 0 THEN {INFINITY} ELSE -{INFINITY} END "
    f"WHEN abs({{x}}) < 2.4703282292062328e-324 THEN {ZERO} ELSE CAST({{x}} AS double precision) END)"
)


def _matched(place: int) -> str:
    return f"(regexp_match({{x}}, '{DAY}{CLOCK}'))[{place}]"


def _field(place: int) -> str:
    return f"CAST({_matched(place)} AS integer)"


_YEAR, _MONTH, _DAY = _field(1), _field(3), _field(4)
_LEAP = f"(({_YEAR} % 4 = 0 AND {_YEAR} % 100 <> 0) OR {_YEAR} % 400 = 0)"
_FEBRUARY = f"CASE WHEN {_LEAP} THEN 29 ELSE 28 END"
_DAYS = f"CASE WHEN {_MONTH} IN (4, 6, 9, 11) THEN 30 WHEN {_MONTH} = 2 THEN {_FEBRUARY} ELSE 31 END"
_IS_DAY = f"{_YEAR} BETWEEN 1 AND 99999 AND {_MONTH} BETWEEN 1 AND 12 AND {_DAY} BETWEEN 1 AND {_DAYS}"
_HOUR, _MINUTE = (f"coalesce({_field(place)}, 0)" for place in (6, 7))
_SECOND = f"coalesce({_field(9)}, 0)"
_IS_TIME = f"{_HOUR} < 24 AND {_MINUTE} < 60 AND {_SECOND} < 60"
_IS_DATED = f"{{x}} ~ '{DAY}{CLOCK}'"
_TEXT_DATE = (
    f"(CASE WHEN {_IS_DATED} THEN CASE WHEN {_IS_DAY} AND {_IS_TIME} "
    f"THEN make_date({_YEAR}, {_MONTH}, {_DAY}) END END)"
)
_FRACTION = f"coalesce(CAST(rpad(substr({_matched(10)}, 2, 6), 6, '0') AS integer), 0)"
_ZONE = _matched(11)
_MINUTES = (
    f"CASE WHEN {_ZONE} IS NULL OR {_ZONE} = 'Z' THEN 0 "
    f"ELSE (CASE WHEN {_ZONE} LIKE '-%' THEN -1 ELSE 1 END) * "
    f"(60 * CAST((regexp_match({_ZONE}, '^[+-]([0-9]{{1,2}})'))[1] AS integer) + "
    f"coalesce(CAST((regexp_match({_ZONE}, '^[+-][0-9]{{1,2}}:?([0-9]{{2}})$'))[1] AS integer), 0)) END"
)
_TEXT_TIMESTAMP = (
    f"(CASE WHEN {_IS_DATED} AND {{x}} ~ '{DAY}{MOMENT}' THEN CASE WHEN {_IS_DAY} AND {_IS_TIME} "
    f"THEN CAST(make_date({_YEAR}, {_MONTH}, {_DAY}) AS timestamp) "
    f"+ make_interval(0, 0, 0, 0, {_HOUR}, {_MINUTE} - ({_MINUTES}), {_SECOND}) "
    f"+ {_FRACTION} * INTERVAL '1 microsecond' END END)"
)
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
_B, _I, _W, _E, _D = Family.BOOLEAN, Family.INTEGER, Family.WIDE, Family.DECIMAL, Family.DOUBLE
_T, _N, _A, _S, _Z = Family.TEXT, Family.ENUM, Family.DATE, Family.TIMESTAMP, Family.ZONED
_AS_TEXT = '(CAST({x} AS text) COLLATE "C")'

CONVERSIONS: dict[tuple[Family, Family], str] = {
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
    (_T, _S): _TEXT_TIMESTAMP,
    (_T, _T): _AS_TEXT,
    (_N, _T): "{x}",
    (_A, _T): _AS_TEXT,
    (_A, _S): "CAST({x} AS timestamp)",
    (_A, _B): "CAST(CASE WHEN {x} IS NULL THEN NULL END AS boolean)",
    (_S, _A): "CAST({x} AS date)",
    (_S, _B): "CAST(CASE WHEN {x} IS NULL THEN NULL END AS boolean)",
    (_S, _T): _AS_TEXT,
    (_Z, _S): "({x} AT TIME ZONE 'UTC')",
    (_Z, _A): "CAST(({x} AT TIME ZONE 'UTC') AS date)",
    (_Z, _T): "(CAST(({x} AT TIME ZONE 'UTC') AS text) || '+00' COLLATE \"C\")",
}
PLAINLY = {_I: "CAST({x} AS bigint)", _D: "CAST({x} AS double precision)"}
FUNCTIONS = frozenset(
    """abs array_append array_position bit_count bit_or bool_and bool_or btrim ceil coalesce count
    current_setting date_part date_trunc dense_rank exp first_value floor generate_series greatest grouping
    hash_record_extended least length lower make_date make_interval max md5 min nullif regexp_match replace
    round row row_number rpad sign substr sum trim trunc unnest upper""".split()  # noqa: SIM905
)
CONSTANTS = frozenset(
    str(node.this)
    for text in CONVERSIONS.values()
    for node in parse_one(text.replace("{x}", "x"), read="postgres").find_all(exp.Literal)
    if node.is_string
) | frozenset(
    """Infinity NaN : - UTC year quarter month week day hour minute discreet.before discreet.after
    2000-01-01""".split()  # noqa: SIM905
)
CONSTANTS |= {"", "1 microsecond", "^(?:", ")$", "\\b", "\\y", "ß", "ẞ"}
