"""Writers of functions of dates and times, and of ranges of them."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.expressions import Expressions, Writers
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.operators.conversions import kind_of
from discreet.engines.dialects.scope import Scope


def truncated(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.write(node.this, scope)
    unit = str(node.args["unit"].name).lower()
    moment = piece if piece.kind.family is Family.TIMESTAMP else writer.as_kind(piece, kinds.TIMESTAMP)
    return Piece(text=writer.dialect.truncated(unit, moment), kind=kinds.TIMESTAMP)


def interval(writer: Expressions, node: Any, scope: Scope) -> Piece:
    number, unit = int(node.this.name), node.args["unit"].name.upper()
    if unit == "WEEK":
        number, unit = 7 * number, "DAY"
    text = f"INTERVAL '{number}' {unit}"
    return Piece(text=text, kind=kinds.INTERVAL)


def part(writer: Expressions, node: Any, scope: Scope) -> Piece:
    name, of = node.expressions
    moment = writer.write(of, scope)
    return Piece(text=writer.dialect.part(str(name.this), moment), kind=kinds.INTEGER)


def moments(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write a range of times as a list, each converted to the target type."""
    span, to = node.this, kind_of(writer, node.expression.this.to)
    parts = [span.args["start"], span.args["end"], span.args["step"]]
    first, end, step = (writer.write(each, scope) for each in parts)
    first, end = (writer.as_kind(each, kinds.TIMESTAMP) for each in (first, end))
    text = writer.dialect.moments(first.text, end.text, step.text, to)
    return Piece(text=text, kind=Kind(family=to.family, many=True))


WRITERS: Writers = {
    exp.TimestampTrunc: truncated,
    exp.DateTrunc: truncated,
    exp.Interval: interval,
    exp.Transform: moments,
}
