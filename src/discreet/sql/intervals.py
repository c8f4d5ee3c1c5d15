"""What a function's result can be: its kind and interval, for all data within the declared bounds.

The interval gives a sum of the expression its sensitivity. What loses its bounds can be filtered and grouped
by, but not summed. In floating point a value may stand beyond it by rounding; whoever sums it clamps it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor

from discreet.sql.types import BOOLEAN, NULL, TEXT, ZERO, Bound, Family, Type, number, union, whole

Types = tuple[Type, ...]


class Mistyped(Exception):  # noqa: N818  (told to the analyst as a refusal by whoever knows the place)
    """The arguments do not fit; the text says what would."""


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
    """The interval of a function that is monotone in each argument: its extremes are at the corners."""

    def typed(types: Types, _: tuple[str, ...]) -> Type:
        _expect(types, Family.NUMBER)
        a, b = types
        if not (a.bounded and b.bounded):
            return number(step=_whole_step(types))
        corners = [bound(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[arg-type]
        return number(min(corners), max(corners), _whole_step(types))

    return typed


def divided(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    a, b = types
    divisors = _nonzero(b)
    if not (a.bounded and divisors):
        return number()
    corners = [x / y for x in (a.low, a.high) for y in divisors]  # type: ignore[operator]
    return number(min(corners), max(corners))


def _nonzero(kind: Type) -> list[Fraction]:
    """The ends of what is not 0: by 0 nothing is divided, and on a grid the next are a step away."""
    if kind.low is None or kind.high is None:
        return []
    if not kind.low <= 0 <= kind.high:
        return [kind.low, kind.high]
    if kind.step is None:
        return []
    steps = (-kind.step if kind.low < 0 else ZERO, kind.step if kind.high > 0 else ZERO)
    return [end for end in (kind.low, *steps, kind.high) if end != 0]


def remainder(types: Types, _: tuple[str, ...]) -> Type:
    """It has the sign of the first, and exceeds neither in size."""
    _expect(types, Family.NUMBER)
    a, b = types
    step = _whole_step(types)
    limits = [
        max(abs(each.low), abs(each.high)) for each in types if each.low is not None and each.high is not None
    ]
    if b.bounded and step is not None:
        limits[-1] = max(limits[-1] - 1, ZERO)  # a whole remainder is less than what it is divided by
    most = min(limits, default=None)
    low = ZERO if a.low is not None and a.low >= 0 else None if most is None else -most
    high = ZERO if a.high is not None and a.high <= 0 else most
    return number(low, high, step)


def negated(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    return number(None if a.high is None else -a.high, None if a.low is None else -a.low, a.step)


def absolute(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    if not a.bounded:
        return number(Fraction(0), None, a.step)
    ends = (abs(a.low), abs(a.high))  # type: ignore[arg-type]
    least = Fraction(0) if a.low <= 0 <= a.high else min(ends)  # type: ignore[operator]
    return number(least, max(ends), a.step)


def rounded(types: Types, options: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    step = Fraction(10) ** -int(options[0]) if options else Fraction(1)
    if not a.bounded:
        return number(step=step)
    # half a step outwards, then onto the grid: rounding is monotone
    low = ceil(a.low / step - Fraction(1, 2)) * step  # type: ignore[operator]
    high = floor(a.high / step + Fraction(1, 2)) * step  # type: ignore[operator]
    return number(min(low, high), max(low, high), step)


def floored(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    if not a.bounded:
        return number(step=Fraction(1))
    return whole(floor(a.low), floor(a.high))  # type: ignore[arg-type]


def ceiled(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    if not a.bounded:
        return number(step=Fraction(1))
    return whole(ceil(a.low), ceil(a.high))  # type: ignore[arg-type]


def any_of(types: Types, _: tuple[str, ...]) -> Type:
    return _together(types)


def least(types: Types, _: tuple[str, ...]) -> Type:
    """LEAST ignores NULL, so it may be any of the arguments, but never above one that is always known."""
    joined = _together(types)
    ends = [
        each.high for each in (*types, joined) if (each.known or each is joined) and each.high is not None
    ]
    return replace(joined, high=min(ends)) if ends and joined.family is Family.NUMBER else joined


def greatest(types: Types, _: tuple[str, ...]) -> Type:
    joined = _together(types)
    ends = [each.low for each in (*types, joined) if (each.known or each is joined) and each.low is not None]
    return replace(joined, low=max(ends)) if ends and joined.family is Family.NUMBER else joined


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
    """CASE: condition, value, condition, value, …, otherwise."""
    _expect(types[:-1:2], Family.BOOLEAN)
    return _together((*types[1::2], types[-1]))


def switched(types: Types, options: tuple[str, ...]) -> Type:
    """CASE of a value: the value, what it is compared with, a value, …, otherwise."""
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
    """The start of the unit in which a moment lies."""
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
        if a.family is Family.NUMBER:
            return rounded(types, ())
        _expect(types, Family.TEXT, Family.BOOLEAN)
        return whole(0, 1) if a.family is Family.BOOLEAN else number(step=Fraction(1))
    if target == "number":
        _expect(types, Family.NUMBER, Family.TEXT)
        return number(a.low, a.high) if a.family is Family.NUMBER else number()
    if target == "date":
        _expect(types, Family.DATE, Family.TIMESTAMP, Family.TEXT)
        return Type(family=Family.DATE, first=_day(a.first), last=_day(a.last))
    return {"text": TEXT, "boolean": BOOLEAN}.get(target, NULL)
