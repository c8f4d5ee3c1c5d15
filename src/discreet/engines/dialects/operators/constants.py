"""Writers of constants and column names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.expressions import Expressions, Node, NotEncodedError, Writers
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.scope import Scope


def literal(writer: Expressions, node: Any, scope: Scope) -> Piece:
    text = str(node.this)
    if node.is_string:
        return Piece(text=writer.text(text), kind=kinds.TEXT)
    size = abs(float(text))
    if re.fullmatch(r"\d+", text):
        family = Family.INTEGER if size < 2**63 else Family.WIDE
        return Piece(text=text, kind=Kind(family=family, least=size or 1, largest=size), constant=size)
    if re.fullmatch(r"\d*\.\d*", text):
        return Piece(
            text=text, kind=Kind(family=Family.DECIMAL, least=size or 1, largest=size), constant=size
        )
    return Piece(text=writer.dialect.floating(text), kind=kinds.double(size or 1, size), constant=size)


def truth(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return Piece(text="TRUE" if node.this else "FALSE", kind=kinds.BOOLEAN)


def null(writer: Expressions, node: Node, scope: Scope) -> Piece:
    return Piece(text="NULL", kind=kinds.NULL)


def column(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.passed(node, scope)
    if piece.kind.late is not None:
        raise NotEncodedError(piece.kind.late)
    return replace(piece, kind=replace(piece.kind, known=False)) if piece.kind.known else piece


def paren(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return writer.write(node.this, scope)


WRITERS: Writers = {
    exp.Literal: literal,
    exp.Boolean: truth,
    exp.Null: null,
    exp.Column: column,
    exp.Paren: paren,
}
