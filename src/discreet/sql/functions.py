"""The allow-list: every function that a question may use on rows, its interval, and its total form.

Total       whatever the data, no function errs and none gives an infinity or NaN: what has no value is NULL.
            Whole numbers are computed as such, in 64 bits, only where the interval proves that these hold
            them; everything else is computed in floating point, where nothing overflows into an error, and
            infinities are turned into NULL before anything is compared, grouped or summed. No function
            gives -0.0: it equals 0.0, so which of the two a group shows would depend on the rows' order.
Interval    `typed(arguments)` gives the interval that holds for all data within the declared bounds, so a sum
            of the expression has a sensitivity. What loses its bounds can be filtered and grouped by, but
            not summed. In floating point a value may stand beyond it by rounding; whoever sums it clamps it.
Emission    one template per engine; {0}, {1} … are the arguments' own SQL. Some write an argument twice, so
            what is nested deeply grows fast; it is refused before an engine meets it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor

from discreet.sql.refusal import refuse
from discreet.sql.types import BOOLEAN, NULL, TEXT, Bound, Family, Type, number, union, whole

LONGEST = 30_000
LARGEST = 2**1000

Types = tuple[Type, ...]
Emit = Callable[[tuple[str, ...], Types, Type, tuple[str, ...]], str]


class Mistyped(Exception):  # noqa: N818  (told to the analyst as a refusal by whoever knows the place)
    """The arguments do not fit; the text says what would."""


@dataclass(frozen=True, kw_only=True)
class Function:
    """One entry of the allow-list."""

    name: str
    shown: str
    typed: Callable[[Types, tuple[str, ...]], Type]
    written: Emit

    def duckdb(self, args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        """The call as SQL; NULL for what is never known."""
        text = "NULL" if result.family is Family.NULL else self.written(args, types, result, options)
        if len(text) > LONGEST:
            refuse(
                "an expression is too long when it is written out.",
                "Compute its parts in a subquery: SELECT … FROM (SELECT … AS part FROM …).",
            )
        return text


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


def _any(types: Types, _: tuple[str, ...]) -> Type:
    return _together(types)


def _least(types: Types, _: tuple[str, ...]) -> Type:
    """LEAST ignores NULL, so it may be any of the arguments, but never above one that is always known."""
    joined = _together(types)
    ends = [
        each.high for each in (*types, joined) if (each.known or each is joined) and each.high is not None
    ]
    return replace(joined, high=min(ends)) if ends and joined.family is Family.NUMBER else joined


def _greatest(types: Types, _: tuple[str, ...]) -> Type:
    joined = _together(types)
    ends = [each.low for each in (*types, joined) if (each.known or each is joined) and each.low is not None]
    return replace(joined, low=max(ends)) if ends and joined.family is Family.NUMBER else joined


def _nullif(types: Types, _: tuple[str, ...]) -> Type:
    _together(types)
    return replace(types[0], known=False)


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


def _truncated(types: Types, options: tuple[str, ...]) -> Type:
    _expect(types, Family.DATE, Family.TIMESTAMP)
    (a,) = types
    first = None if a.first is None else _start(a.first, options[0])
    return Type(family=a.family, first=first, last=a.last)


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


def _template(form: str) -> Emit:
    return lambda args, types, result, options: form.format(*args, *options)


def _finite(sql: str) -> str:
    """NULL for what a computation in floating point may overflow to."""
    return f"CASE WHEN isfinite({sql}) THEN {sql} END"


def _is_moderate(kind: Type) -> bool:
    """Whether its numbers are surely far from what floating point cannot hold."""
    return kind.low is not None and kind.high is not None and max(abs(kind.low), abs(kind.high)) < LARGEST


def _computed(form: str, rounded: str = "", *, always: bool = True) -> Emit:
    """Exact on whole numbers that are proven to fit; else `rounded`, in floating point.

    Whole literals would be 32 bits, whose products err. `always` is for what is finite where its arguments
    and its interval are.
    """

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        if result.integral and all(each.integral for each in types):
            return form.format(*(f"CAST({arg} AS BIGINT)" for arg in args), *options)
        text = (rounded or form).format(*(f"CAST({arg} AS DOUBLE)" for arg in args), *options)
        return text if always and all(map(_is_moderate, (*types, result))) else _finite(text)

    return emit


def _joined(word: str) -> Emit:
    return lambda args, types, result, options: "(" + f" {word} ".join(args) + ")"


def _called(name: str) -> Emit:
    return lambda args, types, result, options: f"{name}({', '.join(args)})"


def _case(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    whens = " ".join(f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
    return f"CASE {whens} ELSE {args[-1]} END"


def _to_whole(name: str) -> Emit:
    """Rounding in some direction, to digits if there is an option; what is finite stays so."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        called = f"{name}({', '.join((f'CAST({args[0]} AS DOUBLE)', *options))})"
        return f"CAST({called} AS BIGINT)" if result.integral else f"({called} + 0e0)"

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
        nearest = f"round_even({cast}, 0)"  # as the engine's own cast does
        return f"CAST({nearest} AS BIGINT)" if result.integral else _finite(f"({nearest} + 0e0)")
    if options[0] == "number":
        return _finite(f"({cast} + 0e0)")
    if options[0] == "date" and types[0].family is Family.TEXT:
        # calendars overflow outside of these years
        return f"CASE WHEN {cast} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {cast} END"
    return cast


