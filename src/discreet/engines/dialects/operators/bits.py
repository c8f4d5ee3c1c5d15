"""Writers of bitwise functions of integers."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.dialect import unsupported
from discreet.engines.dialects.expressions import Calls, Expressions, Writers
from discreet.engines.dialects.kinds import Family, Piece
from discreet.engines.dialects.scope import Scope


def shifted(writer: Expressions, node: Any, scope: Scope) -> Piece:
    left, right = writer.all([node.left, node.right], scope)
    if left.kind.family is Family.PERSON:
        return left  # drops a bit only in DuckDB, to fit a signed integer
    require_whole(writer, [left, right])
    direction = "<<" if isinstance(node, exp.BitwiseLeftShift) else ">>"
    return Piece(text=writer.dialect.shifted(direction, left, right), kind=kinds.INTEGER)


def shared_bits(writer: Expressions, node: Any, scope: Scope) -> Piece:
    pieces = writer.all([node.left, node.right], scope)
    require_whole(writer, pieces)
    return Piece(text=f"({pieces[0].text} & {pieces[1].text})", kind=kinds.INTEGER)


def require_whole(writer: Expressions, pieces: list[Piece]) -> None:
    if any(piece.kind.family is not Family.INTEGER for piece in pieces):
        unsupported(writer.dialect.name, "integer division or a bitwise function of non-integers")


def any_bits(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return Piece(text=writer.dialect.any_bits(writer.write(node.this, scope)), kind=kinds.INTEGER)


def bits(writer: Expressions, pieces: list[Piece]) -> Piece:
    return Piece(text=writer.dialect.bits(pieces[0]), kind=kinds.INTEGER)


WRITERS: Writers = {
    exp.BitwiseLeftShift: shifted,
    exp.BitwiseRightShift: shifted,
    exp.BitwiseAnd: shared_bits,
    exp.BitwiseOrAgg: any_bits,
}
CALLS: Calls = {"bit_count": bits}
