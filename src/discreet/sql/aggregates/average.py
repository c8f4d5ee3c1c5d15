"""AVG(x): the mean of a bounded number, as a ratio of a centred sum and a count.

Measures     N, the rows of the group in which x is not NULL, and S = Σ (2x − low − high), centred so that the
             sum's sensitivity is the range high − low and not its larger end. No N if the policy declares the
             number of rows and the query does not change it.
Sensitivity  one person with at most R rows moves N by R and S by R (high − low) over all groups together;
             twice that under replace-one.
Estimate     (S / N + low + high) / 2, clamped to [low, high]; NULL where N's interval includes 0.
Error        every mean that S and N within their intervals could give; the whole range where N may be 0. It
             follows from the plan where N is public, or where the analyst assumes a least number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NoReturn

import numpy as np
from sqlglot import exp

from discreet.belief.wording import format_number
from discreet.sql.aggregates.base import (
    Decomposer,
    Decomposition,
    NumericAggregate,
    PlannedNoise,
    SupportsAnswerTotals,
    refuse_non_number,
)
from discreet.sql.aggregates.person_sums import PersonSum, compile_person_sum, infer_person_mean_type
from discreet.sql.conditional_arguments import split_condition
from discreet.sql.expression_tree import Column, Expression
from discreet.sql.expression_types import Type, make_number_type
from discreet.sql.interval_estimates import (
    Estimate,
    Floats,
    ReleasedPrimitive,
    divide_or_nan,
    split_confidence,
)
from discreet.sql.primitives import Grid, Primitive, choose_grid
from discreet.sql.refusal import refuse_query
from discreet.sql.released_schema import MeasureForm, OpaqueMeasure, RatioMeasure

LEAST_ROWS = "Give the least number of rows: `least_rows=100`."


class Average(NumericAggregate, PersonSum, SupportsAnswerTotals):
    """`AVG(x)`."""

    name = "avg"
    sql_names = ("AVG",)
    nodes = (exp.Avg,)
    documentation = (
        "The mean of a number with bounds. AVG, SUM and COUNT of the same column share what they pay for. "
        "The mean of a group that may have no rows is unknown: it is NULL, and its interval the whole range."
    )
    example = "SELECT sex, AVG(hours) AS hours FROM census GROUP BY sex"
    is_linear = True
    answer_nodes = (exp.Avg,)

    @property
    def result_type(self) -> Type:
        return make_number_type()

    @property
    def max_row_contribution(self) -> int:
        grid = choose_grid(self.number)
        return max(abs(grid.low), abs(grid.high), grid.width, 1)

    def decompose(self, decomposer: Decomposer) -> Decomposition:
        number, condition = split_condition(self.number, self.condition, ignores_zero=False)
        grid, builder = choose_grid(number), decomposer.builder
        centred = decomposer.add_primitive(builder.build_centred_sum(grid, condition))
        is_whole = isinstance(number, Column) and condition is None
        if decomposer.public_rows is not None and is_whole:
            return Decomposition(primitive_names=(centred,), grid=grid, public_rows=decomposer.public_rows)
        rows = decomposer.add_primitive(builder.build_count(number, condition))
        return Decomposition(primitive_names=(centred, rows), grid=grid)

    def estimate(
        self,
        decomposition: Decomposition,
        released: Sequence[ReleasedPrimitive],
        confidence: float,
        *,
        raw: bool = False,
    ) -> Estimate:
        rows = released[1] if decomposition.public_rows is None else decomposition.public_rows
        assert decomposition.grid is not None
        return estimate_mean(released[0], rows, decomposition.grid, confidence)

    def describe_form(self, decomposition: Decomposition, primitives: Mapping[str, Primitive]) -> MeasureForm:
        grid, names = decomposition.grid, decomposition.primitive_names
        assert grid is not None
        if decomposition.public_rows is not None:
            return OpaqueMeasure(has_interval=True)
        return RatioMeasure(
            top={names[0]: Fraction(1)},
            bottom={names[1]: Fraction(1)},
            offset=(grid.low + grid.high) * grid.step / 2,
            low=float(grid.low * grid.step),
            high=float(grid.high * grid.step),
        )

    def bound_error(self, decomposition: Decomposition, noise: PlannedNoise) -> Fraction | None:
        if decomposition.public_rows is not None:
            return noise.half_widths[0] * noise.units[0] / decomposition.public_rows
        if noise.least_rows is None:
            return None
        assert decomposition.grid is not None
        centred, rows = noise.half_widths
        return _bound_mean_error(centred, rows, decomposition.grid, noise.least_rows)

    def describe_open_error(self, half_width: float) -> str:
        return f"about {format_number(half_width)} / the rows of a group"

    def refuse_tolerance(self, tolerance: object) -> NoReturn:
        refuse_query(
            f"the error of AVG depends on how many rows a group has, so {tolerance} cannot be promised "
            "for it.",
            f"{LEAST_ROWS} Or ask with epsilon.",
        )

    def infer_person_total_type(self, max_rows: int) -> Type:
        return infer_person_mean_type(self.number.type, max_rows)

    def compile_person_total(self, max_rows: int) -> str:
        return compile_person_sum(self.number, self.condition, max_rows, is_mean=True)

    @classmethod
    def infer_answer_total_type(cls, argument: Expression | None) -> Type:
        return make_number_type()

    @classmethod
    def check_answer_argument(cls, argument: Expression, node: exp.Expression) -> None:
        refuse_non_number(argument, node)


def estimate_mean(
    centred: ReleasedPrimitive, rows: ReleasedPrimitive | int, grid: Grid, confidence: float
) -> Estimate:
    """Return a mean, (low + high) / 2 + S / (2 N) steps; unknown if there may be no rows.

    With S within h, N within k, N > k, and range w of S / N, the interval reaches no further from the value
    than (h + w k) / (N - k) in half steps. For |S / N| <= w its upper end is at most max(
    (S + h) / (N - k), (S + h) / (N + k)), which is above S / N by (h + k S / N) / (N - k) if S + h >= 0, and
    by (h - k S / N) / (N + k) else. Where S / N is beyond w, value and one end are both cut off at w, and the
    other end is no further from there than if S were w N. The lower end is the same mirrored.
    """
    if isinstance(rows, int):
        n = n_low = n_high = np.full(centred.values.shape, rows, np.float64)
        s_low, s_high = centred.get_interval(confidence)
    else:
        n = rows.values
        n_low, n_high = (np.maximum(end, 0) for end in rows.get_interval(split_confidence(confidence, 2)))
        s_low, s_high = centred.get_interval(split_confidence(confidence, 2))
    values = _scale_to_range(divide_or_nan(centred.values, n), grid)
    low = _scale_to_range(np.fmin(divide_or_nan(s_low, n_low), divide_or_nan(s_low, n_high)), grid)
    high = _scale_to_range(np.fmax(divide_or_nan(s_high, n_low), divide_or_nan(s_high, n_high)), grid)
    unknown = (n_low < 1) | np.isnan(values)
    bottom, top = float(grid.low * grid.step), float(grid.high * grid.step)
    return Estimate(
        values=np.where(unknown, np.nan, values),
        low=np.where(unknown, bottom, low),
        high=np.where(unknown, top, high),
    )


def _scale_to_range(above_middle: Floats, grid: Grid) -> Floats:
    """Convert centred half steps to values, clamped to the declared range."""
    values = (above_middle + (grid.low + grid.high)) / 2 * float(grid.step)
    return np.clip(values, float(grid.low * grid.step), float(grid.high * grid.step))


def _bound_mean_error(h: Fraction, k: Fraction, grid: Grid, least_rows: int) -> Fraction:
    """Return the error bound of a mean; at most the whole range, which is the interval if it is unknown."""
    counted, whole = least_rows - 2 * k, grid.width * grid.step
    return whole if counted < 1 else min((h + grid.width * k) * grid.step / (2 * counted), whole)
