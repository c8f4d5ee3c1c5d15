"""Writers of lists, and of rows made from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.dialect import unsupported
from discreet.engines.dialects.expressions import Expressions, Writers
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.scope import Scope


def array(writer: Expressions, node: Any, scope: Scope) -> Piece:
    pieces, kind = writer.aligned(writer.all(node.expressions, scope))
    many = Kind(family=kind.family, values=kind.values, many=True)
    texts = [piece.text for piece in pieces]
    # a list of NULLs alone is text until it is aligned with another list
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


def bound(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write an expression with a bound argument, `list_transform([x], lambda v: …)[1]` in our statements."""
    made = node.this
    if not isinstance(made, exp.Transform) or not isinstance(made.this, exp.Array):
        unsupported(writer.dialect.name, "an item of a list")
    (item,) = made.this.expressions
    fields = (
        {each.this.name: each.expression for each in item.expressions}
        if isinstance(item, exp.Struct)
        else {made.expression.expressions[0].name: item}
    )
    pieces = {name: writer.write(each, scope) for name, each in fields.items()}
    found: list[Piece] = []

    def body(*texts: str) -> str:
        named = {
            name: replace(piece, text=text) for (name, piece), text in zip(pieces.items(), texts, strict=True)
        }
        found.append(writer.write(made.expression.this, replace(scope, bound=named)))
        return found[-1].text

    text = writer.dialect.bind(body, *(piece.text for piece in pieces.values()))
    return replace(found[-1], text=text)


def name(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write a name that a lambda binds, or a field of it."""
    said = node.expression.name if isinstance(node, exp.Dot) else node.name
    if said not in scope.bound:
        unsupported(writer.dialect.name, f"the name {said}")
    return scope.bound[said]


WRITERS: Writers = {
    exp.Bracket: bound,
    exp.Identifier: name,
    exp.Dot: name,
    exp.Array: array,
    exp.ArraySize: size,
    exp.GenerateSeries: span,
    exp.ArrayAppend: appended,
    exp.Explode: unnested,
}
