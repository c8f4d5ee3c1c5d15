"""Writers of functions of one row's values: texts, dates and times, and lists and the rows made from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import CASE_INSENSITIVE_PREFIX, raise_unsupported
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily

if TYPE_CHECKING:
    from discreet.engines.dialects.expression_writer import (
        ExpressionWriter,
        FunctionWriters,
        Node,
        OperatorWriters,
        Scope,
    )

INT32_END = 1 << 31


# -- Texts --------------------------------------------------------------------------------------------------


def write_case_change(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    text = _write_as_text(writer, node.this, scope)
    written = (
        writer.dialect.write_lower(text) if isinstance(node, exp.Lower) else writer.dialect.write_upper(text)
    )
    return TypedSql(text=written, sql_type=sql_types.TEXT)


def write_trim(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(text=f"trim({_write_as_text(writer, node.this, scope).text})", sql_type=sql_types.TEXT)


def write_contains(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    text, part = (_write_as_text(writer, each, scope).text for each in (node.this, node.expression))
    return TypedSql(text=f"(position({part} IN {text}) > 0)", sql_type=sql_types.BOOLEAN)


def write_suffix_test(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    text, ending = (writer.cast_to(each, sql_types.TEXT).text for each in pieces)
    return TypedSql(text=f"(right({text}, length({ending})) = {ending})", sql_type=sql_types.BOOLEAN)


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


# -- Dates and times ----------------------------------------------------------------------------------------


def write_date_trunc(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    unit = str(node.args["unit"].name).lower()
    moment = (
        piece if piece.sql_type.family is TypeFamily.TIMESTAMP else writer.cast_to(piece, sql_types.TIMESTAMP)
    )
    return TypedSql(text=writer.dialect.write_date_trunc(unit, moment), sql_type=sql_types.TIMESTAMP)


def write_interval(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    number, unit = int(node.this.name), node.args["unit"].name.upper()
    if unit == "WEEK":
        number, unit = 7 * number, "DAY"
    text = f"INTERVAL '{number}' {unit}"
    return TypedSql(text=text, sql_type=sql_types.INTERVAL)


def write_date_part(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    name, of = node.expressions
    moment = writer.write(of, scope)
    return TypedSql(text=writer.dialect.write_date_part(str(name.this), moment), sql_type=sql_types.INTEGER)


def write_time_range(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write a range of times as a list, each converted to the target type."""
    span, to = node.this, writer.parse_type(node.expression.this.to)
    parts = [span.args["start"], span.args["end"], span.args["step"]]
    first, end, step = (writer.write(each, scope) for each in parts)
    first, end = (writer.cast_to(each, sql_types.TIMESTAMP) for each in (first, end))
    text = writer.dialect.write_time_range(first.text, end.text, step.text, to)
    return TypedSql(text=text, sql_type=SqlType(family=to.family, is_list=True))


# -- Lists --------------------------------------------------------------------------------------------------


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

    def write_body(*texts: str) -> str:
        named = {
            name: replace(piece, text=text) for (name, piece), text in zip(pieces.items(), texts, strict=True)
        }
        found.append(writer.write(made.expression.this, replace(scope, bindings=named)))
        return found[-1].text

    text = writer.dialect.bind(write_body, *(piece.text for piece in pieces.values()))
    return replace(found[-1], text=text)


def write_bound_name(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write a name that a lambda binds, or a field of it."""
    said = node.expression.name if isinstance(node, exp.Dot) else node.name
    if said not in scope.bindings:
        raise_unsupported(writer.dialect.name, f"the name {said}")
    return scope.bindings[said]


WRITERS: OperatorWriters = {
    exp.Lower: write_case_change,
    exp.Upper: write_case_change,
    exp.Trim: write_trim,
    exp.Contains: write_contains,
    exp.Length: write_length,
    exp.Substring: write_substring,
    exp.RegexpFullMatch: write_full_match,
    exp.TimestampTrunc: write_date_trunc,
    exp.DateTrunc: write_date_trunc,
    exp.Interval: write_interval,
    exp.Transform: write_time_range,
    exp.Bracket: write_bound_expression,
    exp.Identifier: write_bound_name,
    exp.Dot: write_bound_name,
    exp.Array: write_array,
    exp.ArraySize: write_array_size,
    exp.GenerateSeries: write_range,
    exp.ArrayAppend: write_append,
    exp.Explode: write_unnest,
}
CALLS: FunctionWriters = {"suffix": write_suffix_test}
