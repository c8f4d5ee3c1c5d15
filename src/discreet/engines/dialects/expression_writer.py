"""Expression writer: the expressions of our statements, with their types, written in a dialect.

Types are inferred from those of the columns, as in DuckDB, so that a dialect knows what it compares, converts
and rounds. A deferred column has no value yet: using its value raises `NotEncodedError`. `operators` lists
the writer of each node; the text is marked, so that it can be verified (`sql_marks`).

A scope resolves a name in a statement to a column and its type.

Deferred columns: how far a column that is not encoded yet can be passed on in a statement.

Rows        are passed on unchanged: selected, joined and filtered by encoded columns.
Groups      are those of the deferred text, not those of its value, which is NULL if the text is none of the
            declared values. There may be more of them. A join that looks up the groups of declared values,
            none of which is NULL, finds the same ones: a text equals the value where it is a declared one,
            and no join looks up the others, which would be NULL.
All else    needs the value, and is refused with `NotEncodedError`: then the column is read encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from discreet.core.errors import RequestError
from discreet.engines.dialects import sql_marks, sql_types
from discreet.engines.dialects.dialect import Dialect, raise_unsupported
from discreet.engines.dialects.sql_types import NotEncodedError, SqlType, TypedSql, TypeFamily

Columns = Mapping[str, SqlType]
Node = exp.Expr

TYPES = {
    exp.DType.BOOLEAN: sql_types.BOOLEAN,
    exp.DType.INT: sql_types.INTEGER,
    exp.DType.BIGINT: sql_types.INTEGER,
    exp.DType.INT128: sql_types.WIDE,
    exp.DType.DOUBLE: sql_types.DOUBLE,
    exp.DType.VARCHAR: sql_types.TEXT,
    exp.DType.TEXT: sql_types.TEXT,
    exp.DType.DATE: sql_types.DATE,
    exp.DType.TIMESTAMP: sql_types.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: sql_types.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: sql_types.ZONED,
}
"""The type of each type name in a statement."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The sources of one SELECT by alias, its named windows as text, and the bindings of a lambda."""

    sources: Mapping[str, Columns]
    windows: Mapping[str, str] = field(default_factory=dict)
    bindings: Mapping[str, TypedSql] = field(default_factory=dict)

    def find_column(self, name: str, alias: str) -> tuple[str, str, SqlType]:
        """Return alias, name and type of a column; as in DuckDB, case is ignored unless it decides."""
        sources = {alias: self._find_source(alias)} if alias else self.sources
        for same in (str, str.lower):
            hits = [
                (place, own, kind)
                for place, columns in sources.items()
                for own, kind in columns.items()
                if same(own) == same(name)
            ]
            if len(hits) == 1:
                return hits[0]
        raise RequestError(
            f"the column {name} of a statement matches no column of its sources, or several.",
            hint="Check the names of the policy's columns.",
        )

    def _find_source(self, alias: str) -> Columns:
        for place, columns in self.sources.items():
            if place.lower() == alias.lower():
                return columns
        raise RequestError(f"a statement names a source {alias} that it does not have.", hint="Report it.")

    def list_columns(self, alias: str = "") -> list[tuple[str, str, SqlType]]:
        """Return all columns, or those of one source, in order."""
        return [
            (place, name, kind)
            for place, columns in self.sources.items()
            if not alias or place.lower() == alias.lower()
            for name, kind in columns.items()
        ]


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

    # -- Types ------------------------------------------------------------------------------------------

    def parse_type(self, to: Any) -> SqlType:
        """Return the type that a type name in a statement denotes."""
        if to.this is exp.DType.ENUM:
            return SqlType(family=TypeFamily.ENUM, values=tuple(str(each.this) for each in to.expressions))
        if to.this in (exp.DType.ARRAY, exp.DType.LIST):
            inner = self.parse_type(to.expressions[0])
            return SqlType(family=inner.family, values=inner.values, is_list=True)
        if to.this is exp.DType.DECIMAL:
            return sql_types.make_decimal_type(*self.parse_decimal_digits(to))
        if to.this not in TYPES:
            raise_unsupported(self.dialect.name, f"the type {to.this.name}")
        return TYPES[to.this]

    @staticmethod
    def parse_decimal_digits(to: Any) -> tuple[int, int]:
        """Return the precision and scale of a DECIMAL; our statements always have both."""
        digits, places = (int(each.this.this) for each in to.expressions)
        return digits, places

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
        constant = piece.get_constant_after_cast(to)
        return _mark_typed_sql(TypedSql(text=text, sql_type=to, constant=constant))

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


OperatorWriter = Callable[[ExpressionWriter, Any, Scope], TypedSql]
OperatorWriters = Mapping[type[Node], OperatorWriter]
FunctionWriter = Callable[[ExpressionWriter, list[TypedSql]], TypedSql]
"""Writes a function call from its arguments, which are written already."""
FunctionWriters = dict[str, FunctionWriter]


ROW_CLAUSES = {"expressions", "from_", "joins", "where"}
GROUP_CLAUSES = ROW_CLAUSES | {"group"}


def require_encoded(
    select: Any, outputs: Sequence[tuple[str, TypedSql]], joined: frozenset[str] | None
) -> None:
    """Refuse a deferred column that leaves a SELECT as if it were a value.

    `joined` are the columns by which a join looks up the groups of a source; None if the SELECT is no source.
    """
    clauses = {name for name, value in select.args.items() if value}
    if joined is not None and clauses <= ROW_CLAUSES:
        return
    looked_for = joined if joined is not None and clauses <= GROUP_CLAUSES else frozenset()
    for name, piece in outputs:
        if piece.sql_type.deferred_column is not None and name not in looked_for:
            raise NotEncodedError(piece.sql_type.deferred_column)


def find_join_columns(join: Any) -> frozenset[str]:
    """Return the columns of a join's source that it compares by null-safe equality, all joined by AND."""
    on, alias = join.args.get("on"), join.this.alias_or_name
    parts = on.flatten() if isinstance(on, exp.And) else [on]
    keys = [part.expression for part in parts if isinstance(part, exp.NullSafeEQ)]
    return frozenset(key.name for key in keys if isinstance(key, exp.Column) and key.table == alias)
