"""The cell universe: every combination of bins that a row can be in, and the cells that a query counts.

Cells       the combinations of the columns' declared bins, as `schema` has them; where no bins are asked for,
            every declared value is a bin of its own, and NULL one more. Those that the policy declares
            impossible are no cells: no row is looked for there.
Predicate   a question's condition is tried on every declared value of the columns that it reads, in SQL over
            a table of nothing else: what it means is decided by the engine's own rules. A question that holds
            for some values of a bin and not for others is refused, as no sum of cells answers it.

All of it follows from policy and text: no data is read.

A counting query is SELECT COUNT(*) FROM table [WHERE …], as a condition on one row. It is read and checked as
any question is (`sql.query_parser`, `sql.resolver`); then it must be one count over rows of
the stream's table as they are: no join, no subquery, no group, nothing done with the result. COUNT(x),
COUNT_IF and FILTER are conditions too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.column_entry import Column, ColumnType
from discreet.core.errors import RequestError, require_parameter
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.mechanisms.sampling import Booleans, Integers
from discreet.mining.attributes import MAX_BINS, Attribute
from discreet.mining.schema import Schema
from discreet.mining.tabulation.cells import cut_at_impossible_ranges, find_impossible_cells
from discreet.sql import expression_sql, expression_tree
from discreet.sql.aggregates.count import Count
from discreet.sql.declared_literals import require_declared_literals
from discreet.sql.expression_tree import Expression, find_columns
from discreet.sql.query import Query
from discreet.sql.query_parser import parse_query
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.relational_algebra import Filter, Rows, Scan
from discreet.sql.releases import PostProcessor
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
    require_declared_literals(question, policy)
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
        shows = (
            len(outputs) == 1 and isinstance(outputs[0], expression_tree.Column) and outputs[0].name == "m0"
        )
        if shows and stage.having is None and stage.limit is None and not stage.totals:
            return
    refuse_query("a question of a stream is one count, and nothing else.", EXPECTED_FORM.format(table=table))


MAX_CELLS = 1 << 20
MAX_VALUES = 2_000_000
PLACE, HOLDS = "_discreet_place", "holds"


@dataclass(frozen=True, kw_only=True, eq=False)
class Axis:
    """A column's values as the store has them, and the bin of each."""

    values: pa.Array
    bins: Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Universe:
    """The cells of some columns of a table."""

    schema: Schema
    axes: Mapping[str, Axis]
    possible: Booleans

    @classmethod
    def from_table(
        cls,
        table: Table,
        columns: Sequence[str],
        *,
        bins: Mapping[str, int],
        logarithmic: Collection[str] = (),
    ) -> Universe:
        """Return the cells that the policy declares; `bins` divides numbers and dates of many values."""
        for name in bins:
            require_parameter(name in columns, "stream", "bins", name, "for columns that are asked for")
        every = {name: _count_values(table.columns[name]) for name in columns if name in table.columns}
        for name, number in every.items():
            if number > MAX_BINS and name not in bins:
                raise RequestError(
                    f"stream: column {name} has {number:,} values, which are too many to tell apart.",
                    hint=f'Divide it into bins: `bins="{name}=20"`.',
                )
        declared = Schema.from_table(
            table, features=columns, bins=every | dict(bins), logarithmic=logarithmic
        )
        schema = cut_at_impossible_ranges(declared, table)
        cells = prod(each.bins for each in schema.attributes)
        hint = 'Name fewer columns, or divide a number into fewer bins with `bins="age=10"`.'
        require_parameter(
            cells <= MAX_CELLS, "stream", "columns", f"{cells:,}", f"{MAX_CELLS:,} cells or less", hint=hint
        )
        axes = {each.name: _build_axis(each, table.columns[each.name]) for each in schema.attributes}
        return cls(schema=schema, axes=axes, possible=_find_possible_cells(schema, table))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(each.bins for each in self.schema.attributes)

    @property
    def cells(self) -> int:
        return int(np.count_nonzero(self.possible))

    def find_cells(self, query: CountingQuery, run_sql: PostProcessor) -> Booleans:
        """Return the mask of the cells that a query counts; `run_sql` runs SQL over given tables.

        It has an axis for every column. Those that are not read take no memory.
        """
        missing = [name for name in query.columns.values() if name not in self.axes]
        if missing:
            refuse_query(
                f"the column {missing[0]} is not one of the stream's.",
                f"It has {', '.join(self.axes)}; name all columns when the stream is opened.",
            )
        read = [each for each in self.schema.attributes if each.name in query.columns.values()]
        holds = self._evaluate_condition(query, read, run_sql)
        for axis, attribute in enumerate(read):
            holds = _group_into_bins(holds, axis, self.axes[attribute.name].bins, attribute)
        wide = [each.bins if each in read else 1 for each in self.schema.attributes]
        return np.broadcast_to(holds.reshape(wide), self.shape)

    def _evaluate_condition(
        self, query: CountingQuery, attributes: Sequence[Attribute], run_sql: PostProcessor
    ) -> Booleans:
        """Evaluate the condition on every combination of values of the columns that it reads."""
        shape = tuple(len(self.axes[each.name].values) for each in attributes)
        if prod(shape) > MAX_VALUES:
            refuse_query(
                f"the columns of the question have {prod(shape):,} combinations of values.",
                f"Ask about fewer columns at once: at most {MAX_VALUES:,} combinations.",
            )
        places = np.indices(shape).reshape(len(attributes), prod(shape))
        at = {each.name: places[axis] for axis, each in enumerate(attributes)}
        table = {
            inner: self.axes[name].values.take(pa.array(at[name])) for inner, name in query.columns.items()
        }
        table[PLACE] = pa.array(np.arange(prod(shape)))
        text = (
            f"SELECT coalesce({query.condition}, FALSE) AS {HOLDS} FROM cells ORDER BY "
            f"{quote_identifier(PLACE)}"
        )
        found = run_sql(text, {"cells": pa.table(table)})
        return np.asarray(found.column(HOLDS).to_numpy(zero_copy_only=False), np.bool_).reshape(shape)


