"""Clauses of a SELECT over a released table: its columns, GROUP BY, HAVING, ORDER BY, LIMIT."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from sqlglot import exp

from discreet.sql.aggregate_calls import is_aggregate
from discreet.sql.expression_tree import Expression, find_columns
from discreet.sql.query import PostProcessingStage
from discreet.sql.query_literals import parse_whole_number
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.scalar_expressions import resolve_condition, resolve_scalar
from discreet.sql.sql_names import fold_case, split_alias

MOST_ROWS = 10**9
# Interval bounds travel through post-processing as columns name.low and name.high.
OWN_NAME = re.compile(r".*\.(low|high)", re.IGNORECASE | re.DOTALL)


class Scope(Protocol):
    """Names that SELECT, HAVING and ORDER BY can refer to."""

    aliases: dict[str, Expression]

    def resolve_column(self, node: exp.Column) -> Expression: ...

    def resolve_special(self, node: exp.Expression) -> Expression | None: ...

    def expand_star(self, star: exp.Expression) -> list[tuple[str, Expression]]:
        """Return the columns that * expands to."""


def resolve_group_keys(select: exp.Select, has_column: Callable[[str], bool]) -> list[exp.Expression]:
    """Return the expressions of GROUP BY; positions and aliases are replaced by their SELECT expressions.

    A column takes precedence over an alias of the same name.
    """
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        said = [split_alias(each)[1] for each in select.expressions]
        return [
            each
            for each in said
            if each.find(exp.Column) and not each.find(exp.AggFunc, exp.WithinGroup, exp.Window)
        ]
    aliases = {fold_case(each.alias): each.this for each in select.expressions if isinstance(each, exp.Alias)}
    keys: list[exp.Expression] = []
    for each in group.expressions:
        if isinstance(each, exp.Literal) and not each.is_string:
            place = parse_whole_number(each, max_value=len(select.expressions)) or 0
            if not place:
                refuse_query(f"GROUP BY {format_snippet(each)} names no column of SELECT.", "Count from 1.")
            keys.append(split_alias(select.expressions[place - 1])[1])
        elif isinstance(each, exp.Column) and not each.table and not has_column(each.name):
            keys.append(aliases.get(fold_case(each.name), each))
        else:
            keys.append(each)
    return keys


def resolve_clauses(select: exp.Select, scope: Scope) -> PostProcessingStage:
    """Return the columns, filter, order and limit of a SELECT, with names resolved in `scope`."""
    outputs = _resolve_outputs(select, scope)
    for name, expression in outputs:
        scope.aliases.setdefault(fold_case(name), expression)
    having = select.args.get("having")
    return PostProcessingStage(
        outputs=tuple(outputs),
        having=None if having is None else resolve_condition(having.this, scope, "HAVING"),
        order=_resolve_order(select, scope, outputs),
        limit=_resolve_limit(select),
    )


def _resolve_outputs(select: exp.Select, scope: Scope) -> list[tuple[str, Expression]]:
    """Return the columns of the answer under unique names."""
    outputs: list[tuple[str, Expression]] = []
    for projection in select.expressions:
        star = isinstance(projection, exp.Star) or isinstance(projection.this, exp.Star)
        if star and not is_aggregate(projection):
            outputs += scope.expand_star(projection)
            continue
        name, inner = split_alias(projection)
        if OWN_NAME.fullmatch(name):
            refuse_query(
                f"the name {format_snippet(name)} is reserved for interval bounds.", "Choose another."
            )
        outputs.append((name, resolve_scalar(inner, scope)))
    names: list[str] = []
    for name, _ in outputs:
        names.append(make_unique_name(name, names))
    return [(name, each) for name, (_, each) in zip(names, outputs, strict=True)]


def make_unique_name(name: str, before: Iterable[str]) -> str:
    """Return a name that none before has, whatever their case: itself, or with a number.

    >>> make_unique_name("n", ["N", "n_2"])
    'n_3'
    """
    taken = {each.casefold() for each in before}
    place, found = 2, name
    while found.casefold() in taken:
        found, place = f"{name}_{place}", place + 1
    return found


def _resolve_order(
    select: exp.Select, scope: Scope, outputs: list[tuple[str, Expression]]
) -> tuple[tuple[Expression, bool], ...]:
    order = select.args.get("order")
    found: list[tuple[Expression, bool]] = []
    for each in order.expressions if order is not None else []:
        by, descending = each.this, bool(each.args.get("desc"))
        if isinstance(by, exp.Literal) and not by.is_string:
            place = parse_whole_number(by, max_value=len(outputs)) or 0
            if not place:
                refuse_query(f"ORDER BY {format_snippet(by)} names no column of SELECT.", "Count from 1.")
            found.append((outputs[place - 1][1], descending))
        elif isinstance(by, exp.Column) and not by.table and fold_case(by.name) in scope.aliases:
            found.append((scope.aliases[fold_case(by.name)], descending))
        else:
            found.append((resolve_scalar(by, scope), descending))
    for expression, _ in found:
        _require_unshadowed(expression, outputs)
    return tuple(found)


def _require_unshadowed(by: Expression, outputs: list[tuple[str, Expression]]) -> None:
    """Refuse an ORDER BY in which a column name would be read as an output of the same name.

    An engine looks names in ORDER BY up among the outputs first. An expression that is itself an output is
    ordered by its position, so its column names do not matter.
    """
    if by in [expression for _, expression in outputs]:
        return
    for column in find_columns(by):
        for name, expression in outputs:
            if name.casefold() == column.name.casefold() and expression != column:
                refuse_query(
                    f"ORDER BY would mean another column than {format_snippet(name)}.",
                    "Choose another alias.",
                )


def _resolve_limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    count = parse_whole_number(limit.expression, max_value=MOST_ROWS)
    if count is None:
        refuse_query(f"«{format_snippet(limit)}» needs a whole number.", "Write LIMIT 10.")
    return count
