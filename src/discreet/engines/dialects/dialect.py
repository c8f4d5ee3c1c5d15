"""Dialect protocol: how one engine writes each operator of our statements, so that it never raises.

A dialect receives expressions whose types are known, aligned where an operator needs that. It refuses what it
cannot write before any data is read: `raise_unsupported` names it in one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, Protocol

from discreet.core.errors import RequestError
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily


class Dialect(Protocol):
    """Writes the operators of our statements in one engine's SQL."""

    @property
    def name(self) -> str:
        """The engine's name in messages."""

    @property
    def sqlglot_dialect(self) -> str:
        """sqlglot's name for the dialect."""

    @property
    def optimization_fence(self) -> str:
        """Ending of a subquery that makes the planner compute its values only once."""

    @property
    def rows_frame(self) -> str:
        """Frame clause of windows that number rows, if it saves the engine a search for ties."""

    @property
    def types(self) -> Mapping[TypeFamily, str]:
        """The engine's type name for each family."""

    @property
    def functions(self) -> frozenset[str]:
        """The lower-case names of all functions that the dialect ever writes."""

    @property
    def constants(self) -> frozenset[str]:
        """All string literals that the dialect adds by itself, except numbers."""

    @property
    def empty_grouping(self) -> str:
        """The GROUP BY of an aggregate over no keys."""

    def shorten_identifier(self, name: str) -> str:
        """Return one of our names, shortened to the engine's maximum length."""

    def bind(self, form: Callable[..., str], *parts: str) -> str:
        """Return `form` over its parts; if one is long, each is computed once under a name."""

    def quote_identifier(self, name: str) -> str: ...
    def quote_literal(self, text: str) -> str: ...
    def write_double(self, text: str) -> str:
        """Write a double-precision literal from its decimal digits."""

    def write_float_arithmetic(self, operator: str, left: TypedSql, right: TypedSql) -> str:
        """Write +, -, * or / in floating point, with infinity on overflow, as in DuckDB."""

    def write_integer_quotient(self, left: TypedSql, right: TypedSql) -> str:
        """Write the integer quotient."""

    def write_remainder(self, left: TypedSql, right: TypedSql) -> str: ...
    def write_exp(self, operand: TypedSql) -> str: ...
    def write_rounding(self, function: str, operand: TypedSql) -> str:
        """Write round (half away from 0), round_even, floor, ceil or trunc, in floating point."""

    def write_is_finite(self, operand: TypedSql) -> str: ...
    def write_is_nan(self, operand: TypedSql) -> str: ...
    def write_cast(self, operand: TypedSql, target: SqlType, *, is_32_bit: bool) -> str:
        """Write a cast that is NULL where it would fail; `is_32_bit` limits integers to 32 bits."""

    def write_text_to_decimal(self, text: TypedSql, digits: int, places: int) -> str:
        """Write text as an exact number rounded to places; NULL if it is none, or has more digits."""

    def write_null_safe_equal(self, left: TypedSql, right: TypedSql) -> str:
        """Write null-safe equality in a form that the engine can hash-join."""

    def write_like(self, text: TypedSql, pattern: TypedSql) -> str: ...
    def write_full_match(self, text: TypedSql, pattern: str, *, ignores_case: bool) -> str:
        """Write a full match of a constant pattern; `ignores_case` if it has the case-insensitive prefix."""

    def write_lower(self, text: TypedSql) -> str: ...
    def write_upper(self, text: TypedSql) -> str: ...
    def write_date_part(self, part: str, operand: TypedSql) -> str: ...
    def write_date_trunc(self, unit: str, operand: TypedSql) -> str: ...
    def write_list_position(self, items: str, operand: TypedSql) -> str:
        """Write the position of an ENUM's value in the list of all its values."""

    def write_list_item(self, items: str, position: str) -> str:
        """Write the item of a list at a position, counted from 1."""

    def write_list(self, items: Sequence[str], item_type: SqlType) -> str: ...
    def list_type(self, item_type: SqlType) -> str:
        """Return the type of a list."""

    def write_list_length(self, items: TypedSql) -> str:
        """Write the number of a list's items; NULL for NULL."""

    def write_integer_range(self, first: str, end: str) -> str:
        """Write the list of integers from `first` to before `end`."""

    def write_time_range(self, first: str, end: str, step: str, target: SqlType) -> str:
        """Write the list of times from `first` to before `end`, each converted to the target type."""

    def write_append_null(self, items: TypedSql) -> str:
        """Write the list with NULL appended."""

    def write_unnest(self, items: TypedSql) -> str: ...
    def write_sum(self, operand: TypedSql, *, fits_64_bits: bool) -> str:
        """Write a sum of integers or deferred numbers; `fits_64_bits` if each has 32 bits and the sum 64."""

    def write_distinct_estimate(self, operand: TypedSql) -> str:
        """Write the number of distinct values, which may be an estimate."""

    def write_ordered_sum(self, operand: TypedSql, order: TypedSql) -> str:
        """Write the sum of floating-point numbers in an order, which determines its rounding."""

    def write_bit_or(self, operand: TypedSql) -> str:
        """Write the aggregate of bitwise OR."""

    def write_bit_count(self, operand: TypedSql) -> str:
        """Write the number of set bits."""

    def write_shift(self, direction: str, operand: TypedSql, by: TypedSql) -> str: ...
    def write_grouping(self, names: Sequence[str]) -> str: ...
    def write_variable(self, name: str) -> str:
        """Write the value of a session variable, such as half of the key."""

    def write_digest(self, operands: Sequence[TypedSql]) -> str:
        """Write the MD5 of several values, which identifies a person or a key."""

    def write_row_hash(self, operands: Sequence[TypedSql]) -> str:
        """Write a fast hash, to order rows by."""


CASE_INSENSITIVE_PREFIX = "(?i)"
"""Prefix of a case-insensitive pattern."""
KEEP_32_BITS = "(CASE WHEN {x} BETWEEN -2147483648 AND 2147483647 THEN {x} END)"
"""Template of an integer that becomes NULL if it exceeds 32 bits."""


def find_conversion(
    dialect: str, conversions: Mapping[tuple[TypeFamily, TypeFamily], str], operand: TypedSql, target: SqlType
) -> str:
    """Return the template that converts one type to another, with {x} for the operand."""
    found = conversions.get((operand.sql_type.family, target.family))
    if found is None:
        raise_unsupported(dialect, f"a conversion from {operand.sql_type.family} to {target.family}")
    return found


def may_exceed_32_bits(operand: TypedSql) -> bool:
    """Return whether an integer may have more than 32 bits."""
    return operand.constant is None or operand.constant >= 1 << 31


def write_length_prefixed(
    operands: Sequence[TypedSql], text_type: str, join: Callable[[Sequence[str]], str]
) -> str:
    """Return the SQL that joins values as text, each after its length, so that none runs into the next."""
    parts = [f"CAST({each.text} AS {text_type})" for each in operands]
    sized = [join([f"CAST(length({part}) AS {text_type})", "':'", part]) for part in parts]
    return join([f"coalesce({part}, '-')" for part in sized])


def raise_unsupported(dialect: str, construct: str) -> NoReturn:
    """Raise the error for a construct that a dialect cannot write."""
    raise RequestError(
        f"{dialect}: {construct} is not supported.",
        hint="Remove it from the query, or keep the table in DuckDB.",
    )
