"""Aggregate calls in a statement, recognized by sqlglot's nodes alone.

Which of them are answered, and how, is in `sql.aggregates`.
"""

from __future__ import annotations

from sqlglot import exp


def is_aggregate(node: exp.Expr) -> bool:
    """Return True for an aggregate call, with or without FILTER or WITHIN GROUP."""
    return isinstance(node, exp.AggFunc | exp.WithinGroup | exp.Filter)


def aggregates_rows(select: exp.Select) -> bool:
    """Return True if a SELECT groups or aggregates what it reads."""
    own = [*select.expressions, *(select.args.get(part) for part in ("having", "order", "qualify"))]
    return select.args.get("group") is not None or any(
        each is not None and contains_aggregate(each) for each in own
    )


def contains_aggregate(node: exp.Expr) -> bool:
    """Return True if an expression has an aggregate: not that of a window, or of a subquery."""
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, exp.Query):
            continue
        if isinstance(here, exp.AggFunc | exp.WithinGroup):
            return True
        if isinstance(here, exp.Window):
            function = here.this
            while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
                stack += [each for part, each in _list_children(function) if part != "this"]
                function = function.this
            stack += [each for _, each in _list_children(function)]
            stack += [each for part, each in _list_children(here) if part != "this"]
        else:
            stack += [each for _, each in _list_children(here)]
    return False


def _list_children(node: exp.Expr) -> list[tuple[str, exp.Expr]]:
    return [
        (part, each)
        for part, given in node.args.items()
        for each in (given if isinstance(given, list) else [given])
        if isinstance(each, exp.Expr)
    ]
