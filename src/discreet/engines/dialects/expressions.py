"""Expression writer: the expressions of our statements, with their types, written in a dialect.

Types are inferred from those of the columns, as in DuckDB, so that a dialect knows what it compares, converts
and rounds. A deferred column has no value yet: using its value raises `NotEncodedError`. `operators` lists
the writer of each node; the text is marked, so that it can be verified (`sql_marks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds, marks
from discreet.engines.dialects.dialect import Dialect, unsupported
from discreet.engines.dialects.kinds import Family, Kind, Late, Piece
from discreet.engines.dialects.scope import Scope

Node = exp.Expr


class NotEncodedError(Exception):
    """A statement needs the value of a deferred column."""

    def __init__(self, late: Late) -> None:
        super().__init__(late)
        self.late = late


@dataclass(frozen=True, kw_only=True)
class Expressions:
    """Writes expressions in one dialect, each node by its operator's writer."""

    dialect: Dialect
    operators: Writers

    def write(self, node: Node, scope: Scope) -> Piece:
        """Write a node by the writer of its type; refuse a type that has none."""
        writer = self.operators.get(type(node))
        if writer is None:
            unsupported(self.dialect.name, f"{type(node).__name__} in a statement")
        return _whole(writer(self, node, scope))

    def passed(self, node: Node, scope: Scope) -> Piece:
        """Write a node that is only passed on: a column as it is, even if deferred; else the value."""
        if not isinstance(node, exp.Column):
            return self.write(node, scope)
        alias, name, kind = scope.found(node.name, node.table)
        place = f"{self.name(alias)}." if alias else ""
        return _whole(Piece(text=f"{place}{self.name(name)}", kind=kind))

    def all(self, nodes: Sequence[Node], scope: Scope) -> list[Piece]:
        return [self.write(node, scope) for node in nodes]

    # -- Names and text ---------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        return marks.named(name, self.dialect)

    def text(self, text: str) -> str:
        return marks.text(text, self.dialect)

    def texts(self, texts: Sequence[str]) -> str:
        """Write a list of text constants."""
        return self.dialect.listed([self.text(each) for each in texts], kinds.TEXT)

    # -- Kinds ------------------------------------------------------------------------------------------

    def as_kind(self, piece: Piece, to: Kind) -> Piece:
        """Cast an expression to another type; engines do not all convert alike by themselves."""
        have, want = piece.kind.family, to.family
        if have is want or want is Family.NULL:
            return piece
        if have is Family.NULL:
            wanted = self.dialect.many(to) if to.many else self.dialect.types[want]
            return Piece(text=f"CAST({piece.text if piece.kind.many else 'NULL'} AS {wanted})", kind=to)
        if have is Family.ENUM:
            return self.as_kind(Piece(text=piece.text, kind=kinds.TEXT), to)
        if want is Family.DOUBLE and piece.constant is not None:
            number = marks.plain(piece.text).strip("()")
            return Piece(text=self.dialect.floating(number), kind=to, constant=piece.constant)
        text = self.dialect.converted(piece, to, narrow=False)
        return _whole(Piece(text=text, kind=to, constant=piece.constant))

    def aligned(self, pieces: Sequence[Piece]) -> tuple[list[Piece], Kind]:
        """Cast all expressions to their common type; return them and the type."""
        kind = kinds.union([piece.kind for piece in pieces])
        if kind is None:
            unsupported(self.dialect.name, "a comparison of different types")
        return [self.as_kind(piece, kind) for piece in pieces], kind

    def boolean(self, piece: Piece) -> Piece:
        return self.as_kind(piece, kinds.BOOLEAN)

    def comparable(self, piece: Piece) -> str:
        """Write a value that sorts as the expression does in DuckDB."""
        if piece.kind.family is Family.ENUM:
            return self.dialect.place(self.texts(piece.kind.values), piece)
        return piece.text


def _whole(piece: Piece) -> Piece:
    return replace(piece, text=marks.whole(piece.text))


def floats(kind: Kind) -> Kind:
    """Return the floating-point type of numbers that had this type."""
    if kind.family is Family.DOUBLE or not kind.numeric:
        return kind if kind.family is Family.DOUBLE else kinds.DOUBLE
    return kinds.double(kind.least, kind.largest)


Writer = Callable[[Expressions, Any, Scope], Piece]
Writers = Mapping[type[Node], Writer]
Call = Callable[[Expressions, list[Piece]], Piece]
"""Writes a function call from its arguments, which are written already."""
Calls = dict[str, Call]
