"""Size of a query after inlining the columns of all subqueries, checked before anything inlines them.

Group keys are expanded to the columns behind them, and engines inline a subquery's expressions into the outer
SELECT. With nested subqueries, each of which uses a column of the inner one twice, the size doubles at every
level: 40 levels would never be planned. The size is computed as a number in one walk, without inlining.

What is left is linear, and has a limit for what it costs before anything is charged: to translate a term for
another engine and to verify the translation takes a processor 1.5 ms, so MOST_NODES take some 8 s.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.sql.expression_tree import Call, Column, Expression
from discreet.sql.query import Query
from discreet.sql.refusal import refuse_query
from discreet.sql.relational_algebra import Filter, Join, PersonTotals, Project, Rows, Scan, TruncatedRows

MOST_NODES = 5_000


def require_moderate_size(question: Query) -> None:
    """Refuse a query whose expressions have more than MOST_NODES nodes in total after inlining."""
    sizes: dict[str, int] = {}
    total = _count_row_nodes(question.rows, sizes)
    total += sum(_count_nodes(each, sizes) for each in iterate_query_expressions(question))
    total += _count_post_processing_nodes(question)
    if total > MOST_NODES:
        refuse_query(
            f"the question has more than {MOST_NODES:,} terms once its subqueries are written out.",
            "Use a subquery's column fewer times in the SELECT around it, or ask for less at once.",
        )


def iterate_query_expressions(question: Query) -> Iterator[Expression]:
    """Yield keys, arguments and conditions of the aggregate itself."""
    yield from (key for _, key in question.keys)
    for _, measure in question.measures:
        yield from (each for each in (measure.argument, measure.condition) if each is not None)


def iterate_node_expressions(node: Rows) -> Iterator[Expression]:
    """Yield the expressions of one node, without those below it."""
    if isinstance(node, Join):
        yield from node.keys or ()
    elif isinstance(node, Filter):
        yield node.condition
    elif isinstance(node, Project):
        yield from node.expressions
    elif isinstance(node, TruncatedRows):
        yield from node.keys
    elif isinstance(node, PersonTotals):
        yield from (key for _, key in node.keys)
        for _, total in node.totals:
            yield from (each for each in total[1:] if each is not None)


def get_children(node: Rows) -> tuple[Rows, ...]:
    """Return the nodes that a node takes its rows from."""
    if isinstance(node, Scan):
        return ()
    return (node.left, node.right) if isinstance(node, Join) else (node.source,)


def _count_row_nodes(node: Rows, sizes: dict[str, int]) -> int:
    total = sum(_count_row_nodes(each, sizes) for each in get_children(node))
    total += sum(_count_nodes(each, sizes) for each in iterate_node_expressions(node))
    if isinstance(node, Project):
        for column, expression in zip(node.columns, node.expressions, strict=True):
            sizes[column.name] = _count_nodes(expression, sizes)
    elif isinstance(node, PersonTotals):
        for column, key in node.keys:
            sizes[column.name] = _count_nodes(key, sizes)
    return total


def _count_post_processing_nodes(question: Query) -> int:
    """Return the size of the post-processing SELECTs, whose columns are inlined in the same way."""
    total, sizes = 0, dict[str, int]()
    for stage in question.post_processing:
        totals = [argument for _, _, argument in stage.totals if argument is not None]
        total += sum(_count_nodes(each, sizes) for each in (*stage.keys, *totals))
        if stage.keys or stage.totals:
            sizes = {}  # a total is computed by its GROUP BY, and not inlined further
        having = () if stage.having is None else (stage.having,)
        outputs = {name: _count_nodes(each, sizes) for name, each in stage.outputs}
        total += sum(outputs.values()) + sum(_count_nodes(each, sizes) for each in having)
        sizes = outputs
    return total


def _count_nodes(expression: Expression, sizes: dict[str, int]) -> int:
    if isinstance(expression, Column):
        return sizes.get(expression.name, 1)
    if isinstance(expression, Call):
        return 1 + sum(_count_nodes(each, sizes) for each in expression.arguments)
    return 1
