"""Refuse a question whose subqueries, written into each other, would make an expression too long.

A statement names a subquery's column as often as the question does, so its text is linear in the question.
But planners write a column's expression wherever it is named: PostgreSQL pulls subqueries up, DuckDB and
Spark push filters down through them. A chain of subqueries, each of which names a column of the one before
it twice, would double the plan at every step. So the size after writing out is bounded from text alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.sql.expressions import Column, Expression, Literal
from discreet.sql.refusal import refuse
from discreet.sql.resolve import Question
from discreet.sql.tree import Bounded, Filter, Join, PerPerson, Project, Rows, Scan, Weighted

MOST = 10_000

Sizes = Mapping[str, int]


def require_short_expansion(question: Question) -> None:
    """Raise a refusal where an expression has more than MOST calls and columns when it is written out."""
    sizes = _column_sizes(question.rows)
    keys = [key for _, key in question.keys]
    parts = [part for _, each in question.measures for part in (each.argument, each.condition)]
    _require_short([*keys, *parts], sizes)
    released: Sizes = {}
    for stage in question.after:
        if stage.keys or stage.totals:
            _require_short([*stage.keys, *(argument for _, _, argument in stage.totals)], released)
            released = {}
        having = [] if stage.having is None else [stage.having]
        _require_short([each for _, each in stage.outputs] + having, released)
        released = {name: _size(each, released) for name, each in stage.outputs}


def _column_sizes(node: Rows) -> Sizes:
    """Return the size of each column of a node, written out as an expression over the tables."""
    if isinstance(node, Scan):
        return {column.name: 1 for column in node.columns}
    if isinstance(node, Join):
        sizes = {**_column_sizes(node.left), **_column_sizes(node.right)}
        _require_short(node.keys or (), sizes)
        return sizes
    sizes = dict(_column_sizes(node.source))
    if isinstance(node, Filter):
        _require_short([node.condition], sizes)
    elif isinstance(node, Bounded):
        _require_short(node.keys, sizes)
    elif isinstance(node, Project):
        _require_short(node.expressions, sizes)
        columns = zip(node.columns, node.expressions, strict=True)
        return {column.name: _size(expression, sizes) for column, expression in columns}
    elif isinstance(node, PerPerson):
        _require_short([part for _, (_, *parts) in node.totals for part in parts], sizes)
        _require_short([key for _, key in node.keys], sizes)
        # a total is computed where it is grouped, and is not written out again
        keys = {column.name: _size(key, sizes) for column, key in node.keys}
        return keys | {column.name: 1 for column, _ in node.totals}
    else:
        assert isinstance(node, Weighted)
    return sizes


def _require_short(expressions: Iterable[Expression | None], sizes: Sizes) -> None:
    if any(each is not None and _size(each, sizes) > MOST for each in expressions):
        refuse(
            "an expression is too long when its subqueries are written out.",
            "Name a subquery's columns less often, or nest fewer subqueries.",
        )


def _size(expression: Expression, sizes: Sizes) -> int:
    if isinstance(expression, Column):
        return sizes.get(expression.name, 1)
    if isinstance(expression, Literal):
        return 0
    return 1 + sum(_size(each, sizes) for each in expression.arguments)
