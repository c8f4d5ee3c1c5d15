"""Writers of comparisons, conditions, and choices between values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import raise_unsupported
from discreet.engines.dialects.sql_marks import are_short
from discreet.engines.dialects.sql_types import TypedSql, TypeFamily

if TYPE_CHECKING:
    from discreet.engines.dialects.expression_writer import (
        ExpressionWriter,
        FunctionWriters,
        Node,
        OperatorWriters,
        Scope,
    )

ORDER_OPERATORS = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
EQUALITY_OPERATORS = {exp.EQ: "=", exp.NEQ: "<>"}
CONSTANTS = (exp.Literal, exp.Boolean, exp.Null)


def write_comparison(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    left, right = writer.write_all([node.left, node.right], scope)
    if type(node) in ORDER_OPERATORS and left.sql_type == right.sql_type:
        texts = [writer.write_sort_value(left), writer.write_sort_value(right)]
    else:
        texts = [piece.text for piece in writer.align_types([left, right])[0]]
    operator = (ORDER_OPERATORS | EQUALITY_OPERATORS)[type(node)]
    return TypedSql(text=f"({texts[0]} {operator} {texts[1]})", sql_type=sql_types.BOOLEAN)


def write_between(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    nodes = [node.this, node.args["low"], node.args["high"]]
    pieces, _ = writer.align_types(writer.write_all(nodes, scope))

    def write_comparison(of: str, low: str, high: str) -> str:
        return f"({of} BETWEEN {low} AND {high})"

    return TypedSql(text=_bind_first(writer, write_comparison, nodes, pieces), sql_type=sql_types.BOOLEAN)


def write_in(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    nodes = [node.this, *node.expressions]
    pieces, _ = writer.align_types(writer.write_all(nodes, scope))

    def write_membership(of: str, *others: str) -> str:
        return f"({of} IN ({', '.join(others)}))"

    if all(isinstance(each, CONSTANTS) for each in node.expressions):
        return TypedSql(text=write_membership(*(piece.text for piece in pieces)), sql_type=sql_types.BOOLEAN)
    # PostgreSQL repeats the value for each item that is not a constant
    return TypedSql(text=_bind_first(writer, write_membership, nodes, pieces), sql_type=sql_types.BOOLEAN)


def _bind_first(
    writer: ExpressionWriter, form: Callable[..., str], nodes: Sequence[Node], pieces: Sequence[TypedSql]
) -> str:
    """Return a form whose first operand is bound, because engines evaluate it several times.

    The other operands, except constants, are bound with it: a lambda uses only its own names.
    """
    texts = [piece.text for piece in pieces]
    if are_short(texts[:1]):
        return form(*texts)
    places = [place for place, node in enumerate(nodes) if not isinstance(node, CONSTANTS)]

    def fill_form(*names: str) -> str:
        named = dict(zip(places, names, strict=True))
        return form(*(named.get(place, text) for place, text in enumerate(texts)))

    return writer.dialect.bind(fill_form, *(texts[place] for place in places))


def write_null_safe_equal(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    (left, right), _ = writer.align_types(writer.write_all([node.left, node.right], scope))
    return TypedSql(text=writer.dialect.write_null_safe_equal(left, right), sql_type=sql_types.BOOLEAN)


def write_join_condition(writer: ExpressionWriter, node: Node, scope: Scope) -> TypedSql:
    """Write the condition of a join, for which NULL is the same as false."""
    parts = (
        [_write_declared_match(writer, each, scope) for each in node.flatten()]
        if isinstance(node, exp.And)
        else []
    )
    if not parts:
        return writer.cast_to_boolean(_write_declared_match(writer, node, scope))
    return TypedSql(
        text=f"({' AND '.join(writer.cast_to_boolean(each).text for each in parts)})",
        sql_type=sql_types.BOOLEAN,
    )


def _write_declared_match(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write a join's comparison of deferred text with declared values, none of which is NULL, as =."""
    if isinstance(node, exp.NullSafeEQ):
        one, late = (writer.write_passthrough(each, scope) for each in (node.left, node.right))
        if (
            late.sql_type.deferred_column is not None
            and one.sql_type.is_never_null
            and one.sql_type.values == late.sql_type.values
        ):
            return TypedSql(text=f"({one.text} = {late.text})", sql_type=sql_types.BOOLEAN)
    return writer.write(node, scope)


