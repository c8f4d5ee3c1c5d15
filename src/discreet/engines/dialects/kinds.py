"""SQL types: the type of every expression of a statement, as far as it is known, on every engine.

Statements are written for DuckDB, whose types are the reference. Where another engine has none of the same
meaning, a type stands in for it: an ENUM is text with an order of its own, a person or a key is the result of
the engine's hash, and is only ever compared.

Magnitude   of floating-point numbers: the smallest above 0 and the largest possible. An engine that raises on
            overflow or underflow needs no guard where neither is possible. A decimal number of a known
            magnitude is never NaN.
Deferred    a column whose values are not encoded yet. Text may be none of an ENUM's values; an integer is
            still an exact number, to be multiplied. It can be passed on, and little else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf, isfinite

TINY, HUGE = 1e-290, 1e290
WIDEST = 309
"""A number of this many digits overflows floating point."""


class Family(StrEnum):
    """Groups of types that engines distinguish."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    WIDE = "wide"  # integers of up to 38 digits
    DECIMAL = "decimal"
    DOUBLE = "double"
    TEXT = "text"
    ENUM = "enum"
    DATE = "date"
    TIMESTAMP = "timestamp"
    ZONED = "zoned"
    PERSON = "person"
    DIGEST = "digest"  # the input of a hash, or a hash that orders rows
    INTERVAL = "interval"


NUMBERS = (Family.BOOLEAN, Family.INTEGER, Family.WIDE, Family.DECIMAL, Family.DOUBLE)


@dataclass(frozen=True, kw_only=True)
class Late:
    """A column that is not encoded yet; a number is to be multiplied by its steps per unit."""

    table: str
    column: str
    steps: int = 1


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A type: its family, the values of an ENUM, the magnitude of a number, and whether it is a list of such.

    `is_never_null` is set for columns without NULL.
    """

    family: Family
    values: tuple[str, ...] = ()
    least: float = 0.0
    largest: float = inf
    many: bool = False
    late: Late | None = None
    known: bool = field(default=False, compare=False)

    @property
    def numeric(self) -> bool:
        return self.family in NUMBERS

    @property
    def moderate(self) -> bool:
        """True if neither the number nor an expression of it can overflow or underflow."""
        return self.least >= TINY and self.largest <= HUGE

    @property
    def element(self) -> Kind:
        """The type of a list's items."""
        return replace(self, many=False)


@dataclass(frozen=True, kw_only=True)
class Piece:
    """An expression as SQL text of an engine, with its type."""

    text: str
    kind: Kind
    constant: float | None = None


def of(family: Family) -> Kind:
    """Return the type of a family about which nothing else is known."""
    return KINDS[family]


KINDS = {family: Kind(family=family) for family in Family} | {
    Family.BOOLEAN: Kind(family=Family.BOOLEAN, least=1, largest=1),
    Family.INTEGER: Kind(family=Family.INTEGER, least=1, largest=2.0**64),
    Family.WIDE: Kind(family=Family.WIDE, least=1, largest=1e39),
    Family.DECIMAL: Kind(family=Family.DECIMAL, least=0, largest=inf),
}
NULL, BOOLEAN, INTEGER, WIDE = (
    KINDS[each] for each in (Family.NULL, Family.BOOLEAN, Family.INTEGER, Family.WIDE)
)
DECIMAL, DOUBLE, TEXT, DATE = (
    KINDS[each] for each in (Family.DECIMAL, Family.DOUBLE, Family.TEXT, Family.DATE)
)
TIMESTAMP, ZONED, PERSON, DIGEST = (
    KINDS[each] for each in (Family.TIMESTAMP, Family.ZONED, Family.PERSON, Family.DIGEST)
)
INTERVAL = KINDS[Family.INTERVAL]


def double(least: float, largest: float) -> Kind:
    """Return a floating-point type of a known magnitude; one that may be infinite has none."""
    known = isfinite(largest)
    return Kind(family=Family.DOUBLE, least=least if known else 0.0, largest=largest if known else inf)


def decimal(digits: int, scale: int) -> Kind:
    """Return the type of exact numbers with so many digits, `scale` of them after the point."""
    largest = 10.0 ** (digits - scale) if digits - scale < WIDEST else inf
    return Kind(family=Family.DECIMAL, least=10.0**-scale, largest=largest)


def union(kinds: list[Kind]) -> Kind | None:
    """Return the type that holds the values of all these types, or None if there is none.

    >>> union([INTEGER, DOUBLE]).family, union([TEXT, DATE])
    (<Family.DOUBLE: 'double'>, None)
    """
    known = [kind for kind in kinds if kind.family is not Family.NULL]
    if not known:
        return NULL
    if any(kind.many for kind in known) or all(kind == known[0] for kind in known):
        return known[0] if len(set(known)) == 1 else None
    families = {kind.family for kind in known}
    least, largest = min(kind.least for kind in known), max(kind.largest for kind in known)
    if families <= set(NUMBERS):
        widest = max(families, key=NUMBERS.index)
        return Kind(family=widest, least=least, largest=largest)
    if families <= {Family.TEXT, Family.ENUM}:
        return TEXT
    if families <= {Family.DATE, Family.TIMESTAMP}:
        return TIMESTAMP
    return known[0] if len(families) == 1 else None
