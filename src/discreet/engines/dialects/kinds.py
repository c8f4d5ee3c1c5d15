"""Kinds: what is known of the type of every expression of a statement, on every engine.

Statements are written for DuckDB, whose types are the measure. Where another engine has none of the same
meaning, a kind is what stands for it: an ENUM is text with an order of its own, a person or a key is whatever
the engine hashes to, and is only ever compared.

Magnitude   of numbers in floating point: the least one above 0 and the largest that there can be. An engine
            that errs where a result is too large or too small needs no guard where neither can be. A decimal
            number of a known magnitude is never NaN.
Late        of a column: that its values are not encoded yet. Text may be none of an ENUM's values; of a whole
            number there is an exact one, to be multiplied. It can be passed on, and little else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf, isfinite

TINY, HUGE = 1e-290, 1e290
WIDEST = 309
"""From so many digits on a number is too large for floating point."""


class Family(StrEnum):
    """Kinds of values that engines tell apart."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    WIDE = "wide"  # whole numbers of up to 38 digits
    DECIMAL = "decimal"
    DOUBLE = "double"
    TEXT = "text"
    ENUM = "enum"
    DATE = "date"
    TIMESTAMP = "timestamp"
    ZONED = "zoned"
    PERSON = "person"
    DIGEST = "digest"  # what a hash is made of, or its place in an order
    INTERVAL = "interval"


NUMBERS = (Family.BOOLEAN, Family.INTEGER, Family.WIDE, Family.DECIMAL, Family.DOUBLE)


@dataclass(frozen=True, kw_only=True)
class Late:
    """Which column is not encoded yet; a number becomes so many steps."""

    table: str
    column: str
    steps: int = 1


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Family, the values of an ENUM, the magnitude of a number; `many` is a list of such values.

    `known` says of a column that it is never NULL.
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
        """Whether neither the number nor what it is a part of can leave what floating point holds."""
        return self.least >= TINY and self.largest <= HUGE

    @property
    def element(self) -> Kind:
        return replace(self, many=False)


@dataclass(frozen=True, kw_only=True)
class Piece:
    """An expression as an engine's text, and its kind."""

    text: str
    kind: Kind
    constant: float | None = None


def of(family: Family) -> Kind:
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
    """A number in floating point of a known magnitude; one that may be infinite has none."""
    known = isfinite(largest)
    return Kind(family=Family.DOUBLE, least=least if known else 0.0, largest=largest if known else inf)


def decimal(digits: int, scale: int) -> Kind:
    """An exact number of so many digits, as many behind the point."""
    largest = 10.0 ** (digits - scale) if digits - scale < WIDEST else inf
    return Kind(family=Family.DECIMAL, least=10.0**-scale, largest=largest)


def union(kinds: list[Kind]) -> Kind | None:
    """The kind that holds values of all; None where they do not go together.

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
