"""Conversions for PostgreSQL, whose own casts raise instead of returning NULL.

Text is matched against a pattern, and dates against the calendar, before it is converted. {x} is the operand.
"""

from __future__ import annotations

from discreet.core.numeral_patterns import NUMBER, SPECIAL
from discreet.engines.dialects.postgres_floats import INFINITY, NAN, ZERO
from discreet.engines.dialects.sql_types import TypeFamily

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