def _find_possible_cells(schema: Schema, table: Table) -> Booleans:
    """Return the flat mask of the combinations of bins that a row can have."""
    found = np.ones([each.bins for each in schema.attributes], np.bool_)
    for places, never in find_impossible_cells(schema, table.impossible).items():
        wide = [each.bins if place in places else 1 for place, each in enumerate(schema.attributes)]
        found &= np.isfinite(never).reshape(wide)
    if not found.any():
        raise RequestError(
            "stream: everything is declared impossible.",
            hint="Leave some combination possible in the policy.",
        )
    return found.reshape(-1)


def _count_values(column: Column) -> int:
    """Return the number of values of a number or a date; columns without bins are refused later."""
    if column.grid_bounds is not None:
        return column.grid_bounds[1] - column.grid_bounds[0] + 1
    if column.type is ColumnType.DATE and isinstance(column.low, date) and isinstance(column.high, date):
        return (column.high - column.low).days + 1
    return 1


def _build_axis(attribute: Attribute, column: Column) -> Axis:
    values, bins = _list_values(attribute, column)
    if attribute.has_missing_bin:
        values, bins = [*values, None], np.append(bins, attribute.missing_bin)
    kind = {ColumnType.CATEGORY: pa.string(), ColumnType.BOOLEAN: pa.bool_(), ColumnType.DATE: pa.date32()}
    return Axis(values=pa.array(values, kind.get(column.type, pa.int64())), bins=bins.astype(np.int64))


def _list_values(attribute: Attribute, column: Column) -> tuple[list[Any], Integers]:
    """Return every declared value as the store keeps it (a number in steps), and its bin."""
    number = _count_values(column)
    if number > MAX_VALUES:
        raise RequestError(
            f"stream: column {attribute.name} has {number:,} values.",
            hint=f"Ask about columns of at most {MAX_VALUES:,}.",
        )
    if column.grid_bounds is not None:
        steps = range(column.grid_bounds[0], column.grid_bounds[1] + 1)
        limits = [int(-(-cut // column.grid_step)) for cut in attribute.cuts if not isinstance(cut, date)]
        return list(steps), np.searchsorted(limits, list(steps), side="right")
    if isinstance(column.low, date):
        days: list[Any] = [column.low + timedelta(days=each) for each in range(number)]
        return days, np.searchsorted(
            np.array(attribute.cuts, "datetime64[D]"), np.array(days, "datetime64[D]"), "right"
        )
    values: list[Any] = [False, True] if column.type is ColumnType.BOOLEAN else list(attribute.values)
    return values, np.arange(len(values))


def _group_into_bins(holds: Booleans, axis: int, bins: Integers, attribute: Attribute) -> Booleans:
    """Return the mask with the values of one axis grouped into bins."""
    moved = np.moveaxis(holds, axis, 0)
    found = np.zeros((attribute.bins, *moved.shape[1:]), np.int64)
    np.add.at(found, bins, moved.astype(np.int64))
    # a bin is one noisy number, so a part of it cannot be answered
    size = np.bincount(bins, minlength=attribute.bins).reshape(-1, *[1] * (holds.ndim - 1))
    if bool(((found > 0) & (found < size)).any()):
        cuts = ", ".join(attribute.cut_labels[:8]) + (" …" if len(attribute.cut_labels) > 8 else "")
        refuse_query(
            f"the question holds for a part of a bin of {attribute.name}.",
            f"Compare with where its bins begin ({cuts}), or give it more bins.",
        )
    return np.moveaxis(found > 0, 0, axis)
