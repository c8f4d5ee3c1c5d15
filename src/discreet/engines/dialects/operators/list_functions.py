"""Writers of lists, and of rows made from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import raise_unsupported
from discreet.engines.dialects.expression_writer import ExpressionWriter, OperatorWriters, Scope
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily


def write_array(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    pieces, kind = writer.align_types(writer.write_all(node.expressions, scope))
    many = SqlType(family=kind.family, values=kind.values, is_list=True)
    texts = [piece.text for piece in pieces]
    # a list of NULLs alone is text until it is aligned with another list
    known = sql_types.TEXT if kind.family is TypeFamily.NULL else kind
    return TypedSql(text=writer.dialect.write_list(texts, known), sql_type=many)


def write_array_size(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(
        text=writer.dialect.write_list_length(writer.write(node.this, scope)), sql_type=sql_types.INTEGER
    )


def write_range(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    first, end = writer.write_all([node.args["start"], node.args["end"]], scope)
    many = SqlType(family=TypeFamily.INTEGER, least=1, largest=2.0**64, is_list=True)
    return TypedSql(text=writer.dialect.write_integer_range(first.text, end.text), sql_type=many)


def write_append(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    return TypedSql(
        text=writer.dialect.write_append_null(piece), sql_type=replace(piece.sql_type, is_never_null=False)
    )


def write_unnest(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    return TypedSql(text=writer.dialect.write_unnest(piece), sql_type=piece.sql_type.element_type)


def write_bound_expression(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write an expression with a bound argument, `list_transform([x], lambda v: …)[1]` in our statements."""
    made = node.this
    if not isinstance(made, exp.Transform) or not isinstance(made.this, exp.Array):
        raise_unsupported(writer.dialect.name, "an item of a list")
    (item,) = made.this.expressions
    fields = (
        {each.this.name: each.expression for each in item.expressions}
        if isinstance(item, exp.Struct)
        else {made.expression.expressions[0].name: item}
    )
    pieces = {name: writer.write(each, scope) for name, each in fields.items()}
    found: list[TypedSql] = []

    def body(*texts: str) -> str:
        named = {
            name: replace(piece, text=text) for (name, piece), text in zip(pieces.items(), texts, strict=True)
        }
        found.append(writer.write(made.expression.this, replace(scope, bindings=named)))
        return found[-1].text

    text = writer.dialect.bind(body, *(piece.text for piece in pieces.values()))
    return replace(found[-1], text=text)


def write_bound_name(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write a name that a lambda binds, or a field of it."""
    said = node.expression.name if isinstance(node, exp.Dot) else node.name
    if said not in scope.bindings:
        raise_unsupported(writer.dialect.name, f"the name {said}")
    return scope.bindings[said]


WRITERS: OperatorWriters = {
    exp.Bracket: write_bound_expression,
    exp.Identifier: write_bound_name,
    exp.Dot: write_bound_name,
    exp.Array: write_array,
    exp.ArraySize: write_array_size,
    exp.GenerateSeries: write_range,
    exp.ArrayAppend: write_append,
    exp.Explode: write_unnest,
}
