"""Writers of constants, column names, and casts of both and of expressions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.core.numeral_patterns import NUMERAL
from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import raise_unsupported
from discreet.engines.dialects.sql_types import NotEncodedError, SqlType, TypedSql, TypeFamily, to_double_type

if TYPE_CHECKING:
    from discreet.engines.dialects.expression_writer import ExpressionWriter, Node, OperatorWriters, Scope


def write_literal(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    text = str(node.this)
    if node.is_string:
        return TypedSql(text=writer.mark_text(text), sql_type=sql_types.TEXT)
    size = abs(float(text))
    if re.fullmatch(r"\d+", text):
        family = TypeFamily.INTEGER if size < 2**63 else TypeFamily.WIDE
        return TypedSql(
            text=text, sql_type=SqlType(family=family, least=size or 1, largest=size), constant=size
        )
    if re.fullmatch(r"\d*\.\d*", text):
        return TypedSql(
            text=text,
            sql_type=SqlType(family=TypeFamily.DECIMAL, least=size or 1, largest=size),
            constant=size,
        )
    return TypedSql(
        text=writer.dialect.write_double(text),
        sql_type=sql_types.make_double_type(size or 1, size),
        constant=size,
    )


def write_boolean(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(text="TRUE" if node.this else "FALSE", sql_type=sql_types.BOOLEAN)


def write_null(writer: ExpressionWriter, node: Node, scope: Scope) -> TypedSql:
    return TypedSql(text="NULL", sql_type=sql_types.NULL)


def write_column(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write_passthrough(node, scope)
    if piece.sql_type.deferred_column is not None:
        raise NotEncodedError(piece.sql_type.deferred_column)
    return (
        replace(piece, sql_type=replace(piece.sql_type, is_never_null=False))
        if piece.sql_type.is_never_null
        else piece
    )


def write_paren(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return writer.write(node.this, scope)


def write_cast(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    to, narrow = writer.parse_type(node.to), node.to.this is exp.DType.INT
    constant = isinstance(node.this, exp.Literal) and node.this.is_string and to.family is not TypeFamily.TEXT
    if constant and not isinstance(node, exp.TryCast):
        return _write_typed_constant(writer, str(node.this.this), to)
    if to.is_list:
        items = writer.dialect.write_list([writer.mark_text(value) for value in to.values], to.element_type)
        return TypedSql(text=items, sql_type=replace(to, is_never_null=True))
    piece = writer.write(node.this, scope)
    if to.family is TypeFamily.DECIMAL and piece.sql_type.family in (TypeFamily.TEXT, TypeFamily.ENUM):
        text = writer.dialect.write_text_to_decimal(
            writer.cast_to(piece, sql_types.TEXT), *writer.parse_decimal_digits(node.to)
        )
        return TypedSql(text=text, sql_type=to)
    if to.family is TypeFamily.ENUM:
        return _write_enum_cast(writer, writer.cast_to(piece, sql_types.TEXT), to)
    if to.family is TypeFamily.ZONED:
        to = sql_types.TIMESTAMP  # all times are in UTC
    return _convert_value(writer, piece, to, narrow=narrow)


def _convert_value(writer: ExpressionWriter, piece: TypedSql, to: SqlType, *, narrow: bool) -> TypedSql:
    have = piece.sql_type.family
    hidden = have is TypeFamily.PERSON and to.family is TypeFamily.WIDE
    if hidden or (have is to.family and not narrow):
        return piece
    if have is TypeFamily.ENUM:
        piece = writer.cast_to(piece, sql_types.TEXT)
    if to.family is TypeFamily.DOUBLE and piece.sql_type.is_numeric:
        to = to_double_type(piece.sql_type)
    if have is TypeFamily.NULL or (piece.constant is not None and to.family is TypeFamily.DOUBLE):
        return writer.cast_to(piece, to)
    text = writer.dialect.write_cast(piece, to, is_32_bit=narrow)
    return TypedSql(text=text, sql_type=to, constant=piece.get_constant_after_cast(to))


def _write_typed_constant(writer: ExpressionWriter, text: str, to: SqlType) -> TypedSql:
    if to.family is TypeFamily.DOUBLE:
        size = abs(float(text))
        return TypedSql(
            text=writer.dialect.write_double(text),
            sql_type=sql_types.make_double_type(size or 1, size),
            constant=size,
        )
    text = f"CAST({writer.mark_text(text)} AS {writer.dialect.types[to.family]})"
    return TypedSql(text=text, sql_type=to)


def _write_enum_cast(writer: ExpressionWriter, piece: TypedSql, to: SqlType) -> TypedSql:
    among = ", ".join(map(writer.mark_text, to.values))
    text = writer.dialect.bind(lambda x: f"CASE WHEN {x} IN ({among}) THEN {x} END", piece.text)
    return TypedSql(text=text, sql_type=to)


def write_numeral_match(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write the text within a numeral pattern: the dialect's cast checks the pattern itself."""
    if node.expression.name != NUMERAL or not isinstance(node.parent, exp.Cast):
        raise_unsupported(writer.dialect.name, "a pattern")
    return writer.write(node.this, scope)


WRITERS: OperatorWriters = {
    exp.Literal: write_literal,
    exp.Boolean: write_boolean,
    exp.Null: write_null,
    exp.Column: write_column,
    exp.Paren: write_paren,
    exp.Cast: write_cast,
    exp.TryCast: write_cast,
    exp.RegexpExtract: write_numeral_match,
}
