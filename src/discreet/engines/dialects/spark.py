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

from discreet.core.numerals import BLANKS, NUMBER
from discreet.engines.dialects.binding import are_short, fill_template
from discreet.engines.dialects.dialect import NARROW, conversion, is_wide, told_apart
from discreet.engines.dialects.kinds import Family, Kind, Piece

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
LONGEST = 1e18
LONGEST_DATE, LONGEST_PATTERN = 200, 1000
"""Longer text is not a date; LIKE with a longer pattern is NULL, as Java's matcher recurses per character."""
SHORTEST = 1e-6
"""Spark may write a DECIMAL of smaller steps with an exponent."""
ROUNDED = {
    "round_even": "rint({x})",
    "floor": "(CASE WHEN rint({x}) > {x} THEN rint({x}) - 1 ELSE rint({x}) END)",
    "ceil": "(CASE WHEN rint({x}) < {x} THEN rint({x}) + 1 ELSE rint({x}) END)",
    "trunc": "(CASE WHEN {x} > 0 AND rint({x}) > {x} THEN rint({x}) - 1 "
    "WHEN {x} < 0 AND rint({x}) < {x} THEN rint({x}) + 1 ELSE rint({x}) END)",
    "round": "(CASE WHEN {x} > 0 AND {x} - rint({x}) = 0.5D THEN rint({x}) + 1 "
    "WHEN {x} < 0 AND {x} - rint({x}) = -0.5D THEN rint({x}) - 1 ELSE rint({x}) END)",
}
TYPES = {
    Family.BOOLEAN: "BOOLEAN",
    Family.INTEGER: "BIGINT",
    Family.WIDE: "DECIMAL(38, 0)",
    Family.DECIMAL: "DECIMAL(38, 18)",
    Family.DOUBLE: "DOUBLE",
    Family.TEXT: "STRING",
    Family.ENUM: "STRING",
    Family.DATE: "DATE",
    Family.TIMESTAMP: "TIMESTAMP",
    Family.ZONED: "TIMESTAMP",
    Family.PERSON: "STRING",
}


