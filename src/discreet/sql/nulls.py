"""Which expressions may be NULL, in data that keep to the policy.

COUNT(x) of what is never NULL is COUNT(*), and the two are then released, and paid for, once; so is the count
of a mean. What the policy says of NULL is taken as it is, so nothing but accuracy rests on it: a row that
lacks a value against the policy's word counts as one in the middle of the declared range, and moves no sum
further than any other row.

Whole       NULL just where an argument is, and then only where it is exact or its interval is known: a
            computation in floating point that may overflow turns infinities into NULL.
First       NULL only where all arguments are.
Chosen      NULL where a value that CASE may choose is; it has an ELSE, written or NULL.
Else        may be NULL: division, casts, NULLIF, and whatever is not listed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.sql.expressions import Expression
from discreet.sql.types import Family, Type

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
"""Where the first value stands that may be chosen; every other one behind it may be, and the last."""


def may_be_null(function: str, arguments: Sequence[Type], result: Type) -> bool:
    """Whether a call of the allow-list's function may be NULL, by what its arguments are."""
    if result.family is Family.NULL:
        return True
    if function in NEVER:
        return False
    if function in FIRST:
        return all(each.nullable for each in arguments)
    if function in CHOSEN:
        return any(each.nullable for each in (*arguments[CHOSEN[function] : -1 : 2], arguments[-1]))
    if function not in WHOLE or any(each.nullable for each in arguments):
        return True
    computed = result.family is Family.NUMBER and function not in TEXTUAL
    return computed and not result.exact and not all(each.bounded for each in (*arguments, result))


def total_may_be_null(function: str, argument: Expression | None, *, filtered: bool) -> bool:
    """Whether a person's total may be NULL; each person has a row, of which the total is taken."""
    if function in ("count", "count_distinct") or argument is None:
        return False
    kind = argument.type
    overflows = function in ("sum", "avg") and not (kind.bounded or kind.exact)
    return filtered or kind.nullable or overflows
