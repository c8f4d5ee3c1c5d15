"""Expression tree of a plan: columns, literals and calls. No text of the analyst's query is kept in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from discreet.sql.expression_types import Type

Scalar = int | Decimal | str | bool | date | datetime | None


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the rows that the expression is computed over.

    An `is_scaled` column holds whole steps of its type's grid, as exact numbers do in the prepared store and
    in subqueries; a column of a released table holds the number itself. Every number of an `is_clamped`
    column lies within the bounds of its type; a computed column may leave them by rounding.
    """

    name: str
    type: Type
    is_scaled: bool = False
    is_clamped: bool = False

    def __post_init__(self) -> None:
        """Clear `is_constant`: a subquery's constant may be missing outside it, after a join or filter."""
        object.__setattr__(self, "type", replace(self.type, is_constant=False))


@dataclass(frozen=True, kw_only=True)
class Literal:
    """A constant of the query."""

    value: Scalar
    type: Type


@dataclass(frozen=True, kw_only=True)
class ReleasedConstant(Literal):
    """A constant that is computed of an answer, and has no value yet (`sql.released_constants`)."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of an allowed function; `options` are constants that belong to it (a date part)."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type
    options: tuple[str, ...] = ()


Expression = Column | Literal | Call


def find_columns(expression: Expression) -> Iterator[Column]:
    """Yield every column that the expression reads."""
    if isinstance(expression, Column):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from find_columns(argument)