def _substring(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Places beyond 32 bits, which are errors to the engine, are no places."""
    places = ", ".join(f"TRY_CAST({arg} AS INTEGER)" for arg in args[1:])
    return f"substr({args[0]}, {places})"


def _dated(form: str) -> Emit:
    """A date function; its name does not tell the engine which kind of date a NULL is."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        argument = "CAST(NULL AS DATE)" if types[0].family is Family.NULL else args[0]
        return form.format(argument, *options, result.family.value.upper())

    return emit


FUNCTIONS: dict[str, Function] = {
    entry.name: entry
    for entry in (
        Function(
            name="add", shown="a + b", typed=_arithmetic(lambda x, y: x + y), written=_computed("({0} + {1})")
        ),
        Function(
            name="subtract",
            shown="a - b",
            typed=_arithmetic(lambda x, y: x - y),
            written=_computed("({0} - {1})"),
        ),
        Function(
            name="multiply",
            shown="a * b",
            typed=_arithmetic(lambda x, y: x * y),
            written=_computed("({0} * {1})", "({0} * {1} + 0e0)"),
        ),
        Function(
            name="divide",
            shown="a / b",
            typed=_divided,
            written=_computed("({0} / {1} + 0e0)", always=False),
        ),
        Function(
            name="modulo",
            shown="a % b",
            typed=_remainder,
            written=_computed("({0} % nullif({1}, 0))", "({0} % {1} + 0e0)", always=False),
        ),
        Function(name="negate", shown="-a", typed=_negated, written=_computed("(0 - {0})")),
        Function(name="abs", shown="ABS(a)", typed=_absolute, written=_computed("abs({0})")),
        Function(name="round", shown="ROUND(a[, digits])", typed=_rounded, written=_to_whole("round")),
        Function(name="floor", shown="FLOOR(a)", typed=_floored, written=_to_whole("floor")),
        Function(name="ceil", shown="CEIL(a)", typed=_ceiled, written=_to_whole("ceil")),
        Function(name="least", shown="LEAST(a, b, …)", typed=_least, written=_called("least")),
        Function(name="greatest", shown="GREATEST(a, b, …)", typed=_greatest, written=_called("greatest")),
        Function(name="coalesce", shown="COALESCE(a, b, …)", typed=_any, written=_called("coalesce")),
        Function(
            name="nullif",
            shown="NULLIF(a, b)",
            typed=_nullif,
            written=_template("CASE WHEN {0} = {1} THEN NULL ELSE {0} END"),
        ),
        Function(name="case", shown="CASE WHEN … THEN … ELSE … END", typed=_chosen, written=_case),
        Function(name="equal", shown="a = b", typed=_compared, written=_template("({0} = {1})")),
        Function(name="unequal", shown="a <> b", typed=_compared, written=_template("({0} <> {1})")),
        Function(name="less", shown="a < b", typed=_compared, written=_template("({0} < {1})")),
        Function(name="at_most", shown="a <= b", typed=_compared, written=_template("({0} <= {1})")),
        Function(name="more", shown="a > b", typed=_compared, written=_template("({0} > {1})")),
        Function(name="at_least", shown="a >= b", typed=_compared, written=_template("({0} >= {1})")),
        Function(
            name="in",
            shown="a IN (x, y, …), a BETWEEN x AND y",
            typed=_compared,
            written=lambda args, types, result, options: f"({args[0]} IN ({', '.join(args[1:])}))",
        ),
        Function(
            name="is_null", shown="a IS [NOT] NULL", typed=_any_to_boolean, written=_template("({0} IS NULL)")
        ),
        Function(name="and", shown="p AND q", typed=_logical, written=_joined("AND")),
        Function(name="or", shown="p OR q", typed=_logical, written=_joined("OR")),
        Function(name="not", shown="NOT p", typed=_logical, written=_template("(NOT {0})")),
        # LIKE itself is rewritten by the engine, which errs where its statistics make a side NULL
        Function(
            name="like",
            shown="a LIKE pattern",
            typed=_like,
            written=_template("like_escape({0}, {1}, '')"),
        ),
        Function(
            name="lower",
            shown="LOWER(a)",
            typed=_text,
            written=_called("lower"),
        ),
        Function(name="upper", shown="UPPER(a)", typed=_text, written=_called("upper")),
        Function(name="substr", shown="SUBSTR(a, from[, length])", typed=_text, written=_substring),
        Function(name="length", shown="LENGTH(a)", typed=_length, written=_called("length")),
        Function(
            name="part",
            shown="EXTRACT(part FROM d), YEAR(d), MONTH(d), …",
            typed=_part,
            written=_dated("CAST(date_part('{1}', {0}) AS BIGINT)"),
        ),
        Function(
            name="truncate",
            shown="DATE_TRUNC('unit', d)",
            typed=_truncated,
            written=_dated("CAST(date_trunc('{1}', {0}) AS {2})"),
        ),
        Function(name="cast", shown="CAST(a AS type)", typed=_cast, written=_casting),
    )
}
