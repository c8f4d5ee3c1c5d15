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

from discreet.core.numerals import numeral
from discreet.sql import exact
from discreet.sql.binding import bind_first, bind_parts
from discreet.sql.emission import Emit, finite
from discreet.sql.types import Family, Numeric, Type, common_step, keeps_places, share_grid

LARGEST = 2**1000

Types = tuple[Type, ...]


def _is_moderate(kind: Type) -> bool:
    """Return True if all values are far below the overflow of floating point."""
    return kind.exact or (kind.bounded and kind.reach is not None and kind.reach < LARGEST)


def _in_double(args: Sequence[str], types: Sequence[Type]) -> list[str]:
    return [exact.in_double(arg, kind) for arg, kind in zip(args, types, strict=True)]


# -- Arithmetic ---------------------------------------------------------------------------------------------


def computed(form: str, rounded: str = "", *, always: bool = True) -> Emit:
    """Return the emitter of an arithmetic template: exact on exact numbers, else `double_form` in DOUBLE.

    Arguments are cast, because integer literals have 32 bits, whose products would overflow.
    `is_always_finite` means that the result is finite if its arguments and its interval are.
    """

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        if result.exact:
            steps = [each.reach / common_step(types) for each in (*types, result) if each.reach is not None]
            return form.format(*exact.on_common_grid(args, types, exact.integer_type(*steps)))
        return _floating(form, rounded, args, types, result, always=always)

    return emit


def _floating(
    form: str, rounded: str, args: tuple[str, ...], types: Types, result: Type, *, always: bool
) -> str:
    if result.integral and all(each.integral for each in types):
        return form.format(*(f"CAST({arg} AS BIGINT)" for arg in args))
    text = (rounded or form).format(*_in_double(args, types))
    return text if always and all(map(_is_moderate, (*types, result))) else finite(text)


