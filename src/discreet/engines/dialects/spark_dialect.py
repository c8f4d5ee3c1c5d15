"""Spark dialect, for sessions without ANSI mode, in which no value makes an operator raise.

Floating point  Java's, which is IEEE 754; only division by 0, which is NULL in Spark, is written out. Where
                Spark would round to a BIGINT, `rint` is written, which does not.
Conversions     `try_cast`, after the patterns that DuckDB accepts: Spark alone reads '1d' as a number and
                '2020' as a date.
Text            compares by bytes. A backslash escapes in literals and in LIKE, so it is doubled.
Sums            of integers are DECIMAL(38, 0), as BIGINT would wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one

from discreet.core.numeral_patterns import BLANKS, NUMBER
from discreet.engines.dialects.dialect import (
    KEEP_32_BITS,
    find_conversion,
    may_exceed_32_bits,
    write_length_prefixed,
)
from discreet.engines.dialects.sql_marks import are_short, fill_template
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily

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
ROUNDING_TEMPLATES = {
    "round_even": "rint({x})",
    "floor": "(CASE WHEN rint({x}) > {x} THEN rint({x}) - 1 ELSE rint({x}) END)",
    "ceil": "(CASE WHEN rint({x}) < {x} THEN rint({x}) + 1 ELSE rint({x}) END)",
    "trunc": "(CASE WHEN {x} > 0 AND rint({x}) > {x} THEN rint({x}) - 1 "
    "WHEN {x} < 0 AND rint({x}) < {x} THEN rint({x}) + 1 ELSE rint({x}) END)",
    "round": "(CASE WHEN {x} > 0 AND {x} - rint({x}) = 0.5D THEN rint({x}) + 1 "
    "WHEN {x} < 0 AND {x} - rint({x}) = -0.5D THEN rint({x}) - 1 ELSE rint({x}) END)",
}
TYPES = {
    TypeFamily.BOOLEAN: "BOOLEAN",
    TypeFamily.INTEGER: "BIGINT",
    TypeFamily.WIDE: "DECIMAL(38, 0)",
    TypeFamily.DECIMAL: "DECIMAL(38, 18)",
    TypeFamily.DOUBLE: "DOUBLE",
    TypeFamily.TEXT: "STRING",
    TypeFamily.ENUM: "STRING",
    TypeFamily.DATE: "DATE",
    TypeFamily.TIMESTAMP: "TIMESTAMP",
    TypeFamily.ZONED: "TIMESTAMP",
    TypeFamily.PERSON: "STRING",
}


@dataclass(frozen=True, kw_only=True)
class SparkDialect:
    """The `Dialect` of Spark."""

    name: str = "Spark"
    sqlglot_dialect: str = "spark"
    empty_grouping: str = "GROUPING SETS (())"
    optimization_fence: str = ""
    rows_frame: str = ""

    @property
    def types(self) -> Mapping[TypeFamily, str]:
        return TYPES

    @property
    def functions(self) -> frozenset[str]:
        return FUNCTIONS

    @property
    def constants(self) -> frozenset[str]:
        return CONSTANTS

    def shorten_identifier(self, name: str) -> str:
        return name

    def quote_identifier(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def quote_literal(self, text: str) -> str:
        return _quote_literal(text)

    def write_double(self, text: str) -> str:
        return f"CAST('{float(text)!r}' AS DOUBLE)"

    def bind(self, form: Callable[..., str], *parts: str) -> str:
        """Bind the parts as a lambda's argument over a one-item array; the optimizer does not inline it."""
        if are_short(parts):
            return form(*parts)
        if len(parts) == 1:
            return f"transform(array({parts[0]}), v -> {form('v')})[0]"
        names = [f"p{place}" for place in range(len(parts))]
        values = ", ".join(f"{part} AS {name}" for part, name in zip(parts, names, strict=True))
        return f"transform(array(struct({values})), v -> {form(*(f'v.{name}' for name in names))})[0]"

    # -- Floating point ---------------------------------------------------------------------------------

    def write_float_arithmetic(self, operator: str, left: TypedSql, right: TypedSql) -> str:
        if operator != "/" or right.constant:
            return f"{left.text} {operator} {right.text}"
        return self.bind(_write_safe_divide, left.text, right.text)

    def write_integer_quotient(self, left: TypedSql, right: TypedSql) -> str:
        return f"({left.text} div {right.text})"

    def write_remainder(self, left: TypedSql, right: TypedSql) -> str:
        return f"({left.text} % {right.text})"

    def write_exp(self, operand: TypedSql) -> str:
        return f"exp({operand.text})"

    def write_rounding(self, function: str, operand: TypedSql) -> str:
        return fill_template(ROUNDING_TEMPLATES[function], operand.text, self.bind)

    def write_is_finite(self, operand: TypedSql) -> str:
        return self.bind(lambda x: f"{x} > -{INFINITY} AND {x} < {INFINITY}", operand.text)

    def write_is_nan(self, operand: TypedSql) -> str:
        return f"{operand.text} = {NAN}"

    # -- Conversions ------------------------------------------------------------------------------------

    def write_cast(self, operand: TypedSql, target: SqlType, *, is_32_bit: bool) -> str:
        if operand.constant is not None and target.family is TypeFamily.DECIMAL:
            return operand.text  # with only its own digits, so that products stay in 64 bits
        found = find_conversion(self.name, CONVERSIONS, operand, target)
        if (
            operand.sql_type.family is TypeFamily.DECIMAL
            and target.family is TypeFamily.TEXT
            and operand.sql_type.least < MIN_PLAIN_STEP
        ):
            found = _SMALL_TEXT
        if (
            operand.sql_type.family is TypeFamily.DECIMAL
            and target.family is TypeFamily.INTEGER
            and operand.sql_type.largest < MAX_UNGUARDED_DECIMAL
        ):
            found = "CAST({x} AS BIGINT)"
        text = fill_template(found, operand.text, self.bind)
        return (
            fill_template(KEEP_32_BITS, text, self.bind)
            if is_32_bit and may_exceed_32_bits(operand)
            else text
        )

    def write_text_to_decimal(self, text: TypedSql, digits: int, places: int) -> str:
        form = READ_DECIMAL.replace("{type}", f"DECIMAL({digits}, {places})")
        return fill_template(form, text.text, self.bind)

    def write_null_safe_equal(self, left: TypedSql, right: TypedSql) -> str:
        return f"({left.text} <=> {right.text})"

    # -- Text and times ---------------------------------------------------------------------------------

    def write_like(self, text: TypedSql, pattern: TypedSql) -> str:
        """Write LIKE as a regular expression that Java matches in linear time; LIKE itself backtracks.

        Text between two % is matched at its first occurrence, by an atomic group; only the text after the
        last % is matched from the end.
        """
        return self.bind(lambda x, p: LIKE.replace("{x}", x).replace("{p}", p), text.text, pattern.text)

    def write_full_match(self, text: TypedSql, pattern: str, *, ignores_case: bool) -> str:
        return f"({text.text} RLIKE concat('^(?:', {pattern}, ')$'))"

    def write_lower(self, text: TypedSql) -> str:
        return f"lower({text.text})"

    def write_upper(self, text: TypedSql) -> str:
        return f"upper(replace({text.text}, 'ß', 'ẞ'))"  # Java alone would make it SS

    def write_date_part(self, part: str, operand: TypedSql) -> str:
        moment = f"CAST({operand.text} AS TIMESTAMP)"
        if part == "dow":
            return f"CAST(dayofweek({moment}) - 1 AS BIGINT)"
        return f"CAST(floor(date_part('{part}', {moment})) AS BIGINT)"

    def write_date_trunc(self, unit: str, operand: TypedSql) -> str:
        return f"date_trunc('{unit}', {operand.text})"

    # -- Lists ------------------------------------------------------------------------------------------

    def write_list_position(self, items: str, operand: TypedSql) -> str:
        return f"array_position({items}, {operand.text})"

    def write_list_item(self, items: str, position: str) -> str:
        return f"element_at({items}, CAST({position} AS INT))"

    def write_list(self, items: Sequence[str], item_type: SqlType) -> str:
        return f"CAST(array({', '.join(items)}) AS {self.list_type(item_type)})"

    def list_type(self, item_type: SqlType) -> str:
        return f"ARRAY<{TYPES[item_type.family]}>"

    def write_list_length(self, items: TypedSql) -> str:
        return f"CAST(array_size({items.text}) AS BIGINT)"

    def write_integer_range(self, first: str, end: str) -> str:
        return f"sequence(CAST({first} AS BIGINT), CAST({end} AS BIGINT) - 1)"

    def write_time_range(self, first: str, end: str, step: str, target: SqlType) -> str:
        series = f"sequence({first}, {end} - INTERVAL '0.000001' SECOND, {step})"
        return f"CAST({series} AS ARRAY<{TYPES[target.family]}>)"

    def write_append_null(self, items: TypedSql) -> str:
        return f"array_append({items.text}, CAST(NULL AS {TYPES[items.sql_type.family]}))"

    def write_unnest(self, items: TypedSql) -> str:
        return f"explode({items.text})"

    # -- Totals -----------------------------------------------------------------------------------------

    def write_sum(self, operand: TypedSql, *, fits_64_bits: bool) -> str:
        if operand.sql_type.family is TypeFamily.WIDE:
            return f"sum({operand.text})"
        return f"sum({operand.text})" if fits_64_bits else f"sum(CAST({operand.text} AS DECIMAL(20, 0)))"

    def write_ordered_sum(self, operand: TypedSql, order: TypedSql) -> str:
        pair = f"struct({order.text} AS r, {operand.text} AS x)"
        pairs = f"collect_list(CASE WHEN {operand.text} IS NOT NULL THEN {pair} END)"
        total = f"aggregate(array_sort({pairs}), {ZERO}, (t, p) -> t + p.x)"
        return f"(CASE WHEN count({operand.text}) > 0 THEN {total} END)"

    def write_bit_or(self, operand: TypedSql) -> str:
        return f"bit_or({operand.text})"

    def write_bit_count(self, operand: TypedSql) -> str:
        return f"bit_count({operand.text})"

    def write_shift(self, direction: str, operand: TypedSql, by: TypedSql) -> str:
        name = "shiftleft" if direction == "<<" else "shiftright"
        return f"{name}({operand.text}, CAST({by.text} AS INT))"

    def write_grouping(self, names: Sequence[str]) -> str:
        last = len(names) - 1
        parts = [
            f"shiftleft(CAST(grouping({name}) AS BIGINT), {last - place})" for place, name in enumerate(names)
        ]
        return f"({' + '.join(parts)})"

    # -- Hashes -----------------------------------------------------------------------------------------

    def write_variable(self, name: str) -> str:
        return f":{name}"

    def write_digest(self, operands: Sequence[TypedSql]) -> str:
        return f"md5({write_length_prefixed(operands, 'STRING', _write_concat)})"

    def write_row_hash(self, operands: Sequence[TypedSql]) -> str:
        return f"xxhash64({', '.join(each.text for each in operands)})"


