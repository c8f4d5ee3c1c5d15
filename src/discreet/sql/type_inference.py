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

from discreet.sql.expression_types import (
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
    can_share_grid,
    count_decimal_places,
    find_common_step,
    find_rounded_step,
    find_widest_numeric,
    get_double_bounds,
    keeps_places,
    make_double_type,
    make_integer_type,
    make_number_type,
    round_to_double,
    to_double_type,
    unify_types,
)

Types = tuple[Type, ...]

HELD_DIGITS = 18
"""Digits that 64 bits hold: a DOUBLE that is cast to a DECIMAL with more digits stays a DOUBLE."""


class TypeMismatch(Exception):  # noqa: N818  (callers turn it into a refusal that quotes the expression)
    """Arguments of the wrong type; the message says which types are expected."""


def _require_families(types: Types, *families: Family) -> None:
    for each in types:
        if each.family not in families and each.family is not Family.NULL:
            wanted = " or ".join(family.value for family in families)
            raise TypeMismatch(f"takes a {wanted}, not a {each.family.value}")


def _unify_or_raise(types: Types) -> Type:
    joined = unify_types(list(types))
    if joined is None:
        kinds = " and ".join(sorted({each.family.value for each in types}))
        raise TypeMismatch(f"cannot mix {kinds}")
    return joined


def _get_whole_step(types: Types) -> Bound:
    return Fraction(1) if all(each.step == 1 for each in types) else None


def make_arithmetic_rule(
    bound: Callable[[Fraction, Fraction], Fraction],
) -> Callable[[Types, tuple[str, ...]], Type]:
    """Return the type rule of a sum, difference or product, whose extremes are at the corners.

    Exact numbers have an exact result if 38 digits hold it. A sum or difference lies on the common grid, a
    product on the grid of DuckDB's DECIMAL, which has the decimal places of both factors.
    """
    multiplies = bound(Fraction(2), Fraction(3)) == 6

    def infer_type(types: Types, _: tuple[str, ...]) -> Type:
        _require_families(types, Family.NUMBER)
        a, b = types
        in_double = make_double_type(
            *_find_corner_bounds(bound, get_double_bounds(a), get_double_bounds(b)), _get_whole_step(types)
        )
        if not all(each.is_exact for each in types) or not (multiplies or can_share_grid(types)):
            return in_double
        low, high = _find_corner_bounds(bound, (a.low, a.high), (b.low, b.high))
        most = a.max_magnitude * b.max_magnitude if multiplies else a.max_magnitude + b.max_magnitude  # type: ignore[operator]
        step = _get_product_step(a, b) if multiplies else find_common_step(types)
        found = make_number_type(low, high, step, numeric=find_widest_numeric(types), magnitude=most)
        return replace(found, is_constant=a.is_constant and b.is_constant) if found.is_exact else in_double

    return infer_type


def _find_corner_bounds(
    bound: Callable[[Fraction, Fraction], Fraction], first: tuple[Bound, Bound], second: tuple[Bound, Bound]
) -> tuple[Bound, Bound]:
    if None in first or None in second:
        return None, None
    corners = [bound(x, y) for x in first for y in second]  # type: ignore[arg-type]
    return min(corners), max(corners)


def _get_product_step(a: Type, b: Type) -> Fraction:
    """Return the product of the steps, or a finer step if DuckDB's DECIMAL product has more places."""
    assert a.step is not None
    assert b.step is not None
    product, places = a.step * b.step, a.scale + b.scale
    return product if count_decimal_places(product) == places else Fraction(1, 10**places)


def infer_quotient(types: Types, _: tuple[str, ...]) -> Type:
    """Return the type of a quotient: always DOUBLE."""
    _require_families(types, Family.NUMBER)
    a, b = types
    divisors = _find_nonzero_bounds(b)
    if not (a.is_bounded and divisors):
        return make_double_type()
    corners = [x / y for x in get_double_bounds(a) for y in divisors]  # type: ignore[operator]
    return make_double_type(min(corners), max(corners))


