"""Writers of window functions and their orders."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds, marks
from discreet.engines.dialects.expressions import Expressions, Writers
from discreet.engines.dialects.kinds import Family, Piece
from discreet.engines.dialects.scope import Scope

NUMBERED = (exp.RowNumber, exp.DenseRank, exp.FirstValue)
"""Window functions whose result does not depend on whether ties in the order enter the frame at once."""


def window(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.write(node.this, scope)
    if node.args.get("alias") is not None and node.args.get("partition_by") is None:
        rows = scope.windows[node.args["alias"].name]
    else:
        rows = frame(writer, node, scope)
    if isinstance(node.this, NUMBERED):
        rows += writer.dialect.row_by_row
    return Piece(text=f"{marks.bare(piece.text)} OVER ({rows})", kind=piece.kind)


def frame(writer: Expressions, node: Any, scope: Scope) -> str:
    parts = [piece.text for piece in writer.all(node.args.get("partition_by") or [], scope)]
    text = f"PARTITION BY {', '.join(parts)}" if parts else ""
    order = node.args.get("order")
    return f"{text} ORDER BY {ordering(writer, order, scope)}".strip() if order is not None else text


def ordering(writer: Expressions, order: Any, scope: Scope) -> str:
    """Write ORDER BY as in DuckDB, with NULL last by default; after a hash, any order of ties will do."""
    parts, hashed = [], False
    for each in order.expressions:
        piece = writer.write(each.this, scope)
        first = each.args.get("nulls_first")
        down = " DESC" if each.args.get("desc") else ""
        by = piece.text if hashed else writer.comparable(piece)
        parts.append(f"{by}{down} NULLS {'FIRST' if first else 'LAST'}")
        hashed = hashed or piece.kind.family is Family.DIGEST
    return ", ".join(parts)


def row_number(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return Piece(text="row_number()", kind=kinds.INTEGER)


def dense_rank(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return Piece(text="dense_rank()", kind=kinds.INTEGER)


def first_value(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.write(node.this, scope)
    return Piece(text=f"first_value({piece.text})", kind=piece.kind)


WRITERS: Writers = {
    exp.Window: window,
    exp.RowNumber: row_number,
    exp.DenseRank: dense_rank,
    exp.FirstValue: first_value,
}
