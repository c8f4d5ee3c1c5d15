"""Writers of comparisons, conditions, and choices between values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.binding import are_short
from discreet.engines.dialects.dialect import unsupported
from discreet.engines.dialects.expressions import Calls, Expressions, Node, Writers
from discreet.engines.dialects.kinds import Family, Piece
from discreet.engines.dialects.scope import Scope

ORDERED = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
EQUAL = {exp.EQ: "=", exp.NEQ: "<>"}
CONSTANTS = (exp.Literal, exp.Boolean, exp.Null)


def compared(writer: Expressions, node: Any, scope: Scope) -> Piece:
    left, right = writer.all([node.left, node.right], scope)
    if type(node) in ORDERED and left.kind == right.kind:
        texts = [writer.comparable(left), writer.comparable(right)]
    else:
        texts = [piece.text for piece in writer.aligned([left, right])[0]]
    operator = (ORDERED | EQUAL)[type(node)]
    return Piece(text=f"({texts[0]} {operator} {texts[1]})", kind=kinds.BOOLEAN)


def between(writer: Expressions, node: Any, scope: Scope) -> Piece:
    nodes = [node.this, node.args["low"], node.args["high"]]
    pieces, _ = writer.aligned(writer.all(nodes, scope))

    def compared(of: str, low: str, high: str) -> str:
        return f"({of} BETWEEN {low} AND {high})"

    return Piece(text=_with_first_bound(writer, compared, nodes, pieces), kind=kinds.BOOLEAN)


def among(writer: Expressions, node: Any, scope: Scope) -> Piece:
    nodes = [node.this, *node.expressions]
    pieces, _ = writer.aligned(writer.all(nodes, scope))

    def found(of: str, *others: str) -> str:
        return f"({of} IN ({', '.join(others)}))"

    if all(isinstance(each, CONSTANTS) for each in node.expressions):
        return Piece(text=found(*(piece.text for piece in pieces)), kind=kinds.BOOLEAN)
    # PostgreSQL repeats the value for each item that is not a constant
    return Piece(text=_with_first_bound(writer, found, nodes, pieces), kind=kinds.BOOLEAN)


def _with_first_bound(
    writer: Expressions, form: Callable[..., str], nodes: Sequence[Node], pieces: Sequence[Piece]
) -> str:
    """Return a form whose first operand is bound, because engines evaluate it several times.

    The other operands, except constants, are bound with it: a lambda uses only its own names.
    """
    texts = [piece.text for piece in pieces]
    if are_short(texts[:1]):
        return form(*texts)
    places = [place for place, node in enumerate(nodes) if not isinstance(node, CONSTANTS)]

    def filled(*names: str) -> str:
        named = dict(zip(places, names, strict=True))
        return form(*(named.get(place, text) for place, text in enumerate(texts)))

    return writer.dialect.bind(filled, *(texts[place] for place in places))


def same(writer: Expressions, node: Any, scope: Scope) -> Piece:
    (left, right), _ = writer.aligned(writer.all([node.left, node.right], scope))
    return Piece(text=writer.dialect.same(left, right), kind=kinds.BOOLEAN)


def met(writer: Expressions, node: Node, scope: Scope) -> Piece:
    """Write the condition of a join, for which NULL is the same as false."""
    parts = [_declared(writer, each, scope) for each in node.flatten()] if isinstance(node, exp.And) else []
    if not parts:
        return writer.boolean(_declared(writer, node, scope))
    return Piece(text=f"({' AND '.join(writer.boolean(each).text for each in parts)})", kind=kinds.BOOLEAN)


def _declared(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write a join's comparison of deferred text with declared values, none of which is NULL, as =."""
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
    whens, thens = [each.this for each in arms], [each.args["true"] for each in arms]
    thens.append(node.args.get("default") or exp.Null())
    values, kind = writer.aligned(writer.all(thens, scope))
    conditions = writer.all(whens, scope)
    if node.this is None:
        text = _cases([writer.boolean(each).text for each in conditions], [each.text for each in values])
        return Piece(text=text, kind=kind)
    of = writer.write(node.this, scope)
    pairs = [writer.aligned([of, each]) for each in conditions]

    def compared(tested: str, *texts: str) -> str:
        tests = [
            f"({writer.as_kind(replace(of, text=tested), common).text} = {text})"
            for (_, common), text in zip(pairs, texts, strict=False)
        ]
        return _cases(tests, texts[len(pairs) :])

    others = [other for (_, other), _ in pairs]
    text = _with_first_bound(writer, compared, [node.this, *whens, *thens], [of, *others, *values])
    return Piece(text=text, kind=kind)


def _cases(conditions: Sequence[str], values: Sequence[str]) -> str:
    whens = " ".join(f"WHEN {when} THEN {then}" for when, then in zip(conditions, values, strict=False))
    return f"(CASE {whens} ELSE {values[-1]} END)"


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
