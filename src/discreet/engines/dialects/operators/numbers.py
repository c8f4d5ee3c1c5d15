"""Writers of arithmetic and rounding; floating-point operations never raise."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.dialect import Dialect, unsupported
from discreet.engines.dialects.expressions import Calls, Expressions, Writers, floats
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.operators.bits import require_whole
from discreet.engines.dialects.scope import Scope

ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


def negative(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.write(node.this, scope)
    return Piece(text=f"(-{piece.text})", kind=piece.kind, constant=piece.constant)


def arithmetic(writer: Expressions, node: Any, scope: Scope) -> Piece:
    operator = ARITHMETIC[type(node)]
    left, right = writer.all([node.left, node.right], scope)
    if right.kind.family is Family.INTERVAL:
        return Piece(text=f"({left.text} + {right.text})", kind=kinds.TIMESTAMP)
    if left.kind.family is Family.DATE:
        return Piece(text=f"({left.text} + {right.text})", kind=kinds.DATE)
    if Family.DOUBLE in (left.kind.family, right.kind.family):
        return _floating(writer, operator, left, right)
    parts, kind = writer.aligned([left, right])
    text = f"({_in_64_bits(writer, parts[0])} {operator} {parts[1].text})"
    if kind.family is Family.WIDE:
        text = f"CAST({text} AS {writer.dialect.types[Family.WIDE]})"
    return Piece(text=text, kind=_combined(kind.family, operator, left.kind, right.kind))


def divided(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write a division, always in floating point."""
    left, right = writer.all([node.left, node.right], scope)
    return _floating(writer, "/", left, right)


