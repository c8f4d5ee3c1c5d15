"""Type inference: the kind and interval of a function's result, for all data within the declared bounds.

The sensitivity of a sum follows from the interval of its expression. An expression without bounds can be
filtered and grouped by, but not summed. In floating point the interval holds for the rounded values, because
later steps rely on it (64 bits, no overflow); sums also clamp their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor

from discreet.sql.types import (
    BOOLEAN,
    CONVERSION_ULPS,
    LONGEST_INTEGER,
    MOST_STEPS,
    NULL,
    TEXT,
    ZERO,
    Bound,
    Family,
    Numeric,
    Type,
    as_double,
    common_step,
    decimal_places,
    double,
    double_ends,
    keeps_places,
    nearest_double,
    number,
    rounded_step,
    share_grid,
    union,
    whole,
    widest_numeric,
)

Types = tuple[Type, ...]

HELD_DIGITS = 18
"""Digits that 64 bits hold: a DOUBLE that is cast to a DECIMAL with more digits stays a DOUBLE."""


class Mistyped(Exception):  # noqa: N818  (callers turn it into a refusal that quotes the expression)
    """Arguments of the wrong type; the message says which types are expected."""


def _expect(types: Types, *families: Family) -> None:
    for each in types:
        if each.family not in families and each.family is not Family.NULL:
            wanted = " or ".join(family.value for family in families)
            raise Mistyped(f"takes a {wanted}, not a {each.family.value}")


def _together(types: Types) -> Type:
    joined = union(list(types))
    if joined is None:
        kinds = " and ".join(sorted({each.family.value for each in types}))
        raise Mistyped(f"cannot mix {kinds}")
    return joined


def _whole_step(types: Types) -> Bound:
    return Fraction(1) if all(each.step == 1 for each in types) else None


def arithmetic(bound: Callable[[Fraction, Fraction], Fraction]) -> Callable[[Types, tuple[str, ...]], Type]:
    """Return the type rule of a sum, difference or product, whose extremes are at the corners.

    Exact numbers have an exact result if 38 digits hold it. A sum or difference lies on the common grid, a
    product on the grid of DuckDB's DECIMAL, which has the decimal places of both factors.
    """
    multiplies = bound(Fraction(2), Fraction(3)) == 6

    def typed(types: Types, _: tuple[str, ...]) -> Type:
        _expect(types, Family.NUMBER)
        a, b = types
        in_double = double(*_corners(bound, double_ends(a), double_ends(b)), _whole_step(types))
        if not all(each.exact for each in types) or not (multiplies or share_grid(types)):
            return in_double
        low, high = _corners(bound, (a.low, a.high), (b.low, b.high))
        most = a.reach * b.reach if multiplies else a.reach + b.reach  # type: ignore[operator]
        step = _product_step(a, b) if multiplies else common_step(types)
        found = number(low, high, step, numeric=widest_numeric(types), magnitude=most)
        return replace(found, known=a.known and b.known) if found.exact else in_double

    return typed


def _corners(
    bound: Callable[[Fraction, Fraction], Fraction], first: tuple[Bound, Bound], second: tuple[Bound, Bound]
) -> tuple[Bound, Bound]:
    if None in first or None in second:
        return None, None
    corners = [bound(x, y) for x in first for y in second]  # type: ignore[arg-type]
    return min(corners), max(corners)


def _product_step(a: Type, b: Type) -> Fraction:
    """Return the product of the steps, or a finer step if DuckDB's DECIMAL product has more places."""
    assert a.step is not None
    assert b.step is not None
    product, places = a.step * b.step, a.scale + b.scale
    return product if decimal_places(product) == places else Fraction(1, 10**places)


def divided(types: Types, _: tuple[str, ...]) -> Type:
    """Return the type of a quotient: always DOUBLE."""
    _expect(types, Family.NUMBER)
    a, b = types
    divisors = _nonzero(b)
    if not (a.bounded and divisors):
        return double()
    corners = [x / y for x in double_ends(a) for y in divisors]  # type: ignore[operator]
    return double(min(corners), max(corners))


