"""What the error analysis knows of a value: exact, or noisy in a form whose error has a known law.

A noisy value is a sum of *parts*, and each part is

Linear   Σ wᵢ Zᵢ around the value: each `Term` is a sum of `count` independent noises of one primitive over
         the cells of a `Region`, times an exact weight.
Ratio    offset + scale · top / bottom, of two linear parts.

One part has the law of its noise; several, whose dependence is unknown, share the probability of a miss.
`steps` are monotone functions applied afterwards. `box` are SQL expressions of the ends that the value
cannot leave while all cells are within their simultaneous intervals. Where neither is known, `reason` says
why.

Weights and counts are exact numbers, or SQL expressions over the columns of the query at hand that read keys
and constants alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from sqlglot import exp

from discreet.sql.noisy_regions import Region

Number = Fraction | exp.Expression
ROUNDING = ("", "")  # the source of terms that are rounding errors: at most their weight, with certainty
ONE = Fraction(1)
LONGEST_BOX = 4_000  # characters of an expression of a box; products double them
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Term:
    """`weight` times the sum of `count` noises of one primitive: `source` is its table and name."""

    source: tuple[str, str]
    region: Region
    weight: Number = ONE
    count: Number = ONE

    @property
    def is_rounding(self) -> bool:
        return self.source == ROUNDING


@dataclass(frozen=True, kw_only=True)
class Linear:
    """A value with the error Σ of its terms; `is_whole` if it is always a whole number.

    `may_be_null` says that noise can make it NULL, as NULLIF does: rows that have it are selected by noise.
    """

    value: exp.Expression
    terms: tuple[Term, ...]
    is_whole: bool = False
    may_be_null: bool = False

    def scale(self, factor: Number) -> Linear:
        """Return the product with an exact factor."""
        if factor == ONE:
            return self
        terms = tuple(replace(term, weight=multiply(term.weight, factor)) for term in self.terms)
        whole = self.is_whole and isinstance(factor, Fraction) and factor.denominator == 1
        value = exp.paren(exp.Mul(this=wrap_double(self.value), expression=to_sql(factor)))
        return replace(self, value=value, terms=terms, is_whole=whole)

    def add(self, other: Linear) -> Linear:
        """Return the sum with another linear part."""
        value = exp.paren(exp.Add(this=wrap_double(self.value), expression=wrap_double(other.value)))
        return Linear(
            value=value,
            terms=(*self.terms, *other.terms),
            is_whole=self.is_whole and other.is_whole,
            may_be_null=self.may_be_null or other.may_be_null,
        )


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """offset + scale * top / bottom; `limits` are known bounds of top / bottom."""

    top: Linear
    bottom: Linear
    scale: Number = ONE
    offset: Number = Fraction(0)
    limits: tuple[float, float] = (float("-inf"), float("inf"))


Part = Linear | Ratio


@dataclass(frozen=True, kw_only=True)
class Step:
    """A monotone function of a number: its name in `sql.monotone_functions` and its constant arguments."""

    name: str
    arguments: tuple[Fraction, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReleasedColumn:
    """A measure as released: its table and column, and the expressions of its three intervals."""

    table: str
    column: str
    ends: tuple[exp.Expression, ...]


@dataclass(frozen=True, kw_only=True)
class Exact:
    """A key, a constant, or what is computed from those alone; `origin` is a key's scan and name."""

    origin: tuple[int, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Noisy:
    """A value that depends on noise. `chosen` says that the noise decides whether it is NULL."""

    parts: tuple[Part, ...] = ()
    steps: tuple[Step, ...] = ()
    box: tuple[exp.Expression, exp.Expression] | None = None
    measure: ReleasedColumn | None = None
    reason: str = ""
    chosen: str = ""

    @property
    def linear(self) -> Linear | None:
        """The value as one linear part, if it is one."""
        one = self.parts[0] if len(self.parts) == 1 and not self.steps else None
        return one if isinstance(one, Linear) else None


Value = Exact | Noisy
EXACT = Exact()


def map_expressions(item: T, change: Callable[[exp.Expression], exp.Expression]) -> T:
    """Return a value, or a part of one, with each of its SQL expressions changed."""
    if isinstance(item, exp.Expression):
        return change(item)  # type: ignore[return-value]
    if isinstance(item, tuple):
        return tuple(map_expressions(each, change) for each in item)  # type: ignore[return-value]
    if isinstance(item, Region) or not is_dataclass(item) or isinstance(item, type):
        return item
    found: dict[str, Any] = {
        each.name: map_expressions(getattr(item, each.name), change) for each in fields(item)
    }
    return replace(item, **found)


def map_regions(value: Value, change: Callable[[Region], Region]) -> Value:
    """Return a value with each of its regions changed."""

    def visit(item: Any) -> Any:
        if isinstance(item, Term):
            return replace(item, region=change(item.region))
        if isinstance(item, tuple):
            return tuple(visit(each) for each in item)
        if isinstance(item, Linear | Ratio | Noisy):
            return replace(item, **{each.name: visit(getattr(item, each.name)) for each in fields(item)})
        return item

    found: Value = visit(value)
    return found


# -- Arithmetic ---------------------------------------------------------------------------------------------


def wrap_double(node: exp.Expression) -> exp.Expression:
    """Return the SQL of a number in floating point."""
    return exp.cast(node.copy(), exp.DType.DOUBLE)


def to_sql(number: Number) -> exp.Expression:
    """Return the SQL of an exact number."""
    if isinstance(number, exp.Expression):
        return number.copy()
    if number.denominator == 1:
        return wrap_double(exp.Literal.number(str(number)))
    return exp.paren(
        exp.Div(
            this=wrap_double(exp.Literal.number(str(number.numerator))),
            expression=wrap_double(exp.Literal.number(str(number.denominator))),
        )
    )


def multiply(left: Number, right: Number) -> Number:
    """Return the product of two exact numbers."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left * right
    if ONE in (left, right):
        return right if left == ONE else left
    return exp.paren(exp.Mul(this=to_sql(left), expression=to_sql(right)))


def invert(number: Number) -> Number | None:
    """Return 1 / number; None for the constant 0. SQL that divides by 0 gives NULL."""
    if isinstance(number, Fraction):
        return 1 / number if number else None
    below = exp.func("nullif", wrap_double(number), exp.Literal.number("0"))
    return exp.paren(exp.Div(this=wrap_double(exp.Literal.number("1")), expression=below))


def add_numbers(left: Number, right: Number) -> Number:
    """Return the sum of two exact numbers."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left + right
    return exp.paren(exp.Add(this=to_sql(left), expression=to_sql(right)))


def add_values(left: Noisy, right: Noisy) -> Noisy:
    """Return the sum of two noisy values."""
    chosen, box = left.chosen or right.chosen, None
    if left.box is not None and right.box is not None:
        low, high = (
            exp.paren(exp.Add(this=here.copy(), expression=there.copy()))
            for here, there in zip(left.box, right.box, strict=True)
        )
        box = limit_box(low, high)
    if left.steps or right.steps or not left.parts or not right.parts:
        return Noisy(box=box, reason=left.reason or right.reason, chosen=chosen)
    parts: tuple[Part, ...] = (*left.parts, *right.parts)
    if left.linear is not None and right.linear is not None:
        parts = (left.linear.add(right.linear),)
    return Noisy(parts=parts, box=box, chosen=chosen)


def scale_value(noisy: Noisy, factor: Number) -> Noisy:
    """Return the product with an exact number."""
    box = None
    if noisy.box is not None:
        ends = [exp.Mul(this=wrap_double(end), expression=to_sql(factor)) for end in noisy.box]
        least, greatest = (exp.func(name, *(end.copy() for end in ends)) for name in ("least", "greatest"))
        box = limit_box(least, greatest)
    if noisy.steps:
        return _append_step(noisy, "scale", factor, box)
    scaled: list[Part] = []
    for part in noisy.parts:
        if isinstance(part, Linear):
            scaled.append(part.scale(factor))
        else:
            scaled.append(
                replace(part, scale=multiply(part.scale, factor), offset=multiply(part.offset, factor))
            )
    return Noisy(parts=tuple(scaled), box=box, reason=noisy.reason, chosen=noisy.chosen)


def shift_value(noisy: Noisy, amount: Number, *, is_whole: bool = False) -> Noisy:
    """Return the sum with an exact number, which is whole if `is_whole`."""
    box = None
    if noisy.box is not None:
        box = limit_box(
            *(exp.paren(exp.Add(this=end.copy(), expression=to_sql(amount))) for end in noisy.box)
        )
    if noisy.steps:
        return _append_step(noisy, "shift", amount, box)
    moved: tuple[Part, ...] = noisy.parts
    if moved:
        first = moved[0]
        if isinstance(first, Linear):
            constant = Linear(value=to_sql(amount), terms=(), is_whole=is_whole)
            moved = (first.add(constant), *moved[1:])
        else:
            moved = (replace(first, offset=add_numbers(first.offset, amount)), *moved[1:])
    return Noisy(parts=moved, box=box, reason=noisy.reason, chosen=noisy.chosen)


def divide_values(top: Noisy | Linear, bottom: Noisy) -> Noisy:
    """Return the quotient of two noisy values, or of an exact number, as a part without terms, and one."""
    above = top if isinstance(top, Linear) else top.linear
    chosen = "" if isinstance(top, Linear) else top.chosen
    reason = bottom.reason if isinstance(top, Linear) else top.reason or bottom.reason
    if above is None or bottom.linear is None:
        return Noisy(reason=reason, chosen=chosen or bottom.chosen)
    return Noisy(parts=(Ratio(top=above, bottom=bottom.linear),), chosen=chosen or bottom.chosen)


def append_step(noisy: Noisy, step: Step) -> Noisy:
    """Return a monotone function of a noisy value."""
    if not noisy.parts:
        return Noisy(reason=noisy.reason, chosen=noisy.chosen)
    return Noisy(parts=noisy.parts, steps=(*noisy.steps, step), chosen=noisy.chosen)


def _append_step(
    noisy: Noisy, name: str, amount: Number, box: tuple[exp.Expression, exp.Expression] | None
) -> Noisy:
    if isinstance(amount, Fraction):
        return replace(append_step(noisy, Step(name=name, arguments=(amount,))), box=box)
    return Noisy(box=box, reason=noisy.reason, chosen=noisy.chosen)


def limit_box(low: exp.Expr, high: exp.Expr) -> tuple[exp.Expression, exp.Expression] | None:
    """Return the ends, or None if their SQL has grown too long."""
    assert isinstance(low, exp.Expression)
    assert isinstance(high, exp.Expression)
    return (low, high) if len(low.sql("duckdb")) + len(high.sql("duckdb")) <= LONGEST_BOX else None
