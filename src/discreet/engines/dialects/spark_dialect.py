"""Spark dialect, for sessions without ANSI mode, in which no value makes an operator raise.

Floating point  Java's, which is IEEE 754; only division by 0, which is NULL in Spark, is written out. Where
                Spark would round to a BIGINT, `rint` is written, which does not.
Conversions     `try_cast`, after the patterns that DuckDB accepts (`spark_conversions`).
Text            compares by bytes. A backslash escapes in literals and in LIKE, so it is doubled.
Sums            of integers are DECIMAL(38, 0), as BIGINT would wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one

from discreet.engines.dialects.dialect import (
    KEEP_32_BITS,
    find_conversion,
    may_exceed_32_bits,
    write_length_prefixed,
)
from discreet.engines.dialects.spark_conversions import (
    CONVERSIONS,
    INFINITY,
    LIKE,
    MAX_UNGUARDED_DECIMAL,
    MIN_PLAIN_STEP,
    NAN,
    READ_DECIMAL,
    SMALL_DECIMAL_TEXT,
    ZERO,
    quote_text,
)
from discreet.engines.dialects.sql_marks import are_short, fill_template
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily

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
        return quote_text(text)

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
            found = SMALL_DECIMAL_TEXT
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

    def write_distinct_estimate(self, operand: TypedSql) -> str:
        return f"approx_count_distinct({operand.text})"

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
