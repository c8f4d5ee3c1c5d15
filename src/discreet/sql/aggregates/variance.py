"""VARIANCE, VAR_POP, STDDEV, STDDEV_POP: the spread of a bounded number.

Measures     the centred sum S and the count N of AVG(x), which a mean of the same column shares, and the
             centred squares Q = Σ (2 y² − w²) of y = 2x − low − high in [−w, w].
Sensitivity  one person with at most R rows moves N by R, S by R w and Q by R w² over all groups together;
             twice that under replace-one.
Estimate     E[y²] − E[y]² from the three, times N / (N − 1) for a sample; NULL where fewer than two rows are
             possible.
Error        every variance that the three within their intervals could give. It depends on the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from sqlglot import exp

from discreet.sql.aggregates.base import Decomposer, Decomposition, NumericAggregate
from discreet.sql.expression_types import Type, make_number_type
from discreet.sql.interval_estimates import (
    Estimate,
    Floats,
    ReleasedPrimitive,
    divide_or_nan,
    split_confidence,
)
from discreet.sql.primitives import Grid, choose_grid


class _Spread(NumericAggregate):
    """Base of variances and standard deviations."""

    is_linear = True
    is_sample: ClassVar[bool]
    takes_root: ClassVar[bool]

    @property
    def result_type(self) -> Type:
        return make_number_type()

    @property
    def max_row_contribution(self) -> int:
        grid = choose_grid(self.number)
        return max(abs(grid.low), abs(grid.high), grid.width, grid.width**2, 1)

    def decompose(self, decomposer: Decomposer) -> Decomposition:
        grid, builder = choose_grid(self.number, is_squared=True), decomposer.builder
        parts = (
            decomposer.add_primitive(builder.build_centred_sum(grid, self.condition)),
            decomposer.add_primitive(builder.build_count(self.argument, self.condition)),
            decomposer.add_primitive(builder.build_centred_squares(grid, self.condition)),
        )
        return Decomposition(primitive_names=parts, grid=grid)

    def estimate(
        self,
        decomposition: Decomposition,
        released: Sequence[ReleasedPrimitive],
        confidence: float,
        *,
        raw: bool = False,
    ) -> Estimate:
        assert decomposition.grid is not None
        return estimate_variance(
            tuple(released),
            decomposition.grid,
            confidence,
            is_sample=self.is_sample,
            takes_root=self.takes_root,
        )


class SampleVariance(_Spread):
    """`VARIANCE(x)`, `VAR_SAMP(x)`."""

    name = "var_samp"
    sql_names = ("VARIANCE",)
    nodes = (exp.Variance,)
    documentation = (
        "The variance of a sample of a number with bounds; also written VAR_SAMP. Of a group that may have "
        "fewer than two rows it is unknown: the value is NULL, and its interval is the whole range."
    )
    example = "SELECT VARIANCE(hours) AS spread, AVG(hours) AS mean FROM census"
    is_sample, takes_root = True, False


class PopulationVariance(_Spread):
    """`VAR_POP(x)`."""

    name = "var_pop"
    sql_names = ("VAR_POP",)
    nodes = (exp.VariancePop,)
    documentation = "The variance of all rows of a group; unknown where VARIANCE is."
    example = "SELECT sex, VAR_POP(hours) AS spread FROM census GROUP BY sex"
    is_sample, takes_root = False, False


class SampleDeviation(_Spread):
    """`STDDEV(x)`, `STDDEV_SAMP(x)`."""

    name = "stddev_samp"
    sql_names = ("STDDEV",)
    nodes = (exp.Stddev, exp.StddevSamp)
    documentation = "The root of VARIANCE; also written STDDEV_SAMP."
    example = "SELECT STDDEV(hours) AS spread FROM census WHERE age >= 30"
    is_sample, takes_root = True, True


class PopulationDeviation(_Spread):
    """`STDDEV_POP(x)`."""

    name = "stddev_pop"
    sql_names = ("STDDEV_POP",)
    nodes = (exp.StddevPop,)
    documentation = "The root of VAR_POP."
    example = "SELECT STDDEV_POP(hours) AS spread FROM census"
    is_sample, takes_root = False, True


def estimate_variance(
    parts: tuple[ReleasedPrimitive, ...], grid: Grid, confidence: float, *, is_sample: bool, takes_root: bool
) -> Estimate:
    """Return the variance E[y**2] - E[y]**2, or its root, of centred y in half steps."""
    centred, rows, squares = parts
    w2 = float(grid.width) ** 2
    n_low, n_high = (np.maximum(end, 0) for end in rows.get_interval(split_confidence(confidence, 3)))
    n = np.maximum(rows.values, 0)
    share = split_confidence(confidence, 3)
    s_low, s_high = centred.get_interval(share)
    q_low, q_high = squares.get_interval(share)
    value = _compute_variance(centred.values, squares.values, n, w2)
    means = [divide_or_nan(s, m) for s in (s_low, s_high) for m in (n_low, n_high)]
    second = [
        _clip_values((divide_or_nan(q, m) + w2) / 2, 0, w2) for q in (q_low, q_high) for m in (n_low, n_high)
    ]
    largest = np.fmax.reduce([np.abs(m) for m in means])
    crosses = (np.sign(s_low) != np.sign(s_high)) | (n_low < 1)
    smallest = np.where(crosses, 0.0, np.fmin.reduce([np.abs(m) for m in means]))
    low = _clip_values(np.fmin.reduce(second) - largest**2, 0, w2)
    high = _clip_values(np.fmax.reduce(second) - smallest**2, 0, w2)
    if is_sample:
        value, low, high = (
            value * _get_bessel_factor(n),
            low * _get_bessel_factor(n_high),
            high * _get_bessel_factor(n_low),
        )
    most = w2 / 4 * (2 if is_sample else 1)
    unknown = n_low < 2
    scale = float(grid.step) ** 2 / 4
    ends = [
        np.where(unknown, np.nan, value),
        np.where(unknown, 0.0, low),
        np.where(unknown, 4 * most, high),
    ]
    shown = [np.sqrt(end * scale) if takes_root else end * scale for end in ends]
    return Estimate(
        values=shown[0],
        low=shown[1],
        high=np.minimum(shown[2], _get_max_variance(grid, is_sample, takes_root)),
    )


def _compute_variance(s: Floats, q: Floats, n: Floats, w2: float) -> Floats:
    first, second = divide_or_nan(s, n), _clip_values((divide_or_nan(q, n) + w2) / 2, 0, w2)
    return _clip_values(second - first**2, 0, w2)


def _get_max_variance(grid: Grid, is_sample: bool, takes_root: bool) -> float:
    """Return the largest variance (or its root) of values in the range: half of them at each end."""
    width = float(grid.width * grid.step)
    largest = width**2 / 4 * (2 if is_sample else 1)
    return float(np.sqrt(largest)) if takes_root else largest


def _get_bessel_factor(n: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, n / (n - 1), np.nan)


def _clip_values(values: Floats, low: float, high: float) -> Floats:
    return np.clip(values, low, high)
