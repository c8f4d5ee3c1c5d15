"""Dialect protocol: how one engine writes each operator of our statements, so that it never raises.

A dialect receives expressions whose types are known, aligned where an operator needs that. It refuses what it
cannot write before any data is read: `raise_unsupported` names it in one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, Protocol

from discreet.core.errors import RequestError
from discreet.engines.dialects.kinds import Family, Kind, Piece


class Dialect(Protocol):
    """Writes the operators of our statements in one engine's SQL."""

    @property
    def name(self) -> str:
        """The engine's name in messages."""

    @property
    def grammar(self) -> str:
        """sqlglot's name for the dialect."""

    @property
    def fence(self) -> str:
        """Ending of a subquery that makes the planner compute its values only once."""

    @property
    def row_by_row(self) -> str:
        """Frame clause of windows that number rows, if it saves the engine a search for ties."""

    @property
    def types(self) -> Mapping[Family, str]:
        """The engine's type name for each family."""

    @property
    def functions(self) -> frozenset[str]:
        """The lower-case names of all functions that the dialect ever writes."""

    @property
    def constants(self) -> frozenset[str]:
        """All string literals that the dialect adds by itself, except numbers."""

    @property
    def nothing(self) -> str:
        """The GROUP BY of an aggregate over no keys."""

    def called(self, name: str) -> str:
        """Return one of our names, shortened to the engine's maximum length."""

    def bind(self, form: Callable[..., str], *parts: str) -> str:
        """Return `form` over its parts; if one is long, each is computed once under a name."""

    def quoted(self, name: str) -> str: ...
    def literal(self, text: str) -> str: ...
    def floating(self, text: str) -> str:
        """Write a double-precision literal from its decimal digits."""

    def computed(self, operator: str, left: Piece, right: Piece) -> str:
        """Write +, -, * or / in floating point, with infinity on overflow, as in DuckDB."""

    def quotient(self, left: Piece, right: Piece) -> str:
        """Write the integer quotient."""

    def remainder(self, left: Piece, right: Piece) -> str: ...
    def exponential(self, of: Piece) -> str: ...
    def rounded(self, function: str, of: Piece) -> str:
        """Write round (half away from 0), round_even, floor, ceil or trunc, in floating point."""

    def is_finite(self, of: Piece) -> str: ...
    def is_nan(self, of: Piece) -> str: ...
    def converted(self, of: Piece, to: Kind, *, narrow: bool) -> str:
        """Write a cast that is NULL where it would fail; `is_32_bit` limits integers to 32 bits."""

    def read_decimal(self, text: Piece, digits: int, places: int) -> str:
        """Write text as an exact number rounded to places; NULL if it is none, or has more digits."""

    def same(self, left: Piece, right: Piece) -> str:
        """Write null-safe equality in a form that the engine can hash-join."""

    def like(self, text: Piece, pattern: Piece) -> str: ...
    def matches(self, text: Piece, pattern: str, *, alike: bool) -> str:
        """Write a full match of a constant pattern; `ignores_case` if it has the case-insensitive prefix."""

    def lower(self, text: Piece) -> str: ...
    def upper(self, text: Piece) -> str: ...
    def part(self, part: str, of: Piece) -> str: ...
    def truncated(self, unit: str, of: Piece) -> str: ...
    def place(self, values: str, of: Piece) -> str:
        """Write the position of an ENUM's value in the list of all its values."""

    def at(self, values: str, place: str) -> str:
        """Write the item of a list at a position, counted from 1."""

    def listed(self, items: Sequence[str], of: Kind) -> str: ...
    def many(self, of: Kind) -> str:
        """Return the type of a list."""

    def size(self, items: Piece) -> str:
        """Write the number of a list's items; NULL for NULL."""

    def span(self, first: str, end: str) -> str:
        """Write the list of integers from `first` to before `end`."""

    def moments(self, first: str, end: str, step: str, to: Kind) -> str:
        """Write the list of times from `first` to before `end`, each converted to the target type."""

    def appended(self, items: Piece) -> str:
        """Write the list with NULL appended."""

    def unnested(self, items: Piece) -> str: ...
    def total(self, of: Piece, *, small: bool) -> str:
        """Write a sum of integers or deferred numbers; `fits_64_bits` if each has 32 bits and the sum 64."""

    def total_in_order(self, of: Piece, order: Piece) -> str:
        """Write the sum of floating-point numbers in an order, which determines its rounding."""

    def any_bits(self, of: Piece) -> str:
        """Write the aggregate of bitwise OR."""

    def bits(self, of: Piece) -> str:
        """Write the number of set bits."""

    def shifted(self, direction: str, of: Piece, by: Piece) -> str: ...
    def grouping(self, names: Sequence[str]) -> str: ...
    def variable(self, name: str) -> str:
        """Write the value of a session variable, such as half of the key."""

    def digest(self, of: Sequence[Piece]) -> str:
        """Write the MD5 of several values, which identifies a person or a key."""

    def scattered(self, of: Sequence[Piece]) -> str:
        """Write a fast hash, to order rows by."""


ALIKE = "(?i)"
"""Prefix of a case-insensitive pattern."""
NARROW = "(CASE WHEN {x} BETWEEN -2147483648 AND 2147483647 THEN {x} END)"
"""Template of an integer that becomes NULL if it exceeds 32 bits."""


def conversion(dialect: str, known: Mapping[tuple[Family, Family], str], of: Piece, to: Kind) -> str:
    """Return the template that converts one type to another, with {x} for the operand."""
    found = known.get((of.kind.family, to.family))
    if found is None:
        unsupported(dialect, f"a conversion from {of.kind.family} to {to.family}")
    return found


def is_wide(of: Piece) -> bool:
    """Return whether an integer may have more than 32 bits."""
    return of.constant is None or of.constant >= 1 << 31


def told_apart(of: Sequence[Piece], text: str, joined: Callable[[Sequence[str]], str]) -> str:
    """Return the SQL that joins values as text, each after its length, so that none runs into the next."""
    parts = [f"CAST({each.text} AS {text})" for each in of]
    sized = [joined([f"CAST(length({part}) AS {text})", "':'", part]) for part in parts]
    return joined([f"coalesce({part}, '-')" for part in sized])


def unsupported(dialect: str, what: str) -> NoReturn:
    """Raise the error for a construct that a dialect cannot write."""
    raise RequestError(
        f"{dialect}: {what} is not supported.", hint="Remove it from the query, or keep the table in DuckDB."
    )
