"""Primitives: the integer aggregates per group, of known sensitivity, from which measures are computed.

    COUNT(*), COUNT(x)      the rows, or those where x is not NULL: all, if the policy declares no nulls
    COUNT(DISTINCT x)       distinct values, or people; one person adds at most as many as their rows
    SUM(x)                  x in steps of its grid; derived from the next two if AVG(x) is requested too
    AVG(x)                  the centred sum, 2x - (low + high) in steps, and the count unless it is public
    VARIANCE, STDDEV        these two and the centred squares
    MEDIAN, QUANTILE, MIN, MAX, MODE    no primitive: `value_selection` counts how often each value occurs

A primitive that several measures need is computed and charged once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms.sensitivity import Contribution, Sensitivity
from discreet.sql import emit
from discreet.sql.aggregates import Measure
from discreet.sql.binding import bind_parts
from discreet.sql.compile import steps
from discreet.sql.emit import quoted
from discreet.sql.expressions import Column, Expression
from discreet.sql.refusal import refuse
from discreet.sql.tree import PERSON
from discreet.sql.types import Type, grid_ends, grid_step

WIDEST = 1 << 40
WIDEST_SQUARED = 1 << 25
SMALL = 1 << 18  # the sum over fewer than 2**44 rows, more than can be read in hours, stays below 2**62


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A bounded expression in whole steps of size `step`, from `low` to `high`."""

    argument: Expression
    step: Fraction
    low: int
    high: int

    @property
    def width(self) -> int:
        return self.high - self.low

    @property
    def text(self) -> str:
        return steps(self.argument, self.step, self.low, self.high)

    @property
    def sum(self) -> str:
        """SQL of the sum, in 64 bits if no readable number of rows overflows them, else in 128 bits.

        Without statistics DuckDB would always sum in 128 bits, which takes twice the time.
        """
        name = "sum_no_overflow" if max(abs(self.low), abs(self.high)) <= SMALL else "sum"
        return f"{name}({self.text})"

    @property
    def centred(self) -> str:
        return f"(2 * {self.text} - {self.low + self.high})"


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """One integer per group: the SQL of its aggregate, and the sensitivity to one person.

    With row weights it is in units of `unit / weight_denominator`.
    """

    text: str
    sensitivity: Sensitivity
    unit: Fraction = Fraction(1)
    parts: int = 1

    def __post_init__(self) -> None:
        """Raise a sensitivity of 0 (a sum of zeros) to one step: noise needs a positive scale."""
        if self.sensitivity.l1 == 0:
            object.__setattr__(self, "sensitivity", Sensitivity(l1=1, squared_l2=1))


def grid(argument: Expression, *, squared: bool = False) -> Grid:
    """Return the grid on which a bounded number, or its square, is summed."""
    kind = argument.type
    if kind.low is None or kind.high is None:
        refuse("an aggregate needs bounds.", "Declare low and high in the policy.")
    step, most = grid_step(kind), WIDEST_SQUARED // 2 if squared else WIDEST
    if not (isinstance(argument, Column) and argument.clamped):
        step = _coarser(step, kind, most)
    low, high = grid_ends(kind, step)
    if max(abs(low), abs(high)) > WIDEST:
        refuse(
            "an aggregate's bounds are too wide for its grid.",
            "Declare narrower bounds or a coarser resolution.",
        )
    return Grid(argument=argument, step=step, low=low, high=high)


def _coarser(step: Fraction, kind: Type, most: int) -> Fraction:
    """Return a step of at most 1 with which the bounds are at most `max_steps`; rows are rounded to it."""
    assert kind.reach is not None
    while step * 10 <= 1 and kind.reach / step > most:
        step *= 10
    return step


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Builds the primitives of one query; `is_ungrouped` if it has no GROUP BY."""

    contribution: Contribution
    one_cell: bool
    parts: int = 1

    def count(self, measure: Measure) -> Primitive:
        argument = measure.argument
        inner = _known(argument) if argument is not None and argument.type.nullable else "*"
        text = f"count({inner}){_where(measure)}"
        return self._primitive(text, self.contribution.count(one_cell=self.one_cell))

    def distinct(self, measure: Measure) -> Primitive:
        if measure.of_people:
            inner = quoted(PERSON)
        else:
            assert measure.argument is not None
            inner = emit.operand(measure.argument)
        text = f"count(DISTINCT {inner}){_where(measure)}"
        contribution = self.contribution
        if measure.of_people and self.one_cell:
            contribution = Contribution(rows=1, relation=contribution.relation)
        return self._primitive(text, contribution.count(one_cell=self.one_cell))

    def total(self, measure: Measure, on: Grid) -> Primitive:
        text = emit.total(f"{on.sum}{_where(measure)}")
        moved = self.contribution.sum(low=on.low, high=on.high, one_cell=self.one_cell)
        return self._primitive(text, moved, on.step)

    def centred(self, measure: Measure, on: Grid) -> Primitive:
        # sum(2x - c) is 2 sum(x) - c count(x), which avoids arithmetic on every row. Never count(*): a NULL
        # that the policy rules out would move it by c, beyond the sensitivity
        where = _where(measure)
        rows = f"CAST(count({on.text}){where} AS HUGEINT)"
        text = emit.total(f"2 * {on.sum}{where} - {on.low + on.high} * {rows}")
        moved = self.contribution.centred_sum(low=on.low, high=on.high, one_cell=self.one_cell)
        return self._primitive(text, moved, on.step / 2)

    def squares(self, measure: Measure, on: Grid) -> Primitive:
        """Return the sum of 2 y**2 - w**2 for centred y in [-w, w]: again centred, in [-w**2, w**2]."""
        if on.width > WIDEST_SQUARED:
            refuse(
                "a variance of so wide a range does not fit.",
                "Declare narrower bounds or a coarser resolution.",
            )
        square = bind_parts(lambda x: f"(2 * {x} * {x} - {on.width**2})", on.centred)
        text = emit.total(f"sum({square}){_where(measure)}")
        moved = self.contribution.sum(low=-(on.width**2), high=on.width**2, one_cell=self.one_cell)
        return self._primitive(text, moved, on.step**2)

    def _primitive(self, text: str, moved: Sensitivity, unit: Fraction = Fraction(1)) -> Primitive:
        weighed = Sensitivity(l1=moved.l1 * self.parts, squared_l2=moved.squared_l2 * self.parts**2)
        return Primitive(text=text, sensitivity=weighed, unit=unit, parts=self.parts)


def _known(argument: Expression) -> str:
    """Return SQL that is NULL if and only if the argument is."""
    return emit.operand(argument)


def _where(measure: Measure) -> str:
    return "" if measure.condition is None else f" FILTER (WHERE {emit.value(measure.condition)})"
