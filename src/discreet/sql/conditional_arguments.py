"""Conditional arguments of aggregates: a CASE that leaves rows out is a FILTER.

    SUM(CASE WHEN p THEN x ELSE 0 END)   is  SUM(x) FILTER (WHERE p)
    SUM(CASE WHEN p THEN 1 ELSE 0 END)   is  COUNT(*) FILTER (WHERE p), as SUM(CAST(p AS INTEGER)) is
    COUNT(CASE WHEN p THEN x END)        is  COUNT(x) FILTER (WHERE p)
    AVG(CASE WHEN p THEN x END)          is  AVG(x) FILTER (WHERE p)

so that whichever of them is asked first, the others need the same measurement. A row for which p is NULL is
left out by both forms: CASE goes on to ELSE. A row in which x is NULL counts for neither. A sum of no rows is
0 before noise in both forms, and its sensitivity is the same: the bounds of the CASE are those of x and 0.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.sql.expression_tree import Call, Expression, Literal
from discreet.sql.expression_types import Family, Numeric, Type
from discreet.sql.predicates import join_conditions


def split_condition(
    argument: Expression, condition: Expression | None, *, ignores_zero: bool
) -> tuple[Expression, Expression | None]:
    """Return the argument without a CASE that leaves rows out, and the condition of the others.

    NULL leaves a row out of every aggregate; a 0 leaves it out of a sum, which `ignores_zero`.
    """
    while isinstance(argument, Call) and argument.function == "case" and len(argument.arguments) == 3:
        chosen, value, other = argument.arguments
        if not (_is_null(other) or (ignores_zero and _is_whole(other, 0))) or _is_null(value):
            break
        argument, condition = value, _add_condition(condition, chosen)
    if ignores_zero and isinstance(argument, Call) and _is_truth(argument):
        return _write_one(argument.type), _add_condition(condition, argument.arguments[0])
    return argument, condition


def _add_condition(condition: Expression | None, other: Expression) -> Expression | None:
    return other if condition is None else join_conditions([condition, other])


def counts_rows(argument: Expression) -> bool:
    """Return whether an expression is 1 in every row, so that its sum is a count."""
    return _is_whole(argument, 1)


def _is_whole(expression: Expression, value: int) -> bool:
    return (
        isinstance(expression, Literal)
        and expression.value == value
        and expression.type.numeric is Numeric.INTEGER
        and not isinstance(expression.value, bool)
    )


def _is_truth(argument: Call) -> bool:
    """Return whether an expression is a truth value as a whole number: 1 or 0."""
    is_cast = argument.function == "cast" and argument.options[0] == "integer"
    return is_cast and argument.arguments[0].type.family is Family.BOOLEAN


def _write_one(kind: Type) -> Literal:
    one = Fraction(1)
    return Literal(value=1, type=replace(kind, low=one, high=one, is_constant=True, is_nullable=False))


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None
