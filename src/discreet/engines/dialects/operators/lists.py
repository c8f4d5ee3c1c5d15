"""Lists, and rows made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.expressions import Expressions, Writers
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.scope import Scope


def array(writer: Expressions, node: Any, scope: Scope) -> Piece:
    pieces, kind = writer.aligned(writer.all(node.expressions, scope))
    many = Kind(family=kind.family, values=kind.values, many=True)
    texts = [piece.text for piece in pieces]
    # of NULLs alone it is text until it is aligned with a list of something
    known = kinds.TEXT if kind.family is Family.NULL else kind
    return Piece(text=writer.dialect.listed(texts, known), kind=many)


def size(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return Piece(text=writer.dialect.size(writer.write(node.this, scope)), kind=kinds.INTEGER)


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
    exp.ArraySize: size,
    exp.GenerateSeries: span,
    exp.ArrayAppend: appended,
    exp.Explode: unnested,
}
