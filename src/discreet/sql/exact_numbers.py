"""SQL of exact numbers: whole numbers of steps, converted from one grid to another without rounding.

An INTEGER or a DECIMAL is represented by its number of steps: 3.3 on a grid of 0.1 is 33. Sums, differences,
products and remainders of such numbers are integer operations, which every engine computes alike. Types
(`sql.expression_types`) prove that they fit into 64 bits (BIGINT) or 38 digits (HUGEINT).

Rounding    a floating-point quotient of numbers below 2**52 is on the same side of every whole number and of
            every half as the exact quotient: its error is less than half of their distance. Larger numbers
            are rounded by remainders, and stay on their grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from discreet.sql.expression_types import (
    DIGITS,
    Family,
    Type,
    count_decimal_places,
    find_common_step,
    rounds_in_double,
)
from discreet.sql.let_bindings import bind_parts

MOST_INTEGER = 1 << 62


def choose_integer_type(*steps: Fraction) -> str:
    """Return the SQL integer type that holds the given numbers of steps, with a margin."""
    return "BIGINT" if max(steps) < MOST_INTEGER else "HUGEINT"


def convert_to_grid(sql: str, kind: Type, step: Fraction, cast: str = "") -> str:
    """Return the SQL of a number in steps of a finer grid; `cast` is the SQL type of the result.

    >>> from discreet.sql.expression_types import make_integer_type
    >>> convert_to_grid('"age"', make_integer_type(0, 9), Fraction(1, 10))
    '(CAST("age" AS BIGINT) * 10)'
    """
    if kind.family is Family.NULL:
        return f"CAST(NULL AS {cast or 'BIGINT'})"
    assert kind.step is not None
    factor = kind.step / step
    assert factor.denominator == 1
    if kind.is_constant and kind.low is not None:
        constant = str(int(kind.low / step))
        return f"CAST({constant} AS {cast})" if cast else constant
    if factor == 1:
        return f"CAST({sql} AS {cast})" if cast else sql
    wide = cast or choose_integer_type(kind.max_steps * factor)
    return f"(CAST({sql} AS {wide}) * {factor})"


def convert_to_common_grid(args: Sequence[str], types: Sequence[Type], cast: str = "") -> list[str]:
    """Return the SQL of exact numbers in steps of their coarsest common grid."""
    step = find_common_step(types)
    return [convert_to_grid(arg, kind, step, cast) for arg, kind in zip(args, types, strict=True)]


def convert_to_double(sql: str, kind: Type) -> str:
    """Return the SQL of a number converted to the nearest double.

    >>> from discreet.sql.expression_types import Numeric, make_number_type
    >>> tenths = make_number_type(Fraction(0), Fraction(9), Fraction(1, 10), numeric=Numeric.DECIMAL)
    >>> convert_to_double('"x"', tenths)
    '(CAST("x" AS DOUBLE) / 10)'
    """
    if kind.is_constant and kind.low is not None:
        return f"CAST({format_decimal(kind.low)} AS DOUBLE)"
    text = f"CAST({sql} AS DOUBLE)"
    if not kind.is_exact or kind.step is None or kind.step == 1:
        return text
    top = text if kind.step.numerator == 1 else f"{text} * {kind.step.numerator}"
    return f"({top})" if kind.step.denominator == 1 else f"({top} / {kind.step.denominator})"


def format_decimal(value: Fraction) -> str:
    """Return the decimal digits of a number that has finitely many."""
    places = count_decimal_places(value)
    units = int(abs(value) * 10**places)
    return f"{Decimal((int(value < 0), tuple(map(int, str(units))), -places)):f}"


def convert_for_display(sql: str, kind: Type) -> str:
    """Return the SQL of a number as answers show it: a BIGINT if it is whole, else a DOUBLE."""
    if not kind.is_exact or (kind.step == 1 and kind.shows_integer):
        return sql
    if kind.shows_integer:
        return f"(CAST({sql} AS BIGINT) * {kind.step})"
    return convert_to_double(sql, kind)


def round_exactly(name: str, sql: str, kind: Type, to: Fraction, result: Type) -> str:
    """Return the SQL of exact numbers rounded to multiples of `to`, in steps of the result.

    `name` is round, floor or ceil; round takes halves away from 0.
    """
    assert kind.step is not None
    assert result.step is not None
    ratio = kind.step / to
    if rounds_in_double(kind, to):
        top = convert_to_grid(sql, kind, kind.step / ratio.numerator)
        return f"CAST({name}(CAST({top} AS DOUBLE) / {ratio.denominator}) AS BIGINT)"
    each = int(to / result.step)
    assert kind.max_magnitude is not None
    cast = choose_integer_type(kind.max_magnitude / result.step + each)
    beyond = {
        "round": f"CASE WHEN 2 * ({{0}} % {each}) >= {each} THEN {each} "
        f"WHEN 2 * ({{0}} % {each}) <= -{each} THEN -{each} ELSE 0 END",
        "floor": f"CASE WHEN {{0}} % {each} < 0 THEN -{each} ELSE 0 END",
        "ceil": f"CASE WHEN {{0}} % {each} > 0 THEN {each} ELSE 0 END",
    }[name]
    form = f"({{0}} - {{0}} % {each} + {beyond})"
    return bind_parts(form.format, convert_to_grid(sql, kind, result.step, cast))


def convert_to_text(sql: str, kind: Type) -> str:
    """Return the SQL that converts an exact number to text, with all of its decimal places."""
    places = kind.scale
    if not places:
        return f"CAST({convert_for_display(sql, kind)} AS VARCHAR)"
    unit = Fraction(1, 10**places)
    assert kind.max_magnitude is not None
    digits = min(DIGITS, len(str(int(kind.max_magnitude / unit))))
    units = f"CAST({convert_to_grid(sql, kind, unit)} AS DECIMAL({digits}, 0))"
    return f"CAST({units} * {format_decimal(unit)} AS VARCHAR)"
