"""Literals that a category cannot equal: refused, because the answer would be noise around nothing.

A category with declared values has these values or none. So sex = 'F', where the policy declares Male and
Female, is true of no row, whatever the data holds, and sex <> 'F' of every row that has a value. A question
that compares such a column with another text (=, <>, IN, NOT IN, CASE sex WHEN …) is refused, with the values
that are probably meant.

Missing     Files write '' or another mark where a value is missing, which is NULL here. Comparing with such a
            mark is refused with a hint at IS NULL, except as <> and NOT IN: these leave out missing values in
            SQL as in the file, as the question means.
Allowed     Columns of any value; computed texts, such as LOWER(sex); patterns of LIKE; <, > and BETWEEN.

It follows from text and policy alone, as every refusal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from discreet.core.column_entry import Column as Declared
from discreet.core.policy import Policy
from discreet.core.spellings import list_nearest
from discreet.sql.expression_tree import Call, Column, Expression, Literal
from discreet.sql.query import Query
from discreet.sql.query_size import get_children, iterate_node_expressions, iterate_query_expressions
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.relational_algebra import PersonTotals, Project, Rows, Scan

NAMED_VALUES = 12
MISSING_MARKS = ("", "?", "-", "NA", "N/A", "NULL")
Origins = Mapping[str, "Expression | _Category"]
"""By the name of a column: what it is computed from, or the category that it is in the policy."""


class _Category:
    """A stored category: its name, its declared values, and the texts that mean a missing value."""

    def __init__(self, name: str, declared: Declared, missing: frozenset[str]) -> None:
        self.name, self.values, self.missing = name, declared.values or (), missing


def require_declared_literals(question: Query, policy: Policy) -> None:
    """Refuse a question that compares a category with a text that the policy does not declare for it."""
    origins: dict[str, Expression | _Category] = {}
    expressions = list(_collect_origins(question.rows, policy, origins))
    _check_all([*expressions, *iterate_query_expressions(question)], origins)
    released = _find_categories([(column.name, key) for column, key in question.keys], origins)
    for stage in question.post_processing:
        if stage.keys:
            _check_all(stage.keys, released)
            named = [(f"g{place}", key) for place, key in enumerate(stage.keys)]
            released = _find_categories(named, released)
        _check_all([each for _, each in stage.outputs], released)
        _check_all([] if stage.having is None else [stage.having], released)
        released = _find_categories(stage.outputs, released)


def _check_all(expressions: Iterable[Expression], origins: Origins) -> None:
    for expression in expressions:
        _check_expression(expression, origins, is_negated=False)


def _find_categories(made: Iterable[tuple[str, Expression]], origins: Origins) -> Origins:
    """Return the named columns that are categories, with what the policy declares for them."""
    found = {name: _find_category(expression, origins) for name, expression in made}
    return {name: each for name, each in found.items() if each is not None}


def _collect_origins(
    node: Rows, policy: Policy, origins: dict[str, Expression | _Category]
) -> Iterator[Expression]:
    """Yield the expressions of a node and of those below it, and note what its columns are computed from."""
    for child in get_children(node):
        yield from _collect_origins(child, policy, origins)
    yield from iterate_node_expressions(node)
    if isinstance(node, Scan):
        table = policy.tables[node.table]
        marks = frozenset([*MISSING_MARKS, *(table.csv.nulls if table.csv is not None else ())])
        for column, name in zip(node.columns, node.stored, strict=True):
            declared = table.columns.get(name)
            if declared is not None and declared.values is not None:
                origins[column.name] = _Category(name, declared, marks)
    elif isinstance(node, Project):
        made = zip(node.columns, node.expressions, strict=True)
        origins |= {column.name: expression for column, expression in made}
    elif isinstance(node, PersonTotals):
        origins |= {column.name: key for column, key in node.keys}


def _check_expression(expression: Expression, origins: Origins, *, is_negated: bool) -> None:
    if not isinstance(expression, Call):
        return
    arguments = expression.arguments
    if expression.function in ("equal", "unequal"):
        left, right = arguments
        is_unequal = is_negated or expression.function == "unequal"
        _check_literals(left, [right], origins, is_unequal=is_unequal)
        _check_literals(right, [left], origins, is_unequal=is_unequal)
    elif expression.function == "in":
        _check_literals(arguments[0], arguments[1:], origins, is_unequal=is_negated)
    elif expression.function == "switch":  # tested, then pairs of a value and a result, then the default
        _check_literals(arguments[0], arguments[1:-1:2], origins, is_unequal=False)
    for argument in arguments:
        _check_expression(argument, origins, is_negated=expression.function == "not")


def _check_literals(
    side: Expression, others: Iterable[Expression], origins: Origins, *, is_unequal: bool
) -> None:
    category = _find_category(side, origins)
    if category is None:
        return
    for other in others:
        if not isinstance(other, Literal) or not isinstance(other.value, str):
            continue
        if other.value in category.values or (is_unequal and other.value in category.missing):
            continue
        _refuse_literal(other.value, category)


def _find_category(expression: Expression, origins: Origins) -> _Category | None:
    """Return the stored category behind a column, which subqueries may have renamed."""
    found: Expression | _Category | None = expression
    seen: set[str] = set()
    while isinstance(found, Column) and found.name not in seen:
        seen.add(found.name)
        found = origins.get(found.name)
    return found if isinstance(found, _Category) else None


def _refuse_literal(text: str, category: _Category) -> None:
    message = f"{_quote(text)} is not a declared value of {category.name}, so no row has it."
    if text in category.missing:
        name = category.name
        refuse_query(message, f"A missing value is NULL: write {name} IS NULL, or {name} IS NOT NULL.")
    meant = list_nearest(text, category.values)[:NAMED_VALUES]
    guess = f"Did you mean {' or '.join(map(_quote, meant))}? " if meant else ""
    listed = ", ".join(map(_quote, category.values[:NAMED_VALUES]))
    more = " …" if len(category.values) > NAMED_VALUES else ""
    refuse_query(message, f"{guess}Its values are {listed}{more}.")


def _quote(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{format_snippet(escaped)}'"