def _find_nonzero_bounds(kind: Type) -> list[Fraction]:
    """Return the bounds of the nonzero values: division by 0 is NULL, and grid values next to 0 are ±step."""
    low, high = get_double_bounds(kind)
    if low is None or high is None:
        return []
    if not low <= 0 <= high:
        return [low, high]
    step = round_to_double(kind.step)
    if step is None:
        return []
    steps = (-step if low < 0 else ZERO, step if high > 0 else ZERO)
    return [end for end in (low, *steps, high) if end != 0]


def infer_remainder(types: Types, _: tuple[str, ...]) -> Type:
    """Return the type of a % b: it has the sign of a, and |a % b| <= min(|a|, |b|), < |b| on a grid."""
    _require_families(types, Family.NUMBER)
    a, b = types
    exact = can_share_grid(types)
    if not exact:
        a, b = types = to_double_type(a), to_double_type(b)
    step = find_common_step(types) if exact else _get_whole_step(types)
    limits = [each.max_magnitude for each in types if each.is_bounded and each.max_magnitude is not None]
    if b.is_bounded and step is not None:
        limits[-1] = max(limits[-1] - step, ZERO)
    most = min(limits, default=None)
    low = ZERO if a.low is not None and a.low >= 0 else None if most is None else -most
    high = ZERO if a.high is not None and a.high <= 0 else most
    if not exact:
        return make_double_type(low, high, step)
    return make_number_type(low, high, step, numeric=find_widest_numeric(types), magnitude=a.max_magnitude)


def infer_negation(types: Types, _: tuple[str, ...]) -> Type:
    _require_families(types, Family.NUMBER)
    (a,) = types
    low, high = None if a.high is None else -a.high, None if a.low is None else -a.low
    found = make_number_type(low, high, a.step, numeric=a.numeric, magnitude=_get_negated_magnitude(a))
    return replace(found, is_constant=a.is_constant)  # the negation of a constant is a constant


def _get_negated_magnitude(kind: Type) -> Bound:
    """Return the magnitude after a change of sign: the negated smallest BIGINT is not a BIGINT."""
    return None if kind.magnitude is None else kind.magnitude + 1


def infer_absolute_value(types: Types, _: tuple[str, ...]) -> Type:
    _require_families(types, Family.NUMBER)
    (a,) = types
    if not a.is_bounded:
        return make_number_type(
            Fraction(0), None, a.step, numeric=a.numeric, magnitude=_get_negated_magnitude(a)
        )
    ends = (abs(a.low), abs(a.high))  # type: ignore[arg-type]
    least = Fraction(0) if a.low <= 0 <= a.high else min(ends)  # type: ignore[operator]
    return make_number_type(least, max(ends), a.step, numeric=a.numeric)


def infer_rounding(types: Types, options: tuple[str, ...]) -> Type:
    """Return the type of ROUND: exact for exact numbers, unchanged if they have few enough places."""
    _require_families(types, Family.NUMBER)
    (a,) = types
    places = int(options[0]) if options else 0
    step = Fraction(10) ** -places
    if a.is_exact and keeps_places(a, places):
        return replace(a, is_constant=False)
    if not a.is_exact and not a.is_bounded:
        return make_double_type(step=step)
    low, high = _round_bounds(a, step)
    if not a.is_exact:
        return make_double_type(low, high, step)
    most = None if a.max_magnitude is None else a.max_magnitude + step
    return make_number_type(low, high, find_rounded_step(a, step), numeric=a.numeric, magnitude=most)


def _round_bounds(a: Type, step: Fraction) -> tuple[Bound, Bound]:
    """Return the bounds on a coarser grid; rounding is monotone.

    Halves of exact numbers are rounded away from 0. A floating-point number near a half may be rounded either
    way, since it is multiplied before it is rounded.
    """
    if a.low is None or a.high is None:
        return None, None
    if a.is_exact:
        return _round_half_away(a.low / step) * step, _round_half_away(a.high / step) * step
    below, above = round_to_double(a.low, -CONVERSION_ULPS), round_to_double(a.high, CONVERSION_ULPS)
    low = ceil((below or ZERO) / step - Fraction(1, 2)) * step
    high = floor((above or ZERO) / step + Fraction(1, 2)) * step
    return min(low, high), max(low, high)


