"""Floating-point arithmetic for PostgreSQL that never raises.

PostgreSQL raises on overflow, underflow and division by 0. Such results are computed case by case: CASE is
evaluated in order, so an operation that would raise is never evaluated.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from math import isfinite

INFINITY = "CAST('Infinity' AS double precision)"
NAN = "CAST('NaN' AS double precision)"
ZERO = "CAST('0' AS double precision)"


def write_round_half_away(x: str) -> str:
    """Round half away from 0; the fraction is exact, and from 2**52 on all numbers are whole."""
    away = f"trunc({x}) + trunc(2 * ({x} - trunc({x})))"
    return f"CASE WHEN abs({x}) < 4503599627370496 THEN {away} ELSE {x} END"


def write_safe_add(a: str, operator: str, b: str) -> str:
    """Add without overflow: the sum of halves shows it; a far smaller summand cannot cause it."""
    halves = f"({a} * 0.5 {operator} {b} * 0.5)"
    return (
        f"CASE WHEN abs({a}) <= 8e307 AND abs({b}) <= 8e307 THEN {a} {operator} {b} "
        f"WHEN abs({a}) >= {INFINITY} OR abs({b}) >= {INFINITY} THEN {a} {operator} {b} "
        f"WHEN abs({a}) < 1e290 OR abs({b}) < 1e290 THEN {a} {operator} {b} "
        f"WHEN {halves} > {sys.float_info.max / 2!r} THEN {INFINITY} "
        f"WHEN {halves} < {-sys.float_info.max / 2!r} THEN -{INFINITY} ELSE {a} {operator} {b} END"
    )


def write_safe_scale(a: str, operator: str, b: str, size: float) -> str:
    """Multiply or divide by a constant: only overflow or only underflow is possible."""

    def result(number: float) -> float:
        return number * size if operator == "*" else number / size

    if (size > 1) == (operator == "*"):
        most = _find_last(lambda number: isfinite(result(number)))
        over = f"sign({a}) * sign({b}) * {INFINITY}"
        return (
            f"CASE WHEN abs({a}) > {_write_exact_double(most)} AND abs({a}) < {INFINITY} THEN {over} "
            f"ELSE {a} {operator} {b} END"
        )
    least = _find_last(lambda number: result(number) == 0)
    return f"CASE WHEN abs({a}) <= {_write_exact_double(least)} THEN {ZERO} ELSE {a} {operator} {b} END"


def _write_exact_double(number: float) -> str:
    return f"CAST('{number!r}' AS double precision)"


def _find_last(holds: Callable[[float], bool]) -> float:
    """Return the largest number for which a downward-closed condition holds; it holds for 0.

    >>> _find_last(lambda number: number * 2 <= 1)
    0.5
    """
    low, high = 0, 0x7FE << 52 | (1 << 52) - 1  # positive floats sort like their bits

    def number(bits: int) -> float:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(number(middle)) else (low, middle - 1)
    return number(low)


def write_safe_multiply(a: str, b: str) -> str:
    """Multiply without overflow or underflow, which a product scaled by powers of 2 shows beforehand.

    Scaling by a power of 2 is exact, so the scaled product is rounded like the product itself. If a factor is
    NULL, 0, infinite or NaN, the plain product cannot raise.
    """
    large, small = f"greatest(abs({a}), abs({b}))", f"least(abs({a}), abs({b}))"
    down, up = _write_exact_double(2.0**-512), _write_exact_double(2.0**530)
    return (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL OR {small} = 0 OR {large} >= {INFINITY} THEN {a} * {b} "
        f"WHEN {small} > 1 THEN CASE WHEN ({large} * {down}) * ({small} * {down}) >= 1 "
        f"THEN sign({a}) * sign({b}) * {INFINITY} ELSE {a} * {b} END "
        f"WHEN {large} >= 1 OR {small} >= 1e-150 THEN {a} * {b} "
        f"WHEN {large} < 1e-162 THEN {ZERO} "
        f"WHEN ({small} * {up}) * ({large} * {up}) <= {2.0**-15!r} THEN {ZERO} ELSE {a} * {b} END"
    )


def write_safe_divide(a: str, b: str) -> str:
    """Divide as in IEEE 754, also by 0; a small divisor may overflow, a large one underflow."""
    x, y = f"abs({a})", f"abs({b})"
    down, up = (_write_exact_double(2.0**power) for power in (-600, 600))
    smaller, larger = (_write_exact_double(2.0**power) for power in (-500, 500))
    over = f"sign({a}) * sign({b}) * {INFINITY}"
    return (
        f"CASE WHEN {b} = 0 THEN CASE WHEN {a} = 0 OR {a} = {NAN} THEN {NAN} ELSE sign({a}) * {INFINITY} END "
        f"WHEN {x} >= {INFINITY} OR {y} >= {INFINITY} OR {a} = 0 THEN {a} / {b} "
        f"WHEN {y} < 1 THEN CASE WHEN {x} < {2.0**-60!r} THEN {a} / {b} "
        f"WHEN {y} >= {smaller} THEN CASE WHEN {x} * {down} / {y} >= {_write_exact_double(2.0**424)} "
        f"THEN {over} "
        f"ELSE {a} / {b} END "
        f"WHEN {x} * {down} / ({y} * {larger}) >= {_write_exact_double(2.0**-76)} THEN {over} ELSE "
        f"{a} / {b} END "
        f"WHEN {x} >= 1 THEN {a} / {b} "
        f"WHEN {y} < {larger} THEN CASE WHEN {x} * {up} / {y} <= {_write_exact_double(2.0**-475)} "
        f"THEN {ZERO} "
        f"ELSE {a} / {b} END "
        f"WHEN {x} * {up} / ({y} * {smaller}) <= {2.0**25!r} THEN {ZERO} ELSE {a} / {b} END"
    )
