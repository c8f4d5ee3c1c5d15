"""Writers of aggregates. Deferred numbers can be counted and summed: they are NULL where their values are."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds, marks
from discreet.engines.dialects.dialect import unsupported
from discreet.engines.dialects.expressions import Expressions, Writers
from discreet.engines.dialects.kinds import Family, Piece
from discreet.engines.dialects.scope import Scope


def counted(writer: Expressions, node: Any, scope: Scope) -> Piece:
    inner = node.this
    if isinstance(inner, exp.Star):
        text = "*"
    elif isinstance(inner, exp.Distinct):
        text = f"DISTINCT {writer.write(inner.expressions[0], scope).text}"
    else:
        text = _number(writer, inner, scope).text
    return Piece(text=f"count({text})", kind=kinds.INTEGER)


def total(writer: Expressions, node: Any, scope: Scope) -> Piece:
    if isinstance(node.this, exp.Order):
        (by,) = node.this.expressions
        value, order = writer.write(node.this.this, scope), writer.write(by.this, scope)
        return Piece(text=writer.dialect.total_in_order(value, order), kind=kinds.DOUBLE)
    piece = _number(writer, node.this, scope)
    if piece.kind.family is Family.BOOLEAN:
        piece = writer.as_kind(piece, kinds.INTEGER)
    if piece.kind.family not in (Family.INTEGER, Family.WIDE):
        unsupported(writer.dialect.name, "a sum of numbers that are not integers")
    return Piece(text=writer.dialect.total(piece, small=False), kind=kinds.WIDE)


def mean(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write the mean of floating-point numbers in an order; our plans divide sums for integers."""
    if not isinstance(node.this, exp.Order):
        unsupported(writer.dialect.name, "AVG without an order")
    value = writer.write(node.this.this, scope)
    rows = Piece(text=f"count({value.text})", kind=kinds.INTEGER)
    return Piece(
        text=writer.dialect.computed("/", total(writer, node, scope), writer.as_kind(rows, kinds.DOUBLE)),
        kind=kinds.DOUBLE,
    )


def small_total(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = _number(writer, node.expressions[0], scope)
    return Piece(text=writer.dialect.total(piece, small=True), kind=kinds.INTEGER)


def _number(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write an operand of count or sum; deferred text may be no declared value, so its value is needed."""
    piece = writer.passed(node, scope)
    number = piece.kind.late is None or piece.kind.family is Family.INTEGER
    return piece if number else writer.write(node, scope)


def limit(writer: Expressions, node: Any, scope: Scope) -> Piece:
    name = "min" if isinstance(node, exp.Min) else "max"
    piece = writer.write(node.this, scope)
    found = f"{name}({writer.comparable(piece)})"
    if piece.kind.family is Family.ENUM:
        found = writer.dialect.at(writer.texts(piece.kind.values), found)
    elif piece.kind.family is Family.BOOLEAN:
        found = f"{'bool_and' if name == 'min' else 'bool_or'}({piece.text})"
    return Piece(text=found, kind=piece.kind)


def filtered(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write a filtered aggregate.

    FILTER follows a call, so the aggregates that are written as more than one take a CASE instead, and
    deferred numbers are refused.
    """
    condition = writer.boolean(writer.write(node.expression.this, scope))
    inner = node.this
    if isinstance(inner, exp.Min | exp.Max):
        kept = exp.Case(ifs=[exp.If(this=node.expression.this.copy(), true=inner.this.copy())])
        return limit(writer, type(inner)(this=kept), scope)
    if isinstance(inner, exp.Sum | exp.Avg) and isinstance(inner.this, exp.Order):
        kept = exp.Case(ifs=[exp.If(this=node.expression.this.copy(), true=inner.this.this.copy())])
        order = exp.Order(this=kept, expressions=[each.copy() for each in inner.this.expressions])
        return (mean if isinstance(inner, exp.Avg) else total)(writer, type(inner)(this=order), scope)
    writer.all(list(inner.find_all(exp.Column)), scope)
    piece = writer.write(inner, scope)
    return Piece(text=f"{marks.bare(piece.text)} FILTER (WHERE {condition.text})", kind=piece.kind)


def grouping(writer: Expressions, node: Any, scope: Scope) -> Piece:
    names = [piece.text for piece in writer.all(node.expressions, scope)]
    return Piece(text=writer.dialect.grouping(names), kind=kinds.INTEGER)


WRITERS: Writers = {
    exp.Count: counted,
    exp.Sum: total,
    exp.Avg: mean,
    exp.Min: limit,
    exp.Max: limit,
    exp.Filter: filtered,
    exp.Grouping: grouping,
}