def _nonzero(kind: Type) -> list[Fraction]:
    """Return the bounds of the nonzero values: division by 0 is NULL, and grid values next to 0 are ±step."""
    low, high = double_ends(kind)
    if low is None or high is None:
        return []
    if not low <= 0 <= high:
        return [low, high]
    step = nearest_double(kind.step)
    if step is None:
        return []
    steps = (-step if low < 0 else ZERO, step if high > 0 else ZERO)
    return [end for end in (low, *steps, high) if end != 0]


def remainder(types: Types, _: tuple[str, ...]) -> Type:
    """Return the type of a % b: it has the sign of a, and |a % b| <= min(|a|, |b|), < |b| on a grid."""
    _expect(types, Family.NUMBER)
    a, b = types
    exact = share_grid(types)
    if not exact:
        a, b = types = as_double(a), as_double(b)
    step = common_step(types) if exact else _whole_step(types)
    limits = [each.reach for each in types if each.bounded and each.reach is not None]
    if b.bounded and step is not None:
        limits[-1] = max(limits[-1] - step, ZERO)
    most = min(limits, default=None)
    low = ZERO if a.low is not None and a.low >= 0 else None if most is None else -most
    high = ZERO if a.high is not None and a.high <= 0 else most
    if not exact:
        return double(low, high, step)
    return number(low, high, step, numeric=widest_numeric(types), magnitude=a.reach)


