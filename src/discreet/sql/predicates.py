"""Predicates: conditions that AND joins, and those of WHERE above the rows of a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from discreet.sql.expression_tree import Call, Expression
from discreet.sql.relational_algebra import Filter, Rows


def peel_filters(rows: Rows) -> tuple[Rows, list[Expression]]:
    """Return the rows below the outermost filters, and the conditions of these that AND joins."""
    conditions: list[Expression] = []
    while isinstance(rows, Filter):
        conditions += list_conditions(rows.condition)
        rows = rows.source
    return rows, conditions


def list_conditions(condition: Expression) -> Iterator[Expression]:
    """Yield the conditions that AND joins."""
    if isinstance(condition, Call) and condition.function == "and":
        for each in condition.arguments:
            yield from list_conditions(each)
    else:
        yield condition


def join_conditions(conditions: Sequence[Expression]) -> Expression | None:
    """Return the conjunction of conditions; None of none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    is_nullable = any(each.type.is_nullable for each in conditions)
    kind = replace(conditions[0].type, is_nullable=is_nullable, is_constant=False)
    return Call(function="and", arguments=tuple(conditions), type=kind)