@dataclass(frozen=True, kw_only=True)
class SparkSql:
    """The `Dialect` of Spark."""

    name: str = "Spark"
    grammar: str = "spark"
    nothing: str = "GROUPING SETS (())"
    fence: str = ""
    row_by_row: str = ""

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
        return name

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def literal(self, text: str) -> str:
        return _literal(text)

    def floating(self, text: str) -> str:
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

    def computed(self, operator: str, left: Piece, right: Piece) -> str:
        if operator != "/" or right.constant:
            return f"{left.text} {operator} {right.text}"
        return self.bind(_divided, left.text, right.text)

    def quotient(self, left: Piece, right: Piece) -> str:
        return f"({left.text} div {right.text})"

    def remainder(self, left: Piece, right: Piece) -> str:
        return f"({left.text} % {right.text})"

    def exponential(self, of: Piece) -> str:
        return f"exp({of.text})"

    def rounded(self, function: str, of: Piece) -> str:
        return fill_template(ROUNDED[function], of.text, self.bind)

    def is_finite(self, of: Piece) -> str:
        return self.bind(lambda x: f"{x} > -{INFINITY} AND {x} < {INFINITY}", of.text)

    def is_nan(self, of: Piece) -> str:
        return f"{of.text} = {NAN}"

    # -- Conversions ------------------------------------------------------------------------------------

    def converted(self, of: Piece, to: Kind, *, narrow: bool) -> str:
        if of.constant is not None and to.family is Family.DECIMAL:
            return of.text  # with only its own digits, so that products stay in 64 bits
        found = conversion(self.name, CONVERSIONS, of, to)
        if of.kind.family is Family.DECIMAL and to.family is Family.TEXT and of.kind.least < SHORTEST:
            found = _SMALL_TEXT
        if of.kind.family is Family.DECIMAL and to.family is Family.INTEGER and of.kind.largest < LONGEST:
            found = "CAST({x} AS BIGINT)"
        text = fill_template(found, of.text, self.bind)
        return fill_template(NARROW, text, self.bind) if narrow and is_wide(of) else text

    def read_decimal(self, text: Piece, digits: int, places: int) -> str:
        form = READ_DECIMAL.replace("{type}", f"DECIMAL({digits}, {places})")
        return fill_template(form, text.text, self.bind)

    def same(self, left: Piece, right: Piece) -> str:
        return f"({left.text} <=> {right.text})"

    # -- Text and times ---------------------------------------------------------------------------------

    def like(self, text: Piece, pattern: Piece) -> str:
        """Write LIKE as a regular expression that Java matches in linear time; LIKE itself backtracks.

        Text between two % is matched at its first occurrence, by an atomic group; only the text after the
        last % is matched from the end.
        """
        return self.bind(lambda x, p: LIKE.replace("{x}", x).replace("{p}", p), text.text, pattern.text)

    def matches(self, text: Piece, pattern: str, *, alike: bool) -> str:
        return f"({text.text} RLIKE concat('^(?:', {pattern}, ')$'))"

    def lower(self, text: Piece) -> str:
        return f"lower({text.text})"

    def upper(self, text: Piece) -> str:
        return f"upper(replace({text.text}, 'ß', 'ẞ'))"  # Java alone would make it SS

    def part(self, part: str, of: Piece) -> str:
        moment = f"CAST({of.text} AS TIMESTAMP)"
        if part == "dow":
            return f"CAST(dayofweek({moment}) - 1 AS BIGINT)"
        return f"CAST(floor(date_part('{part}', {moment})) AS BIGINT)"

    def truncated(self, unit: str, of: Piece) -> str:
        return f"date_trunc('{unit}', {of.text})"

    # -- Lists ------------------------------------------------------------------------------------------

    def place(self, values: str, of: Piece) -> str:
        return f"array_position({values}, {of.text})"

    def at(self, values: str, place: str) -> str:
        return f"element_at({values}, CAST({place} AS INT))"

    def listed(self, items: Sequence[str], of: Kind) -> str:
        return f"CAST(array({', '.join(items)}) AS {self.many(of)})"

    def many(self, of: Kind) -> str:
        return f"ARRAY<{TYPES[of.family]}>"

    def size(self, items: Piece) -> str:
        return f"CAST(array_size({items.text}) AS BIGINT)"

    def span(self, first: str, end: str) -> str:
        return f"sequence(CAST({first} AS BIGINT), CAST({end} AS BIGINT) - 1)"

    def moments(self, first: str, end: str, step: str, to: Kind) -> str:
        series = f"sequence({first}, {end} - INTERVAL '0.000001' SECOND, {step})"
        return f"CAST({series} AS ARRAY<{TYPES[to.family]}>)"

    def appended(self, items: Piece) -> str:
        return f"array_append({items.text}, CAST(NULL AS {TYPES[items.kind.family]}))"

    def unnested(self, items: Piece) -> str:
        return f"explode({items.text})"

    # -- Totals -----------------------------------------------------------------------------------------

    def total(self, of: Piece, *, small: bool) -> str:
        if of.kind.family is Family.WIDE:
            return f"sum({of.text})"
        return f"sum({of.text})" if small else f"sum(CAST({of.text} AS DECIMAL(20, 0)))"

    def total_in_order(self, of: Piece, order: Piece) -> str:
        pair = f"struct({order.text} AS r, {of.text} AS x)"
        pairs = f"collect_list(CASE WHEN {of.text} IS NOT NULL THEN {pair} END)"
        total = f"aggregate(array_sort({pairs}), {ZERO}, (t, p) -> t + p.x)"
        return f"(CASE WHEN count({of.text}) > 0 THEN {total} END)"

    def any_bits(self, of: Piece) -> str:
        return f"bit_or({of.text})"

    def bits(self, of: Piece) -> str:
        return f"bit_count({of.text})"

    def shifted(self, direction: str, of: Piece, by: Piece) -> str:
        name = "shiftleft" if direction == "<<" else "shiftright"
        return f"{name}({of.text}, CAST({by.text} AS INT))"

    def grouping(self, names: Sequence[str]) -> str:
        last = len(names) - 1
        parts = [
            f"shiftleft(CAST(grouping({name}) AS BIGINT), {last - place})" for place, name in enumerate(names)
        ]
        return f"({' + '.join(parts)})"

    # -- Hashes -----------------------------------------------------------------------------------------

    def variable(self, name: str) -> str:
        return f":{name}"

    def digest(self, of: Sequence[Piece]) -> str:
        return f"md5({told_apart(of, 'STRING', _concatenated)})"

    def scattered(self, of: Sequence[Piece]) -> str:
        return f"xxhash64({', '.join(each.text for each in of)})"


