"""A counting query of a stream: SELECT COUNT(*) FROM table [WHERE …], as a condition on one row.

It is read and checked as any question is (`sql.parse`, `sql.resolve`); then it must be one count over rows of
the stream's table as they are: no join, no subquery, no group, nothing done with the result. COUNT(x),
COUNT_IF and FILTER are conditions too.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.core.policy import Policy
from discreet.sql import expression_sql
from discreet.sql.aggregates.count import Count
from discreet.sql.expression_tree import Column, Expression, find_columns
from discreet.sql.query import Query
from discreet.sql.query_parser import parse_query
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.relational_algebra import Filter, Rows, Scan
from discreet.sql.resolver import resolve_query

EXPECTED_FORM = "Ask SELECT COUNT(*) FROM {table} WHERE …, one question a line."


@dataclass(frozen=True, kw_only=True)
class CountingQuery:
    """The columns that a query reads, by their names in its condition, which is SQL over one row."""

    text: str
    columns: dict[str, str]
    condition: str


def parse_counting_query(text: str, policy: Policy, table: str) -> CountingQuery:
    """Parse the condition of the rows that a query counts, or refuse; reads no data."""
    question = resolve_query(parse_query(text), policy)
    scan, conditions = _collect_filters(question.rows, table)
    if scan.table != table:
        refuse_query(f"the question reads {format_snippet(scan.table)}.", EXPECTED_FORM.format(table=table))
    _require_one_count(question, table)
    measure = question.measures[0][1]
    conditions += [] if measure.condition is None else [measure.condition]
    own = {column.name: name for column, name in zip(scan.columns, scan.stored, strict=True)}
    read_columns = [each for condition in conditions for each in find_columns(condition)]
    texts = [f"({expression_sql.compile_value(condition)})" for condition in conditions]
    if measure.argument is not None:
        read_columns += find_columns(measure.argument)
        texts.append(f"({expression_sql.compile_value(measure.argument)}) IS NOT NULL")
    return CountingQuery(
        text=text,
        columns={each.name: own[each.name] for each in read_columns},
        condition=" AND ".join(texts) or "TRUE",
    )


def _collect_filters(node: Rows, table: str) -> tuple[Scan, list[Expression]]:
    conditions: list[Expression] = []
    while isinstance(node, Filter):
        conditions.append(node.condition)
        node = node.source
    if not isinstance(node, Scan):
        refuse_query(
            "a question of a stream counts rows of one table as they are.", EXPECTED_FORM.format(table=table)
        )
    return node, conditions[::-1]


def _require_one_count(question: Query, table: str) -> None:
    stages, measures = question.post_processing, question.measures
    plain = len(measures) == 1 and len(stages) == 1 and not question.keys
    counts = plain and isinstance(measures[0][1], Count)
    if counts:
        (stage,) = stages
        outputs = [expression for _, expression in stage.outputs]
        shows = len(outputs) == 1 and isinstance(outputs[0], Column) and outputs[0].name == "m0"
        if shows and stage.having is None and stage.limit is None and not stage.totals:
            return
    refuse_query("a question of a stream is one count, and nothing else.", EXPECTED_FORM.format(table=table))
