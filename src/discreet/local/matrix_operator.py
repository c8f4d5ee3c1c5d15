"""An operator given by an explicit matrix: row x is the distribution of the report of value x.

Report      y with the probability of row x and column y, rounded to a multiple of 2**-64 (a positive
            one stays positive), sampled by comparing a 64-bit word with the row's cumulative probabilities.
Guarantee   gamma is the largest ratio within a column of the rounded matrix, in exact arithmetic.
Estimate    raw: the right inverse of the matrix with the least variance for a uniform distribution. It exists
            if no two distributions of values give the same reports. Shares: the
            exact maximum of the likelihood, by iterative Bayes with a certificate. Intervals are normal.
Utility     If an operator of this package has the same matrix, prefer that one: its formulas are closed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.belief.breaches import ROUNDING
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.numba_kernels import compile_kernel
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.distribution_fitting import Channel, channel_from_matrix
from discreet.local.exact_sampling import THRESHOLD_SCALE, require_codes
from discreet.local.frequency_oracles import LinearOperator
from discreet.local.operator import LARGEST_MATRIX
from discreet.local.report_formats import CodeFormat, Reports
from discreet.mechanisms.sampling import Floats, Integers, Words

ExactMatrix = NDArray[np.object_]


@dataclass(frozen=True, kw_only=True, eq=False)
class MatrixOperator(LinearOperator):
    """The operator of a matrix: rows of probabilities that sum to 1.

    >>> MatrixOperator(rows=[[0.75, 0.25], [0.25, 0.75]]).gamma
    3.0
    """

    rows: ArrayLike | Sequence[Sequence[float]]
    values: int = field(init=False)

    def __post_init__(self) -> None:
        matrix = _require_rows(self, self.rows)
        holds = matrix.size <= LARGEST_MATRIX
        require_parameter(
            holds, self, "rows", f"{matrix.size:,} entries", f"at most {LARGEST_MATRIX:,} probabilities"
        )
        require_parameter(len(matrix) >= 2, self, "rows", "one row", "at least two, one for each value")
        object.__setattr__(self, "rows", matrix)
        object.__setattr__(self, "values", len(matrix))

    @property
    def outputs(self) -> int:
        return int(np.shape(self.rows)[1])

    @property
    def report_format(self) -> CodeFormat:
        return CodeFormat(outputs=self.outputs)

    @cached_property
    def thresholds(self) -> ExactMatrix:
        """The matrix in multiples of 2**-64: rows of integers that sum to 2**64."""
        return np.array([_row_to_thresholds(row) for row in np.asarray(self.rows)], dtype=object)

    @cached_property
    def gamma(self) -> float:
        most, least = self.thresholds.max(axis=0), self.thresholds.min(axis=0)
        ratios = [Fraction(a, b) if b else math.inf for a, b in zip(most, least, strict=True) if a]
        return float(max(ratios))

    def compute_matrix(self) -> Floats:
        return self._float_matrix

    @cached_property
    def _float_matrix(self) -> Floats:
        return np.asarray(self.thresholds / THRESHOLD_SCALE, np.float64)

    def likelihood(self, report: Reports) -> Floats:
        return np.asarray(
            self.compute_matrix()[:, int(self.report_format.to_matrix_columns(np.atleast_1d(report))[0])]
        )

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes = require_codes(self, x, self.values)
        last = self.outputs - 1 - np.argmax(self._float_matrix[:, ::-1] > 0, axis=1)
        return _sample_columns(codes, random.draw_words(codes.size), self._cumulative_thresholds, last)

    @cached_property
    def _cumulative_thresholds(self) -> Words:
        """The cumulative integers of each row; 2**64, at the last possible column, is never compared."""
        return np.minimum(np.cumsum(self.thresholds, axis=1), THRESHOLD_SCALE - 1).astype(np.uint64)

    @cached_property
    def _inverse(self) -> Floats:
        """The matrix A, outputs by values, with matrix @ A = 1: raw shares are report shares times A."""
        matrix = self.compute_matrix()
        possible = matrix.max(axis=0) > 0
        weighed = matrix[:, possible] / matrix[:, possible].mean(axis=0)
        gram = weighed @ matrix[:, possible].T
        if np.linalg.cond(gram) > 1e12:
            raise InvalidParameterError(
                "MatrixOperator cannot be inverted: two distributions of values give the same reports.",
                hint="Give every value a row that is not a mixture of the others.",
            )
        inverse = np.zeros(matrix.T.shape)
        inverse[possible] = np.linalg.solve(gram, weighed).T
        return inverse

    @property
    def channel(self) -> Channel:
        return channel_from_matrix(self.compute_matrix())

    def apply_inverse(self, seen: Floats) -> Floats:
        return np.asarray(seen @ self._inverse)

    def apply_squared_inverse(self, seen: Floats) -> Floats:
        return np.asarray(seen @ self._inverse**2)

    def compute_report_values(self, weights: Floats) -> Floats:
        return np.asarray(self._inverse @ weights)


def _require_rows(owner: object, rows: ArrayLike) -> Floats:
    """Return the rows as floats; the error names the row that is wrong."""
    try:
        matrix = np.asarray(rows, np.float64)
    except (TypeError, ValueError, OverflowError):
        matrix = np.zeros(0)
    require_parameter(
        matrix.ndim == 2, owner, "rows", "something else", "a matrix of numbers, its rows equally long"
    )
    below = np.flatnonzero(~(matrix.min(axis=1, initial=0.0) >= 0))
    require_parameter(below.size == 0, owner, "rows", "a negative number", "probabilities")
    off = np.flatnonzero(~(np.abs(matrix.sum(axis=1) - 1) <= ROUNDING))
    sums = f"a sum of {matrix[off[0]].sum():.10g} in row {off[0]}" if off.size else ""
    require_parameter(off.size == 0, owner, "rows", sums, "rows of probabilities, each with the sum 1")
    return matrix


def _row_to_thresholds(row: Floats) -> list[int]:
    """Return integers with sum 2**64, proportional to a row up to rounding, at least 1 if it is positive."""
    exact = [int(each) for each in np.ldexp(row / row.sum(), 64).tolist()]
    parts = [max(1, part) if each else 0 for part, each in zip(exact, row.tolist(), strict=True)]
    parts[int(np.argmax(row))] += THRESHOLD_SCALE - sum(parts)
    return parts


@compile_kernel
def _sample_columns(codes: Integers, words: Words, cumulative: Words, last: Integers) -> Integers:
    """Return for each client the first column whose cumulative integer exceeds its word."""
    found = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        low, high = 0, last[codes[i]]
        while low < high:
            middle = (low + high) // 2
            if words[i] < cumulative[codes[i], middle]:
                high = middle
            else:
                low = middle + 1
        found[i] = low
    return found