def _round_half_away(number: Fraction) -> int:
    nearest = floor(abs(number) + Fraction(1, 2))
    return nearest if number >= 0 else -nearest


def infer_floor(types: Types, _: tuple[str, ...]) -> Type:
    return _infer_whole_number(types, floor)


def infer_ceiling(types: Types, _: tuple[str, ...]) -> Type:
    return _infer_whole_number(types, ceil)


def _infer_whole_number(types: Types, to_whole: Callable[[Fraction], int]) -> Type:
    """Return the type of FLOOR and CEIL: a DECIMAL without places for a DECIMAL, else DOUBLE."""
    _require_families(types, Family.NUMBER)
    (a,) = types
    if a.numeric is Numeric.DECIMAL and keeps_places(a, 0):
        return replace(a, is_constant=False)
    ends = (a.low, a.high) if a.numeric is Numeric.DECIMAL else get_double_bounds(a)
    low, high = (None if end is None else Fraction(to_whole(end)) for end in ends)
    if a.numeric is not Numeric.DECIMAL:
        return make_double_type(low, high, Fraction(1))
    most = None if a.max_magnitude is None else a.max_magnitude + 1
    return make_number_type(
        low, high, find_rounded_step(a, Fraction(1)), numeric=Numeric.DECIMAL, magnitude=most
    )


def infer_common_type(types: Types, _: tuple[str, ...]) -> Type:
    return _unify_or_raise(types)


def infer_least(types: Types, _: tuple[str, ...]) -> Type:
    """Return the type of LEAST: it ignores NULL, so only constant arguments bound it from above."""
    joined = _unify_or_raise(types)
    ends = [
        _get_bounds_in_result(each, joined)[1]
        for each in (*types, joined)
        if each.is_constant or each is joined
    ]
    known = [end for end in ends if end is not None]
    return replace(joined, high=min(known)) if known and joined.family is Family.NUMBER else joined


def _get_bounds_in_result(kind: Type, result: Type) -> tuple[Bound, Bound]:
    """Return the bounds of an argument after its conversion to the result's type."""
    return (kind.low, kind.high) if result.is_exact else get_double_bounds(kind)


def infer_greatest(types: Types, _: tuple[str, ...]) -> Type:
    joined = _unify_or_raise(types)
    ends = [
        _get_bounds_in_result(each, joined)[0]
        for each in (*types, joined)
        if each.is_constant or each is joined
    ]
    known = [end for end in ends if end is not None]
    return replace(joined, low=max(known)) if known and joined.family is Family.NUMBER else joined


def infer_nullif(types: Types, _: tuple[str, ...]) -> Type:
    _unify_or_raise(types)
    return replace(types[0], is_constant=False)


def infer_comparison(types: Types, _: tuple[str, ...]) -> Type:
    _unify_or_raise(types)
    return BOOLEAN


def infer_logic(types: Types, _: tuple[str, ...]) -> Type:
    _require_families(types, Family.BOOLEAN)
    return BOOLEAN


def infer_boolean(types: Types, _: tuple[str, ...]) -> Type:
    return BOOLEAN


def infer_case(types: Types, _: tuple[str, ...]) -> Type:
    """Return the type of CASE; arguments are condition, value, condition, value, …, ELSE value."""
    _require_families(types[:-1:2], Family.BOOLEAN)
    return _unify_or_raise((*types[1::2], types[-1]))


def infer_switch(types: Types, options: tuple[str, ...]) -> Type:
    """Return the type of CASE x; arguments are x, compared value, value, …, ELSE value."""
    for each in types[1:-1:2]:
        _unify_or_raise((types[0], each))
    return _unify_or_raise((*types[2:-1:2], types[-1]))


def infer_like(types: Types, _: tuple[str, ...]) -> Type:
    _require_families(types, Family.TEXT)
    return BOOLEAN


def infer_text(types: Types, _: tuple[str, ...]) -> Type:
    _require_families(types[:1], Family.TEXT)
    _require_families(types[1:], Family.NUMBER)
    return TEXT


def infer_length(types: Types, _: tuple[str, ...]) -> Type:
    _require_families(types, Family.TEXT)
    return make_number_type(Fraction(0), None, Fraction(1))


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