def _divided(a: str, b: str) -> str:
    return (
        f"CASE WHEN {b} = 0 THEN CASE WHEN {a} = 0 OR {a} = {NAN} THEN {NAN} "
        f"ELSE signum({a}) * {INFINITY} END ELSE {a} / {b} END"
    )


def _concatenated(parts: Sequence[str]) -> str:
    return f"concat({', '.join(parts)})"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SPECIAL_SIGN, LAST_PERCENT = r"[\\^$.|?*+()\[\]{}]", "%([^%]*)$"
OTHER_PERCENT = "%+([^%]*)(?=%)"
_ESCAPED = (
    f"replace(regexp_replace({{p}}, {_literal(SPECIAL_SIGN)}, {_literal(chr(92) * 2 + '$0')}), '_', '.')"
)
_FOUND_FIRST = f"regexp_replace({_ESCAPED}, {_literal(OTHER_PERCENT)}, {_literal('(?>.*?$1)')})"
_FOUND_LAST = f"regexp_replace({_FOUND_FIRST}, {_literal(LAST_PERCENT)}, {_literal('.*$1')})"
LIKE = (
    f"(CASE WHEN length({{p}}) <= {LONGEST_PATTERN} "
    f"THEN {{x}} RLIKE concat('(?s)^', {_FOUND_LAST}, {_literal(chr(92) + 'z')}) END)"
)
_SPACES = _literal(" \t\n\x0b\f\r")
_TRIMMED = f"trim(BOTH {_SPACES} FROM {{x}})"
_IS_NUMBER = f"{{x}} RLIKE {_literal(NUMBER)}"
_TEXT_DOUBLE = (
    f"(CASE WHEN {_IS_NUMBER} THEN try_cast({_TRIMMED} AS DOUBLE) "
    f"WHEN {{x}} RLIKE {_literal(POSITIVE)} THEN {INFINITY} "
    f"WHEN {{x}} RLIKE {_literal(NEGATIVE)} THEN -{INFINITY} "
    f"WHEN {{x}} RLIKE {_literal(NOT_A_NUMBER)} THEN {NAN} END)"
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


def _written_out(places: int) -> str:
    return f"regexp_replace(CAST(CAST({_JAVA} AS DECIMAL(38, {places})) AS STRING), '0+$', '')"


_DOUBLE_TEXT = (
    f"(CASE WHEN {{x}} = {NAN} THEN 'nan' WHEN {{x}} = {INFINITY} THEN 'inf' "
    f"WHEN {{x}} = -{INFINITY} THEN '-inf' WHEN {{x}} = 0 THEN {_JAVA} "
    "WHEN abs({x}) < 1E16 AND {x} = rint({x}) THEN concat(CAST(CAST({x} AS BIGINT) AS STRING), '.0') "
    "WHEN abs({x}) < 9E-324 THEN concat(CASE WHEN {x} < 0 THEN '-' ELSE '' END, '5e-324') "
    f"WHEN abs({{x}}) >= 1E16 OR abs({{x}}) < 1E-4 THEN {_WITH_EXPONENT} "
    f"WHEN abs({{x}}) >= 1E7 THEN {_written_out(18)} "
    f"WHEN abs({{x}}) < 1E-3 THEN {_written_out(30)} ELSE {_JAVA} END)"
)
_TEXT_BOOLEAN = (
    "(CASE WHEN lower({x}) IN ('true', 't', 'yes', 'y', '1') THEN TRUE "
    "WHEN lower({x}) IN ('false', 'f', 'no', 'n', '0') THEN FALSE END)"
)


def _field(place: int, kind: str = "INT") -> str:
    return f"try_cast(regexp_extract({{x}}, {_literal(DAY + CLOCK)}, {place}) AS {kind})"


_IS_DATED = f"{{x}} RLIKE {_literal(DAY + CLOCK)}"
_HOUR, _MINUTE, _SECOND = (f"coalesce({_field(place)}, 0)" for place in (6, 7, 9))
_IS_TIME = f"{_HOUR} < 24 AND {_MINUTE} < 60 AND {_SECOND} < 60"
_MADE = f"make_date({_field(1)}, {_field(3)}, {_field(4)})"
_IS_SHORT = f"length({{x}}) <= {LONGEST_DATE}"
_IS_DAY = f"{_IS_DATED} AND {_IS_TIME} AND {_field(1)} BETWEEN 1 AND 99999"
_TEXT_DATE = f"(CASE WHEN {_IS_SHORT} THEN CASE WHEN {_IS_DAY} THEN {_MADE} END END)"
_ZONE = f"regexp_extract({{x}}, {_literal(DAY + CLOCK)}, 11)"
_OFFSET = (
    f"(CASE WHEN {_ZONE} IN ('', 'Z') THEN 0 ELSE (CASE WHEN {_ZONE} LIKE '-%' THEN -1 ELSE 1 END) * "
    f"(60 * CAST(regexp_extract({_ZONE}, '^[+-]([0-9]{{1,2}})', 1) AS INT) + "
    f"coalesce(try_cast(regexp_extract({_ZONE}, '^[+-][0-9]{{1,2}}:?([0-9]{{2}})$', 1) AS INT), 0)) END)"
)
_DECIMALS = f"substr(regexp_extract({{x}}, {_literal(DAY + CLOCK)}, 10), 2, 6)"
_MICROS = f"coalesce(CAST(rpad({_DECIMALS}, 6, '0') AS INT), 0)"
_TEXT_TIMESTAMP = (
    f"(CASE WHEN {_IS_SHORT} THEN CASE WHEN {_IS_DATED} AND {{x}} RLIKE {_literal(DAY + MOMENT)} "
    f"AND {_IS_TIME} AND {_field(1)} BETWEEN 1 AND 99999 "
    f"THEN timestamp_micros(unix_micros(CAST({_MADE} AS TIMESTAMP)) "
    f"+ 1000000L * (60 * (60 * {_HOUR} + {_MINUTE} - {_OFFSET}) + {_SECOND}) + {_MICROS}) END END)"
)
_TIMESTAMPS = "{x} >= CAST('-290307-01-01' AS DATE) AND {x} < CAST('+294247-01-01' AS DATE)"
"""Dates that fit a timestamp; casting any other raises, even without ANSI mode."""
_B, _I, _W, _E, _D = Family.BOOLEAN, Family.INTEGER, Family.WIDE, Family.DECIMAL, Family.DOUBLE
_T, _A, _S, _Z = Family.TEXT, Family.DATE, Family.TIMESTAMP, Family.ZONED
_AS_TEXT = "CAST({x} AS STRING)"

_SMALL_TEXT = (
    "concat(CASE WHEN {x} < 0 THEN '-' ELSE '' END, CAST(floor(abs({x})) AS STRING), "
    "substr(CAST(abs({x}) - floor(abs({x})) + 1 AS STRING), 2))"
)

CONVERSIONS: dict[tuple[Family, Family], str] = {
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
