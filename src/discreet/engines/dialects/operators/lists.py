"""Lists, and rows made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.dialects.expressions import Expressions, Writers
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.scope import Scope


def array(writer: Expressions, node: Any, scope: Scope) -> Piece:
    pieces, kind = writer.aligned(writer.all(node.expressions, scope))
    many = Kind(family=kind.family, values=kind.values, many=True)
    return Piece(text=writer.dialect.listed([piece.text for piece in pieces], kind), kind=many)


def span(writer: Expressions, node: Any, scope: Scope) -> Piece:
    first, end = writer.all([node.args["start"], node.args["end"]], scope)
    many = Kind(family=Family.INTEGER, least=1, largest=2.0**64, many=True)
    return Piece(text=writer.dialect.span(first.text, end.text), kind=many)


def appended(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.write(node.this, scope)
    return Piece(text=writer.dialect.appended(piece), kind=replace(piece.kind, known=False))


def unnested(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.write(node.this, scope)
    return Piece(text=writer.dialect.unnested(piece), kind=piece.kind.element)


WRITERS: Writers = {
    exp.Array: array,
    exp.GenerateSeries: span,
    exp.ArrayAppend: appended,
    exp.Explode: unnested,
}
