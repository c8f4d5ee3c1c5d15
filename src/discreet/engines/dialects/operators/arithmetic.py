"""Writers of arithmetic, rounding and bitwise functions; floating-point operations never raise."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import Dialect, raise_unsupported
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily, to_double_type

if TYPE_CHECKING:
    from discreet.engines.dialects.expression_writer import (
        ExpressionWriter,
        FunctionWriters,
        OperatorWriters,
        Scope,
    )


def write_shift(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    left, right = writer.write_all([node.left, node.right], scope)
    if left.sql_type.family is TypeFamily.PERSON:
        return left  # drops a bit only in DuckDB, to fit a signed integer
    require_integers(writer, [left, right])
    direction = "<<" if isinstance(node, exp.BitwiseLeftShift) else ">>"
    return TypedSql(text=writer.dialect.write_shift(direction, left, right), sql_type=sql_types.INTEGER)


def write_bitwise_and(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    pieces = writer.write_all([node.left, node.right], scope)
    require_integers(writer, pieces)
    return TypedSql(text=f"({pieces[0].text} & {pieces[1].text})", sql_type=sql_types.INTEGER)


def require_integers(writer: ExpressionWriter, pieces: list[TypedSql]) -> None:
    if any(piece.sql_type.family is not TypeFamily.INTEGER for piece in pieces):
        raise_unsupported(writer.dialect.name, "integer division or a bitwise function of non-integers")


def write_bitwise_or_aggregate(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return TypedSql(
        text=writer.dialect.write_bit_or(writer.write(node.this, scope)), sql_type=sql_types.INTEGER
    )


def write_bit_count(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    return TypedSql(text=writer.dialect.write_bit_count(pieces[0]), sql_type=sql_types.INTEGER)


ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


def write_negation(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    return TypedSql(text=f"(-{piece.text})", sql_type=piece.sql_type, constant=piece.constant)


def write_arithmetic(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    operator = ARITHMETIC[type(node)]
    left, right = writer.write_all([node.left, node.right], scope)
    if right.sql_type.family is TypeFamily.INTERVAL:
        return TypedSql(text=f"({left.text} + {right.text})", sql_type=sql_types.TIMESTAMP)
    if left.sql_type.family is TypeFamily.DATE:
        return TypedSql(text=f"({left.text} + {right.text})", sql_type=sql_types.DATE)
    if TypeFamily.DOUBLE in (left.sql_type.family, right.sql_type.family):
        return _write_float_arithmetic(writer, operator, left, right)
    parts, kind = writer.align_types([left, right])
    text = f"({_cast_to_64_bits(writer, parts[0])} {operator} {parts[1].text})"
    if kind.family is TypeFamily.WIDE:
        text = f"CAST({text} AS {writer.dialect.types[TypeFamily.WIDE]})"
    return TypedSql(
        text=text, sql_type=_combine_magnitudes(kind.family, operator, left.sql_type, right.sql_type)
    )


def write_division(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write a division, always in floating point."""
    left, right = writer.write_all([node.left, node.right], scope)
    return _write_float_arithmetic(writer, "/", left, right)


