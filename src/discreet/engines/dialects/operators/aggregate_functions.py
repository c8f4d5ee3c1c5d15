"""Writers of aggregates, window functions and their orders.

Deferred numbers can be counted and summed: they are NULL where their values are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.dialects import sql_marks, sql_types
from discreet.engines.dialects.dialect import raise_unsupported
from discreet.engines.dialects.sql_types import TypedSql, TypeFamily

if TYPE_CHECKING:
    from discreet.engines.dialects.expression_writer import ExpressionWriter, OperatorWriters, Scope


def write_count(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    inner = node.this
    if isinstance(inner, exp.Star):
        text = "*"
    elif isinstance(inner, exp.Distinct):
        text = f"DISTINCT {writer.write(inner.expressions[0], scope).text}"
    else:
        text = _write_countable(writer, inner, scope).text
    return TypedSql(text=f"count({text})", sql_type=sql_types.INTEGER)


def write_conditional_count(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    condition = writer.cast_to_boolean(writer.write(node.this, scope))
    return TypedSql(text=f"count(*) FILTER (WHERE {condition.text})", sql_type=sql_types.INTEGER)


def write_distinct_estimate(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    return TypedSql(text=writer.dialect.write_distinct_estimate(piece), sql_type=sql_types.INTEGER)


def write_sum(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    if isinstance(node.this, exp.Order):
        (by,) = node.this.expressions
        value, order = writer.write(node.this.this, scope), writer.write(by.this, scope)
        return TypedSql(text=writer.dialect.write_ordered_sum(value, order), sql_type=sql_types.DOUBLE)
    piece = _write_countable(writer, node.this, scope)
    if piece.sql_type.family is TypeFamily.BOOLEAN:
        piece = writer.cast_to(piece, sql_types.INTEGER)
    if piece.sql_type.family not in (TypeFamily.INTEGER, TypeFamily.WIDE):
        raise_unsupported(writer.dialect.name, "a sum of numbers that are not integers")
    return TypedSql(text=writer.dialect.write_sum(piece, fits_64_bits=False), sql_type=sql_types.WIDE)


def write_average(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write the mean of floating-point numbers in an order; our plans divide sums for integers."""
    if not isinstance(node.this, exp.Order):
        raise_unsupported(writer.dialect.name, "AVG without an order")
    value = writer.write(node.this.this, scope)
    rows = TypedSql(text=f"count({value.text})", sql_type=sql_types.INTEGER)
    return TypedSql(
        text=writer.dialect.write_float_arithmetic(
            "/", write_sum(writer, node, scope), writer.cast_to(rows, sql_types.DOUBLE)
        ),
        sql_type=sql_types.DOUBLE,
    )


