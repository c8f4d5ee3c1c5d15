"""Size of a query after inlining the columns of all subqueries, checked before anything inlines them.

Group keys are expanded to the columns behind them, and engines inline a subquery's expressions into the outer
SELECT. With nested subqueries, each of which uses a column of the inner one twice, the size doubles at every
level: 40 levels would never be planned. The size is computed as a number in one walk, without inlining.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.sql.expressions import Call, Column, Expression
from discreet.sql.question import Question
from discreet.sql.refusal import refuse
from discreet.sql.tree import Bounded, Filter, Join, PerPerson, Project, Rows, Scan

MOST_NODES = 20_000


def require_moderate_size(question: Question) -> None:
    """Refuse a query whose expressions have more than MOST_NODES nodes in total after inlining."""
    sizes: dict[str, int] = {}
    total = _count_rows(question.rows, sizes)
    total += sum(_count(each, sizes) for each in asked_expressions(question))
    total += _count_released(question)
    if total > MOST_NODES:
        refuse(
            f"the question has more than {MOST_NODES:,} terms once its subqueries are written out.",
            "Use a subquery's column fewer times in the SELECT around it, or ask for less at once.",
        )


def asked_expressions(question: Question) -> Iterator[Expression]:
    """Yield keys, arguments and conditions of the aggregate itself."""
    yield from (key for _, key in question.keys)
    for _, measure in question.measures:
        yield from (each for each in (measure.argument, measure.condition) if each is not None)


def node_expressions(node: Rows) -> Iterator[Expression]:
    """Yield the expressions of one node, without those below it."""
    if isinstance(node, Join):
        yield from node.keys or ()
    elif isinstance(node, Filter):
        yield node.condition
    elif isinstance(node, Project):
        yield from node.expressions
    elif isinstance(node, Bounded):
        yield from node.keys
    elif isinstance(node, PerPerson):
        yield from (key for _, key in node.keys)
        for _, total in node.totals:
            yield from (each for each in total[1:] if each is not None)


def children(node: Rows) -> tuple[Rows, ...]:
    """Return the nodes that a node takes its rows from."""
    if isinstance(node, Scan):
        return ()
    return (node.left, node.right) if isinstance(node, Join) else (node.source,)


def _count_rows(node: Rows, sizes: dict[str, int]) -> int:
    total = sum(_count_rows(each, sizes) for each in children(node))
    total += sum(_count(each, sizes) for each in node_expressions(node))
    if isinstance(node, Project):
        for column, expression in zip(node.columns, node.expressions, strict=True):
            sizes[column.name] = _count(expression, sizes)
    elif isinstance(node, PerPerson):
        for column, key in node.keys:
            sizes[column.name] = _count(key, sizes)
    return total


def _count_released(question: Question) -> int:
    """Return the size of the post-processing SELECTs, whose columns are inlined in the same way."""
    total, sizes = 0, dict[str, int]()
    for stage in question.after:
        totals = [argument for _, _, argument in stage.totals if argument is not None]
        total += sum(_count(each, sizes) for each in (*stage.keys, *totals))
        if stage.keys or stage.totals:
            sizes = {}  # a total is computed by its GROUP BY, and not inlined further
        having = () if stage.having is None else (stage.having,)
        outputs = {name: _count(each, sizes) for name, each in stage.outputs}
        total += sum(outputs.values()) + sum(_count(each, sizes) for each in having)
        sizes = outputs
    return total


def _count(expression: Expression, sizes: dict[str, int]) -> int:
    if isinstance(expression, Column):
        return sizes.get(expression.name, 1)
    if isinstance(expression, Call):
        return 1 + sum(_count(each, sizes) for each in expression.arguments)
    return 1
