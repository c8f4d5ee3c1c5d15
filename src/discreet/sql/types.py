"""What is known of an expression without data: its kind, and for numbers an interval and a grid.

A number stands on the grid of multiples of `step`, or on none (`step` None: computed in floating point, row
by row, and put on a grid only when it is summed). Bounds are exact fractions; None is "unbounded". They hold
for what is computed, not for what would be without rounding: see `double`.

Numbers have the types that DuckDB gives them. INTEGER and DECIMAL are exact: each value is a whole number of
steps, and `magnitude` proves that 38 digits hold it, also where there are no bounds. Whatever 38 digits might
not hold is DOUBLE, where nothing overflows into an error.

`known` is an argument that is never NULL, a constant; a column is not, whatever it holds, as a join may leave
it out. Bounds rest on it. `nullable` is whether a value may be missing in data that keep to the policy; the
policy's word is taken for it, so only accuracy may rest on it, never a bound; see `nulls`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor, gcd, inf, lcm, nextafter

from discreet.core import policy


class Family(StrEnum):
    """Kinds of values that expressions tell apart."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    NULL = "null"


class Numeric(StrEnum):
    """Types of numbers, in the order in which DuckDB converts one to the next."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"


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
DIGITS = 38
MOST_STEPS = 10**DIGITS
"""More steps than an exact number may have: what DECIMAL(38) and 128 bits hold on every engine."""
LONGEST_INTEGER = Fraction(2**63)
"""The size of the smallest BIGINT; its negative is none."""
MOST_ROUNDED = 1 << 52
LARGEST = 2**1000
CONVERSION_ULPS = 4
"""How far a long exact number, whose conversion rounds a few times, may be from the nearest double."""
NEGLIGIBLE = Fraction(1, 1000)
"""The part of a step by which the interval of a DOUBLE may be cut where its values are put on a grid."""

Bound = Fraction | None
ZERO = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class Type:
    """Kind, interval and grid of an expression."""

    family: Family
    low: Bound = None
    high: Bound = None
    step: Bound = None
    numeric: Numeric = Numeric.DOUBLE
    magnitude: Bound = None
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

    @property
    def exact(self) -> bool:
        """Whether each value is a whole number of steps, of which 38 digits hold the number."""
        return self.family is Family.NUMBER and self.numeric is not Numeric.DOUBLE

    @property
    def scale(self) -> int:
        """How many digits an exact number has behind the point.

        >>> number(step=Fraction(1, 4), numeric=Numeric.DECIMAL, magnitude=Fraction(9)).scale
        2
        """
        return decimal_places(self.step or Fraction(1))

    @property
    def reach(self) -> Bound:
        """The most that a value can be, whatever its sign; None where nothing is known."""
        if self.low is not None and self.high is not None:
            return max(abs(self.low), abs(self.high))
        return self.magnitude

    @property
    def shows_integer(self) -> bool:
        """Whether its values are shown as whole numbers of 64 bits; all other numbers are shown as DOUBLE."""
        if self.step is None or self.step.denominator != 1 or self.reach is None:
            return False
        return self.reach <= LONGEST_INTEGER if self.exact else self.integral

    @property
    def most_steps(self) -> Fraction:
        """The most steps of its grid that a value of an exact number can be."""
        assert self.reach is not None
        assert self.step is not None
        return self.reach / self.step


BOOLEAN = Type(family=Family.BOOLEAN)
TEXT = Type(family=Family.TEXT)
NULL = Type(family=Family.NULL)


def number(
    low: Bound = None,
    high: Bound = None,
    step: Bound = None,
    *,
    numeric: Numeric | None = None,
    magnitude: Bound = None,
) -> Type:
    """A number; where nothing else is said, whole ones are INTEGER, of 64 bits, and all others DOUBLE.

    A number that is to be exact and might need more than 38 digits is DOUBLE.
    """
    if numeric is None:
        numeric = Numeric.INTEGER if step == 1 else Numeric.DOUBLE
        magnitude = LONGEST_INTEGER if step == 1 else None
    found = Type(family=Family.NUMBER, low=low, high=high, step=step, numeric=numeric, magnitude=magnitude)
    if numeric is Numeric.DOUBLE or (step is not None and _fits(found.reach, step)):
        return found
    return as_double(found)


def _fits(reach: Bound, step: Fraction) -> bool:
    return reach is not None and reach / step < MOST_STEPS and decimal_places(step) <= DIGITS


def as_double(kind: Type) -> Type:
    """The same number in floating point, where only whole numbers surely stay on their grid."""
    step = kind.step if kind.step == 1 else None
    low, high = double_ends(kind)
    return replace(kind, low=low, high=high, numeric=Numeric.DOUBLE, step=step, magnitude=None)


def double(low: Bound = None, high: Bound = None, step: Bound = None) -> Type:
    """A number in floating point; a step says that its values stand on a grid all the same.

    Its ends are those of the exact result of arguments that keep to theirs (`double_ends`). Rounding is
    monotone, so the rounded result lies between the rounded ends. Without this a difference of large numbers
    would leave its interval by any factor, and what relies on it (64 bits, no overflow) would err.
    """
    return number(nearest_double(low), nearest_double(high), step, numeric=Numeric.DOUBLE)


def nearest_double(end: Bound, ulps: int = 0) -> Bound:
    """The number in floating point that is nearest to an end, moved by so many places, up if positive.

    >>> nearest_double(Fraction(1, 4)), nearest_double(Fraction(1, 10)) == Fraction(0.1)
    (Fraction(1, 4), True)
    """
    if end is None or abs(end) >= LARGEST:
        return end
    found = float(end)
    for _ in range(abs(ulps)):
        found = nextafter(found, inf if ulps > 0 else -inf)
    return Fraction(found)


def double_ends(kind: Type) -> tuple[Bound, Bound]:
    """The interval of a number as arithmetic in floating point takes it.

    A number of steps below 2**53 is converted by one rounding, a larger one by some more.
    """
    sure = not kind.exact or kind.step is None or kind.reach is None
    if sure or kind.most_steps * kind.step.numerator < 2**53:  # type: ignore[union-attr]
        return nearest_double(kind.low), nearest_double(kind.high)
    return nearest_double(kind.low, -CONVERSION_ULPS), nearest_double(kind.high, CONVERSION_ULPS)


def decimal_places(step: Fraction) -> int:
    """The fewest digits behind the point with which a step can be written.

    >>> decimal_places(Fraction(1, 4)), decimal_places(Fraction(10))
    (2, 0)
    """
    places, power = 0, 1
    while step.numerator * power % step.denominator:
        places, power = places + 1, power * 10
    return places


def common_step(types: Iterable[Type]) -> Fraction:
    """The widest grid on which the values of all exact types stand."""
    steps = [each.step for each in types if each.step is not None]
    return Fraction(gcd(*(each.numerator for each in steps)), lcm(*(each.denominator for each in steps)))


def share_grid(types: Iterable[Type]) -> bool:
    """Whether all are exact, and 38 digits hold the values of each on the grid of all."""
    numbers = list(types)
    if not all(each.exact for each in numbers):
        return False
    step = common_step(numbers)
    return all(_fits(each.reach, step) for each in numbers)


def rounds_in_double(kind: Type, step: Fraction) -> bool:
    """Whether the quotient of any of its numbers and a step is on the right side of every half as a DOUBLE.

    It differs from a half that it is not by 1 / 2q where the numbers are multiples of 1 / q of the step, and
    rounding moves it by less, as long as the numerator stays below 2**52.
    """
    assert kind.step is not None
    return kind.most_steps * (kind.step / step).numerator < MOST_ROUNDED


def keeps_places(kind: Type, places: int) -> bool:
    """Whether rounding to so many places leaves every value of an exact type as it is."""
    step = Fraction(10) ** -places
    return kind.scale <= places or (kind.step is not None and (kind.step / step).denominator == 1)


def rounded_step(kind: Type, step: Fraction) -> Fraction:
    """The grid of exact numbers that are rounded to a step: a finer one where they are too large for it."""
    if rounds_in_double(kind, step):
        return step
    return common_step([kind, Type(family=Family.NUMBER, step=step)])


def widest_numeric(types: Iterable[Type]) -> Numeric:
    """The type to which DuckDB converts numbers of several types."""
    order = list(Numeric)
    return max((each.numeric for each in types), key=order.index)


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
        numeric = Numeric.INTEGER if column.type is policy.Kind.INTEGER else Numeric.DECIMAL
        return number(low * column.step, high * column.step, column.step, numeric=numeric)
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
    while span / step < FINEST - NEGLIGIBLE:
        step /= 10
    while span / step > 10 * FINEST + NEGLIGIBLE:
        step *= 10
    return step


def grid_ends(kind: Type, step: Fraction) -> tuple[int, int]:
    """The bounds in whole steps; whoever uses them moves what is beyond to the nearer one.

    The ends of a DOUBLE are rounded numbers: one that is a little beyond a step does not count as the next.
    """
    slack = ZERO if kind.exact else NEGLIGIBLE
    low, high = (kind.low or ZERO) / step, (kind.high or ZERO) / step
    return min(floor(low + slack), floor(high)), max(ceil(high - slack), ceil(low))


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
    together = share_grid(known)
    ends = [(each.low, each.high) if together else double_ends(each) for each in known]
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    low = None if None in lows else min(lows)  # type: ignore[type-var]
    high = None if None in highs else max(highs)  # type: ignore[type-var]
    if together:
        most = max(each.reach for each in known if each.reach is not None)
        return number(low, high, common_step(known), numeric=widest_numeric(known), magnitude=most)
    steps = {each.step for each in known}
    return double(low, high, steps.pop() if len(steps) == 1 else None)
