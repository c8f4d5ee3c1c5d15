"""Conversions and LIKE for Spark without ANSI mode; a text that is not of the type becomes NULL.

Text is matched against the patterns that DuckDB accepts before it is converted: Spark alone reads '1d' as a
number and '2020' as a date. {x} is the operand, {p} a pattern. No function here is applied to a value for
which it would raise.
"""

from __future__ import annotations

from discreet.core.numeral_patterns import BLANKS, NUMBER
from discreet.engines.dialects.sql_types import TypeFamily

INFINITY = "CAST('Infinity' AS DOUBLE)"
NAN = "CAST('NaN' AS DOUBLE)"
ZERO = "CAST(0 AS DOUBLE)"
POSITIVE, NEGATIVE = rf"(?i)^{BLANKS}[+]?(inf|infinity){BLANKS}$", rf"(?i)^{BLANKS}[-](inf|infinity){BLANKS}$"
NOT_A_NUMBER = rf"(?i)^{BLANKS}[+-]?nan{BLANKS}$"
DAY = r"^\s*([0-9]{1,6})([-/ ])([0-9]{1,2})\2([0-9]{1,2})"
CLOCK = (
    r"((?: +|T)([0-9]{1,2}):([0-9]{1,2})(:([0-9]{1,2})([.][0-9]+)?)?\s*(Z|[+-][0-9]{1,2}(:?[0-9]{2})?)?)?\s*$"
)
MOMENT = r"((?: +|T)[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]+)?)?(Z|[+-][0-9]{1,2}(:?[0-9]{2})?)?\s*)?$"
MAX_UNGUARDED_DECIMAL = 1e18
LONGEST_DATE, LONGEST_PATTERN = 200, 1000
"""Longer text is not a date; LIKE with a longer pattern is NULL, as Java's matcher recurses per character."""
MIN_PLAIN_STEP = 1e-6
"""Spark may write a DECIMAL of smaller steps with an exponent."""


