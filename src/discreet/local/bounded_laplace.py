"""Bounded Laplace noise: the likelier, the nearer, and never outside of the range.

Report      y in 0 .. k - 1 with probability a**|x - y| / Z(x), Z(x) the sum over the range: Laplace noise on
            a grid, given that it stays in the range [HABM20]. Drawn from the matrix in multiples of 2**-64.
Guarantee   gamma is the largest ratio within a column of the matrix that is drawn from. It is above
            a**-(k - 1) unless that is attained: Z depends on x, so that the scale of unbounded noise does not
            suffice, and `for_epsilon` an epsilon the decay a is found from the matrix itself.
Estimate    The matrix is diag(1 / Z) times one whose inverse has three diagonals, so raw shares are a few
            operations a value. The mean of reports is biased towards the middle; that of raw shares is not.
Utility     For numbers whose nearby values mean much the same; epsilon is spread over the whole range.

[HABM20]    Holohan, Antonatos, Braghin & Mac Aonghusa, The Bounded Laplace Mechanism in Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, is_real
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.distribution_fitting import Channel
from discreet.local.exact_sampling import THRESHOLD_SCALE, require_epsilon, require_values
from discreet.local.frequency_oracles import LinearOperator
from discreet.local.matrix_operator import MatrixOperator
from discreet.local.report_formats import CodeFormat, Reports
from discreet.mechanisms.sampling import Floats, Integers

MAX_VALUES = 1024
BISECTIONS = 60
ROUNDING_MARGIN = 1e-12  # what the rounding of floats may add to gamma


@dataclass(frozen=True, kw_only=True)
class BoundedLaplace(LinearOperator):
    """Each step away from the value is `decay` times as likely as the one before it.

    >>> BoundedLaplace(values=2, decay=0.5).gamma
    2.0
    """

    values: int
    decay: float

    def __post_init__(self) -> None:
        require_values(self, self.values, most=MAX_VALUES)
        holds = is_real(self.decay) and 0 < self.decay < 1
        require_parameter(holds, self, "decay", self.decay, "a number between 0 and 1")

    @classmethod
    def for_epsilon(cls, epsilon: Real, values: int) -> Self:
        """Return the operator of fastest decay that epsilon allows; gamma falls as the decay nears 1."""
        exact = require_epsilon(cls.__name__, epsilon)
        require_values(cls.__name__, values, most=MAX_VALUES)
        # the least entry is above exp(-epsilon) / k, and drawing rounds it by less than one part of 2**64
        rounded = 2 * values * (math.exp(exact) + values) / THRESHOLD_SCALE
        most = math.exp(exact) * (1 - ROUNDING_MARGIN - rounded)
        # per step epsilon / (k - 1) is too little noise, and half of that is enough
        low, high = float(exact) / (2 * values), float(exact) / (values - 1)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            fits = _compute_amplification(_build_matrix(values, math.exp(-middle))) <= most
            low, high = (middle, high) if fits else (low, middle)
        return cls(values=values, decay=math.exp(-low))

    @property
    def outputs(self) -> int:
        return self.values

    @property
    def report_format(self) -> CodeFormat:
        return CodeFormat(outputs=self.values)

    @property
    def gamma(self) -> float:
        return self._matrix_operator.gamma

    @cached_property
    def _matrix_operator(self) -> MatrixOperator:
        return MatrixOperator(rows=_build_matrix(self.values, self.decay))

    def compute_matrix(self) -> Floats:
        return self._matrix_operator.compute_matrix()

    def likelihood(self, report: Reports) -> Floats:
        return self._matrix_operator.likelihood(report)

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        return self._matrix_operator.randomize(x, random)

    @property
    def channel(self) -> Channel:
        return self._matrix_operator.channel

    @cached_property
    def _row_sums(self) -> Floats:
        """The row sums Z of every value."""
        return np.asarray(_compute_decay_weights(self.values, self.decay).sum(axis=1))

    def apply_inverse(self, seen: Floats) -> Floats:
        outer, inner, corner = self._inverse_diagonals
        return self._row_sums * _multiply_tridiagonal(seen, outer, inner, corner)

    def apply_squared_inverse(self, seen: Floats) -> Floats:
        outer, inner, corner = (each**2 for each in self._inverse_diagonals)
        return self._row_sums**2 * _multiply_tridiagonal(seen, outer, inner, corner)

    def compute_report_values(self, weights: Floats) -> Floats:
        return _multiply_tridiagonal(self._row_sums * weights, *self._inverse_diagonals)

    @property
    def _inverse_diagonals(self) -> tuple[float, float, float]:
        """The inverse of a**
        x - y
        : its entries beside the diagonal, on it, and at its two ends.
        """
        a = self.decay
        scale = 1 / (1 - a * a)
        return -a * scale, (1 + a * a) * scale, scale


def _compute_decay_weights(values: int, decay: float) -> Floats:
    codes = np.arange(values)
    return np.asarray(decay ** np.abs(codes[:, None] - codes), np.float64)


def _build_matrix(values: int, decay: float) -> Floats:
    weights = _compute_decay_weights(values, decay)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _compute_amplification(matrix: Floats) -> float:
    return float((matrix.max(axis=0) / matrix.min(axis=0)).max())


def _multiply_tridiagonal(vector: Floats, outer: float, inner: float, corner: float) -> Floats:
    found = inner * vector
    found[0], found[-1] = corner * vector[0], corner * vector[-1]
    found[1:] += outer * vector[:-1]
    found[:-1] += outer * vector[1:]
    return found
