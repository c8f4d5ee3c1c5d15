"""PostgreSQL dialect.

Text    compares by bytes (COLLATE "C"), as it does in DuckDB; upper and lower case are ICU's.
Sums    of integers are numeric, which holds them all.

`postgres_conversions` replaces operators that would raise, or that PostgreSQL lacks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one

from discreet.engines.dialects.dialect import (
    CASE_INSENSITIVE_PREFIX,
    KEEP_32_BITS,
    find_conversion,
    may_exceed_32_bits,
    raise_unsupported,
    write_length_prefixed,
)
from discreet.engines.dialects.postgres_conversions import (
    CONVERSIONS,
    INFINITY,
    NAN,
    READ_DECIMAL,
    SECOND_STEPS,
    UNGUARDED_CONVERSIONS,
    ZERO,
    write_round_half_away,
    write_safe_add,
    write_safe_divide,
    write_safe_multiply,
    write_safe_scale,
)
from discreet.engines.dialects.sql_marks import are_short, fill_template, have_aggregates
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily

MAX_NAME_BYTES = 63
MAX_UNGUARDED_DECIMAL = 1e18
OPTIMIZATION_FENCE = " OFFSET BIGINT '0'"
"""A typed constant: a plain 0 is cast only after the planner has ruled out parallel workers."""
ADDITIVE_OPERATORS = ("+", "-")


@dataclass(frozen=True, kw_only=True)
class PostgresDialect:
    """The `Dialect` of PostgreSQL."""

    name: str = "PostgreSQL"
    sqlglot_dialect: str = "postgres"
    empty_grouping: str = "()"
    optimization_fence: str = OPTIMIZATION_FENCE
    rows_frame: str = " ROWS UNBOUNDED PRECEDING"

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
        """Return the name, or its prefix and a digest if it is long: PostgreSQL would truncate it."""
        if len(name.encode()) <= MAX_NAME_BYTES:
            return name
        digest = hashlib.sha256(name.encode()).hexdigest()[:24]
        return f"{name.encode()[:32].decode(errors='ignore')}~{digest}"

    def quote_identifier(self, name: str) -> str:
        return '"' + self.shorten_identifier(name).replace('"', '""') + '"'

    def quote_literal(self, text: str) -> str:
        if "\0" in text:
            raise_unsupported(self.name, "text with a zero character")
        return "'" + text.replace("'", "''") + "'"

    def write_double(self, text: str) -> str:
        return f"CAST('{float(text)!r}' AS double precision)"

    def bind(self, form: Callable[..., str], *parts: str) -> str:
        """Bind the parts in a subquery; the fence keeps the planner from inlining them again.

        An aggregate or a window would be over the subquery's single row, so it is repeated instead; none is
        nested in another, so this adds a constant length.
        """
        if are_short(parts) or have_aggregates(parts):
            return form(*parts)
        names = [f"p{place}" for place in range(len(parts))]
        values = ", ".join(f'{part} AS "{name}"' for part, name in zip(parts, names, strict=True))
        used = [f'"v"."{name}"' for name in names]
        return f'(SELECT {form(*used)} FROM (SELECT {values}{OPTIMIZATION_FENCE}) AS "v")'

    # -- Floating point ---------------------------------------------------------------------------------

    def write_float_arithmetic(self, operator: str, left: TypedSql, right: TypedSql) -> str:
        if operator in ADDITIVE_OPERATORS:
            return self.bind(lambda a, b: write_safe_add(a, operator, b), left.text, right.text)
        if right.constant == 1:
            return f"{left.text} {operator} {right.text}"
        if right.constant:
            size, by = right.constant, right.text
            return self.bind(lambda a: write_safe_scale(a, operator, by, size), left.text)
        return self.bind(write_safe_multiply if operator == "*" else write_safe_divide, left.text, right.text)

    def write_integer_quotient(self, left: TypedSql, right: TypedSql) -> str:
        return f"({left.text} / {right.text})"

    def write_remainder(self, left: TypedSql, right: TypedSql) -> str:
        raise_unsupported(self.name, "the remainder of numbers that are not whole")

    def write_exp(self, operand: TypedSql) -> str:
        if operand.sql_type.largest <= 700:
            return f"exp({operand.text})"
        form = (
            f"(CASE WHEN {{x}} > 709.78 THEN {INFINITY} WHEN {{x}} < -745.13 THEN {ZERO} ELSE exp({{x}}) END)"
        )
        return fill_template(form, operand.text, self.bind)

    def write_rounding(self, function: str, operand: TypedSql) -> str:
        if function != "round":
            return {"round_even": f"round({operand.text})"}.get(function, f"{function}({operand.text})")
        return f"({self.bind(write_round_half_away, operand.text)})"

    def write_is_finite(self, operand: TypedSql) -> str:
        return self.bind(lambda x: f"{x} > -{INFINITY} AND {x} < {INFINITY}", operand.text)

    def write_is_nan(self, operand: TypedSql) -> str:
        return f"{operand.text} = {NAN}"

    # -- Conversions ------------------------------------------------------------------------------------

    def write_cast(self, operand: TypedSql, target: SqlType, *, is_32_bit: bool) -> str:
        found = find_conversion(self.name, CONVERSIONS, operand, target)
        if operand.sql_type.family is TypeFamily.DECIMAL and operand.sql_type.largest < MAX_UNGUARDED_DECIMAL:
            found = UNGUARDED_CONVERSIONS.get(target.family, found)  # such numbers always fit
        text = fill_template(found, operand.text, self.bind)
        after = SECOND_STEPS.get((operand.sql_type.family, target.family))
        if after is not None:
            text = fill_template(after, text, self.bind)
        return (
            fill_template(KEEP_32_BITS, text, self.bind)
            if is_32_bit and may_exceed_32_bits(operand)
            else text
        )

    def write_text_to_decimal(self, text: TypedSql, digits: int, places: int) -> str:
        form = READ_DECIMAL.replace("{places}", str(places)).replace("{end}", str(10 ** (digits - places)))
        return fill_template(form, text.text, self.bind)

    def write_null_safe_equal(self, left: TypedSql, right: TypedSql) -> str:
        """Write two equalities, which PostgreSQL can hash-join; IS NOT DISTINCT FROM cannot be."""
        a, b, zero = left.text, right.text, NULL_SUBSTITUTES.get(left.sql_type.family)
        if zero is None:
            return f"({a} IS NOT DISTINCT FROM {b})"
        return f"(({a} IS NULL) = ({b} IS NULL) AND coalesce({a}, {zero}) = coalesce({b}, {zero}))"

    # -- Text and times ---------------------------------------------------------------------------------

    def write_like(self, text: TypedSql, pattern: TypedSql) -> str:
        return f"({text.text} LIKE {pattern.text} ESCAPE '')"

    def write_full_match(self, text: TypedSql, pattern: str, *, ignores_case: bool) -> str:
        """Write a full match; the operator ~* ignores case, and \\y is PostgreSQL's word boundary."""
        words = f"substr({pattern}, {len(CASE_INSENSITIVE_PREFIX) + 1 if ignores_case else 1})"
        whole = f"'^(?:' || replace({words}, '\\b', '\\y') || ')$'"
        return f"({text.text} {'~*' if ignores_case else '~'} ({whole}))"

    def write_lower(self, text: TypedSql) -> str:
        return f"(lower({text.text} COLLATE {ICU}) COLLATE {BYTES})"

    def write_upper(self, text: TypedSql) -> str:
        sharp = f"replace({text.text}, 'ß', 'ẞ')"  # ICU alone would make it SS
        return f"(upper({sharp} COLLATE {ICU}) COLLATE {BYTES})"

    def write_date_part(self, part: str, operand: TypedSql) -> str:
        return f"CAST(floor(date_part('{part}', {operand.text})) AS bigint)"

    def write_date_trunc(self, unit: str, operand: TypedSql) -> str:
        return f"date_trunc('{unit}', {operand.text})"

    # -- Lists ------------------------------------------------------------------------------------------

    def write_list_position(self, items: str, operand: TypedSql) -> str:
        return f"array_position({items}, {operand.text})"

    def write_list_item(self, items: str, position: str) -> str:
        return f"({items})[{position}]"

    def write_list(self, items: Sequence[str], item_type: SqlType) -> str:
        return f"CAST(ARRAY[{', '.join(items)}] AS {self.list_type(item_type)})"

    def list_type(self, item_type: SqlType) -> str:
        return f"{TYPES[item_type.family]}[]"

    def write_list_length(self, items: TypedSql) -> str:
        return f"CAST(cardinality({items.text}) AS bigint)"

    def write_integer_range(self, first: str, end: str) -> str:
        return f"ARRAY(SELECT generate_series(CAST({first} AS bigint), CAST({end} AS bigint) - 1))"

    def write_time_range(self, first: str, end: str, step: str, target: SqlType) -> str:
        series = f"generate_series({first}, {end} - INTERVAL '1 microsecond', {step})"
        return f"ARRAY(SELECT CAST({series} AS {TYPES[target.family]}))"

    def write_append_null(self, items: TypedSql) -> str:
        return f"array_append({items.text}, NULL)"

    def write_unnest(self, items: TypedSql) -> str:
        return f"unnest({items.text})"

    # -- Totals -----------------------------------------------------------------------------------------

    def write_sum(self, operand: TypedSql, *, fits_64_bits: bool) -> str:
        if operand.sql_type.deferred_column is not None:
            steps = f"{operand.sql_type.deferred_column.steps_per_unit} * sum({operand.text})"
            return f"CAST({steps} AS bigint)" if fits_64_bits else f"trunc({steps})"
        return f"sum(CAST({operand.text} AS integer))" if fits_64_bits else f"sum({operand.text})"

    def write_distinct_estimate(self, operand: TypedSql) -> str:
        return f"count(DISTINCT {operand.text})"

    def write_ordered_sum(self, operand: TypedSql, order: TypedSql) -> str:
        """Write the ordered sum; NULL if a number is so large that the sum might overflow."""
        fits = f"abs({operand.text}) <= 1e290"
        inner = f"CASE WHEN {fits} THEN {operand.text} WHEN {operand.text} IS NOT NULL THEN {ZERO} END"
        return f"(CASE WHEN bool_and({fits}) THEN sum({inner} ORDER BY {order.text}) END)"

    def write_bit_or(self, operand: TypedSql) -> str:
        return f"bit_or({operand.text})"

    def write_bit_count(self, operand: TypedSql) -> str:
        return f"bit_count(CAST({operand.text} AS bit(64)))"

    def write_shift(self, direction: str, operand: TypedSql, by: TypedSql) -> str:
        return f"({operand.text} {direction} CAST({by.text} AS integer))"

    def write_grouping(self, names: Sequence[str]) -> str:
        """Write GROUPING in parts of 30 keys, as PostgreSQL takes at most 31."""
        parts = [names[start : start + 30] for start in range(0, len(names), 30)]
        text = "CAST(0 AS bigint)"
        for part in parts:
            text = f"(({text} << {len(part)}) | CAST(GROUPING({', '.join(part)}) AS bigint))"
        return text

    # -- Hashes -----------------------------------------------------------------------------------------

    def write_variable(self, name: str) -> str:
        """Write a subquery, so that the setting is read once per statement and not for every row."""
        return f"(SELECT current_setting('{name.replace('_', '.', 1)}'))"

    def write_digest(self, operands: Sequence[TypedSql]) -> str:
        return f"CAST(md5({write_length_prefixed(operands, 'text', ' || '.join)}) AS uuid)"

    def write_row_hash(self, operands: Sequence[TypedSql]) -> str:
        """Write a chain of hashes, each seeded with the previous one: faster than hashing a record."""
        others = ", ".join(each.text for each in operands if each.sql_type.family not in HASH_FUNCTIONS)
        text = f"hash_record_extended(ROW({others}), 0)" if others else "0"
        for each in operands:
            if each.sql_type.family in HASH_FUNCTIONS:
                function, missing = HASH_FUNCTIONS[each.sql_type.family]
                text = f"{function}(coalesce({each.text}, {missing}), {text})"
        return text


