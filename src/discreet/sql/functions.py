"""The allow-list: every function that a question may use on rows, its interval, and its total form.

Total       whatever the data, no function errs and none gives an infinity or NaN: what has no value is NULL.
            Whole numbers are computed as such only where the interval proves that 64 bits hold them;
            everything else is computed in floating point, where nothing overflows into an error, and
            infinities are turned into NULL before anything is compared, grouped or summed.
Interval    `typed(arguments)` gives the interval that holds for all data within the declared bounds, so a sum
            of the expression has a sensitivity. What loses its bounds can be filtered and grouped by, but
            not summed.
Emission    one template per engine; {0}, {1} … are the arguments' own SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from discreet.sql.types import BOOLEAN, NULL, TEXT, Bound, Family, Type, number, union, whole

Types = tuple[Type, ...]


class Mistyped(Exception):  # noqa: N818  (told to the analyst as a refusal by whoever knows the place)
    """The arguments do not fit; the text says what would."""


@dataclass(frozen=True, kw_only=True)
class Function:
    """One entry of the allow-list."""

    name: str
    shown: str
    typed: Callable[[Types, tuple[str, ...]], Type]
    duckdb: Callable[[tuple[str, ...], Types, Type, tuple[str, ...]], str]


# -- Intervals ----------------------------------------------------------------------------------------------


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


def _same_step(types: Types) -> Bound:
    steps = {each.step for each in types}
    return steps.pop() if len(steps) == 1 else _whole_step(types)


def _arithmetic(bound: Callable[[Fraction, Fraction], Fraction]) -> Callable[[Types, tuple[str, ...]], Type]:
    """The interval of a function that is monotone in each argument: its extremes are at the corners."""

    def typed(types: Types, _: tuple[str, ...]) -> Type:
        _expect(types, Family.NUMBER)
        a, b = types
        if not (a.bounded and b.bounded):
            return number(step=_whole_step(types))
        corners = [bound(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[arg-type]
        return number(min(corners), max(corners), _whole_step(types))

    return typed


def _divided(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    a, b = types
    if not (a.bounded and b.bounded) or b.low <= 0 <= b.high:  # type: ignore[operator]
        return number()
    corners = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
    return number(min(corners), max(corners))


def _remainder(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    a, b = types
    if not b.bounded:
        return number(step=_whole_step(types))
    most = max(abs(b.low), abs(b.high))  # type: ignore[arg-type]
    floor_ = Fraction(0) if a.low is not None and a.low >= 0 else -most
    return number(floor_, most, _whole_step(types))


def _negated(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    return number(None if a.high is None else -a.high, None if a.low is None else -a.low, a.step)


def _absolute(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    if not a.bounded:
        return number(Fraction(0), None, a.step)
    ends = (abs(a.low), abs(a.high))  # type: ignore[arg-type]
    least = Fraction(0) if a.low <= 0 <= a.high else min(ends)  # type: ignore[operator]
    return number(least, max(ends), a.step)


def _rounded(types: Types, options: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    step = Fraction(1, 10 ** int(options[0])) if options else Fraction(1)
    if not a.bounded:
        return number(step=step)
    # half a step outwards, then onto the grid: rounding is monotone
    low = ceil(a.low / step - Fraction(1, 2)) * step  # type: ignore[operator]
    high = floor(a.high / step + Fraction(1, 2)) * step  # type: ignore[operator]
    return number(min(low, high), max(low, high), step)


def _floored(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    if not a.bounded:
        return number(step=Fraction(1))
    return whole(floor(a.low), floor(a.high))  # type: ignore[arg-type]


def _ceiled(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.NUMBER)
    (a,) = types
    if not a.bounded:
        return number(step=Fraction(1))
    return whole(ceil(a.low), ceil(a.high))  # type: ignore[arg-type]


def _extreme(types: Types, _: tuple[str, ...]) -> Type:
    """LEAST and GREATEST ignore NULL, so the result may be any of the arguments."""
    return _together(types)


def _nullif(types: Types, _: tuple[str, ...]) -> Type:
    _together(types)
    return types[0]


def _compared(types: Types, _: tuple[str, ...]) -> Type:
    _together(types)
    return BOOLEAN


def _logical(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.BOOLEAN)
    return BOOLEAN


def _any_to_boolean(types: Types, _: tuple[str, ...]) -> Type:
    return BOOLEAN


def _chosen(types: Types, _: tuple[str, ...]) -> Type:
    """CASE: condition, value, condition, value, …, otherwise."""
    _expect(types[:-1:2], Family.BOOLEAN)
    return _together((*types[1::2], types[-1]))


def _like(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.TEXT)
    return BOOLEAN


def _text(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types[:1], Family.TEXT)
    _expect(types[1:], Family.NUMBER)
    return TEXT


def _length(types: Types, _: tuple[str, ...]) -> Type:
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


def _part(types: Types, options: tuple[str, ...]) -> Type:
    _expect(types, Family.DATE, Family.TIMESTAMP)
    span = PARTS[options[0]]
    if span is not None:
        return whole(*span)
    (a,) = types
    if a.first is None or a.last is None:
        return number(step=Fraction(1))
    return whole(a.first.year, a.last.year)


def _truncated(types: Types, _: tuple[str, ...]) -> Type:
    _expect(types, Family.DATE, Family.TIMESTAMP)
    return types[0]


def _cast(types: Types, options: tuple[str, ...]) -> Type:
    (a,) = types
    target = options[0]
    if target == "integer":
        if a.family is Family.NUMBER:
            return _rounded(types, ())
        _expect(types, Family.TEXT, Family.BOOLEAN)
        return whole(0, 1) if a.family is Family.BOOLEAN else number(step=Fraction(1))
    if target == "number":
        _expect(types, Family.NUMBER, Family.TEXT)
        return number(a.low, a.high) if a.family is Family.NUMBER else number()
    if target == "date":
        _expect(types, Family.DATE, Family.TIMESTAMP, Family.TEXT)
        first, last = (a.first, a.last) if a.family is Family.DATE else (None, None)
        return Type(family=Family.DATE, first=first, last=last)
    return {"text": TEXT, "boolean": BOOLEAN}.get(target, NULL)


# -- Emission -----------------------------------------------------------------------------------------------

Emit = Callable[[tuple[str, ...], Types, Type, tuple[str, ...]], str]


def _template(form: str) -> Emit:
    return lambda args, types, result, options: form.format(*args, *options)


def _finite(sql: str) -> str:
    """NULL for what a computation in floating point may overflow to."""
    return f"CASE WHEN isfinite({sql}) THEN {sql} END"


def _computed(form: str) -> Emit:
    """Exact on whole numbers that are proven to fit, in floating point otherwise."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        if result.integral and all(each.integral for each in types):
            return form.format(*args, *options)
        return _finite(form.format(*(f"CAST({arg} AS DOUBLE)" for arg in args), *options))

    return emit