def _write_safe_divide(a: str, b: str) -> str:
    return (
        f"CASE WHEN {b} = 0 THEN CASE WHEN {a} = 0 OR {a} = {NAN} THEN {NAN} "
        f"ELSE signum({a}) * {INFINITY} END ELSE {a} / {b} END"
    )


def _write_concat(parts: Sequence[str]) -> str:
    return f"concat({', '.join(parts)})"


def _quote_literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SPECIAL_SIGN, LAST_PERCENT = r"[\\^$.|?*+()\[\]{}]", "%([^%]*)$"
OTHER_PERCENT = "%+([^%]*)(?=%)"
_ESCAPED = (
    f"replace(regexp_replace({{p}}, {_quote_literal(SPECIAL_SIGN)}, "
    f"{_quote_literal(chr(92) * 2 + '$0')}), '_', '.')"
)
_FOUND_FIRST = f"regexp_replace({_ESCAPED}, {_quote_literal(OTHER_PERCENT)}, {_quote_literal('(?>.*?$1)')})"
_FOUND_LAST = f"regexp_replace({_FOUND_FIRST}, {_quote_literal(LAST_PERCENT)}, {_quote_literal('.*$1')})"
LIKE = (
    f"(CASE WHEN length({{p}}) <= {LONGEST_PATTERN} "
    f"THEN {{x}} RLIKE concat('(?s)^', {_FOUND_LAST}, {_quote_literal(chr(92) + 'z')}) END)"
)
_SPACES = _quote_literal(" \t\n\x0b\f\r")
_TRIMMED = f"trim(BOTH {_SPACES} FROM {{x}})"
_IS_NUMBER = f"{{x}} RLIKE {_quote_literal(NUMBER)}"
_TEXT_DOUBLE = (
    f"(CASE WHEN {_IS_NUMBER} THEN try_cast({_TRIMMED} AS DOUBLE) "
    f"WHEN {{x}} RLIKE {_quote_literal(POSITIVE)} THEN {INFINITY} "
    f"WHEN {{x}} RLIKE {_quote_literal(NEGATIVE)} THEN -{INFINITY} "
    f"WHEN {{x}} RLIKE {_quote_literal(NOT_A_NUMBER)} THEN {NAN} END)"
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
    return f"try_cast(regexp_extract({{x}}, {_quote_literal(DAY + CLOCK)}, {place}) AS {kind})"


_IS_DATED = f"{{x}} RLIKE {_quote_literal(DAY + CLOCK)}"
_HOUR, _MINUTE, _SECOND = (f"coalesce({_write_date_field(place)}, 0)" for place in (6, 7, 9))
_IS_TIME = f"{_HOUR} < 24 AND {_MINUTE} < 60 AND {_SECOND} < 60"
_MADE = f"make_date({_write_date_field(1)}, {_write_date_field(3)}, {_write_date_field(4)})"
_IS_SHORT = f"length({{x}}) <= {LONGEST_DATE}"
_IS_DAY = f"{_IS_DATED} AND {_IS_TIME} AND {_write_date_field(1)} BETWEEN 1 AND 99999"
_TEXT_DATE = f"(CASE WHEN {_IS_SHORT} THEN CASE WHEN {_IS_DAY} THEN {_MADE} END END)"
_ZONE = f"regexp_extract({{x}}, {_quote_literal(DAY + CLOCK)}, 11)"
_OFFSET = (
    f"(CASE WHEN {_ZONE} IN ('', 'Z') THEN 0 ELSE (CASE WHEN {_ZONE} LIKE '-%' THEN -1 ELSE 1 END) * "
    f"(60 * CAST(regexp_extract({_ZONE}, '^[+-]([0-9]{{1,2}})', 1) AS INT) + "
    f"coalesce(try_cast(regexp_extract({_ZONE}, '^[+-][0-9]{{1,2}}:?([0-9]{{2}})$', 1) AS INT), 0)) END)"
)
_DECIMALS = f"substr(regexp_extract({{x}}, {_quote_literal(DAY + CLOCK)}, 10), 2, 6)"
_MICROS = f"coalesce(CAST(rpad({_DECIMALS}, 6, '0') AS INT), 0)"
_TEXT_TIMESTAMP = (
    f"(CASE WHEN {_IS_SHORT} THEN CASE WHEN {_IS_DATED} AND {{x}} RLIKE {_quote_literal(DAY + MOMENT)} "
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

_SMALL_TEXT = (
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
FUNCTIONS = frozenset(
    """abs aggregate array array_append array_position array_sort bit_count bit_or bool_and bool_or
    collect_list concat date_part dayofweek element_at explode grouping make_date md5 regexp_extract rint rpad
    sequence shiftleft shiftright signum struct timestamp_micros transform unix_micros xxhash64""".split()  # noqa: SIM905
)
CONSTANTS = frozenset(
    str(node.this)
    for text in (*CONVERSIONS.values(), LIKE.replace("{p}", "p"))
    for node in parse_one(text.replace("{x}", "x"), read="spark").find_all(exp.Literal)
    if node.is_string
) | frozenset(
    """Infinity NaN : - year quarter month week day hour minute YEAR QUARTER MONTH WEEK DAY HOUR
    MINUTE""".split()  # noqa: SIM905
)
CONSTANTS |= {"", "\\", "^(?:", ")$", "ß", "ẞ"}
