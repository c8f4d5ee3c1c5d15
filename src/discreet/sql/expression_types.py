"""Types of expressions, derived without data: the kind of value, and for numbers an interval and a grid.

The values of a number type are multiples of `step`, or lie on no grid (`step` None: computed in floating
point row by row, and rounded to a grid only when summed). Bounds are exact fractions; None means unbounded.
They hold for the computed value including its rounding errors: see `make_double_type`.

Numbers have the types that DuckDB gives them. INTEGER and DECIMAL are exact: each value is a whole number of
steps, and `magnitude` proves that it fits into 38 digits even where there are no bounds. A number that might
not fit into 38 digits is DOUBLE, where overflow raises no error.

`known` marks a constant, which is never NULL. A column is not `known`, whatever it holds, because an outer
join may leave it out. Bounds may rely on `known`. `nullable` means that a value may be missing in data that
satisfies the policy. The policy is trusted here, so only accuracy may rely on `nullable`, never a bound; see
`nullability`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor, gcd, inf, lcm, nextafter


class Family(StrEnum):
    """Kinds of values that expressions distinguish."""

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


FINEST = 1_000_000
DIGITS = 38
MOST_STEPS = 10**DIGITS
"""Exclusive limit on the steps of an exact number: DECIMAL(38) and 128 bits hold less on every engine."""
LONGEST_INTEGER = Fraction(2**63)
"""Magnitude of the smallest BIGINT; the positive number of that size is not a BIGINT."""
MOST_ROUNDED = 1 << 52
MOST_SHOWN = 1 << 53
LARGEST = 2**1000  # far below the overflow of a double, so that a bound can be converted safely
CONVERSION_ULPS = 4
"""Error bound, in ulps, of converting a long exact number to DOUBLE, which rounds several times."""
NEGLIGIBLE = Fraction(1, 1000)
"""Fraction of a step by which the interval of a DOUBLE may shrink when its values are rounded to a grid."""

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
    is_constant: bool = False
    is_nullable: bool = True
    first: date | datetime | None = None
    last: date | datetime | None = None

    @property
    def is_bounded(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def is_integral(self) -> bool:
        """True if all values are whole numbers below 2**53 in magnitude."""
        return (
            self.step == 1 and self.is_bounded and max(abs(self.low or ZERO), abs(self.high or ZERO)) < 2**53
        )

    @property
    def is_exact(self) -> bool:
        """True if each value is a whole number of steps that fits into 38 digits."""
        return self.family is Family.NUMBER and self.numeric is not Numeric.DOUBLE

    @property
    def scale(self) -> int:
        """Number of digits that an exact number has after the decimal point.

        >>> make_number_type(step=Fraction(1, 4), numeric=Numeric.DECIMAL, magnitude=Fraction(9)).scale
        2
        """
        return count_decimal_places(self.step or Fraction(1))

    @property
    def max_magnitude(self) -> Bound:
        """Largest absolute value that is possible; None if unknown."""
        if self.low is not None and self.high is not None:
            return max(abs(self.low), abs(self.high))
        return self.magnitude

    @property
    def shows_integer(self) -> bool:
        """True if answers show the values as 64-bit integers; all other numbers are shown as DOUBLE."""
        if self.step is None or self.step.denominator != 1 or self.max_magnitude is None:
            return False
        return self.max_magnitude <= LONGEST_INTEGER if self.is_exact else self.is_integral

    @property
    def max_steps(self) -> Fraction:
        """Largest number of grid steps that a value of an exact type can have."""
        assert self.max_magnitude is not None
        assert self.step is not None
        return self.max_magnitude / self.step


BOOLEAN = Type(family=Family.BOOLEAN)
TEXT = Type(family=Family.TEXT)
NULL = Type(family=Family.NULL)


def make_number_type(
    low: Bound = None,
    high: Bound = None,
    step: Bound = None,
    *,
    numeric: Numeric | None = None,
    magnitude: Bound = None,
) -> Type:
    """Return a number type: by default a 64-bit INTEGER if the step is 1, else DOUBLE.

    An exact type that might need more than 38 digits becomes DOUBLE.
    """
    if numeric is None:
        numeric = Numeric.INTEGER if step == 1 else Numeric.DOUBLE
        magnitude = LONGEST_INTEGER if step == 1 else None
    found = Type(family=Family.NUMBER, low=low, high=high, step=step, numeric=numeric, magnitude=magnitude)
    if numeric is Numeric.DOUBLE or (step is not None and _fits_in_digits(found.max_magnitude, step)):
        return found
    return to_double_type(found)


def _fits_in_digits(reach: Bound, step: Fraction) -> bool:
    return reach is not None and reach / step < MOST_STEPS and count_decimal_places(step) <= DIGITS


def to_double_type(kind: Type) -> Type:
    """Return the DOUBLE type of the same numbers; only whole numbers are sure to stay on their grid."""
    step = kind.step if kind.step == 1 else None
    low, high = get_double_bounds(kind)
    return replace(kind, low=low, high=high, numeric=Numeric.DOUBLE, step=step, magnitude=None)


def to_shown_type(kind: Type) -> Type:
    """Return the type of a key in a released table: exact if the shown number determines its steps."""
    tells = not kind.is_exact or kind.step == 1 or kind.max_steps < MOST_SHOWN
    return kind if tells else to_double_type(kind)


def make_double_type(low: Bound = None, high: Bound = None, step: Bound = None) -> Type:
    """Return a floating-point type; with a step, its values still lie on that grid.

    The bounds are those of the exact result over arguments within their bounds (`get_double_bounds`).
    Rounding is monotone, so the rounded result lies between the rounded bounds. Without this, a difference of
    large numbers could leave its interval by any factor, and code that relies on it (64 bits, no overflow)
    would fail.
    """
    return make_number_type(round_to_double(low), round_to_double(high), step, numeric=Numeric.DOUBLE)


def round_to_double(end: Bound, ulps: int = 0) -> Bound:
    """Return the double nearest to a bound, moved by `ulps` representable numbers (upwards if positive).

    >>> round_to_double(Fraction(1, 4)), round_to_double(Fraction(1, 10)) == Fraction(0.1)
    (Fraction(1, 4), True)
    """
    if end is None or abs(end) >= LARGEST:
        return end
    found = float(end)
    for _ in range(abs(ulps)):
        found = nextafter(found, inf if ulps > 0 else -inf)
    return Fraction(found)


def get_double_bounds(kind: Type) -> tuple[Bound, Bound]:
    """Return the bounds of a number after its conversion to floating point.

    A number of fewer than 2**53 steps is converted with one rounding, a larger one with several.
    """
    sure = not kind.is_exact or kind.step is None or kind.max_magnitude is None
    if sure or kind.max_steps * kind.step.numerator < 2**53:  # type: ignore[union-attr]
        return round_to_double(kind.low), round_to_double(kind.high)
    return round_to_double(kind.low, -CONVERSION_ULPS), round_to_double(kind.high, CONVERSION_ULPS)


def count_decimal_places(step: Fraction) -> int:
    """Return the fewest digits after the decimal point that write a step exactly.

    >>> count_decimal_places(Fraction(1, 4)), count_decimal_places(Fraction(10))
    (2, 0)
    """
    places, power = 0, 1
    while step.numerator * power % step.denominator:
        places, power = places + 1, power * 10
    return places


def find_common_step(types: Iterable[Type]) -> Fraction:
    """Return the step of the coarsest grid that contains the values of all exact types."""
    steps = [each.step for each in types if each.step is not None]
    return Fraction(gcd(*(each.numerator for each in steps)), lcm(*(each.denominator for each in steps)))


def can_share_grid(types: Iterable[Type]) -> bool:
    """Return True if all types are exact and their values fit into 38 digits on the common grid."""
    numbers = list(types)
    if not all(each.is_exact for each in numbers):
        return False
    step = find_common_step(numbers)
    return all(_fits_in_digits(each.max_magnitude, step) for each in numbers)


def rounds_in_double(kind: Type, step: Fraction) -> bool:
    """Return True if dividing any value by the step in DOUBLE rounds to the correct whole number.

    Where the values are multiples of 1 / q of the step, a quotient that is not a half differs from every half
    by at least 1 / 2q. Rounding moves it by less as long as the numerator stays below 2**52.
    """
    assert kind.step is not None
    return kind.max_steps * (kind.step / step).numerator < MOST_ROUNDED


def keeps_places(kind: Type, places: int) -> bool:
    """Return True if rounding to `places` leaves every value of an exact type unchanged."""
    step = Fraction(10) ** -places
    return kind.scale <= places or (kind.step is not None and (kind.step / step).denominator == 1)


def find_rounded_step(kind: Type, step: Fraction) -> Fraction:
    """Return the grid of exact numbers rounded to a step: a finer grid if they are too large for it."""
    if rounds_in_double(kind, step):
        return step
    return find_common_step([kind, Type(family=Family.NUMBER, step=step)])


def find_widest_numeric(types: Iterable[Type]) -> Numeric:
    """Return the type to which DuckDB converts numbers of several types."""
    order = list(Numeric)
    return max((each.numeric for each in types), key=order.index)


def make_integer_type(low: int, high: int) -> Type:
    """Return the type of whole numbers from `low` to `high`."""
    return make_number_type(Fraction(low), Fraction(high), Fraction(1))


def choose_grid_step(kind: Type) -> Fraction:
    """Return the step of a bounded number; without one, about a millionth of its range, a power of ten."""
    low, high = kind.low or ZERO, kind.high or ZERO
    step, span = Fraction(1), max(high - low, abs(low), abs(high), Fraction(1, 10**9))
    if kind.step is not None:
        return kind.step
    while span / step < FINEST - NEGLIGIBLE:
        step /= 10
    while span / step > 10 * FINEST + NEGLIGIBLE:
        step *= 10
    return step


def get_grid_bounds(kind: Type, step: Fraction) -> tuple[int, int]:
    """Return the bounds in whole steps; callers clamp values to them.

    The bounds of a DOUBLE are rounded numbers: one slightly beyond a step does not extend to the next step.
    """
    slack = ZERO if kind.is_exact else NEGLIGIBLE
    low, high = (kind.low or ZERO) / step, (kind.high or ZERO) / step
    return min(floor(low + slack), floor(high)), max(ceil(high - slack), ceil(low))


def unify_types(types: list[Type]) -> Type | None:
    """Return the narrowest type that contains the values of all types; None if the kinds differ."""
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
    together = can_share_grid(known)
    ends = [(each.low, each.high) if together else get_double_bounds(each) for each in known]
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    low = None if None in lows else min(lows)  # type: ignore[type-var]
    high = None if None in highs else max(highs)  # type: ignore[type-var]
    if together:
        most = max(each.max_magnitude for each in known if each.max_magnitude is not None)
        return make_number_type(
            low, high, find_common_step(known), numeric=find_widest_numeric(known), magnitude=most
        )
    steps = {each.step for each in known}
    return make_double_type(low, high, steps.pop() if len(steps) == 1 else None)