def _joined(word: str) -> Emit:
    return lambda args, types, result, options: "(" + f" {word} ".join(args) + ")"


def _called(name: str) -> Emit:
    return lambda args, types, result, options: f"{name}({', '.join(args)})"


def _case(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    whens = " ".join(f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
    return f"CASE {whens} ELSE {args[-1]} END"


def _rounding(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    digits = options[0] if options else "0"
    rounded = f"round(CAST({args[0]} AS DOUBLE), {digits})"
    return f"CAST({rounded} AS BIGINT)" if result.integral else rounded


def _to_whole(name: str) -> Emit:
    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        called = f"{name}(CAST({args[0]} AS DOUBLE))"
        return f"CAST({called} AS BIGINT)" if result.integral else called

    return emit


def _casting(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    target = {
        "integer": "DOUBLE",
        "number": "DOUBLE",
        "date": "DATE",
        "text": "VARCHAR",
        "boolean": "BOOLEAN",
    }
    cast = f"TRY_CAST({args[0]} AS {target[options[0]]})"
    if options[0] == "integer":
        whole_number = f"round({cast})"
        return f"CAST({whole_number} AS BIGINT)" if result.integral else _finite(whole_number)
    return _finite(cast) if options[0] == "number" else cast


def _substring(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    places = ", ".join(f"TRY_CAST({arg} AS BIGINT)" for arg in args[1:])
    return f"substr({args[0]}, {places})"


FUNCTIONS: dict[str, Function] = {
    entry.name: entry
    for entry in (
        Function(
            name="add", shown="a + b", typed=_arithmetic(lambda x, y: x + y), duckdb=_computed("({0} + {1})")
        ),
        Function(
            name="subtract",
            shown="a - b",
            typed=_arithmetic(lambda x, y: x - y),
            duckdb=_computed("({0} - {1})"),
        ),
        Function(
            name="multiply",
            shown="a * b",
            typed=_arithmetic(lambda x, y: x * y),
            duckdb=_computed("({0} * {1})"),
        ),
        Function(name="divide", shown="a / b", typed=_divided, duckdb=_computed("({0} / nullif({1}, 0))")),
        Function(name="modulo", shown="a % b", typed=_remainder, duckdb=_computed("({0} % nullif({1}, 0))")),
        Function(name="negate", shown="-a", typed=_negated, duckdb=_template("(-{0})")),
        Function(name="abs", shown="ABS(a)", typed=_absolute, duckdb=_called("abs")),
        Function(name="round", shown="ROUND(a[, digits])", typed=_rounded, duckdb=_rounding),
        Function(name="floor", shown="FLOOR(a)", typed=_floored, duckdb=_to_whole("floor")),
        Function(name="ceil", shown="CEIL(a)", typed=_ceiled, duckdb=_to_whole("ceil")),
        Function(name="least", shown="LEAST(a, b, …)", typed=_extreme, duckdb=_called("least")),
        Function(name="greatest", shown="GREATEST(a, b, …)", typed=_extreme, duckdb=_called("greatest")),
        Function(name="coalesce", shown="COALESCE(a, b, …)", typed=_extreme, duckdb=_called("coalesce")),
        Function(name="nullif", shown="NULLIF(a, b)", typed=_nullif, duckdb=_called("nullif")),
        Function(name="case", shown="CASE WHEN … THEN … ELSE … END", typed=_chosen, duckdb=_case),
        Function(name="equal", shown="a = b", typed=_compared, duckdb=_template("({0} = {1})")),
        Function(name="unequal", shown="a <> b", typed=_compared, duckdb=_template("({0} <> {1})")),
        Function(name="less", shown="a < b", typed=_compared, duckdb=_template("({0} < {1})")),
        Function(name="at_most", shown="a <= b", typed=_compared, duckdb=_template("({0} <= {1})")),
        Function(name="more", shown="a > b", typed=_compared, duckdb=_template("({0} > {1})")),
        Function(name="at_least", shown="a >= b", typed=_compared, duckdb=_template("({0} >= {1})")),
        Function(
            name="in",
            shown="a IN (x, y, …), a BETWEEN x AND y",
            typed=_compared,
            duckdb=lambda args, types, result, options: f"({args[0]} IN ({', '.join(args[1:])}))",
        ),
        Function(
            name="is_null", shown="a IS [NOT] NULL", typed=_any_to_boolean, duckdb=_template("({0} IS NULL)")
        ),
        Function(name="and", shown="p AND q", typed=_logical, duckdb=_joined("AND")),
        Function(name="or", shown="p OR q", typed=_logical, duckdb=_joined("OR")),
        Function(name="not", shown="NOT p", typed=_logical, duckdb=_template("(NOT {0})")),
        Function(name="like", shown="a LIKE pattern", typed=_like, duckdb=_template("({0} LIKE {1})")),
        Function(
            name="lower",
            shown="LOWER(a)",
            typed=_text,
            duckdb=_called("lower"),
        ),
        Function(name="upper", shown="UPPER(a)", typed=_text, duckdb=_called("upper")),
        Function(name="substr", shown="SUBSTR(a, from[, length])", typed=_text, duckdb=_substring),
        Function(name="length", shown="LENGTH(a)", typed=_length, duckdb=_called("length")),
        Function(
            name="part",
            shown="EXTRACT(part FROM d), YEAR(d), MONTH(d), …",
            typed=_part,
            duckdb=_template("CAST(date_part('{1}', {0}) AS BIGINT)"),
        ),
        Function(
            name="truncate",
            shown="DATE_TRUNC('unit', d)",
            typed=_truncated,
            duckdb=lambda args, types, result, options: (
                f"CAST(date_trunc('{options[0]}', {args[0]}) AS {result.family.value.upper()})"
            ),
        ),
        Function(name="cast", shown="CAST(a AS type)", typed=_cast, duckdb=_casting),
    )
}
