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

from discreet.mechanisms.sensitivity import ContributionBounds, Sensitivity
from discreet.sql import expression_sql
from discreet.sql.aggregates import Measure
from discreet.sql.expression_sql import quote_identifier
from discreet.sql.expression_tree import Column, Expression
from discreet.sql.expression_types import Type, choose_grid_step, get_grid_bounds
from discreet.sql.let_bindings import bind_parts
from discreet.sql.refusal import refuse_query
from discreet.sql.relational_algebra import PERSON
from discreet.sql.sql_compiler import compile_steps

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
    def steps_sql(self) -> str:
        return compile_steps(self.argument, self.step, self.low, self.high)

    @property
    def sum_sql(self) -> str:
        """SQL of the sum, in 64 bits if no readable number of rows overflows them, else in 128 bits.

        Without statistics DuckDB would always sum in 128 bits, which takes twice the time.
        """
        name = "sum_no_overflow" if max(abs(self.low), abs(self.high)) <= SMALL else "sum"
        return f"{name}({self.steps_sql})"

    @property
    def centred_sql(self) -> str:
        return f"(2 * {self.steps_sql} - {self.low + self.high})"


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """One integer per group: the SQL of its aggregate, and the sensitivity to one person.

    With row weights it is in units of `unit / weight_denominator`.
    """

    aggregate_sql: str
    sensitivity: Sensitivity
    unit: Fraction = Fraction(1)
    weight_denominator: int = 1

    def __post_init__(self) -> None:
        """Raise a sensitivity of 0 (a sum of zeros) to one step: noise needs a positive scale."""
        if self.sensitivity.l1 == 0:
            object.__setattr__(self, "sensitivity", Sensitivity(l1=1, squared_l2=1))


def choose_grid(argument: Expression, *, is_squared: bool = False) -> Grid:
    """Return the grid on which a bounded number, or its square, is summed."""
    kind = argument.type
    if kind.low is None or kind.high is None:
        refuse_query("an aggregate needs bounds.", "Declare low and high in the policy.")
    step, most = choose_grid_step(kind), WIDEST_SQUARED // 2 if is_squared else WIDEST
    if not (isinstance(argument, Column) and argument.is_clamped):
        step = _coarsen_step(step, kind, most)
    low, high = get_grid_bounds(kind, step)
    if max(abs(low), abs(high)) > WIDEST:
        refuse_query(
            "an aggregate's bounds are too wide for its grid.",
            "Declare narrower bounds or a coarser resolution.",
        )
    return Grid(argument=argument, step=step, low=low, high=high)


def _coarsen_step(step: Fraction, kind: Type, max_steps: int) -> Fraction:
    """Return a step of at most 1 with which the bounds are at most `max_steps`; rows are rounded to it."""
    assert kind.max_magnitude is not None
    while step * 10 <= 1 and kind.max_magnitude / step > max_steps:
        step *= 10
    return step


@dataclass(frozen=True, kw_only=True)
class PrimitiveBuilder:
    """Builds the primitives of one query; `is_ungrouped` if it has no GROUP BY."""

    contribution: ContributionBounds
    is_ungrouped: bool
    weight_denominator: int = 1

    def build_count(self, measure: Measure) -> Primitive:
        argument = measure.argument
        inner = _compile_argument(argument) if argument is not None and argument.type.is_nullable else "*"
        text = f"count({inner}){_compile_filter(measure)}"
        return self._build(text, self.contribution.count_sensitivity(one_cell=self.is_ungrouped))

    def build_distinct_count(self, measure: Measure) -> Primitive:
        if measure.counts_people:
            inner = quote_identifier(PERSON)
        else:
            assert measure.argument is not None
            inner = expression_sql.compile_operand(measure.argument)
        text = f"count(DISTINCT {inner}){_compile_filter(measure)}"
        contribution = self.contribution
        if measure.counts_people and self.is_ungrouped:
            contribution = ContributionBounds(rows=1, relation=contribution.relation)
        return self._build(text, contribution.count_sensitivity(one_cell=self.is_ungrouped))

    def build_sum(self, measure: Measure, grid: Grid) -> Primitive:
        text = expression_sql.compile_clamped_sum(f"{grid.sum_sql}{_compile_filter(measure)}")
        moved = self.contribution.sum_sensitivity(low=grid.low, high=grid.high, one_cell=self.is_ungrouped)
        return self._build(text, moved, grid.step)

    def build_centred_sum(self, measure: Measure, grid: Grid) -> Primitive:
        # sum(2x - c) is 2 sum(x) - c count(x), which avoids arithmetic on every row. Never count(*): a NULL
        # that the policy rules out would move it by c, beyond the sensitivity
        where = _compile_filter(measure)
        rows = f"CAST(count({grid.steps_sql}){where} AS HUGEINT)"
        text = expression_sql.compile_clamped_sum(
            f"2 * {grid.sum_sql}{where} - {grid.low + grid.high} * {rows}"
        )
        moved = self.contribution.centred_sum_sensitivity(
            low=grid.low, high=grid.high, one_cell=self.is_ungrouped
        )
        return self._build(text, moved, grid.step / 2)

    def build_centred_squares(self, measure: Measure, grid: Grid) -> Primitive:
        """Return the sum of 2 y**2 - w**2 for centred y in [-w, w]: again centred, in [-w**2, w**2]."""
        if grid.width > WIDEST_SQUARED:
            refuse_query(
                "a variance of so wide a range does not fit.",
                "Declare narrower bounds or a coarser resolution.",
            )
        square = bind_parts(lambda x: f"(2 * {x} * {x} - {grid.width**2})", grid.centred_sql)
        text = expression_sql.compile_clamped_sum(f"sum({square}){_compile_filter(measure)}")
        moved = self.contribution.sum_sensitivity(
            low=-(grid.width**2), high=grid.width**2, one_cell=self.is_ungrouped
        )
        return self._build(text, moved, grid.step**2)

    def _build(self, text: str, moved: Sensitivity, unit: Fraction = Fraction(1)) -> Primitive:
        weighed = Sensitivity(
            l1=moved.l1 * self.weight_denominator, squared_l2=moved.squared_l2 * self.weight_denominator**2
        )
        return Primitive(
            aggregate_sql=text, sensitivity=weighed, unit=unit, weight_denominator=self.weight_denominator
        )


def _compile_argument(argument: Expression) -> str:
    """Return SQL that is NULL if and only if the argument is."""
    return expression_sql.compile_operand(argument)


def _compile_filter(measure: Measure) -> str:
    return (
        ""
        if measure.condition is None
        else f" FILTER (WHERE {expression_sql.compile_value(measure.condition)})"
    )
