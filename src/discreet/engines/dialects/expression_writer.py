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

from discreet.engines.dialects import sql_marks, sql_types
from discreet.engines.dialects.dialect import Dialect, raise_unsupported
from discreet.engines.dialects.scope import Scope
from discreet.engines.dialects.sql_types import DeferredColumn, SqlType, TypedSql, TypeFamily

Node = exp.Expr


class NotEncodedError(Exception):
    """A statement needs the value of a deferred column."""

    def __init__(self, late: DeferredColumn) -> None:
        super().__init__(late)
        self.late = late


@dataclass(frozen=True, kw_only=True)
class ExpressionWriter:
    """Writes expressions in one dialect, each node by its operator's writer."""

    dialect: Dialect
    operators: OperatorWriters

    def write(self, node: Node, scope: Scope) -> TypedSql:
        """Write a node by the writer of its type; refuse a type that has none."""
        writer = self.operators.get(type(node))
        if writer is None:
            raise_unsupported(self.dialect.name, f"{type(node).__name__} in a statement")
        return _mark_typed_sql(writer(self, node, scope))

    def write_passthrough(self, node: Node, scope: Scope) -> TypedSql:
        """Write a node that is only passed on: a column as it is, even if deferred; else the value."""
        if not isinstance(node, exp.Column):
            return self.write(node, scope)
        alias, name, kind = scope.find_column(node.name, node.table)
        place = f"{self.mark_name(alias)}." if alias else ""
        return _mark_typed_sql(TypedSql(text=f"{place}{self.mark_name(name)}", sql_type=kind))

    def write_all(self, nodes: Sequence[Node], scope: Scope) -> list[TypedSql]:
        return [self.write(node, scope) for node in nodes]

    # -- Names and text ---------------------------------------------------------------------------------

    def mark_name(self, name: str) -> str:
        return sql_marks.mark_name(name, self.dialect)

    def mark_text(self, text: str) -> str:
        return sql_marks.mark_text(text, self.dialect)

    def write_text_list(self, texts: Sequence[str]) -> str:
        """Write a list of text constants."""
        return self.dialect.write_list([self.mark_text(each) for each in texts], sql_types.TEXT)

    # -- Kinds ------------------------------------------------------------------------------------------

    def cast_to(self, piece: TypedSql, to: SqlType) -> TypedSql:
        """Cast an expression to another type; engines do not all convert alike by themselves."""
        have, want = piece.sql_type.family, to.family
        if have is want or want is TypeFamily.NULL:
            return piece
        if have is TypeFamily.NULL:
            wanted = self.dialect.list_type(to) if to.is_list else self.dialect.types[want]
            return TypedSql(text=f"CAST({piece.text} AS {wanted})", sql_type=to)
        if have is TypeFamily.ENUM:
            return self.cast_to(TypedSql(text=piece.text, sql_type=sql_types.TEXT), to)
        if want is TypeFamily.DOUBLE and piece.constant is not None:
            number = sql_marks.remove_marks(piece.text).strip("()")
            return TypedSql(text=self.dialect.write_double(number), sql_type=to, constant=piece.constant)
        text = self.dialect.write_cast(piece, to, is_32_bit=False)
        return _mark_typed_sql(TypedSql(text=text, sql_type=to, constant=piece.constant))

    def align_types(self, pieces: Sequence[TypedSql]) -> tuple[list[TypedSql], SqlType]:
        """Cast all expressions to their common type; return them and the type."""
        kind = sql_types.find_common_type([piece.sql_type for piece in pieces])
        if kind is None:
            raise_unsupported(self.dialect.name, "a comparison of different types")
        return [self.cast_to(piece, kind) for piece in pieces], kind

    def cast_to_boolean(self, piece: TypedSql) -> TypedSql:
        return self.cast_to(piece, sql_types.BOOLEAN)

    def write_sort_value(self, piece: TypedSql) -> str:
        """Write a value that sorts as the expression does in DuckDB."""
        if piece.sql_type.family is TypeFamily.ENUM:
            return self.dialect.write_list_position(self.write_text_list(piece.sql_type.values), piece)
        return piece.text


def _mark_typed_sql(piece: TypedSql) -> TypedSql:
    return replace(piece, text=sql_marks.mark_expression(piece.text))


def to_double_type(kind: SqlType) -> SqlType:
    """Return the floating-point type of numbers that had this type."""
    if kind.family is TypeFamily.DOUBLE or not kind.is_numeric:
        return kind if kind.family is TypeFamily.DOUBLE else sql_types.DOUBLE
    return sql_types.make_double_type(kind.least, kind.largest)


OperatorWriter = Callable[[ExpressionWriter, Any, Scope], TypedSql]
OperatorWriters = Mapping[type[Node], OperatorWriter]
FunctionWriter = Callable[[ExpressionWriter, list[TypedSql]], TypedSql]
"""Writes a function call from its arguments, which are written already."""
FunctionWriters = dict[str, FunctionWriter]
