"""Writers of bitwise functions of integers."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import raise_unsupported
from discreet.engines.dialects.expression_writer import ExpressionWriter, FunctionWriters, OperatorWriters
from discreet.engines.dialects.scope import Scope
from discreet.engines.dialects.sql_types import TypedSql, TypeFamily


def write_shift(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    left, right = writer.write_all([node.left, node.right], scope)
    if left.sql_type.family is TypeFamily.PERSON:
        return left  # drops a bit only in DuckDB, to fit a signed integer
    require_integers(writer, [left, right])
    direction = "<<" if isinstance(node, exp.BitwiseLeftShift) else ">>"
    return TypedSql(text=writer.dialect.write_shift(direction, left, right), sql_type=sql_types.INTEGER)


def write_bitwise_and(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    pieces = writer.write_all([node.left, node.right], scope)
    require_integers(writer, pieces)
    return TypedSql(text=f"({pieces[0].text} & {pieces[1].text})", sql_type=sql_types.INTEGER)


def require_integers(writer: ExpressionWriter, pieces: list[TypedSql]) -> None:
    if any(piece.sql_type.family is not TypeFamily.INTEGER for piece in pieces):
        raise_unsupported(writer.dialect.name, "integer division or a bitwise function of non-integers")


def write_bitwise_or_aggregate(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(
        text=writer.dialect.write_bit_or(writer.write(node.this, scope)), sql_type=sql_types.INTEGER
    )


def write_bit_count(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    return TypedSql(text=writer.dialect.write_bit_count(pieces[0]), sql_type=sql_types.INTEGER)


WRITERS: OperatorWriters = {
    exp.BitwiseLeftShift: write_shift,
    exp.BitwiseRightShift: write_shift,
    exp.BitwiseAnd: write_bitwise_and,
    exp.BitwiseOrAgg: write_bitwise_or_aggregate,
}
CALLS: FunctionWriters = {"bit_count": write_bit_count}
