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

from discreet.sql.binding import bind_parts
from discreet.sql.types import Family, Type

Types = tuple[Type, ...]
Emit = Callable[[tuple[str, ...], Types, Type, tuple[str, ...]], str]


def template(form: str) -> Emit:
    return lambda args, types, result, options: form.format(*args, *options)


def finite(sql: str) -> str:
    """NULL for what a computation in floating point may overflow to."""
    return bind_parts(lambda x: f"CASE WHEN isfinite({x}) THEN {x} END", sql)


def joined(word: str) -> Emit:
    return lambda args, types, result, options: "(" + f" {word} ".join(args) + ")"


def called(name: str) -> Emit:
    return lambda args, types, result, options: f"{name}({', '.join(args)})"


def dated(form: str) -> Emit:
    """A date function; its name does not tell the engine which kind of date a NULL is."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        argument = "CAST(NULL AS DATE)" if types[0].family is Family.NULL else args[0]
        return form.format(argument, *options, result.family.value.upper())

    return emit
