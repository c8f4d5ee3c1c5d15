"""What is known of an expression without data: its kind, and for numbers an interval and a grid.

A number stands on the grid of multiples of `step`, or on none (`step` None: computed in floating point, row
by row, and put on a grid only when it is summed). Bounds are exact fractions; None is "unbounded".

`known` is an argument that is never NULL, a constant; a column is not, whatever it holds, as a join may leave
it out. Bounds rest on it. `nullable` is whether a value may be missing in data that keep to the policy; the
policy's word is taken for it, so only accuracy may rest on it, never a bound; see `nulls`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction

from discreet.core import policy


class Family(StrEnum):
    """Kinds of values that expressions tell apart."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    NULL = "null"


FAMILIES = {
    policy.Kind.INTEGER: Family.NUMBER,
    policy.Kind.DECIMAL: Family.NUMBER,
    policy.Kind.CATEGORY: Family.TEXT,
    policy.Kind.TEXT: Family.TEXT,
    policy.Kind.BOOLEAN: Family.BOOLEAN,
    policy.Kind.DATE: Family.DATE,
    policy.Kind.TIMESTAMP: Family.TIMESTAMP,
}

FINEST = 1_000_000

Bound = Fraction | None
ZERO = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class Type:
    """Kind, interval and grid of an expression."""

    family: Family
    low: Bound = None
    high: Bound = None
    step: Bound = None
    known: bool = False
    nullable: bool = True
    first: date | datetime | None = None
    last: date | datetime | None = None

    @property
    def bounded(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def integral(self) -> bool:
        """Whether its values are whole numbers that 64 bits hold with room to spare."""
        return self.step == 1 and self.bounded and max(abs(self.low or ZERO), abs(self.high or ZERO)) < 2**53


BOOLEAN = Type(family=Family.BOOLEAN)
TEXT = Type(family=Family.TEXT)
NULL = Type(family=Family.NULL)


def number(low: Bound = None, high: Bound = None, step: Bound = None) -> Type:
    return Type(family=Family.NUMBER, low=low, high=high, step=step)


def whole(low: int, high: int) -> Type:
    """Whole numbers from `low` to `high`."""
    return number(Fraction(low), Fraction(high), Fraction(1))


def of_column(column: policy.Column) -> Type:
    """What the policy declares of a column."""
    return replace(_of_kind(column), nullable=column.nulls is not False)


def _of_kind(column: policy.Column) -> Type:
    family = FAMILIES[column.type]
    if column.grid is not None:
        low, high = column.grid
        return number(low * column.step, high * column.step, column.step)
    if column.type is policy.Kind.INTEGER:
        return number(step=Fraction(1))
    if family in (Family.DATE, Family.TIMESTAMP):
        return Type(family=family, first=column.low, last=column.high)  # type: ignore[arg-type]
    return Type(family=family)


def grid_step(kind: Type) -> Fraction:
    """The step of a bounded number; one that has none gets a millionth of its range, in round decimals."""
    low, high = kind.low or ZERO, kind.high or ZERO
    step, span = Fraction(1), max(high - low, abs(low), abs(high), Fraction(1, 10**9))
    if kind.step is not None:
        return kind.step
    while span / step < FINEST:
        step /= 10
    while span / step > 10 * FINEST:
        step *= 10
    return step


def union(types: list[Type]) -> Type | None:
    """The narrowest type that holds values of all; None where the kinds do not go together."""
    known = [each for each in types if each.family is not Family.NULL]
    if not known:
        return NULL
    family = known[0].family
    if any(each.family is not family for each in known):
        return None
    if family is not Family.NUMBER:
        firsts, lasts = [each.first for each in known], [each.last for each in known]
        if None in firsts or None in lasts:
            return Type(family=family)
        return Type(family=family, first=min(firsts), last=max(lasts))  # type: ignore[type-var]
    lows, highs = [each.low for each in known], [each.high for each in known]
    steps = {each.step for each in known}
    return number(
        None if None in lows else min(lows),  # type: ignore[type-var]
        None if None in highs else max(highs),  # type: ignore[type-var]
        steps.pop() if len(steps) == 1 else None,
    )
