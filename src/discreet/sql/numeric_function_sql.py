"""SQL of numeric functions with DuckDB's semantics, as total functions: they raise no errors, whatever the
data.

INTEGER and DECIMAL arguments are whole numbers of steps (`exact_numbers`), and so is the result if its type
is exact. Everything else is computed in floating point, where overflow raises no error, and infinities become
NULL before anything is compared, grouped or summed. A DOUBLE that is provably a whole number below 2**53 is
stored as a BIGINT: both have the same sums, differences and products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.core.numeral_patterns import extract_numeral_sql
from discreet.sql import exact_numbers
from discreet.sql.expression_types import (
    Family,
    Numeric,
    Type,
    can_share_grid,
    find_common_step,
    keeps_places,
)
from discreet.sql.function_sql import Emit, replace_infinities
from discreet.sql.let_bindings import bind_first, bind_parts

LARGEST = 2**1000

Types = tuple[Type, ...]


def _is_moderate(kind: Type) -> bool:
    """Return True if all values are far below the overflow of floating point."""
    return kind.is_exact or (
        kind.is_bounded and kind.max_magnitude is not None and kind.max_magnitude < LARGEST
    )


def _convert_all_to_double(args: Sequence[str], types: Sequence[Type]) -> list[str]:
    return [exact_numbers.convert_to_double(arg, kind) for arg, kind in zip(args, types, strict=True)]


# -- Arithmetic ---------------------------------------------------------------------------------------------


def make_arithmetic_emitter(form: str, double_form: str = "", *, is_always_finite: bool = True) -> Emit:
    """Return the emitter of an arithmetic template: exact on exact numbers, else `double_form` in DOUBLE.

    Arguments are cast, because integer literals have 32 bits, whose products would overflow.
    `is_always_finite` means that the result is finite if its arguments and its interval are.
    """

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        if result.is_exact:
            steps = [
                each.max_magnitude / find_common_step(types)
                for each in (*types, result)
                if each.max_magnitude is not None
            ]
            return form.format(
                *exact_numbers.convert_to_common_grid(args, types, exact_numbers.choose_integer_type(*steps))
            )
        return _compile_in_double(form, double_form, args, types, result, is_always_finite=is_always_finite)

    return emit


def _compile_in_double(
    form: str, double_form: str, args: tuple[str, ...], types: Types, result: Type, *, is_always_finite: bool
) -> str:
    if result.is_integral and all(each.is_integral for each in types):
        return form.format(*(f"CAST({arg} AS BIGINT)" for arg in args))
    text = (double_form or form).format(*_convert_all_to_double(args, types))
    return text if is_always_finite and all(map(_is_moderate, (*types, result))) else replace_infinities(text)


def compile_product(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Return the SQL of a product; its steps are products of steps, possibly subdivided."""
    if not result.is_exact:
        return _compile_in_double(
            "({0} * {1})", "({0} * {1} + 0e0)", args, types, result, is_always_finite=True
        )
    a, b = types
    assert a.step is not None
    assert b.step is not None
    assert result.step is not None
    cast = exact_numbers.choose_integer_type(a.max_steps, b.max_steps, result.max_steps)
    left, right = (
        exact_numbers.convert_to_grid(arg, kind, kind.step or Fraction(1), cast)
        for arg, kind in zip(args, types, strict=True)
    )
    parts = a.step * b.step / result.step
    for text, kind in ((left, b), (right, a)):
        if kind.is_constant and kind.low == kind.step and parts == 1:
            return text  # a factor of one step changes only the grid
    return f"({left} * {right})" if parts == 1 else f"({left} * {right} * {parts})"