ICU, BYTES = '"und-x-icu"', '"C"'

TYPES = {
    TypeFamily.BOOLEAN: "boolean",
    TypeFamily.INTEGER: "bigint",
    TypeFamily.WIDE: "numeric",
    TypeFamily.DECIMAL: "numeric",
    TypeFamily.DOUBLE: "double precision",
    TypeFamily.TEXT: "text",
    TypeFamily.ENUM: "text",
    TypeFamily.DATE: "date",
    TypeFamily.TIMESTAMP: "timestamp",
    TypeFamily.ZONED: "timestamp with time zone",
    TypeFamily.PERSON: "uuid",
}
NULL_SUBSTITUTES = {
    TypeFamily.BOOLEAN: "FALSE",
    TypeFamily.INTEGER: "0",
    TypeFamily.WIDE: "0",
    TypeFamily.DOUBLE: ZERO,
    TypeFamily.TEXT: "''",
    TypeFamily.ENUM: "''",
    TypeFamily.DATE: "DATE '2000-01-01'",
    TypeFamily.TIMESTAMP: "TIMESTAMP '2000-01-01'",
}

NULL_TEXT = "\x01"
HASH_FUNCTIONS = {
    TypeFamily.INTEGER: ("hashint8extended", "-9223372036854775807"),
    TypeFamily.TEXT: ("hashtextextended", f"'{NULL_TEXT}'"),
    TypeFamily.ENUM: ("hashtextextended", f"'{NULL_TEXT}'"),
}
"""A hash function and a substitute for NULL per family; ties are ordered by the values later."""


FUNCTIONS = frozenset(
    """abs array_append array_position bit_count bit_or bool_and bool_or btrim cardinality ceil coalesce
    concat count current_setting date_part date_trunc dense_rank exp first_value floor generate_series
    greatest grouping hash_record_extended hashint8extended hashtextextended least length lower make_date
    make_interval max md5 min nullif num_nulls regexp_match replace round row row_number rpad sign substr
    sum trim trim_scale trunc unnest upper""".split()  # noqa: SIM905
)
CONSTANTS = frozenset(
    str(node.this)
    for text in (*CONVERSIONS.values(), *SECOND_STEPS.values())
    for node in parse_one(text.replace("{x}", "x"), read="postgres").find_all(exp.Literal)
    if node.is_string
) | frozenset(
    """Infinity NaN : - UTC year quarter month week day hour minute discreet.before discreet.after
    2000-01-01""".split()  # noqa: SIM905
)
CONSTANTS |= {"", NULL_TEXT, "1 microsecond", "^(?:", ")$", "\\b", "\\y", "ß", "ẞ"}
