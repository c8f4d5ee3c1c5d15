"""Dialect: how one engine writes each operator of our statements, so that it never errs.

A dialect is handed pieces whose kinds are known, aligned where an operator needs that. What it cannot write
it refuses, before any data is read: `unsupported` names it in one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, Protocol

from discreet.core.errors import RequestError
from discreet.engines.dialects.kinds import Family, Kind, Piece


class Dialect(Protocol):
    """One engine's way to write."""

    @property
    def name(self) -> str:
        """What people call the engine."""

    @property
    def grammar(self) -> str:
        """What sqlglot calls it."""

    @property
    def fence(self) -> str:
        """What ends a SELECT whose values are computed once, though the SELECT around it names them often."""

    @property
    def row_by_row(self) -> str:
        """What ends a window in which rows are numbered, if that spares the engine to look for equal ones."""

    @property
    def types(self) -> Mapping[Family, str]: ...

    @property
    def functions(self) -> frozenset[str]:
        """The names, in lower case, of all functions that it ever writes."""

    @property
    def constants(self) -> frozenset[str]:
        """All texts that it writes of its own accord, but for numbers."""

    @property
    def nothing(self) -> str:
        """How a total over no keys is grouped."""

    def called(self, name: str) -> str:
        """What the engine calls a name of ours."""

    def bind(self, form: Callable[..., str], *parts: str) -> str:
        """Return `form` over its parts; where one is long, each is computed once under a name (`binding`)."""

    def quoted(self, name: str) -> str: ...
    def literal(self, text: str) -> str: ...
    def floating(self, text: str) -> str:
        """A number in floating point, from its decimal digits."""

    def computed(self, operator: str, left: Piece, right: Piece) -> str:
        """+, -, * or / in floating point, with infinities for what is too large, as DuckDB computes."""

    def quotient(self, left: Piece, right: Piece) -> str:
        """Of whole numbers, without what is left over."""

    def remainder(self, left: Piece, right: Piece) -> str: ...
    def exponential(self, of: Piece) -> str: ...
    def rounded(self, function: str, of: Piece) -> str:
        """round (half away from 0), round_even, floor, ceil or trunc, in floating point."""

    def is_finite(self, of: Piece) -> str: ...
    def is_nan(self, of: Piece) -> str: ...
    def converted(self, of: Piece, to: Kind, *, narrow: bool) -> str:
        """NULL where there is no such value; `narrow` is for whole numbers of 32 bits."""

    def read_decimal(self, text: Piece, digits: int, places: int) -> str:
        """A text as an exact number, rounded to places; NULL where it is none, or has more digits."""

    def same(self, left: Piece, right: Piece) -> str:
        """Whether they are equal or both NULL, in a form by which tables can be joined quickly."""

    def like(self, text: Piece, pattern: Piece) -> str: ...
    def matches(self, text: Piece, pattern: str, *, alike: bool) -> str:
        """Whether a constant pattern matches the whole of a text; `alike` if it begins with ALIKE."""

    def lower(self, text: Piece) -> str: ...
    def upper(self, text: Piece) -> str: ...
    def part(self, part: str, of: Piece) -> str: ...
    def truncated(self, unit: str, of: Piece) -> str: ...
    def place(self, values: str, of: Piece) -> str:
        """The place of a value of an ENUM in the list of all of them."""

    def at(self, values: str, place: str) -> str: ...
    def listed(self, items: Sequence[str], of: Kind) -> str: ...
    def many(self, of: Kind) -> str:
        """The type of a list."""

    def size(self, items: Piece) -> str:
        """How many items a list has; NULL of no list."""

    def span(self, first: str, end: str) -> str:
        """The list of whole numbers from one to before another."""

    def moments(self, first: str, end: str, step: str, to: Kind) -> str: ...
    def appended(self, items: Piece) -> str:
        """The list with NULL at its end."""

    def unnested(self, items: Piece) -> str: ...
    def total(self, of: Piece, *, small: bool) -> str:
        """The sum of whole numbers, late ones too; `small` where each fits in 32 bits and the sum in 64."""

    def total_in_order(self, of: Piece, order: Piece) -> str:
        """The sum of floating-point numbers in an order, which decides how it is rounded."""

    def any_bits(self, of: Piece) -> str: ...
    def bits(self, of: Piece) -> str: ...
    def shifted(self, direction: str, of: Piece, by: Piece) -> str: ...
    def grouping(self, names: Sequence[str]) -> str: ...
    def variable(self, name: str) -> str: ...
    def digest(self, of: Sequence[Piece]) -> str: ...
    def scattered(self, of: Sequence[Piece]) -> str:
        """A fast hash, to order rows by."""


ALIKE = "(?i)"
"""What a pattern begins with that tells upper and lower case alike."""
NARROW = "(CASE WHEN {x} BETWEEN -2147483648 AND 2147483647 THEN {x} END)"
"""A whole number if it has 32 bits."""


def conversion(dialect: str, known: Mapping[tuple[Family, Family], str], of: Piece, to: Kind) -> str:
    """How one kind becomes another, with {x} for the piece."""
    found = known.get((of.kind.family, to.family))
    if found is None:
        unsupported(dialect, f"a conversion from {of.kind.family} to {to.family}")
    return found


def is_wide(of: Piece) -> bool:
    """Whether a whole number may have more than 32 bits."""
    return of.constant is None or of.constant >= 1 << 31


def told_apart(of: Sequence[Piece], text: str, joined: Callable[[Sequence[str]], str]) -> str:
    """The text of several values, each behind its length, so that none runs into the next."""
    parts = [f"CAST({each.text} AS {text})" for each in of]
    sized = [joined([f"CAST(length({part}) AS {text})", "':'", part]) for part in parts]
    return joined([f"coalesce({part}, '-')" for part in sized])


def unsupported(dialect: str, what: str) -> NoReturn:
    raise RequestError(
        f"{dialect}: {what} is not computed there.", hint="Ask without it, or keep the table in DuckDB."
    )