def compile_remainder(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Return the SQL of a remainder; of whole numbers in 128 bits, which need no proof that they fit."""
    if result.is_exact:
        steps = [
            each.max_magnitude / find_common_step(types) for each in types if each.max_magnitude is not None
        ]
        a, b = exact_numbers.convert_to_common_grid(args, types, exact_numbers.choose_integer_type(*steps))
        constant = types[1].is_constant and types[1].low != 0
        return f"({a} % {b if constant else _null_if_zero(b)})"
    if any(each.step != 1 for each in types):
        return make_arithmetic_emitter("({0} % {1} + 0e0)", is_always_finite=False)(
            args, types, result, options
        )
    a, b = (f"CAST(TRY_CAST({arg} AS BIGINT) AS HUGEINT)" for arg in args)
    return f"CAST({a} % {_null_if_zero(b)} AS BIGINT)"


def _null_if_zero(sql: str) -> str:
    """Return SQL that replaces 0 by NULL; the argument is bound, because nullif repeats it."""
    return bind_parts(lambda x: f"nullif({x}, 0)", sql)


def make_rounding_emitter(name: str) -> Emit:
    """Return the emitter of ROUND, FLOOR or CEIL, to the digits in the options; finite stays finite."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        (arg,), (kind,) = args, types
        places = int(options[0]) if options else 0
        if result.is_exact:
            if keeps_places(kind, places):
                return arg
            return exact_numbers.round_exactly(name, arg, kind, Fraction(10) ** -places, result)
        if kind.numeric is Numeric.INTEGER and result.is_integral:
            return exact_numbers.convert_for_display(arg, kind)
        called = f"{name}({', '.join((exact_numbers.convert_to_double(arg, kind), *options))})"
        return f"CAST({called} AS BIGINT)" if result.is_integral else f"({called} + 0e0)"

    return emit


# -- Comparison and choice ----------------------------------------------------------------------------------


def make_comparable(args: Sequence[str], types: Sequence[Type]) -> list[str]:
    """Return the SQL of arguments for comparison: exact numbers on a common grid, others in DOUBLE."""
    numbers = [each for each in types if each.family is Family.NUMBER]
    if not numbers or all(each.is_integral for each in numbers):
        return list(args)
    known = [each.family is Family.NUMBER for each in types]
    if can_share_grid(numbers):
        step = find_common_step(numbers)
        return [
            exact_numbers.convert_to_grid(arg, kind, step) if number else arg
            for arg, kind, number in zip(args, types, known, strict=True)
        ]
    return [
        exact_numbers.convert_to_double(arg, kind) if number else arg
        for arg, kind, number in zip(args, types, known, strict=True)
    ]


def make_comparison_emitter(form: str) -> Emit:
    return lambda args, types, result, options: form.format(*make_comparable(args, types))


def compile_in(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """IN; the engine writes the value again for each of the others that is no constant."""
    tested, *others = make_comparable(args, types)
    if all(each.is_constant for each in types[1:]):
        return f"({tested} IN ({', '.join(others)}))"
    places = ", ".join(f"{{{place}}}" for place in range(1, len(args)))
    return bind_first(f"({{0}} IN ({places}))", tested, *others)


def compile_between(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """BETWEEN, for which the engine compares, and so writes, the value twice."""
    return bind_first("({0} BETWEEN {1} AND {2})", *make_comparable(args, types))


def _convert_to_result(arg: str, kind: Type, result: Type) -> str:
    """Return the SQL of an argument converted to the result's type."""
    if result.family is not Family.NUMBER or kind.family is Family.NULL:
        return arg
    if result.is_exact:
        assert result.step is not None
        return exact_numbers.convert_to_grid(arg, kind, result.step)
    return arg if kind.is_integral and result.step == 1 else exact_numbers.convert_to_double(arg, kind)


def make_choice_emitter(name: str) -> Emit:
    """Return the emitter of a function that returns one of its arguments."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        values = [_convert_to_result(arg, kind, result) for arg, kind in zip(args, types, strict=True)]
        return f"{name}({', '.join(values)})"

    return emit


def compile_case(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    whens = " ".join(
        f"WHEN {args[i]} THEN {_convert_to_result(args[i + 1], types[i + 1], result)}"
        for i in range(0, len(args) - 1, 2)
    )
    return f"CASE {whens} ELSE {_convert_to_result(args[-1], types[-1], result)} END"


def compile_switch(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Return the SQL of CASE x; x is bound, because the engine would repeat it for each WHEN."""
    tested, *whens = make_comparable((args[0], *args[1:-1:2]), (types[0], *types[1:-1:2]))
    thens = [_convert_to_result(arg, kind, result) for arg, kind in zip(args[2::2], types[2::2], strict=True)]
    last = _convert_to_result(args[-1], types[-1], result)
    values = [part for pair in zip(whens, thens, strict=False) for part in pair]
    arms = [f"WHEN {{{place}}} THEN {{{place + 1}}}" for place in range(1, len(values), 2)]
    return bind_first(f"CASE {{0}} {' '.join(arms)} ELSE {{{len(values) + 1}}} END", tested, *values, last)


def compile_nullif(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    def form(a: str, b: str) -> str:
        left, right = make_comparable((a, b), types)
        return f"CASE WHEN {left} = {right} THEN NULL ELSE {a} END"

    return bind_parts(form, *args)


# -- Conversion ---------------------------------------------------------------------------------------------


def compile_integer_cast(arg: str, kind: Type, result: Type) -> str:
    """Return the SQL of a cast to a 64-bit integer, or NULL; halves away from 0, of a DOUBLE to even."""
    if kind.family is Family.TEXT:
        return f"TRY_CAST({extract_numeral_sql(arg)} AS BIGINT)"
    if kind.family is not Family.NUMBER or kind.is_integral:
        return f"CAST({arg} AS BIGINT)"
    if kind.is_exact:
        return (
            arg
            if keeps_places(kind, 0)
            else exact_numbers.round_exactly("round", arg, kind, Fraction(1), result)
        )
    return f"TRY_CAST(round_even({arg}, 0) AS BIGINT)"


def compile_decimal_cast(arg: str, kind: Type, result: Type, digits: int, places: int) -> str:
    """Return the SQL of a cast to DECIMAL(digits, places), in steps; NULL if it has more digits."""
    step, most = Fraction(1, 10**places), 10**digits - 1
    if kind.family is Family.TEXT:
        return _compile_decimal_from_text(arg, digits, places)
    if kind.family is not Family.NUMBER:
        return f"(CAST({arg} AS BIGINT) * {10**places})"
    if not kind.is_exact or not result.is_exact:
        return _compile_decimal_from_double(arg, kind, result, digits, places)
    may_exceed = kind.max_magnitude is None or kind.max_magnitude > most * step
    if keeps_places(kind, places):
        # checked before the multiplication, so that nothing overflows
        held = _null_beyond(arg, kind, most * step) if may_exceed else arg
        # not as a constant: one that has too many digits is NULL, too
        return exact_numbers.convert_to_grid(held, replace(kind, is_constant=False), result.step or step)
    found = exact_numbers.round_exactly("round", arg, kind, step, result)
    return _null_beyond(found, result, most * step) if may_exceed else found


def _null_beyond(arg: str, kind: Type, limit: Fraction) -> str:
    """Return SQL that replaces numbers beyond ±`limit` by NULL."""
    assert kind.step is not None
    end = int(limit / kind.step)
    return bind_parts(lambda x: f"CASE WHEN {x} BETWEEN -{end} AND {end} THEN {x} END", arg)


def _compile_decimal_from_double(arg: str, kind: Type, result: Type, digits: int, places: int) -> str:
    number = exact_numbers.convert_to_double(arg, kind)
    end = 10**digits if result.is_exact else 10 ** (digits - places)

    def form(x: str) -> str:
        return f"CASE WHEN {x} > -{end}e0 AND {x} < {end}e0 THEN {x} END"

    if not result.is_exact:
        return bind_parts(form, f"(round({number}, {places}) + 0e0)")
    nearest = f"round({number} * {10**places})" if places else f"round({number})"
    return f"CAST({bind_parts(form, nearest)} AS BIGINT)"


def _compile_decimal_from_text(arg: str, digits: int, places: int) -> str:
    number = f"TRY_CAST({extract_numeral_sql(arg)} AS DECIMAL({digits}, {places}))"
    whole = "BIGINT" if digits <= 18 else "HUGEINT"
    return f"CAST({number} * {10**places} AS {whole})" if places else f"CAST({number} AS {whole})"


def compile_double_cast(arg: str, kind: Type) -> str:
    if kind.family is Family.TEXT:
        return replace_infinities(f"(TRY_CAST({extract_numeral_sql(arg)} AS DOUBLE) + 0e0)")
    return exact_numbers.convert_to_double(arg, kind)


def compile_text_cast(arg: str, kind: Type) -> str:
    if kind.is_exact:
        return exact_numbers.convert_to_text(arg, kind)
    if kind.family is Family.NUMBER:
        return f"CAST({exact_numbers.convert_to_double(arg, kind)} AS VARCHAR)"
    return f"TRY_CAST({arg} AS VARCHAR)"


def compile_boolean_cast(arg: str, kind: Type) -> str:
    return f"({arg} <> 0)" if kind.family is Family.NUMBER else f"TRY_CAST({arg} AS BOOLEAN)"


def compile_date_cast(arg: str, kind: Type) -> str:
    """Return the SQL of a cast to a date of the years 1 to 9999, which all engines support; else NULL."""
    cast = f"TRY_CAST({arg} AS DATE)"
    if kind.family is not Family.TEXT:
        return cast
    calendar = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    return bind_parts(lambda x: f"CASE WHEN {x} {calendar} THEN {x} END", cast)


CASTS = {
    "number": compile_double_cast,
    "text": compile_text_cast,
    "boolean": compile_boolean_cast,
    "date": compile_date_cast,
}


def compile_cast(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    (arg,), (kind,), target = args, types, options[0]
    if target == "integer":
        return compile_integer_cast(arg, kind, result)
    if target == "decimal":
        return compile_decimal_cast(arg, kind, result, int(options[1]), int(options[2]))
    return CASTS[target](arg, kind)


def compile_substring(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Return the SQL of SUBSTR; positions over 32 bits become NULL, because the engine would raise."""
    numbers = [
        exact_numbers.convert_for_display(arg, kind) for arg, kind in zip(args[1:], types[1:], strict=True)
    ]
    places = ", ".join(f"TRY_CAST({number} AS INTEGER)" for number in numbers)
    return f"substr({args[0]}, {places})"
