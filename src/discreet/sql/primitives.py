"""What the engine is asked for each measure: integers per group with a known sensitivity, or counted values.

    COUNT(*), COUNT(x)      the rows, or those where x is known: all, where the policy says so
    COUNT(DISTINCT x)       different values, or people; one person adds at most as many as rows
    SUM(x)                  x in steps of its grid; from the next two where AVG(x) is asked too
    AVG(x)                  the centred sum, 2x - (low + high) in steps, and the count unless it is public
    VARIANCE, STDDEV        these two and the centred squares
    MEDIAN, QUANTILE, MIN, MAX, MODE    how often each value occurs

Primitives that several measures need are asked, and paid for, once.
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
SMALL = 1 << 18  # times fewer than 2**44 rows, hours of reading, stays below 2**62


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A bounded expression in whole steps: low .. high, `step` each."""

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
        """The sum of it: in 64 bits where no number of rows that an engine can read passes them, else in 128.

        Without statistics DuckDB would sum in 128 bits throughout, in twice the time.
        """
        name = "sum_no_overflow" if max(abs(self.low), abs(self.high)) <= SMALL else "sum"
        return f"{name}({self.text})"

    @property
    def centred(self) -> str:
        return f"(2 * {self.text} - {self.low + self.high})"


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """One integer for each group: `text` is its aggregate, `sensitivity` what one person moves.

    It counts `parts` of a `unit`, as many as weights are in.
    """

    text: str
    sensitivity: Sensitivity
    unit: Fraction = Fraction(1)
    parts: int = 1

    def __post_init__(self) -> None:
        """What nobody moves, a sum of zeros, gets the noise of one step: there is no noise of none."""
        if self.sensitivity.l1 == 0:
            object.__setattr__(self, "sensitivity", Sensitivity(l1=1, squared_l2=1))


def grid(argument: Expression, *, squared: bool = False) -> Grid:
    """The grid on which a bounded number is summed or counted, or its squares are."""
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
    """A step below 1 of which an expression's bounds are at most so many; each row is rounded to it."""
    assert kind.reach is not None
    while step * 10 <= 1 and kind.reach / step > most:
        step *= 10
    return step


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Makes the primitives of one question; `one_cell` where nothing is grouped, `parts` as rows weigh."""

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
        # the sum of 2x - c is 2 sum(x) - c count(x), which spares arithmetic on every row; never count(*):
        # a NULL that the policy rules out would move it by c, which no bound holds
        where = _where(measure)
        rows = f"CAST(count({on.text}){where} AS HUGEINT)"
        text = emit.total(f"2 * {on.sum}{where} - {on.low + on.high} * {rows}")
        moved = self.contribution.centred_sum(low=on.low, high=on.high, one_cell=self.one_cell)
        return self._primitive(text, moved, on.step / 2)

    def squares(self, measure: Measure, on: Grid) -> Primitive:
        """Sum of 2 y**2 - w**2 for centred y in [-w, w]: again centred, in [-w**2, w**2]."""
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
    """What is NULL just where the argument is."""
    return emit.operand(argument)


def _where(measure: Measure) -> str:
    return "" if measure.condition is None else f" FILTER (WHERE {emit.value(measure.condition)})"
