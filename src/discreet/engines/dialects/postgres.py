"""PostgreSQL dialect.

Text    compares by bytes (COLLATE "C"), as it does in DuckDB; upper and lower case are ICU's.
Sums    of integers are numeric, which holds them all.

`postgres_floats` and `postgres_conversions` replace operators that would raise, or that PostgreSQL lacks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one

from discreet.engines.dialects.binding import are_short, fill_template, have_totals
from discreet.engines.dialects.dialect import ALIKE, NARROW, conversion, is_wide, told_apart, unsupported
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.postgres_conversions import AFTERWARDS, CONVERSIONS, PLAINLY, READ_DECIMAL
from discreet.engines.dialects.postgres_floats import (
    INFINITY,
    NAN,
    ZERO,
    added,
    away,
    divided,
    multiplied,
    scaled,
)

LONGEST_NAME = 63
LONGEST_EXACT = 1e18
FENCE = " OFFSET BIGINT '0'"
"""A typed constant: a plain 0 is cast only after the planner has ruled out parallel workers."""
ORDER = ("+", "-")


@dataclass(frozen=True, kw_only=True)
class Postgres:
    """The `Dialect` of PostgreSQL."""

    name: str = "PostgreSQL"
    grammar: str = "postgres"
    nothing: str = "()"
    fence: str = FENCE
    row_by_row: str = " ROWS UNBOUNDED PRECEDING"

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
        """Return the name, or its prefix and a digest if it is long: PostgreSQL would truncate it."""
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

    def bind(self, form: Callable[..., str], *parts: str) -> str:
        """Bind the parts in a subquery; the fence keeps the planner from inlining them again.

        An aggregate or a window would be over the subquery's single row, so it is repeated instead; none is
        nested in another, so this adds a constant length.
        """
        if are_short(parts) or have_totals(parts):
            return form(*parts)
        names = [f"p{place}" for place in range(len(parts))]
        values = ", ".join(f'{part} AS "{name}"' for part, name in zip(parts, names, strict=True))
        used = [f'"v"."{name}"' for name in names]
        return f'(SELECT {form(*used)} FROM (SELECT {values}{FENCE}) AS "v")'

    # -- Floating point ---------------------------------------------------------------------------------

    def computed(self, operator: str, left: Piece, right: Piece) -> str:
        if operator in ORDER:
            return self.bind(lambda a, b: added(a, operator, b), left.text, right.text)
        if right.constant == 1:
            return f"{left.text} {operator} {right.text}"
        if right.constant:
            size, by = right.constant, right.text
            return self.bind(lambda a: scaled(a, operator, by, size), left.text)
        return self.bind(multiplied if operator == "*" else divided, left.text, right.text)

    def quotient(self, left: Piece, right: Piece) -> str:
        return f"({left.text} / {right.text})"

    def remainder(self, left: Piece, right: Piece) -> str:
        unsupported(self.name, "the remainder of numbers that are not whole")

    def exponential(self, of: Piece) -> str:
        if of.kind.largest <= 700:
            return f"exp({of.text})"
        form = (
            f"(CASE WHEN {{x}} > 709.78 THEN {INFINITY} WHEN {{x}} < -745.13 THEN {ZERO} ELSE exp({{x}}) END)"
        )
        return fill_template(form, of.text, self.bind)

    def rounded(self, function: str, of: Piece) -> str:
        if function != "round":
            return {"round_even": f"round({of.text})"}.get(function, f"{function}({of.text})")
        return f"({self.bind(away, of.text)})"

    def is_finite(self, of: Piece) -> str:
        return self.bind(lambda x: f"{x} > -{INFINITY} AND {x} < {INFINITY}", of.text)

    def is_nan(self, of: Piece) -> str:
        return f"{of.text} = {NAN}"

    # -- Conversions ------------------------------------------------------------------------------------

    def converted(self, of: Piece, to: Kind, *, narrow: bool) -> str:
        found = conversion(self.name, CONVERSIONS, of, to)
        if of.kind.family is Family.DECIMAL and of.kind.largest < LONGEST_EXACT:
            found = PLAINLY.get(to.family, found)  # such numbers always fit
        text = fill_template(found, of.text, self.bind)
        after = AFTERWARDS.get((of.kind.family, to.family))
        if after is not None:
            text = fill_template(after, text, self.bind)
        return fill_template(NARROW, text, self.bind) if narrow and is_wide(of) else text

    def read_decimal(self, text: Piece, digits: int, places: int) -> str:
        form = READ_DECIMAL.replace("{places}", str(places)).replace("{end}", str(10 ** (digits - places)))
        return fill_template(form, text.text, self.bind)

    def same(self, left: Piece, right: Piece) -> str:
        """Write two equalities, which PostgreSQL can hash-join; IS NOT DISTINCT FROM cannot be."""
        a, b, zero = left.text, right.text, ZEROS.get(left.kind.family)
        if zero is None:
            return f"({a} IS NOT DISTINCT FROM {b})"
        return f"(({a} IS NULL) = ({b} IS NULL) AND coalesce({a}, {zero}) = coalesce({b}, {zero}))"

    # -- Text and times ---------------------------------------------------------------------------------

    def like(self, text: Piece, pattern: Piece) -> str:
        return f"({text.text} LIKE {pattern.text} ESCAPE '')"

    def matches(self, text: Piece, pattern: str, *, alike: bool) -> str:
        """Write a full match; the operator ~* ignores case, and \\y is PostgreSQL's word boundary."""
        words = f"substr({pattern}, {len(ALIKE) + 1 if alike else 1})"
        whole = f"'^(?:' || replace({words}, '\\b', '\\y') || ')$'"
        return f"({text.text} {'~*' if alike else '~'} ({whole}))"

    def lower(self, text: Piece) -> str:
        return f"(lower({text.text} COLLATE {ICU}) COLLATE {BYTES})"

    def upper(self, text: Piece) -> str:
        sharp = f"replace({text.text}, 'ß', 'ẞ')"  # ICU alone would make it SS
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
        return f"CAST(ARRAY[{', '.join(items)}] AS {self.many(of)})"

    def many(self, of: Kind) -> str:
        return f"{TYPES[of.family]}[]"

    def size(self, items: Piece) -> str:
        return f"CAST(cardinality({items.text}) AS bigint)"

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
        if of.kind.late is not None:
            steps = f"{of.kind.late.steps} * sum({of.text})"
            return f"CAST({steps} AS bigint)" if small else f"trunc({steps})"
        return f"sum(CAST({of.text} AS integer))" if small else f"sum({of.text})"

    def total_in_order(self, of: Piece, order: Piece) -> str:
        """Write the ordered sum; NULL if a number is so large that the sum might overflow."""
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
        """Write GROUPING in parts of 30 keys, as PostgreSQL takes at most 31."""
        parts = [names[start : start + 30] for start in range(0, len(names), 30)]
        text = "CAST(0 AS bigint)"
        for part in parts:
            text = f"(({text} << {len(part)}) | CAST(GROUPING({', '.join(part)}) AS bigint))"
        return text

    # -- Hashes -----------------------------------------------------------------------------------------

    def variable(self, name: str) -> str:
        """Write a subquery, so that the setting is read once per statement and not for every row."""
        return f"(SELECT current_setting('{name.replace('_', '.', 1)}'))"

    def digest(self, of: Sequence[Piece]) -> str:
        return f"CAST(md5({told_apart(of, 'text', ' || '.join)}) AS uuid)"

    def scattered(self, of: Sequence[Piece]) -> str:
        """Write a chain of hashes, each seeded with the previous one: faster than hashing a record."""
        others = ", ".join(each.text for each in of if each.kind.family not in SCATTERED)
        text = f"hash_record_extended(ROW({others}), 0)" if others else "0"
        for each in of:
            if each.kind.family in SCATTERED:
                function, missing = SCATTERED[each.kind.family]
                text = f"{function}(coalesce({each.text}, {missing}), {text})"
        return text


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

MISSING = "\x01"
SCATTERED = {
    Family.INTEGER: ("hashint8extended", "-9223372036854775807"),
    Family.TEXT: ("hashtextextended", f"'{MISSING}'"),
    Family.ENUM: ("hashtextextended", f"'{MISSING}'"),
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
    for text in (*CONVERSIONS.values(), *AFTERWARDS.values())
    for node in parse_one(text.replace("{x}", "x"), read="postgres").find_all(exp.Literal)
    if node.is_string
) | frozenset(
    """Infinity NaN : - UTC year quarter month week day hour minute discreet.before discreet.after
    2000-01-01""".split()  # noqa: SIM905
)
CONSTANTS |= {"", MISSING, "1 microsecond", "^(?:", ")$", "\\b", "\\y", "ß", "ẞ"}
