"""Expressions of a plan: our own small tree. The analyst's text ends where these begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from discreet.sql.types import Type

Scalar = int | Decimal | str | bool | date | datetime | None


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of what the expression is computed over, by its name there.

    A `scaled` one holds a number of steps of its type's grid, as the prepared store does of exact numbers and
    every subquery; a column of a released table holds the number itself. Of a `clamped` one every number is
    surely within the bounds of its type; one that was computed may leave them by rounding.
    """

    name: str
    type: Type
    scaled: bool = False
    clamped: bool = False

    def __post_init__(self) -> None:
        """A constant is known in its subquery; its column is not, where a join or a filter leaves it out."""
        object.__setattr__(self, "type", replace(self.type, known=False))


@dataclass(frozen=True, kw_only=True)
class Literal:
    """A constant of the question."""

    value: Scalar
    type: Type


@dataclass(frozen=True, kw_only=True)
class Call:
    """A function of the allow-list, applied; `options` are constants that belong to it (a date part)."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type
    options: tuple[str, ...] = ()


Expression = Column | Literal | Call


def columns(expression: Expression) -> Iterator[Column]:
    """Every column that the expression reads."""
    if isinstance(expression, Column):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from columns(argument)
