"""Writers of window functions and their orders."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import sql_marks, sql_types
from discreet.engines.dialects.expression_writer import ExpressionWriter, OperatorWriters
from discreet.engines.dialects.scope import Scope
from discreet.engines.dialects.sql_types import TypedSql, TypeFamily

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
    exp.Window: write_window,
    exp.RowNumber: write_row_number,
    exp.DenseRank: write_dense_rank,
    exp.FirstValue: write_first_value,
}