def write_small_sum(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = _write_countable(writer, node.expressions[0], scope)
    return TypedSql(text=writer.dialect.write_sum(piece, fits_64_bits=True), sql_type=sql_types.INTEGER)


def _write_countable(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write an operand of count or sum; deferred text may be no declared value, so its value is needed."""
    piece = writer.write_passthrough(node, scope)
    number = piece.sql_type.deferred_column is None or piece.sql_type.family is TypeFamily.INTEGER
    return piece if number else writer.write(node, scope)


def write_min_max(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    name = "min" if isinstance(node, exp.Min) else "max"
    piece = writer.write(node.this, scope)
    found = f"{name}({writer.write_sort_value(piece)})"
    if piece.sql_type.family is TypeFamily.ENUM:
        found = writer.dialect.write_list_item(writer.write_text_list(piece.sql_type.values), found)
    elif piece.sql_type.family is TypeFamily.BOOLEAN:
        found = f"{'bool_and' if name == 'min' else 'bool_or'}({piece.text})"
    return TypedSql(text=found, sql_type=piece.sql_type)


def write_filtered_aggregate(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write a filtered aggregate.

    FILTER follows a call, so the aggregates that are written as more than one take a CASE instead, and
    deferred numbers are refused.
    """
    condition = writer.cast_to_boolean(writer.write(node.expression.this, scope))
    inner = node.this
    if isinstance(inner, exp.Min | exp.Max):
        kept = exp.Case(ifs=[exp.If(this=node.expression.this.copy(), true=inner.this.copy())])
        return write_min_max(writer, type(inner)(this=kept), scope)
    if isinstance(inner, exp.Sum | exp.Avg) and isinstance(inner.this, exp.Order):
        kept = exp.Case(ifs=[exp.If(this=node.expression.this.copy(), true=inner.this.this.copy())])
        order = exp.Order(this=kept, expressions=[each.copy() for each in inner.this.expressions])
        return (write_average if isinstance(inner, exp.Avg) else write_sum)(
            writer, type(inner)(this=order), scope
        )
    writer.write_all(list(inner.find_all(exp.Column)), scope)
    piece = writer.write(inner, scope)
    return TypedSql(
        text=f"{sql_marks.strip_outer_marks(piece.text)} FILTER (WHERE {condition.text})",
        sql_type=piece.sql_type,
    )


def write_grouping(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    names = [piece.text for piece in writer.write_all(node.expressions, scope)]
    return TypedSql(text=writer.dialect.write_grouping(names), sql_type=sql_types.INTEGER)


FRAME_INDEPENDENT_FUNCTIONS = (exp.RowNumber, exp.DenseRank, exp.FirstValue)
"""Window functions whose result does not depend on whether ties in the order enter the frame at once."""


def write_window(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    if node.args.get("alias") is not None and node.args.get("partition_by") is None:
        rows = scope.windows[node.args["alias"].name]
    else:
        rows = write_window_frame(writer, node, scope)
    if isinstance(node.this, FRAME_INDEPENDENT_FUNCTIONS):
        rows += writer.dialect.rows_frame
    return TypedSql(text=f"{sql_marks.strip_outer_marks(piece.text)} OVER ({rows})", sql_type=piece.sql_type)


def write_window_frame(writer: ExpressionWriter, node: Any, scope: Scope) -> str:
    parts = [piece.text for piece in writer.write_all(node.args.get("partition_by") or [], scope)]
    text = f"PARTITION BY {', '.join(parts)}" if parts else ""
    order = node.args.get("order")
    return f"{text} ORDER BY {write_ordering(writer, order, scope)}".strip() if order is not None else text


def write_ordering(writer: ExpressionWriter, order: Any, scope: Scope) -> str:
    """Write ORDER BY as in DuckDB, with NULL last by default; after a hash, any order of ties will do."""
    parts, hashed = [], False
    for each in order.expressions:
        piece = writer.write(each.this, scope)
        first = each.args.get("nulls_first")
        down = " DESC" if each.args.get("desc") else ""
        by = piece.text if hashed else writer.write_sort_value(piece)
        parts.append(f"{by}{down} NULLS {'FIRST' if first else 'LAST'}")
        hashed = hashed or piece.sql_type.family is TypeFamily.DIGEST
    return ", ".join(parts)


def write_row_number(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(text="row_number()", sql_type=sql_types.INTEGER)


def write_dense_rank(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(text="dense_rank()", sql_type=sql_types.INTEGER)


def write_first_value(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    return TypedSql(text=f"first_value({piece.text})", sql_type=piece.sql_type)


WRITERS: OperatorWriters = {
    exp.Count: write_count,
    exp.CountIf: write_conditional_count,
    exp.ApproxDistinct: write_distinct_estimate,
    exp.Sum: write_sum,
    exp.Avg: write_average,
    exp.Min: write_min_max,
    exp.Max: write_min_max,
    exp.Filter: write_filtered_aggregate,
    exp.Grouping: write_grouping,
    exp.Window: write_window,
    exp.RowNumber: write_row_number,
    exp.DenseRank: write_dense_rank,
    exp.FirstValue: write_first_value,
}
