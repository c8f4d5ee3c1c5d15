"""Writers of constants and column names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.expression_writer import (
    ExpressionWriter,
    Node,
    NotEncodedError,
    OperatorWriters,
)
from discreet.engines.dialects.scope import Scope
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily


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


WRITERS: OperatorWriters = {
    exp.Literal: write_literal,
    exp.Boolean: write_boolean,
    exp.Null: write_null,
    exp.Column: write_column,
    exp.Paren: write_paren,
}