def quote_text(text: str) -> str:
    """Return a text as a literal, in which a backslash escapes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SPECIAL_SIGN, LAST_PERCENT = r"[\\^$.|?*+()\[\]{}]", "%([^%]*)$"
OTHER_PERCENT = "%+([^%]*)(?=%)"
_ESCAPED = (
    f"replace(regexp_replace({{p}}, {quote_text(SPECIAL_SIGN)}, {quote_text(chr(92) * 2 + '$0')}), '_', '.')"
)
_FOUND_FIRST = f"regexp_replace({_ESCAPED}, {quote_text(OTHER_PERCENT)}, {quote_text('(?>.*?$1)')})"
_FOUND_LAST = f"regexp_replace({_FOUND_FIRST}, {quote_text(LAST_PERCENT)}, {quote_text('.*$1')})"
LIKE = (
    f"(CASE WHEN length({{p}}) <= {LONGEST_PATTERN} "
    f"THEN {{x}} RLIKE concat('(?s)^', {_FOUND_LAST}, {quote_text(chr(92) + 'z')}) END)"
)
_SPACES = quote_text(" \t\n\x0b\f\r")
_TRIMMED = f"trim(BOTH {_SPACES} FROM {{x}})"
_IS_NUMBER = f"{{x}} RLIKE {quote_text(NUMBER)}"
_TEXT_DOUBLE = (
    f"(CASE WHEN {_IS_NUMBER} THEN try_cast({_TRIMMED} AS DOUBLE) "
    f"WHEN {{x}} RLIKE {quote_text(POSITIVE)} THEN {INFINITY} "
    f"WHEN {{x}} RLIKE {quote_text(NEGATIVE)} THEN -{INFINITY} "
    f"WHEN {{x}} RLIKE {quote_text(NOT_A_NUMBER)} THEN {NAN} END)"
)
_TEXT_WIDE = f"(CASE WHEN {_IS_NUMBER} THEN try_cast({_TRIMMED} AS DECIMAL(38, 0)) END)"
READ_DECIMAL = f"(CASE WHEN {_IS_NUMBER} THEN try_cast({_TRIMMED} AS {{type}}) END)"
_TEXT_INTEGER = f"try_cast({_TEXT_WIDE} AS BIGINT)"
_DOUBLE_INTEGER = (
    "(CASE WHEN {x} >= -9.223372036854775808E18 AND {x} < 9.223372036854775808E18 "
    "THEN CAST(rint({x}) AS BIGINT) END)"
)
_JAVA = "CAST({x} AS STRING)"
_EXPONENT = f"regexp_extract({_JAVA}, 'E-?([0-9]+)$', 1)"
_WITH_EXPONENT = (
    f"concat(regexp_replace({_JAVA}, '([.]0)?E.*$', ''), CASE WHEN abs({{x}}) >= 1 THEN 'e+' ELSE 'e-' END, "
    f"lpad({_EXPONENT}, greatest(2, length({_EXPONENT})), '0'))"
)


def _write_plain_decimal(places: int) -> str:
    return f"regexp_replace(CAST(CAST({_JAVA} AS DECIMAL(38, {places})) AS STRING), '0+$', '')"


_DOUBLE_TEXT = (
    f"(CASE WHEN {{x}} = {NAN} THEN 'nan' WHEN {{x}} = {INFINITY} THEN 'inf' "
    f"WHEN {{x}} = -{INFINITY} THEN '-inf' WHEN {{x}} = 0 THEN {_JAVA} "
    "WHEN abs({x}) < 1E16 AND {x} = rint({x}) THEN concat(CAST(CAST({x} AS BIGINT) AS STRING), '.0') "
    "WHEN abs({x}) < 9E-324 THEN concat(CASE WHEN {x} < 0 THEN '-' ELSE '' END, '5e-324') "
    f"WHEN abs({{x}}) >= 1E16 OR abs({{x}}) < 1E-4 THEN {_WITH_EXPONENT} "
    f"WHEN abs({{x}}) >= 1E7 THEN {_write_plain_decimal(18)} "
    f"WHEN abs({{x}}) < 1E-3 THEN {_write_plain_decimal(30)} ELSE {_JAVA} END)"
)
_TEXT_BOOLEAN = (
    "(CASE WHEN lower({x}) IN ('true', 't', 'yes', 'y', '1') THEN TRUE "
    "WHEN lower({x}) IN ('false', 'f', 'no', 'n', '0') THEN FALSE END)"
)


def _write_date_field(place: int, kind: str = "INT") -> str:
    return f"try_cast(regexp_extract({{x}}, {quote_text(DAY + CLOCK)}, {place}) AS {kind})"


_IS_DATED = f"{{x}} RLIKE {quote_text(DAY + CLOCK)}"
_HOUR, _MINUTE, _SECOND = (f"coalesce({_write_date_field(place)}, 0)" for place in (6, 7, 9))
_IS_TIME = f"{_HOUR} < 24 AND {_MINUTE} < 60 AND {_SECOND} < 60"
_MADE = f"make_date({_write_date_field(1)}, {_write_date_field(3)}, {_write_date_field(4)})"
_IS_SHORT = f"length({{x}}) <= {LONGEST_DATE}"
_IS_DAY = f"{_IS_DATED} AND {_IS_TIME} AND {_write_date_field(1)} BETWEEN 1 AND 99999"
_TEXT_DATE = f"(CASE WHEN {_IS_SHORT} THEN CASE WHEN {_IS_DAY} THEN {_MADE} END END)"
_ZONE = f"regexp_extract({{x}}, {quote_text(DAY + CLOCK)}, 11)"
_OFFSET = (
    f"(CASE WHEN {_ZONE} IN ('', 'Z') THEN 0 ELSE (CASE WHEN {_ZONE} LIKE '-%' THEN -1 ELSE 1 END) * "
    f"(60 * CAST(regexp_extract({_ZONE}, '^[+-]([0-9]{{1,2}})', 1) AS INT) + "
    f"coalesce(try_cast(regexp_extract({_ZONE}, '^[+-][0-9]{{1,2}}:?([0-9]{{2}})$', 1) AS INT), 0)) END)"
)
_DECIMALS = f"substr(regexp_extract({{x}}, {quote_text(DAY + CLOCK)}, 10), 2, 6)"
_MICROS = f"coalesce(CAST(rpad({_DECIMALS}, 6, '0') AS INT), 0)"
_TEXT_TIMESTAMP = (
    f"(CASE WHEN {_IS_SHORT} THEN CASE WHEN {_IS_DATED} AND {{x}} RLIKE {quote_text(DAY + MOMENT)} "
    f"AND {_IS_TIME} AND {_write_date_field(1)} BETWEEN 1 AND 99999 "
    f"THEN timestamp_micros(unix_micros(CAST({_MADE} AS TIMESTAMP)) "
    f"+ 1000000L * (60 * (60 * {_HOUR} + {_MINUTE} - {_OFFSET}) + {_SECOND}) + {_MICROS}) END END)"
)
_TIMESTAMPS = "{x} >= CAST('-290307-01-01' AS DATE) AND {x} < CAST('+294247-01-01' AS DATE)"
"""Dates that fit a timestamp; casting any other raises, even without ANSI mode."""
_B, _I, _W, _E, _D = (
    TypeFamily.BOOLEAN,
    TypeFamily.INTEGER,
    TypeFamily.WIDE,
    TypeFamily.DECIMAL,
    TypeFamily.DOUBLE,
)
_T, _A, _S, _Z = TypeFamily.TEXT, TypeFamily.DATE, TypeFamily.TIMESTAMP, TypeFamily.ZONED
_AS_TEXT = "CAST({x} AS STRING)"

SMALL_DECIMAL_TEXT = (
    "concat(CASE WHEN {x} < 0 THEN '-' ELSE '' END, CAST(floor(abs({x})) AS STRING), "
    "substr(CAST(abs({x}) - floor(abs({x})) + 1 AS STRING), 2))"
)

CONVERSIONS: dict[tuple[TypeFamily, TypeFamily], str] = {
    (_B, _I): "CAST({x} AS BIGINT)",
    (_B, _D): "CAST({x} AS DOUBLE)",
    (_B, _T): _AS_TEXT,
    (_I, _I): "{x}",
    (_I, _B): "({x} <> 0)",
    (_I, _W): "CAST({x} AS DECIMAL(38, 0))",
    (_I, _E): "CAST({x} AS DECIMAL(20, 0))",
    (_I, _D): "CAST({x} AS DOUBLE)",
    (_I, _T): _AS_TEXT,
    (_W, _I): "try_cast({x} AS BIGINT)",
    (_W, _E): "{x}",
    (_W, _D): "CAST({x} AS DOUBLE)",
    (_W, _T): _AS_TEXT,
    (_E, _I): "try_cast(round({x}) AS BIGINT)",
    (_E, _W): "try_cast(round({x}) AS DECIMAL(38, 0))",
    (_E, _D): "CAST({x} AS DOUBLE)",
    (_E, _T): _AS_TEXT,
    (_D, _I): _DOUBLE_INTEGER,
    (_D, _W): f"CAST({_DOUBLE_INTEGER} AS DECIMAL(38, 0))",
    (_D, _B): "({x} <> 0)",
    (_D, _T): _DOUBLE_TEXT,
    (_T, _I): _TEXT_INTEGER,
    (_T, _W): _TEXT_WIDE,
    (_T, _D): _TEXT_DOUBLE,
    (_T, _B): _TEXT_BOOLEAN,
    (_T, _A): _TEXT_DATE,
    (_T, _S): _TEXT_TIMESTAMP,
    (_T, _T): "{x}",
    (_A, _T): _AS_TEXT,
    (_A, _S): f"(CASE WHEN {_TIMESTAMPS} THEN CAST({{x}} AS TIMESTAMP) END)",
    (_A, _B): "CAST(CASE WHEN {x} IS NULL THEN NULL END AS BOOLEAN)",
    (_S, _A): "CAST({x} AS DATE)",
    (_S, _B): "CAST(CASE WHEN {x} IS NULL THEN NULL END AS BOOLEAN)",
    (_S, _T): _AS_TEXT,
    (_Z, _S): "CAST({x} AS TIMESTAMP)",
    (_Z, _A): "CAST({x} AS DATE)",
    (_Z, _T): "concat(CAST({x} AS STRING), '+00')",
}
