"""Writers of functions of dates and times, and of ranges of them."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.expression_writer import ExpressionWriter, OperatorWriters, Scope
from discreet.engines.dialects.operators.casts import parse_type
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily


def write_date_trunc(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    unit = str(node.args["unit"].name).lower()
    moment = (
        piece if piece.sql_type.family is TypeFamily.TIMESTAMP else writer.cast_to(piece, sql_types.TIMESTAMP)
    )
    return TypedSql(text=writer.dialect.write_date_trunc(unit, moment), sql_type=sql_types.TIMESTAMP)


def write_interval(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    number, unit = int(node.this.name), node.args["unit"].name.upper()
    if unit == "WEEK":
        number, unit = 7 * number, "DAY"
    text = f"INTERVAL '{number}' {unit}"
    return TypedSql(text=text, sql_type=sql_types.INTERVAL)


def write_date_part(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    name, of = node.expressions
    moment = writer.write(of, scope)
    return TypedSql(text=writer.dialect.write_date_part(str(name.this), moment), sql_type=sql_types.INTEGER)


def write_time_range(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write a range of times as a list, each converted to the target type."""
    span, to = node.this, parse_type(writer, node.expression.this.to)
    parts = [span.args["start"], span.args["end"], span.args["step"]]
    first, end, step = (writer.write(each, scope) for each in parts)
    first, end = (writer.cast_to(each, sql_types.TIMESTAMP) for each in (first, end))
    text = writer.dialect.write_time_range(first.text, end.text, step.text, to)
    return TypedSql(text=text, sql_type=SqlType(family=to.family, is_list=True))


WRITERS: OperatorWriters = {
    exp.TimestampTrunc: write_date_trunc,
    exp.DateTrunc: write_date_trunc,
    exp.Interval: write_interval,
    exp.Transform: write_time_range,
}
