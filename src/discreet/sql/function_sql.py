"""SQL of the allowed functions, as total functions: they raise no errors, whatever the data.

No function raises an error or returns an infinity or NaN: a missing result is NULL. Whole numbers are
computed in 64 bits only if the interval proves that they fit (remainders always, in 128 bits); everything
else is computed in floating point, where overflow raises no error, and infinities become NULL before anything
is compared, grouped or summed. No function returns -0.0: it equals 0.0, so which of the two a group shows
would depend on the order of rows.

In templates {0}, {1} … are the SQL of the arguments. A template that uses an argument more than once binds it
to a name (`let_bindings`), so that a statement is linear in the size of the query.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.sql.expression_types import Family, Type
from discreet.sql.let_bindings import bind_parts

Types = tuple[Type, ...]
Emit = Callable[[tuple[str, ...], Types, Type, tuple[str, ...]], str]


def make_template_emitter(form: str) -> Emit:
    return lambda args, types, result, options: form.format(*args, *options)


def replace_infinities(sql: str) -> str:
    """Return SQL that replaces infinities and NaN by NULL."""
    return bind_parts(lambda x: f"CASE WHEN isfinite({x}) THEN {x} END", sql)


def make_infix_emitter(word: str) -> Emit:
    return lambda args, types, result, options: "(" + f" {word} ".join(args) + ")"


def make_call_emitter(name: str) -> Emit:
    return lambda args, types, result, options: f"{name}({', '.join(args)})"


def make_date_emitter(form: str) -> Emit:
    """Return the emitter of a date function; an untyped NULL argument is cast to DATE."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        argument = "CAST(NULL AS DATE)" if types[0].family is Family.NULL else args[0]
        return form.format(argument, *options, result.family.value.upper())

    return emit
