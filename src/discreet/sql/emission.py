"""How a function is written for the engine: total, whatever the data.

No function errs and none gives an infinity or NaN: what has no value is NULL. Whole numbers are computed as
such, in 64 bits, only where the interval proves that these hold them (remainders, in 128 bits, always);
everything else is computed in floating point, where nothing overflows into an error, and infinities are
turned into NULL before anything is compared, grouped or summed. No function gives -0.0: it equals 0.0, so
which of the two a group shows would depend on the rows' order.

One template per engine; {0}, {1} … are the arguments' own SQL. A form that uses an argument more than once
binds it to a name (`binding`), so that a statement is linear in the question.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.core.numerals import numeral
from discreet.sql.binding import bind_first, bind_parts
from discreet.sql.types import Family, Type

LARGEST = 2**1000

Types = tuple[Type, ...]
Emit = Callable[[tuple[str, ...], Types, Type, tuple[str, ...]], str]


def template(form: str) -> Emit:
    return lambda args, types, result, options: form.format(*args, *options)


def bound_template(form: str) -> Emit:
    """A template that uses an argument more than once."""
    return lambda args, types, result, options: bind_parts(form.format, *args)


def finite(sql: str) -> str:
    """NULL for what a computation in floating point may overflow to."""
    return bind_parts(lambda x: f"CASE WHEN isfinite({x}) THEN {x} END", sql)


def _is_moderate(kind: Type) -> bool:
    """Whether its numbers are surely far from what floating point cannot hold."""
    return kind.low is not None and kind.high is not None and max(abs(kind.low), abs(kind.high)) < LARGEST


def computed(form: str, rounded: str = "", *, always: bool = True) -> Emit:
    """Exact on whole numbers that are proven to fit; else `rounded`, in floating point.

    Whole literals would be 32 bits, whose products err. `always` is for what is finite where its arguments
    and its interval are.
    """

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        if result.integral and all(each.integral for each in types):
            return form.format(*(f"CAST({arg} AS BIGINT)" for arg in args), *options)
        text = (rounded or form).format(*(f"CAST({arg} AS DOUBLE)" for arg in args), *options)
        return text if always and all(map(_is_moderate, (*types, result))) else finite(text)

    return emit


def remainder(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Of whole numbers a whole one, also where no interval proves that they fit: 128 bits hold them all."""
    if any(each.step != 1 for each in types):
        return computed("({0} % {1} + 0e0)", always=False)(args, types, result, options)
    if all(each.integral for each in types):
        return f"(CAST({args[0]} AS BIGINT) % {_nonzero(f'CAST({args[1]} AS BIGINT)')})"
    a, b = (f"CAST(TRY_CAST({arg} AS BIGINT) AS HUGEINT)" for arg in args)
    return f"CAST({a} % {_nonzero(b)} AS BIGINT)"


def _nonzero(sql: str) -> str:
    """NULL for 0; nullif is a macro that writes its argument twice."""
    return bind_parts(lambda x: f"nullif({x}, 0)", sql)


def joined(word: str) -> Emit:
    return lambda args, types, result, options: "(" + f" {word} ".join(args) + ")"


def called(name: str) -> Emit:
    return lambda args, types, result, options: f"{name}({', '.join(args)})"


def case(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    whens = " ".join(f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
    return f"CASE {whens} ELSE {args[-1]} END"


def switch(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """CASE of a value, which the engine would write again for each WHEN."""
    whens = [f"WHEN {{{place}}} THEN {{{place + 1}}}" for place in range(1, len(args) - 1, 2)]
    return bind_first(f"CASE {{0}} {' '.join(whens)} ELSE {{{len(args) - 1}}} END", *args)


def to_whole(name: str) -> Emit:
    """Rounding in some direction, to digits if there is an option; what is finite stays so."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        called = f"{name}({', '.join((f'CAST({args[0]} AS DOUBLE)', *options))})"
        return f"CAST({called} AS BIGINT)" if result.integral else f"({called} + 0e0)"

    return emit


def casting(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    target = {
        "integer": "DOUBLE",
        "number": "DOUBLE",
        "date": "DATE",
        "text": "VARCHAR",
        "boolean": "BOOLEAN",
    }
    read = types[0].family is Family.TEXT and target[options[0]] == "DOUBLE"
    cast = f"TRY_CAST({numeral(args[0]) if read else args[0]} AS {target[options[0]]})"
    if options[0] == "integer":
        nearest = f"round_even({cast}, 0)"  # as the engine's own cast does
        return f"CAST({nearest} AS BIGINT)" if result.integral else finite(f"({nearest} + 0e0)")
    if options[0] == "number":
        return finite(f"({cast} + 0e0)")
    if options[0] == "date" and types[0].family is Family.TEXT:
        # calendars overflow outside of these years
        calendar = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
        return bind_parts(lambda x: f"CASE WHEN {x} {calendar} THEN {x} END", cast)
    return cast


def substring(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Places beyond 32 bits, which are errors to the engine, are no places."""
    places = ", ".join(f"TRY_CAST({arg} AS INTEGER)" for arg in args[1:])
    return f"substr({args[0]}, {places})"


def dated(form: str) -> Emit:
    """A date function; its name does not tell the engine which kind of date a NULL is."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        argument = "CAST(NULL AS DATE)" if types[0].family is Family.NULL else args[0]
        return form.format(argument, *options, result.family.value.upper())

    return emit