def quotient(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write an integer division by a constant or by GREATEST of a positive one, never by 0."""
    left, right = writer.all([node.left, node.right], scope)
    require_whole(writer, [left, right])
    least = writer.write(node.right.this, scope).constant if isinstance(node.right, exp.Greatest) else None
    if not right.constant and not (least and least > 0):
        unsupported(writer.dialect.name, "integer division by a number that may be 0")
    return Piece(text=writer.dialect.quotient(left, right), kind=kinds.INTEGER)


def _floating(writer: Expressions, operator: str, left: Piece, right: Piece) -> Piece:
    left, right = (writer.as_kind(each, floats(each.kind)) for each in (left, right))
    kind = _combined(Family.DOUBLE, operator, left.kind, right.kind)
    if operator == "/" and not right.constant:
        kind = kinds.DOUBLE
    if _is_safe(operator, left, right, kind):
        return Piece(text=f"({left.text} {operator} {right.text})", kind=kind)
    return Piece(text=f"({writer.dialect.computed(operator, left, right)})", kind=kinds.DOUBLE)


def remainder(writer: Expressions, node: Any, scope: Scope) -> Piece:
    (left, right), kind = writer.aligned(writer.all([node.left, node.right], scope))
    if kind.family is Family.DOUBLE:
        return Piece(text=writer.dialect.remainder(left, right), kind=kinds.DOUBLE)
    return Piece(text=f"({left.text} % {right.text})", kind=kind)


def absolute(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.write(node.this, scope)
    return Piece(text=f"abs({_in_64_bits(writer, piece)})", kind=piece.kind)


def _in_64_bits(writer: Expressions, piece: Piece) -> str:
    """Cast an integer to 64 bits: sums and products of 32-bit constants and columns may overflow."""
    if piece.kind.family is not Family.INTEGER:
        return piece.text
    return f"CAST({piece.text} AS {writer.dialect.types[Family.INTEGER]})"


def exponential(writer: Expressions, node: Any, scope: Scope) -> Piece:
    piece = writer.write(node.this, scope)
    return Piece(
        text=writer.dialect.exponential(writer.as_kind(piece, floats(piece.kind))), kind=kinds.DOUBLE
    )


def rounded(writer: Expressions, node: Any, scope: Scope) -> Piece:
    name = {exp.Round: "round", exp.Floor: "floor", exp.Ceil: "ceil", exp.Trunc: "trunc"}[type(node)]
    piece = writer.write(node.this, scope)
    piece = writer.as_kind(piece, floats(piece.kind))
    digits = node.args.get("decimals")
    if digits is None:
        return _rounded(writer, name, piece)
    return _to_digits(writer, piece, int(digits.sql()))


def _rounded(writer: Expressions, name: str, piece: Piece) -> Piece:
    kind = kinds.double(1, max(1.0, piece.kind.largest * 2))
    return Piece(text=writer.dialect.rounded(name, piece), kind=kind)


def _to_digits(writer: Expressions, piece: Piece, digits: int) -> Piece:
    """Round as DuckDB does: if scaling overflows, the number is unchanged, or 0 for negative digits."""
    if abs(digits) > 300:
        unsupported(writer.dialect.name, f"rounding to {digits} digits")
    power = _number(writer.dialect, 10.0 ** abs(digits))
    there, back = ("*", "/") if digits >= 0 else ("/", "*")

    def multiple(of: Piece) -> Piece:
        scaled = _rounded(writer, "round", _floating(writer, there, of, power))
        return _floating(writer, back, scaled, power)

    def kept(found: str, number: str) -> str:
        finite = f"({writer.dialect.is_finite(Piece(text=found, kind=kinds.DOUBLE))})"
        whole = number if digits >= 0 else writer.dialect.floating("0")
        return f"(CASE WHEN {finite} THEN {found} WHEN {found} IS NOT NULL THEN {whole} END)"

    def from_number(x: str) -> str:
        return writer.dialect.bind(kept, multiple(replace(piece, text=x)).text, x)

    found = multiple(piece)
    if found.kind.moderate:
        return found
    return Piece(text=writer.dialect.bind(from_number, piece.text), kind=kinds.DOUBLE)


def to_even(writer: Expressions, pieces: list[Piece]) -> Piece:
    return _rounded(writer, "round_even", writer.as_kind(pieces[0], floats(pieces[0].kind)))


def finite(writer: Expressions, pieces: list[Piece]) -> Piece:
    of = writer.as_kind(pieces[0], floats(pieces[0].kind))
    return Piece(text=f"({writer.dialect.is_finite(of)})", kind=kinds.BOOLEAN)


def not_a_number(writer: Expressions, pieces: list[Piece]) -> Piece:
    of = writer.as_kind(pieces[0], floats(pieces[0].kind))
    return Piece(text=f"({writer.dialect.is_nan(of)})", kind=kinds.BOOLEAN)


def is_nan(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return not_a_number(writer, [writer.write(node.this, scope)])


def _combined(family: Family, operator: str, left: Kind, right: Kind) -> Kind:
    """Return the type of a result; for floating point and exact products, with its magnitude."""
    if family is Family.DECIMAL and operator == "*":
        return Kind(family=family, least=left.least * right.least, largest=left.largest * right.largest)
    if family is not Family.DOUBLE:
        return kinds.of(family)
    if operator == "*":
        return kinds.double(left.least * right.least, left.largest * right.largest)
    if operator == "/":
        largest = left.largest / right.least if right.least else inf
        return kinds.double(left.least / (right.largest or 1), largest)
    return kinds.double(min(left.least, right.least) * 2.0**-53, left.largest + right.largest)


def _is_safe(operator: str, left: Piece, right: Piece, kind: Kind) -> bool:
    """Return whether no engine can raise: no overflow, no underflow, no division by 0."""
    if operator == "/":
        return bool(right.constant) and left.kind.moderate and kind.moderate
    if operator == "*":
        return left.kind.moderate and right.kind.moderate and kind.moderate
    return kind.largest <= kinds.HUGE or 0 in (left.constant, right.constant)


def _number(dialect: Dialect, value: float) -> Piece:
    return Piece(text=dialect.floating(repr(value)), kind=kinds.double(value, value), constant=value)


WRITERS: Writers = {
    exp.Neg: negative,
    **dict.fromkeys(ARITHMETIC, arithmetic),
    exp.Div: divided,
    exp.IntDiv: quotient,
    exp.Mod: remainder,
    exp.Abs: absolute,
    exp.Exp: exponential,
    **dict.fromkeys((exp.Round, exp.Floor, exp.Ceil, exp.Trunc), rounded),
    exp.IsNan: is_nan,
}
CALLS: Calls = {"round_even": to_even, "isfinite": finite, "isnan": not_a_number}
