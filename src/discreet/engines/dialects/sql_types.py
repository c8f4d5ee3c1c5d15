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
MAX_DOUBLE_DIGITS = 309
"""A number of this many digits overflows floating point."""


class TypeFamily(StrEnum):
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


NUMERIC_FAMILIES = (
    TypeFamily.BOOLEAN,
    TypeFamily.INTEGER,
    TypeFamily.WIDE,
    TypeFamily.DECIMAL,
    TypeFamily.DOUBLE,
)


@dataclass(frozen=True, kw_only=True)
class DeferredColumn:
    """A column that is not encoded yet; a number is to be multiplied by its steps per unit."""

    table: str
    column: str
    steps_per_unit: int = 1


class NotEncodedError(Exception):
    """A statement needs the value of a deferred column."""

    def __init__(self, late: DeferredColumn) -> None:
        super().__init__(late)
        self.late = late


@dataclass(frozen=True, kw_only=True)
class SqlType:
    """A type: its family, the values of an ENUM, the magnitude of a number, and whether it is a list of such.

    `is_never_null` is set for columns without NULL.
    """

    family: TypeFamily
    values: tuple[str, ...] = ()
    least: float = 0.0
    largest: float = inf
    is_list: bool = False
    deferred_column: DeferredColumn | None = None
    is_never_null: bool = field(default=False, compare=False)

    @property
    def is_numeric(self) -> bool:
        return self.family in NUMERIC_FAMILIES

    @property
    def has_moderate_magnitude(self) -> bool:
        """True if neither the number nor an expression of it can overflow or underflow."""
        return self.least >= TINY and self.largest <= HUGE

    @property
    def element_type(self) -> SqlType:
        """The type of a list's items."""
        return replace(self, is_list=False)


@dataclass(frozen=True, kw_only=True)
class TypedSql:
    """An expression as SQL text of an engine, with its type; of a number that is known, its magnitude."""

    text: str
    sql_type: SqlType
    constant: float | None = None

    def get_constant_after_cast(self, to: SqlType) -> float | None:
        """Return the magnitude that is known after a cast: none of a text, nor of a number that it rounds."""
        if self.constant is None or not to.is_numeric:
            return None
        is_rounded = to.family is TypeFamily.INTEGER and not self.constant.is_integer()
        return None if is_rounded else self.constant


def get_family_type(family: TypeFamily) -> SqlType:
    """Return the widest type of a family, for expressions of which only the family is known."""
    return FAMILY_TYPES[family]


FAMILY_TYPES = {family: SqlType(family=family) for family in TypeFamily} | {
    TypeFamily.BOOLEAN: SqlType(family=TypeFamily.BOOLEAN, least=1, largest=1),
    TypeFamily.INTEGER: SqlType(family=TypeFamily.INTEGER, least=1, largest=2.0**64),
    TypeFamily.WIDE: SqlType(family=TypeFamily.WIDE, least=1, largest=1e39),
    TypeFamily.DECIMAL: SqlType(family=TypeFamily.DECIMAL, least=0, largest=inf),
}
NULL, BOOLEAN, INTEGER, WIDE = (
    FAMILY_TYPES[each] for each in (TypeFamily.NULL, TypeFamily.BOOLEAN, TypeFamily.INTEGER, TypeFamily.WIDE)
)
DECIMAL, DOUBLE, TEXT, DATE = (
    FAMILY_TYPES[each] for each in (TypeFamily.DECIMAL, TypeFamily.DOUBLE, TypeFamily.TEXT, TypeFamily.DATE)
)
TIMESTAMP, ZONED, PERSON, DIGEST = (
    FAMILY_TYPES[each]
    for each in (TypeFamily.TIMESTAMP, TypeFamily.ZONED, TypeFamily.PERSON, TypeFamily.DIGEST)
)
INTERVAL = FAMILY_TYPES[TypeFamily.INTERVAL]


def make_double_type(least: float, largest: float) -> SqlType:
    """Return a floating-point type of a known magnitude; one that may be infinite has none."""
    known = isfinite(largest)
    return SqlType(family=TypeFamily.DOUBLE, least=least if known else 0.0, largest=largest if known else inf)


def to_double_type(kind: SqlType) -> SqlType:
    """Return the floating-point type of numbers that had this type."""
    if kind.family is TypeFamily.DOUBLE or not kind.is_numeric:
        return kind if kind.family is TypeFamily.DOUBLE else DOUBLE
    return make_double_type(kind.least, kind.largest)


def make_decimal_type(digits: int, scale: int) -> SqlType:
    """Return the type of exact numbers with so many digits, `scale` of them after the point."""
    largest = 10.0 ** (digits - scale) if digits - scale < MAX_DOUBLE_DIGITS else inf
    return SqlType(family=TypeFamily.DECIMAL, least=10.0**-scale, largest=largest)


def find_common_type(types: list[SqlType]) -> SqlType | None:
    """Return the type that holds the values of all these types, or None if there is none.

    >>> find_common_type([INTEGER, DOUBLE]).family, find_common_type([TEXT, DATE])
    (<TypeFamily.DOUBLE: 'double'>, None)
    """
    known = [kind for kind in types if kind.family is not TypeFamily.NULL]
    if not known:
        return NULL
    if any(kind.is_list for kind in known) or all(kind == known[0] for kind in known):
        return known[0] if len(set(known)) == 1 else None
    families = {kind.family for kind in known}
    least, largest = min(kind.least for kind in known), max(kind.largest for kind in known)
    if families <= set(NUMERIC_FAMILIES):
        widest = max(families, key=NUMERIC_FAMILIES.index)
        return SqlType(family=widest, least=least, largest=largest)
    if families <= {TypeFamily.TEXT, TypeFamily.ENUM}:
        return TEXT
    if families <= {TypeFamily.DATE, TypeFamily.TIMESTAMP}:
        return TIMESTAMP
    return known[0] if len(families) == 1 else None
