"""Writers of text functions."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import CASE_INSENSITIVE_PREFIX, raise_unsupported
from discreet.engines.dialects.expression_writer import ExpressionWriter, Node, OperatorWriters, Scope
from discreet.engines.dialects.sql_types import TypedSql, TypeFamily

INT32_END = 1 << 31


def write_case_change(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    text = _write_as_text(writer, node.this, scope)
    written = (
        writer.dialect.write_lower(text) if isinstance(node, exp.Lower) else writer.dialect.write_upper(text)
    )
    return TypedSql(text=written, sql_type=sql_types.TEXT)


def write_trim(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(text=f"trim({_write_as_text(writer, node.this, scope).text})", sql_type=sql_types.TEXT)


def write_length(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    text = f"length({_write_as_text(writer, node.this, scope).text})"
    return TypedSql(
        text=f"CAST({text} AS {writer.dialect.types[TypeFamily.INTEGER]})", sql_type=sql_types.INTEGER
    )


def write_substring(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write substring: a negative start counts from the end, a negative length goes backwards."""
    text = _write_as_text(writer, node.this, scope)
    start, length = node.args["start"], node.args.get("length")
    places = [writer.write(each, scope) for each in (start, length) if each is not None]
    whole = writer.dialect.types[TypeFamily.INTEGER]
    narrow = "INTEGER" if whole.upper() == "BIGINT" else whole

    def write_slice(text: str, start: str, length: str = "") -> str:
        size = f"length({text})"
        first = f"(CASE WHEN {start} > 0 THEN {start} - 1 WHEN {start} < 0 THEN {size} + {start} ELSE -1 END)"
        end = f"({first} + {length})" if length else size
        begin = f"greatest(0, least({first}, {end}))" if length else f"greatest(0, {first})"
        last = f"least({size}, greatest({first}, {end}))" if length else size
        known = f"{start} IS NOT NULL" + (f" AND {length} IS NOT NULL" if length else "")
        part = (
            f"substr({text}, CAST(least({begin}, {INT32_END - 2}) + 1 AS {narrow}), "
            f"CAST(greatest(0, {last} - {begin}) AS {narrow}))"
        )
        return f"(CASE WHEN {known} THEN {part} END)"

    return TypedSql(
        text=writer.dialect.bind(write_slice, text.text, *(place.text for place in places)),
        sql_type=sql_types.TEXT,
    )


def write_full_match(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write a full match of a constant pattern, of the kind that every engine reads alike."""
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise_unsupported(writer.dialect.name, "a pattern that is not a constant")
    said = str(pattern.this)
    text = _write_as_text(writer, node.this, scope)
    written = writer.dialect.write_full_match(
        text, writer.mark_text(said), ignores_case=said.startswith(CASE_INSENSITIVE_PREFIX)
    )
    return TypedSql(text=written, sql_type=sql_types.BOOLEAN)


def _write_as_text(writer: ExpressionWriter, node: Node, scope: Scope) -> TypedSql:
    return writer.cast_to(writer.write(node, scope), sql_types.TEXT)


WRITERS: OperatorWriters = {
    exp.Lower: write_case_change,
    exp.Upper: write_case_change,
    exp.Trim: write_trim,
    exp.Length: write_length,
    exp.Substring: write_substring,
    exp.RegexpFullMatch: write_full_match,
}
