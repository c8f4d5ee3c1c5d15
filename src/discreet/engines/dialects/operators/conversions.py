"""Writers of casts, of expressions and of constants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.core.numerals import NUMERAL
from discreet.engines.dialects import kinds
from discreet.engines.dialects.dialect import unsupported
from discreet.engines.dialects.expressions import Expressions, Writers, floats
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.scope import Scope

TYPES = {
    exp.DType.BOOLEAN: kinds.BOOLEAN,
    exp.DType.INT: kinds.INTEGER,
    exp.DType.BIGINT: kinds.INTEGER,
    exp.DType.INT128: kinds.WIDE,
    exp.DType.DOUBLE: kinds.DOUBLE,
    exp.DType.VARCHAR: kinds.TEXT,
    exp.DType.TEXT: kinds.TEXT,
    exp.DType.DATE: kinds.DATE,
    exp.DType.TIMESTAMP: kinds.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: kinds.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: kinds.ZONED,
}


def cast(writer: Expressions, node: Any, scope: Scope) -> Piece:
    to, narrow = kind_of(writer, node.to), node.to.this is exp.DType.INT
    constant = isinstance(node.this, exp.Literal) and node.this.is_string and to.family is not Family.TEXT
    if constant and not isinstance(node, exp.TryCast):
        return _constant(writer, str(node.this.this), to)
    if to.many:
        items = writer.dialect.listed([writer.text(value) for value in to.values], to.element)
        return Piece(text=items, kind=replace(to, known=True))
    piece = writer.write(node.this, scope)
    if to.family is Family.DECIMAL and piece.kind.family in (Family.TEXT, Family.ENUM):
        text = writer.dialect.read_decimal(writer.as_kind(piece, kinds.TEXT), *_digits(node.to))
        return Piece(text=text, kind=to)
    if to.family is Family.ENUM:
        return _of_values(writer, writer.as_kind(piece, kinds.TEXT), to)
    if to.family is Family.ZONED:
        to = kinds.TIMESTAMP  # all times are in UTC
    return _converted(writer, piece, to, narrow=narrow)


def _converted(writer: Expressions, piece: Piece, to: Kind, *, narrow: bool) -> Piece:
    have = piece.kind.family
    hidden = have is Family.PERSON and to.family is Family.WIDE
    if hidden or (have is to.family and not narrow):
        return piece
    if have is Family.ENUM:
        piece = writer.as_kind(piece, kinds.TEXT)
    if to.family is Family.DOUBLE and piece.kind.numeric:
        to = floats(piece.kind)
    if have is Family.NULL or (piece.constant is not None and to.family is Family.DOUBLE):
        return writer.as_kind(piece, to)
    text = writer.dialect.converted(piece, to, narrow=narrow)
    return Piece(text=text, kind=to, constant=piece.constant)


def _constant(writer: Expressions, text: str, to: Kind) -> Piece:
    if to.family is Family.DOUBLE:
        size = abs(float(text))
        return Piece(text=writer.dialect.floating(text), kind=kinds.double(size or 1, size), constant=size)
    text = f"CAST({writer.text(text)} AS {writer.dialect.types[to.family]})"
    return Piece(text=text, kind=to)


def _of_values(writer: Expressions, piece: Piece, to: Kind) -> Piece:
    among = ", ".join(map(writer.text, to.values))
    text = writer.dialect.bind(lambda x: f"CASE WHEN {x} IN ({among}) THEN {x} END", piece.text)
    return Piece(text=text, kind=to)


def read(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write the text within a numeral pattern: the dialect's cast checks the pattern itself."""
    if node.expression.name != NUMERAL or not isinstance(node.parent, exp.Cast):
        unsupported(writer.dialect.name, "a pattern")
    return writer.write(node.this, scope)


def kind_of(writer: Expressions, to: Any) -> Kind:
    """Return the type that a type name in a statement denotes."""
    if to.this is exp.DType.ENUM:
        return Kind(family=Family.ENUM, values=tuple(str(each.this) for each in to.expressions))
    if to.this in (exp.DType.ARRAY, exp.DType.LIST):
        inner = kind_of(writer, to.expressions[0])
        return Kind(family=inner.family, values=inner.values, many=True)
    if to.this is exp.DType.DECIMAL:
        return kinds.decimal(*_digits(to))
    if to.this not in TYPES:
        unsupported(writer.dialect.name, f"the type {to.this.name}")
    return TYPES[to.this]


def _digits(to: Any) -> tuple[int, int]:
    """Return the precision and scale of a DECIMAL; our statements always have both."""
    digits, places = (int(each.this.this) for each in to.expressions)
    return digits, places


WRITERS: Writers = {exp.Cast: cast, exp.TryCast: cast, exp.RegexpExtract: read}