def write_is_null(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    if not isinstance(node.expression, exp.Null):
        raise_unsupported(writer.dialect.name, "IS with anything but NULL")
    return TypedSql(text=f"({writer.write(node.this, scope).text} IS NULL)", sql_type=sql_types.BOOLEAN)


def write_and_or(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    word = "AND" if isinstance(node, exp.And) else "OR"
    parts = [writer.cast_to_boolean(each).text for each in writer.write_all(list(node.flatten()), scope)]
    return TypedSql(text=f"({f' {word} '.join(parts)})", sql_type=sql_types.BOOLEAN)


def write_not(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(
        text=f"(NOT {writer.cast_to_boolean(writer.write(node.this, scope)).text})",
        sql_type=sql_types.BOOLEAN,
    )


def write_case(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    arms = node.args["ifs"]
    whens, thens = [each.this for each in arms], [each.args["true"] for each in arms]
    thens.append(node.args.get("default") or exp.Null())
    values, kind = writer.align_types(writer.write_all(thens, scope))
    conditions = writer.write_all(whens, scope)
    if node.this is None:
        text = _write_cases(
            [writer.cast_to_boolean(each).text for each in conditions], [each.text for each in values]
        )
        return TypedSql(text=text, sql_type=kind)
    of = writer.write(node.this, scope)
    pairs = [writer.align_types([of, each]) for each in conditions]

    def write_comparisons(tested: str, *texts: str) -> str:
        tests = [
            f"({writer.cast_to(replace(of, text=tested), common).text} = {text})"
            for (_, common), text in zip(pairs, texts, strict=False)
        ]
        return _write_cases(tests, texts[len(pairs) :])

    others = [other for (_, other), _ in pairs]
    text = _bind_first(writer, write_comparisons, [node.this, *whens, *thens], [of, *others, *values])
    return TypedSql(text=text, sql_type=kind)


def _write_cases(conditions: Sequence[str], values: Sequence[str]) -> str:
    whens = " ".join(f"WHEN {when} THEN {then}" for when, then in zip(conditions, values, strict=False))
    return f"(CASE {whens} ELSE {values[-1]} END)"


def write_coalesce(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    pieces, kind = writer.align_types(writer.write_all([node.this, *node.expressions], scope))
    return TypedSql(text=f"coalesce({', '.join(piece.text for piece in pieces)})", sql_type=kind)


def write_least_greatest(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    name = "least" if isinstance(node, exp.Least) else "greatest"
    pieces, kind = writer.align_types(writer.write_all([node.this, *node.expressions], scope))
    if len(pieces) == 1:
        return pieces[0]
    if kind.family is TypeFamily.NULL:
        name = "coalesce"  # which every engine accepts for columns of no type
    if kind.family is TypeFamily.DOUBLE:
        kind = sql_types.make_double_type(kind.least, kind.largest)
    texts = ", ".join(map(writer.write_sort_value, pieces))
    found = f"{name}({texts})"
    if kind.family is TypeFamily.ENUM:
        found = writer.dialect.write_list_item(writer.write_text_list(kind.values), found)
    return TypedSql(text=found, sql_type=kind)


def write_nullif(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    (left, right), kind = writer.align_types(writer.write_all([node.this, node.expression], scope))
    return TypedSql(text=f"nullif({left.text}, {right.text})", sql_type=kind)


def write_like(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    text, pattern = (writer.cast_to(each, sql_types.TEXT) for each in pieces[:2])
    return TypedSql(text=writer.dialect.write_like(text, pattern), sql_type=sql_types.BOOLEAN)


WRITERS: OperatorWriters = {
    **dict.fromkeys((*ORDER_OPERATORS, *EQUALITY_OPERATORS), write_comparison),
    exp.Between: write_between,
    exp.In: write_in,
    exp.NullSafeEQ: write_null_safe_equal,
    exp.Is: write_is_null,
    exp.And: write_and_or,
    exp.Or: write_and_or,
    exp.Not: write_not,
    exp.Case: write_case,
    exp.Coalesce: write_coalesce,
    exp.Least: write_least_greatest,
    exp.Greatest: write_least_greatest,
    exp.Nullif: write_nullif,
}
CALLS: FunctionWriters = {"like_escape": write_like}