def multiply(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Return the SQL of a product; its steps are products of steps, possibly subdivided."""
    if not result.exact:
        return _floating("({0} * {1})", "({0} * {1} + 0e0)", args, types, result, always=True)
    a, b = types
    assert a.step is not None
    assert b.step is not None
    assert result.step is not None
    cast = exact.integer_type(a.most_steps, b.most_steps, result.most_steps)
    left, right = (
        exact.on_grid(arg, kind, kind.step or Fraction(1), cast)
        for arg, kind in zip(args, types, strict=True)
    )
    parts = a.step * b.step / result.step
    for text, kind in ((left, b), (right, a)):
        if kind.known and kind.low == kind.step and parts == 1:
            return text  # a factor of one step changes only the grid
    return f"({left} * {right})" if parts == 1 else f"({left} * {right} * {parts})"


def remainder(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Return the SQL of a remainder; of whole numbers in 128 bits, which need no proof that they fit."""
    if result.exact:
        steps = [each.reach / common_step(types) for each in types if each.reach is not None]
        a, b = exact.on_common_grid(args, types, exact.integer_type(*steps))
        constant = types[1].known and types[1].low != 0
        return f"({a} % {b if constant else _nonzero(b)})"
    if any(each.step != 1 for each in types):
        return computed("({0} % {1} + 0e0)", always=False)(args, types, result, options)
    a, b = (f"CAST(TRY_CAST({arg} AS BIGINT) AS HUGEINT)" for arg in args)
    return f"CAST({a} % {_nonzero(b)} AS BIGINT)"


def _nonzero(sql: str) -> str:
    """Return SQL that replaces 0 by NULL; the argument is bound, because nullif repeats it."""
    return bind_parts(lambda x: f"nullif({x}, 0)", sql)


def to_whole(name: str) -> Emit:
    """Return the emitter of ROUND, FLOOR or CEIL, to the digits in the options; finite stays finite."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        (arg,), (kind,) = args, types
        places = int(options[0]) if options else 0
        if result.exact:
            if keeps_places(kind, places):
                return arg
            return exact.rounded(name, arg, kind, Fraction(10) ** -places, result)
        if kind.numeric is Numeric.INTEGER and result.integral:
            return exact.shown(arg, kind)
        called = f"{name}({', '.join((exact.in_double(arg, kind), *options))})"
        return f"CAST({called} AS BIGINT)" if result.integral else f"({called} + 0e0)"

    return emit


# -- Comparison and choice ----------------------------------------------------------------------------------


def comparable(args: Sequence[str], types: Sequence[Type]) -> list[str]:
    """Return the SQL of arguments for comparison: exact numbers on a common grid, others in DOUBLE."""
    numbers = [each for each in types if each.family is Family.NUMBER]
    if not numbers or all(each.integral for each in numbers):
        return list(args)
    known = [each.family is Family.NUMBER for each in types]
    if share_grid(numbers):
        step = common_step(numbers)
        return [
            exact.on_grid(arg, kind, step) if number else arg
            for arg, kind, number in zip(args, types, known, strict=True)
        ]
    return [
        exact.in_double(arg, kind) if number else arg
        for arg, kind, number in zip(args, types, known, strict=True)
    ]


def compare(form: str) -> Emit:
    return lambda args, types, result, options: form.format(*comparable(args, types))


def is_in(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """IN; the engine writes the value again for each of the others that is no constant."""
    tested, *others = comparable(args, types)
    if all(each.known for each in types[1:]):
        return f"({tested} IN ({', '.join(others)}))"
    places = ", ".join(f"{{{place}}}" for place in range(1, len(args)))
    return bind_first(f"({{0}} IN ({places}))", tested, *others)


def between(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """BETWEEN, for which the engine compares, and so writes, the value twice."""
    return bind_first("({0} BETWEEN {1} AND {2})", *comparable(args, types))


def _as_result(arg: str, kind: Type, result: Type) -> str:
    """Return the SQL of an argument converted to the result's type."""
    if result.family is not Family.NUMBER or kind.family is Family.NULL:
        return arg
    if result.exact:
        assert result.step is not None
        return exact.on_grid(arg, kind, result.step)
    return arg if kind.integral and result.step == 1 else exact.in_double(arg, kind)


def choose(name: str) -> Emit:
    """Return the emitter of a function that returns one of its arguments."""

    def emit(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        values = [_as_result(arg, kind, result) for arg, kind in zip(args, types, strict=True)]
        return f"{name}({', '.join(values)})"

    return emit


def case(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    whens = " ".join(
        f"WHEN {args[i]} THEN {_as_result(args[i + 1], types[i + 1], result)}"
        for i in range(0, len(args) - 1, 2)
    )
    return f"CASE {whens} ELSE {_as_result(args[-1], types[-1], result)} END"


def switch(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Return the SQL of CASE x; x is bound, because the engine would repeat it for each WHEN."""
    tested, *whens = comparable((args[0], *args[1:-1:2]), (types[0], *types[1:-1:2]))
    thens = [_as_result(arg, kind, result) for arg, kind in zip(args[2::2], types[2::2], strict=True)]
    last = _as_result(args[-1], types[-1], result)
    values = [part for pair in zip(whens, thens, strict=False) for part in pair]
    arms = [f"WHEN {{{place}}} THEN {{{place + 1}}}" for place in range(1, len(values), 2)]
    return bind_first(f"CASE {{0}} {' '.join(arms)} ELSE {{{len(values) + 1}}} END", tested, *values, last)


def nullif(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    def form(a: str, b: str) -> str:
        left, right = comparable((a, b), types)
        return f"CASE WHEN {left} = {right} THEN NULL ELSE {a} END"

    return bind_parts(form, *args)


# -- Conversion ---------------------------------------------------------------------------------------------


def to_integer(arg: str, kind: Type, result: Type) -> str:
    """Return the SQL of a cast to a 64-bit integer, or NULL; halves away from 0, of a DOUBLE to even."""
    if kind.family is Family.TEXT:
        return f"TRY_CAST({numeral(arg)} AS BIGINT)"
    if kind.family is not Family.NUMBER or kind.integral:
        return f"CAST({arg} AS BIGINT)"
    if kind.exact:
        return arg if keeps_places(kind, 0) else exact.rounded("round", arg, kind, Fraction(1), result)
    return f"TRY_CAST(round_even({arg}, 0) AS BIGINT)"


def to_decimal(arg: str, kind: Type, result: Type, digits: int, places: int) -> str:
    """Return the SQL of a cast to DECIMAL(digits, places), in steps; NULL if it has more digits."""
    step, most = Fraction(1, 10**places), 10**digits - 1
    if kind.family is Family.TEXT:
        return _read_decimal(arg, digits, places)
    if kind.family is not Family.NUMBER:
        return f"(CAST({arg} AS BIGINT) * {10**places})"
    if not kind.exact or not result.exact:
        return _from_double(arg, kind, result, digits, places)
    may_exceed = kind.reach is None or kind.reach > most * step
    if keeps_places(kind, places):
        # checked before the multiplication, so that nothing overflows
        held = _within(arg, kind, most * step) if may_exceed else arg
        # not as a constant: one that has too many digits is NULL, too
        return exact.on_grid(held, replace(kind, known=False), result.step or step)
    found = exact.rounded("round", arg, kind, step, result)
    return _within(found, result, most * step) if may_exceed else found


def _within(arg: str, kind: Type, most: Fraction) -> str:
    """Return SQL that replaces numbers beyond ±`limit` by NULL."""
    assert kind.step is not None
    end = int(most / kind.step)
    return bind_parts(lambda x: f"CASE WHEN {x} BETWEEN -{end} AND {end} THEN {x} END", arg)


def _from_double(arg: str, kind: Type, result: Type, digits: int, places: int) -> str:
    number = exact.in_double(arg, kind)
    end = 10**digits if result.exact else 10 ** (digits - places)

    def form(x: str) -> str:
        return f"CASE WHEN {x} > -{end}e0 AND {x} < {end}e0 THEN {x} END"

    if not result.exact:
        return bind_parts(form, f"(round({number}, {places}) + 0e0)")
    nearest = f"round({number} * {10**places})" if places else f"round({number})"
    return f"CAST({bind_parts(form, nearest)} AS BIGINT)"


def _read_decimal(arg: str, digits: int, places: int) -> str:
    number = f"TRY_CAST({numeral(arg)} AS DECIMAL({digits}, {places}))"
    whole = "BIGINT" if digits <= 18 else "HUGEINT"
    return f"CAST({number} * {10**places} AS {whole})" if places else f"CAST({number} AS {whole})"


def to_double(arg: str, kind: Type) -> str:
    if kind.family is Family.TEXT:
        return finite(f"(TRY_CAST({numeral(arg)} AS DOUBLE) + 0e0)")
    return exact.in_double(arg, kind)


def to_text(arg: str, kind: Type) -> str:
    if kind.exact:
        return exact.digits_text(arg, kind)
    if kind.family is Family.NUMBER:
        return f"CAST({exact.in_double(arg, kind)} AS VARCHAR)"
    return f"TRY_CAST({arg} AS VARCHAR)"


def to_boolean(arg: str, kind: Type) -> str:
    return f"({arg} <> 0)" if kind.family is Family.NUMBER else f"TRY_CAST({arg} AS BOOLEAN)"


def to_date(arg: str, kind: Type) -> str:
    """Return the SQL of a cast to a date of the years 1 to 9999, which all engines support; else NULL."""
    cast = f"TRY_CAST({arg} AS DATE)"
    if kind.family is not Family.TEXT:
        return cast
    calendar = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    return bind_parts(lambda x: f"CASE WHEN {x} {calendar} THEN {x} END", cast)


CASTS = {"number": to_double, "text": to_text, "boolean": to_boolean, "date": to_date}


def casting(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    (arg,), (kind,), target = args, types, options[0]
    if target == "integer":
        return to_integer(arg, kind, result)
    if target == "decimal":
        return to_decimal(arg, kind, result, int(options[1]), int(options[2]))
    return CASTS[target](arg, kind)


def substring(args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
    """Return the SQL of SUBSTR; positions over 32 bits become NULL, because the engine would raise."""
    numbers = [exact.shown(arg, kind) for arg, kind in zip(args[1:], types[1:], strict=True)]
    places = ", ".join(f"TRY_CAST({number} AS INTEGER)" for number in numbers)
    return f"substr({args[0]}, {places})"