def write_integer_division(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    """Write an integer division by a constant or by GREATEST of a positive one, never by 0."""
    left, right = writer.write_all([node.left, node.right], scope)
    require_integers(writer, [left, right])
    least = writer.write(node.right.this, scope).constant if isinstance(node.right, exp.Greatest) else None
    if not right.constant and not (least and least > 0):
        raise_unsupported(writer.dialect.name, "integer division by a number that may be 0")
    return TypedSql(text=writer.dialect.write_integer_quotient(left, right), sql_type=sql_types.INTEGER)


def _write_float_arithmetic(
    writer: ExpressionWriter, operator: str, left: TypedSql, right: TypedSql
) -> TypedSql:
    left, right = (writer.cast_to(each, to_double_type(each.sql_type)) for each in (left, right))
    kind = _combine_magnitudes(TypeFamily.DOUBLE, operator, left.sql_type, right.sql_type)
    if operator == "/" and not right.constant:
        kind = sql_types.DOUBLE
    if _is_safe(operator, left, right, kind):
        return TypedSql(text=f"({left.text} {operator} {right.text})", sql_type=kind)
    return TypedSql(
        text=f"({writer.dialect.write_float_arithmetic(operator, left, right)})", sql_type=sql_types.DOUBLE
    )


def write_modulo(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    (left, right), kind = writer.align_types(writer.write_all([node.left, node.right], scope))
    if kind.family is TypeFamily.DOUBLE:
        return TypedSql(text=writer.dialect.write_remainder(left, right), sql_type=sql_types.DOUBLE)
    return TypedSql(text=f"({left.text} % {right.text})", sql_type=kind)


def write_abs(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    return TypedSql(text=f"abs({_cast_to_64_bits(writer, piece)})", sql_type=piece.sql_type)


def _cast_to_64_bits(writer: ExpressionWriter, piece: TypedSql) -> str:
    """Cast an integer to 64 bits: sums and products of 32-bit constants and columns may overflow."""
    if piece.sql_type.family is not TypeFamily.INTEGER:
        return piece.text
    return f"CAST({piece.text} AS {writer.dialect.types[TypeFamily.INTEGER]})"


def write_exp(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    piece = writer.write(node.this, scope)
    return TypedSql(
        text=writer.dialect.write_exp(writer.cast_to(piece, to_double_type(piece.sql_type))),
        sql_type=sql_types.DOUBLE,
    )


def write_rounding(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    name = {exp.Round: "round", exp.Floor: "floor", exp.Ceil: "ceil", exp.Trunc: "trunc"}[type(node)]
    piece = writer.write(node.this, scope)
    piece = writer.cast_to(piece, to_double_type(piece.sql_type))
    digits = node.args.get("decimals")
    if digits is None:
        return _round_to_integer(writer, name, piece)
    return _round_to_digits(writer, piece, int(digits.sql()))


def _round_to_integer(writer: ExpressionWriter, name: str, piece: TypedSql) -> TypedSql:
    kind = sql_types.make_double_type(1, max(1.0, piece.sql_type.largest * 2))
    return TypedSql(text=writer.dialect.write_rounding(name, piece), sql_type=kind)


def _round_to_digits(writer: ExpressionWriter, piece: TypedSql, digits: int) -> TypedSql:
    """Round as DuckDB does: if scaling overflows, the number is unchanged, or 0 for negative digits."""
    if abs(digits) > 300:
        raise_unsupported(writer.dialect.name, f"rounding to {digits} digits")
    power = _make_double_constant(writer.dialect, 10.0 ** abs(digits))
    there, back = ("*", "/") if digits >= 0 else ("/", "*")

    def write_multiple(of: TypedSql) -> TypedSql:
        scaled = _round_to_integer(writer, "round", _write_float_arithmetic(writer, there, of, power))
        return _write_float_arithmetic(writer, back, scaled, power)

    def replace_non_finite(found: str, number: str) -> str:
        finite = f"({writer.dialect.write_is_finite(TypedSql(text=found, sql_type=sql_types.DOUBLE))})"
        whole = number if digits >= 0 else writer.dialect.write_double("0")
        return f"(CASE WHEN {finite} THEN {found} WHEN {found} IS NOT NULL THEN {whole} END)"

    def from_number(x: str) -> str:
        return writer.dialect.bind(replace_non_finite, write_multiple(replace(piece, text=x)).text, x)

    found = write_multiple(piece)
    if found.sql_type.has_moderate_magnitude:
        return found
    return TypedSql(text=writer.dialect.bind(from_number, piece.text), sql_type=sql_types.DOUBLE)


def write_round_half_even(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    return _round_to_integer(
        writer, "round_even", writer.cast_to(pieces[0], to_double_type(pieces[0].sql_type))
    )


def write_is_finite(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    of = writer.cast_to(pieces[0], to_double_type(pieces[0].sql_type))
    return TypedSql(text=f"({writer.dialect.write_is_finite(of)})", sql_type=sql_types.BOOLEAN)


def write_is_nan(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    of = writer.cast_to(pieces[0], to_double_type(pieces[0].sql_type))
    return TypedSql(text=f"({writer.dialect.write_is_nan(of)})", sql_type=sql_types.BOOLEAN)


def write_is_nan_node(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    return write_is_nan(writer, [writer.write(node.this, scope)])


def _combine_magnitudes(family: TypeFamily, operator: str, left: SqlType, right: SqlType) -> SqlType:
    """Return the type of the result; for doubles and decimal products, with bounds on its magnitude."""
    if family is TypeFamily.DECIMAL and operator == "*":
        return SqlType(family=family, least=left.least * right.least, largest=left.largest * right.largest)
    if family is not TypeFamily.DOUBLE:
        return sql_types.get_family_type(family)
    if operator == "*":
        return sql_types.make_double_type(left.least * right.least, left.largest * right.largest)
    if operator == "/":
        largest = left.largest / right.least if right.least else inf
        return sql_types.make_double_type(left.least / (right.largest or 1), largest)
    return sql_types.make_double_type(min(left.least, right.least) * 2.0**-53, left.largest + right.largest)


def _is_safe(operator: str, left: TypedSql, right: TypedSql, kind: SqlType) -> bool:
    """Return whether no engine can raise: no overflow, no underflow, no division by 0."""
    if operator == "/":
        return bool(right.constant) and left.sql_type.has_moderate_magnitude and kind.has_moderate_magnitude
    if operator == "*":
        return (
            left.sql_type.has_moderate_magnitude
            and right.sql_type.has_moderate_magnitude
            and kind.has_moderate_magnitude
        )
    return kind.largest <= sql_types.HUGE or 0 in (left.constant, right.constant)


def _make_double_constant(dialect: Dialect, value: float) -> TypedSql:
    return TypedSql(
        text=dialect.write_double(repr(value)),
        sql_type=sql_types.make_double_type(value, value),
        constant=value,
    )


WRITERS: OperatorWriters = {
    exp.BitwiseLeftShift: write_shift,
    exp.BitwiseRightShift: write_shift,
    exp.BitwiseAnd: write_bitwise_and,
    exp.BitwiseOrAgg: write_bitwise_or_aggregate,
    exp.Neg: write_negation,
    **dict.fromkeys(ARITHMETIC, write_arithmetic),
    exp.Div: write_division,
    exp.IntDiv: write_integer_division,
    exp.Mod: write_modulo,
    exp.Abs: write_abs,
    exp.Exp: write_exp,
    **dict.fromkeys((exp.Round, exp.Floor, exp.Ceil, exp.Trunc), write_rounding),
    exp.IsNan: write_is_nan_node,
}

CALLS: FunctionWriters = {
    "bit_count": write_bit_count,
    "round_even": write_round_half_even,
    "isfinite": write_is_finite,
    "isnan": write_is_nan,
}