def infer_date_part(types: Types, options: tuple[str, ...]) -> Type:
    _require_families(types, Family.DATE, Family.TIMESTAMP)
    span = PARTS[options[0]]
    if span is not None:
        return make_integer_type(*span)
    (a,) = types
    if a.first is None or a.last is None:
        return make_number_type(step=Fraction(1))
    return make_integer_type(a.first.year, a.last.year)


def infer_date_truncation(types: Types, options: tuple[str, ...]) -> Type:
    _require_families(types, Family.DATE, Family.TIMESTAMP)
    (a,) = types
    first = None if a.first is None else _truncate_moment(a.first, options[0])
    return Type(family=a.family, first=first, last=a.last)


def _to_date(moment: date | datetime | None) -> date | None:
    return moment.date() if isinstance(moment, datetime) else moment


def _truncate_moment(moment: date | datetime, unit: str) -> date | datetime:
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


def infer_cast(types: Types, options: tuple[str, ...]) -> Type:
    (a,) = types
    target = options[0]
    if target == "integer":
        return _infer_integer_cast(types)
    if target == "decimal":
        return _infer_decimal_cast(types, int(options[1]), int(options[2]))
    if target == "number":
        _require_families(types, Family.NUMBER, Family.TEXT)
        return make_double_type(*get_double_bounds(a)) if a.family is Family.NUMBER else make_double_type()
    if target == "date":
        _require_families(types, Family.DATE, Family.TIMESTAMP, Family.TEXT)
        return Type(family=Family.DATE, first=_to_date(a.first), last=_to_date(a.last))
    return {"text": TEXT, "boolean": BOOLEAN}.get(target, NULL)


def _infer_integer_cast(types: Types) -> Type:
    """Return the type of a cast to a 64-bit INTEGER; larger numbers become NULL."""
    (a,) = types
    if a.family is Family.BOOLEAN:
        return make_integer_type(0, 1)
    _require_families(types, Family.NUMBER, Family.TEXT, Family.BOOLEAN)
    if a.family is not Family.NUMBER:
        return make_number_type(step=Fraction(1))
    nearest = infer_rounding(types, ())
    if nearest.is_exact:
        return replace(nearest, numeric=Numeric.INTEGER)
    return make_number_type(
        nearest.low, nearest.high, Fraction(1), numeric=Numeric.INTEGER, magnitude=LONGEST_INTEGER
    )


def _infer_decimal_cast(types: Types, digits: int, places: int) -> Type:
    """Return the type of a cast to DECIMAL(digits, places); numbers with more digits become NULL."""
    _require_families(types, Family.NUMBER, Family.TEXT, Family.BOOLEAN)
    (a,) = types
    step = Fraction(1, 10**places)
    most = Fraction(10**digits - 1) * step
    if a.family is Family.BOOLEAN:
        return make_number_type(ZERO, min(most, Fraction(1)), step, numeric=Numeric.DECIMAL)
    low, high = _round_bounds(a, step)
    if low is not None and high is not None:
        low, high = max(low, -most), min(high, most)
    if low is not None and high is not None and low > high:
        low = high = None  # nothing in its interval has so few digits
    if a.is_exact and not keeps_places(a, places):
        step = find_rounded_step(a, step)
        if a.max_magnitude is None or a.max_magnitude / step >= MOST_STEPS:
            return _infer_wide_decimal_cast(a, digits, places)
    if a.family is Family.NUMBER and not a.is_exact and digits > HELD_DIGITS:
        return _infer_wide_decimal_cast(a, digits, places)
    return make_number_type(low, high, step, numeric=Numeric.DECIMAL, magnitude=most)


def _infer_wide_decimal_cast(kind: Type, digits: int, places: int) -> Type:
    """Return the type of a cast to a DECIMAL too long to be exact: a rounded DOUBLE; larger is NULL."""
    step, most = Fraction(1, 10**places), Fraction(10**digits, 10**places)
    low, high = _round_bounds(to_double_type(kind), step)
    if low is None or high is None:
        return make_double_type(-most, most, step)
    return (
        make_double_type(max(low, -most), min(high, most), step)
        if low < most and high > -most
        else make_double_type(step=step)
    )
