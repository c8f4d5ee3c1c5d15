"""Comparisons, conditions, and choices between values."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.dialect import unsupported
from discreet.engines.dialects.expressions import Calls, Expressions, Node, Writers
from discreet.engines.dialects.kinds import Family, Piece
from discreet.engines.dialects.scope import Scope

ORDERED = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
EQUAL = {exp.EQ: "=", exp.NEQ: "<>"}


def compared(writer: Expressions, node: Any, scope: Scope) -> Piece:
    left, right = writer.all([node.left, node.right], scope)
    if type(node) in ORDERED and left.kind == right.kind:
        texts = [writer.comparable(left), writer.comparable(right)]
    else:
        texts = [piece.text for piece in writer.aligned([left, right])[0]]
    operator = (ORDERED | EQUAL)[type(node)]
    return Piece(text=f"({texts[0]} {operator} {texts[1]})", kind=kinds.BOOLEAN)


def between(writer: Expressions, node: Any, scope: Scope) -> Piece:
    (of, low, high), _ = writer.aligned(writer.all([node.this, node.args["low"], node.args["high"]], scope))
    return Piece(text=f"({of.text} BETWEEN {low.text} AND {high.text})", kind=kinds.BOOLEAN)


def among(writer: Expressions, node: Any, scope: Scope) -> Piece:
    pieces, _ = writer.aligned(writer.all([node.this, *node.expressions], scope))
    others = ", ".join(piece.text for piece in pieces[1:])
    return Piece(text=f"({pieces[0].text} IN ({others}))", kind=kinds.BOOLEAN)


def same(writer: Expressions, node: Any, scope: Scope) -> Piece:
    (left, right), _ = writer.aligned(writer.all([node.left, node.right], scope))
    return Piece(text=writer.dialect.same(left, right), kind=kinds.BOOLEAN)


def met(writer: Expressions, node: Node, scope: Scope) -> Piece:
    """A condition of which only matters whether it is true, as that of a join."""
    parts = [_declared(writer, each, scope) for each in node.flatten()] if isinstance(node, exp.And) else []
    if not parts:
        return writer.boolean(_declared(writer, node, scope))
    return Piece(text=f"({' AND '.join(writer.boolean(each).text for each in parts)})", kind=kinds.BOOLEAN)


def _declared(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Late text that is the same as one of the values, all of which are known, is that value."""
    if isinstance(node, exp.NullSafeEQ):
        one, late = (writer.passed(each, scope) for each in (node.left, node.right))
        if late.kind.late is not None and one.kind.known and one.kind.values == late.kind.values:
            return Piece(text=f"({one.text} = {late.text})", kind=kinds.BOOLEAN)
    return writer.write(node, scope)


def is_null(writer: Expressions, node: Any, scope: Scope) -> Piece:
    if not isinstance(node.expression, exp.Null):
        unsupported(writer.dialect.name, "IS with anything but NULL")
    return Piece(text=f"({writer.write(node.this, scope).text} IS NULL)", kind=kinds.BOOLEAN)


def joined(writer: Expressions, node: Any, scope: Scope) -> Piece:
    word = "AND" if isinstance(node, exp.And) else "OR"
    parts = [writer.boolean(each).text for each in writer.all(list(node.flatten()), scope)]
    return Piece(text=f"({f' {word} '.join(parts)})", kind=kinds.BOOLEAN)


def negated(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return Piece(text=f"(NOT {writer.boolean(writer.write(node.this, scope)).text})", kind=kinds.BOOLEAN)


def case(writer: Expressions, node: Any, scope: Scope) -> Piece:
    arms = node.args["ifs"]
    conditions = [_condition(writer, node.this, each.this, scope) for each in arms]
    default = node.args.get("default") or exp.Null()
    values, kind = writer.aligned(writer.all([*(each.args["true"] for each in arms), default], scope))
    whens = " ".join(
        f"WHEN {condition} THEN {value.text}"
        for condition, value in zip(conditions, values[:-1], strict=True)
    )
    return Piece(text=f"(CASE {whens} ELSE {values[-1].text} END)", kind=kind)


def _condition(writer: Expressions, of: Node | None, node: Node, scope: Scope) -> str:
    if of is None:
        return writer.boolean(writer.write(node, scope)).text
    return compared(writer, exp.EQ(this=of.copy(), expression=node.copy()), scope).text


def first_known(writer: Expressions, node: Any, scope: Scope) -> Piece:
    pieces, kind = writer.aligned(writer.all([node.this, *node.expressions], scope))
    if kind.family is Family.NULL:
        return Piece(text="NULL", kind=kind)
    return Piece(text=f"coalesce({', '.join(piece.text for piece in pieces)})", kind=kind)


def extreme(writer: Expressions, node: Any, scope: Scope) -> Piece:
    name = "least" if isinstance(node, exp.Least) else "greatest"
    pieces, kind = writer.aligned(writer.all([node.this, *node.expressions], scope))
    if kind.family is Family.NULL or len(pieces) == 1:
        return pieces[0]
    if kind.family is Family.DOUBLE:
        kind = kinds.double(kind.least, kind.largest)
    texts = ", ".join(map(writer.comparable, pieces))
    found = f"{name}({texts})"
    if kind.family is Family.ENUM:
        found = writer.dialect.at(writer.texts(kind.values), found)
    return Piece(text=found, kind=kind)


def nullif(writer: Expressions, node: Any, scope: Scope) -> Piece:
    (left, right), kind = writer.aligned(writer.all([node.this, node.expression], scope))
    return Piece(text=f"nullif({left.text}, {right.text})", kind=kind)


def like(writer: Expressions, pieces: list[Piece]) -> Piece:
    text, pattern = (writer.as_kind(each, kinds.TEXT) for each in pieces[:2])
    return Piece(text=writer.dialect.like(text, pattern), kind=kinds.BOOLEAN)


WRITERS: Writers = {
    **dict.fromkeys((*ORDERED, *EQUAL), compared),
    exp.Between: between,
    exp.In: among,
    exp.NullSafeEQ: same,
    exp.Is: is_null,
    exp.And: joined,
    exp.Or: joined,
    exp.Not: negated,
    exp.Case: case,
    exp.Coalesce: first_known,
    exp.Least: extreme,
    exp.Greatest: extreme,
    exp.Nullif: nullif,
}
CALLS: Calls = {"like_escape": like}
