"""Nullability: which expressions may be NULL in data that satisfies the policy.

If x is never NULL, COUNT(x) is COUNT(*): the two are released and charged once, and so is the count of a
mean. The policy's declaration of nulls is trusted, so only accuracy relies on it: a row that lacks a value
against the policy counts as one in the middle of the declared range, and moves no sum further than any other
row.

WHOLE       NULL if an argument is NULL, provided that the result is exact or bounded: a floating-point
            computation that may overflow turns infinities into NULL.
FIRST       NULL only if all arguments are NULL.
CHOSEN      NULL if a value that CASE may choose is NULL; a missing ELSE is NULL.
Others      may be NULL: division, casts, NULLIF, and every function that is not listed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.sql.expression_types import Family, Type

NEVER = ("is_null",)
FIRST = ("coalesce", "least", "greatest")
WHOLE = (
    *("add", "subtract", "multiply", "negate", "abs", "round", "floor", "ceil"),
    *("equal", "unequal", "less", "at_most", "more", "at_least", "in", "between", "like"),
    *("and", "or", "not"),
    *("lower", "upper", "length", "part", "truncate"),
)
TEXTUAL = ("length", "part")
CHOSEN = {"case": 1, "switch": 2}
"""Index of the first value that may be chosen; every second argument after it and the last are the others."""


def may_be_null(function: str, arguments: Sequence[Type], result: Type) -> bool:
    """Return True if a call of an allowed function may be NULL, given the types of its arguments."""
    if result.family is Family.NULL:
        return True
    if function in NEVER:
        return False
    if function in FIRST:
        return all(each.is_nullable for each in arguments)
    if function in CHOSEN:
        return any(each.is_nullable for each in (*arguments[CHOSEN[function] : -1 : 2], arguments[-1]))
    if function not in WHOLE or any(each.is_nullable for each in arguments):
        return True
    computed = result.family is Family.NUMBER and function not in TEXTUAL
    return computed and not result.is_exact and not all(each.is_bounded for each in (*arguments, result))