def negated(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    low, high = None if a.high is None else -a.high, None if a.low is None else -a.low
    found = number(low, high, a.step, numeric=a.numeric, magnitude=_negative_size(a))
    return replace(found, known=a.known)  # the negation of a constant is a constant


def _negative_size(kind: Type) -> Bound:
    """Return the magnitude after a change of sign: the negated smallest BIGINT is not a BIGINT."""
    return None if kind.magnitude is None else kind.magnitude + 1


def absolute(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    if not a.bounded:
        return number(Fraction(0), None, a.step, numeric=a.numeric, magnitude=_negative_size(a))
    ends = (abs(a.low), abs(a.high))  # type: ignore[arg-type]
    least = Fraction(0) if a.low <= 0 <= a.high else min(ends)  # type: ignore[operator]
    return number(least, max(ends), a.step, numeric=a.numeric)


def rounded(types: Types, options: tuple[str, ...]) -> Type:
    """Return the type of ROUND: exact for exact numbers, unchanged if they have few enough places."""
    _expect(types, Family.NUMBER)
    (a,) = types
    places = int(options[0]) if options else 0
    step = Fraction(10) ** -places
    if a.exact and keeps_places(a, places):
        return replace(a, known=False)
    if not a.exact and not a.bounded:
        return double(step=step)
    low, high = _rounded_ends(a, step)
    if not a.exact:
        return double(low, high, step)
    most = None if a.reach is None else a.reach + step
    return number(low, high, rounded_step(a, step), numeric=a.numeric, magnitude=most)


def _rounded_ends(a: Type, step: Fraction) -> tuple[Bound, Bound]:
    """Return the bounds on a coarser grid; rounding is monotone.

    Halves of exact numbers are rounded away from 0. A floating-point number near a half may be rounded either
    way, since it is multiplied before it is rounded.
    """
    if a.low is None or a.high is None:
        return None, None
    if a.exact:
        return _half_away(a.low / step) * step, _half_away(a.high / step) * step
    below, above = nearest_double(a.low, -CONVERSION_ULPS), nearest_double(a.high, CONVERSION_ULPS)
    low = ceil((below or ZERO) / step - Fraction(1, 2)) * step
    high = floor((above or ZERO) / step + Fraction(1, 2)) * step
    return min(low, high), max(low, high)


def _half_away(number: Fraction) -> int:
    nearest = floor(abs(number) + Fraction(1, 2))
    return nearest if number >= 0 else -nearest


def floored(types: Types, _: tuple[str, ...]) -> Type:
    return _to_whole(types, floor)


def ceiled(types: Types, _: tuple[str, ...]) -> Type:
    return _to_whole(types, ceil)


def _to_whole(types: Types, whole_of: Callable[[Fraction], int]) -> Type:
    """Return the type of FLOOR and CEIL: a DECIMAL without places for a DECIMAL, else DOUBLE."""
    _expect(types, Family.NUMBER)
    (a,) = types
    if a.numeric is Numeric.DECIMAL and keeps_places(a, 0):
        return replace(a, known=False)
    ends = (a.low, a.high) if a.numeric is Numeric.DECIMAL else double_ends(a)
    low, high = (None if end is None else Fraction(whole_of(end)) for end in ends)
    if a.numeric is not Numeric.DECIMAL:
        return double(low, high, Fraction(1))
    most = None if a.reach is None else a.reach + 1
    return number(low, high, rounded_step(a, Fraction(1)), numeric=Numeric.DECIMAL, magnitude=most)


def any_of(types: Types, _: tuple[str, ...]) -> Type:
    return _together(types)


def least(types: Types, _: tuple[str, ...]) -> Type:
    """Return the type of LEAST: it ignores NULL, so only constant arguments bound it from above."""
    joined = _together(types)
    ends = [_held_ends(each, joined)[1] for each in (*types, joined) if each.known or each is joined]
    known = [end for end in ends if end is not None]
    return replace(joined, high=min(known)) if known and joined.family is Family.NUMBER else joined


def _held_ends(kind: Type, result: Type) -> tuple[Bound, Bound]:
    """Return the bounds of an argument after its conversion to the result's type."""
    return (kind.low, kind.high) if result.exact else double_ends(kind)


def greatest(types: Types, _: tuple[str, ...]) -> Type:
    joined = _together(types)
    ends = [_held_ends(each, joined)[0] for each in (*types, joined) if each.known or each is joined]
    known = [end for end in ends if end is not None]
    return replace(joined, low=max(known)) if known and joined.family is Family.NUMBER else joined


def nullif(types: Types, _: tuple[str, ...]) -> Type:
    _together(types)
    return replace(types[0], known=False)


def compared(types: Types, _: tuple[str, ...]) -> Type:
    _together(types)
    return BOOLEAN


def logical(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.BOOLEAN)
    return BOOLEAN


def any_to_boolean(types: Types, _: tuple[str, ...]) -> Type:
    return BOOLEAN


def chosen(types: Types, _: tuple[str, ...]) -> Type:
    """Return the type of CASE; arguments are condition, value, condition, value, …, ELSE value."""
    _expect(types[:-1:2], Family.BOOLEAN)
    return _together((*types[1::2], types[-1]))


def switched(types: Types, options: tuple[str, ...]) -> Type:
    """Return the type of CASE x; arguments are x, compared value, value, …, ELSE value."""
    for each in types[1:-1:2]:
        _together((types[0], each))
    return _together((*types[2:-1:2], types[-1]))


def like(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.TEXT)
    return BOOLEAN


def text(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types[:1], Family.TEXT)
    _expect(types[1:], Family.NUMBER)
    return TEXT


def length(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.TEXT)
    return number(Fraction(0), None, Fraction(1))


PARTS = {
    "year": None,
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dow": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
}
UNITS = ("year", "quarter", "month", "week", "day", "hour")


def part(types: Types, options: tuple[str, ...]) -> Type:
    _expect(types, Family.DATE, Family.TIMESTAMP)
    span = PARTS[options[0]]
    if span is not None:
        return whole(*span)
    (a,) = types
    if a.first is None or a.last is None:
        return number(step=Fraction(1))
    return whole(a.first.year, a.last.year)


def truncated(types: Types, options: tuple[str, ...]) -> Type:
    _expect(types, Family.DATE, Family.TIMESTAMP)
    (a,) = types
    first = None if a.first is None else _start(a.first, options[0])
    return Type(family=a.family, first=first, last=a.last)


def _day(moment: date | datetime | None) -> date | None:
    return moment.date() if isinstance(moment, datetime) else moment


def _start(moment: date | datetime, unit: str) -> date | datetime:
    """Return the start of the year, quarter, month, week, day or hour that contains a moment."""
    day = date(moment.year, moment.month, moment.day)
    if unit == "week":
        day -= timedelta(days=day.weekday())
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1}.get(unit, day.month)
    if unit in ("year", "quarter", "month"):
        day = date(day.year, month, 1)
    if not isinstance(moment, datetime):
        return day
    return datetime(day.year, day.month, day.day, moment.hour if unit == "hour" else 0)


def converted(types: Types, options: tuple[str, ...]) -> Type:
    (a,) = types
    target = options[0]
    if target == "integer":
        return _to_integer(types)
    if target == "decimal":
        return _to_decimal(types, int(options[1]), int(options[2]))
    if target == "number":
        _expect(types, Family.NUMBER, Family.TEXT)
        return double(*double_ends(a)) if a.family is Family.NUMBER else double()
    if target == "date":
        _expect(types, Family.DATE, Family.TIMESTAMP, Family.TEXT)
        return Type(family=Family.DATE, first=_day(a.first), last=_day(a.last))
    return {"text": TEXT, "boolean": BOOLEAN}.get(target, NULL)


def _to_integer(types: Types) -> Type:
    """Return the type of a cast to a 64-bit INTEGER; larger numbers become NULL."""
    (a,) = types
    if a.family is Family.BOOLEAN:
        return whole(0, 1)
    _expect(types, Family.NUMBER, Family.TEXT, Family.BOOLEAN)
    if a.family is not Family.NUMBER:
        return number(step=Fraction(1))
    nearest = rounded(types, ())
    if nearest.exact:
        return replace(nearest, numeric=Numeric.INTEGER)
    return number(nearest.low, nearest.high, Fraction(1), numeric=Numeric.INTEGER, magnitude=LONGEST_INTEGER)


def _to_decimal(types: Types, digits: int, places: int) -> Type:
    """Return the type of a cast to DECIMAL(digits, places); numbers with more digits become NULL."""
    _expect(types, Family.NUMBER, Family.TEXT, Family.BOOLEAN)
    (a,) = types
    step = Fraction(1, 10**places)
    most = Fraction(10**digits - 1) * step
    if a.family is Family.BOOLEAN:
        return number(ZERO, min(most, Fraction(1)), step, numeric=Numeric.DECIMAL)
    low, high = _rounded_ends(a, step)
    if low is not None and high is not None:
        low, high = max(low, -most), min(high, most)
    if low is not None and high is not None and low > high:
        low = high = None  # nothing in its interval has so few digits
    if a.exact and not keeps_places(a, places):
        step = rounded_step(a, step)
        if a.reach is None or a.reach / step >= MOST_STEPS:
            return _decimal_in_double(a, digits, places)
    if a.family is Family.NUMBER and not a.exact and digits > HELD_DIGITS:
        return _decimal_in_double(a, digits, places)
    return number(low, high, step, numeric=Numeric.DECIMAL, magnitude=most)


def _decimal_in_double(kind: Type, digits: int, places: int) -> Type:
    """Return the type of a cast to a DECIMAL too long to be exact: a rounded DOUBLE; larger is NULL."""
    step, most = Fraction(1, 10**places), Fraction(10**digits, 10**places)
    low, high = _rounded_ends(as_double(kind), step)
    if low is None or high is None:
        return double(-most, most, step)
    return (
        double(max(low, -most), min(high, most), step) if low < most and high > -most else double(step=step)
    )
