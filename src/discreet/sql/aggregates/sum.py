"""SUM(x): the sum of a bounded number.

Measures     Σ x in whole steps of its grid. Beside AVG(x) of the same rows it is computed from the primitives
             of the mean, the centred sum S and the count N, and costs nothing more.
Sensitivity  with M = max(|low|, |high|), one person with at most R rows moves the sum by R M over all groups
             together, by 2 R M under replace-one; within one cell by R (high − low) if that is more.
Estimate     the noisy sum; from a mean's primitives (S + (low + high) N) / 2 steps, which is unbiased too.
Error        the half-width of the noise, or of the weighted sum of both noises, from the plan alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.mechanisms.combined_noise import describe_error
from discreet.mechanisms.linear_combinations import LinearCombination, round_up
from discreet.sql.aggregates.average import Average
from discreet.sql.aggregates.base import (
    Decomposer,
    Decomposition,
    NumericAggregate,
    PlannedNoise,
    SupportsAnswerTotals,
    describe_single_primitive,
    refuse_non_number,
)
from discreet.sql.aggregates.count import bound_rounded_error
from discreet.sql.aggregates.person_sums import PersonSum, compile_person_sum, infer_person_sum_type
from discreet.sql.conditional_arguments import counts_rows, split_condition
from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import Type, make_number_type
from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive
from discreet.sql.primitives import Grid, Primitive, choose_grid
from discreet.sql.released_schema import LinearMeasure, MeasureForm


class Sum(NumericAggregate, PersonSum, SupportsAnswerTotals):
    """`SUM(x)`."""

    name = "sum"
    sql_names = ("SUM",)
    nodes = (exp.Sum,)
    documentation = (
        "The sum of a number with bounds (What bounds do). Beside AVG of the same column it is free."
    )
    example = "SELECT sex, SUM(hours) AS hours FROM census GROUP BY sex"
    is_linear = True
    is_decomposed_last = True
    allows_constant = True
    keeps_clamping = True
    answer_nodes = (exp.Sum,)

    @property
    def result_type(self) -> Type:
        return make_number_type(step=Fraction(1) if self.number.type.step == 1 else None)

    @property
    def max_row_contribution(self) -> int:
        grid = choose_grid(self.number)
        return max(abs(grid.low), abs(grid.high), grid.width, 1)

    def decompose(self, decomposer: Decomposer) -> Decomposition:
        number, condition = split_condition(self.number, self.condition, ignores_zero=True)
        grid = choose_grid(number)
        for mean in (self, Sum(argument=number, condition=condition)):
            known = decomposer.find_decomposition(Average(argument=mean.argument, condition=mean.condition))
            if known is not None and known.public_rows is None:
                return Decomposition(primitive_names=known.primitive_names, grid=choose_grid(mean.number))
        builder = decomposer.builder
        total = (
            builder.build_count(None, condition)
            if counts_rows(number)
            else builder.build_sum(grid, condition)
        )
        return Decomposition(primitive_names=(decomposer.add_primitive(total),), grid=grid)

    def estimate(
        self,
        decomposition: Decomposition,
        released: Sequence[ReleasedPrimitive],
        confidence: float,
        *,
        raw: bool = False,
    ) -> Estimate:
        assert decomposition.grid is not None
        if len(released) == 1:
            return estimate_sum(released[0], decomposition.grid.step, confidence)
        return estimate_sum_from_mean(released[0], released[1], decomposition.grid, confidence)

    def describe_form(self, decomposition: Decomposition, primitives: Mapping[str, Primitive]) -> MeasureForm:
        grid, names = decomposition.grid, decomposition.primitive_names
        assert grid is not None
        if len(names) == 1:
            return describe_single_primitive(names[0], primitives[names[0]], is_whole=grid.step == 1)
        middle = (grid.low + grid.high) * grid.step / 2
        return LinearMeasure(coefficients={names[0]: Fraction(1), names[1]: middle})

    def bound_error(self, decomposition: Decomposition, noise: PlannedNoise) -> Fraction | None:
        if len(noise.half_widths) == 1:
            return bound_rounded_error(noise)
        grid, (centred, rows) = decomposition.grid, noise.errors
        assert grid is not None
        total = centred + rows.scale((grid.low + grid.high) * grid.step / 2)
        return total.half_width(1 - noise.confidence)

    def infer_person_total_type(self, max_rows: int) -> Type:
        return infer_person_sum_type(self.number.type, max_rows)

    def compile_person_total(self, max_rows: int) -> str:
        return compile_person_sum(self.number, self.condition, max_rows, is_mean=False)

    @classmethod
    def infer_answer_total_type(cls, argument: Expression | None) -> Type:
        is_whole = argument is not None and argument.type.step == 1
        return make_number_type(step=Fraction(1) if is_whole else None)

    @classmethod
    def check_answer_argument(cls, argument: Expression, node: exp.Expression) -> None:
        refuse_non_number(argument, node)

    @classmethod
    def compile_answer_total(cls, argument_sql: str, kind: Type) -> str:
        text = super().compile_answer_total(argument_sql, kind)
        # a sum of whole numbers is cast from 128 to 64 bits
        return f"TRY_CAST({text} AS BIGINT)" if kind.step == 1 else text


def estimate_sum(primitive: ReleasedPrimitive, unit: Fraction, confidence: float) -> Estimate:
    """Return the estimate of a sum of whole steps."""
    low, high = primitive.get_interval(confidence)
    scale = float(unit)
    values = primitive.rounded_values if unit == 1 else primitive.values * scale
    return Estimate(values=values, low=low * scale, high=high * scale)


def estimate_sum_from_mean(
    centred: ReleasedPrimitive, rows: ReleasedPrimitive, grid: Grid, confidence: float
) -> Estimate:
    """Return a sum from the centred sum S and the count N: (S + (low + high) N) / 2 steps; unbiased."""
    half, middle = grid.step / 2, grid.low + grid.high
    values = (centred.values + middle * rows.values) * float(half)
    width = find_sum_half_width([(centred, half), (rows, middle * half)], confidence)
    return Estimate(values=values, low=values - width, high=values + width)


def find_sum_half_width(weighted: Sequence[tuple[ReleasedPrimitive, Fraction]], confidence: float) -> float:
    """Return the half-width of a weighted sum of released primitives, from the law of its noise."""
    total = LinearCombination(())
    for released, weight in weighted:
        total += describe_error(released.noise, unit=weight / released.weight_denominator)
    return round_up(total.half_width(1 - confidence))
