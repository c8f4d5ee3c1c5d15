"""Measurements of the same or overlapping quantities, combined so that they agree and are more accurate.

Repeated    Independent unbiased measurements y_i of one quantity, variances v_i: the weights (1 / v_i) / sum
            of 1 / v_j give the least variance. They are rounded to hundredths (finer beyond five
            measurements), which adds less than 1% to the variance and keeps the error on a lattice; they
            still add up to 1, so the combination is unbiased. Its error is a `LinearCombination`, whose
            half-width is exact: for epsilon .1 and .2 (sensitivity 2) ±26.2, where a normal law says ±24.8
            and covers 94.0%.
Overlapping Totals y = A x + noise over cells x (by day and by month): generalized least squares,
            x^ = (A' W A)^+ A' W y with W = diag(1 / v). An output C x is determined if C is a combination of
            the rows of A; its estimate is H y with H = C (A' W A)^+ A' W, so that sums of estimates equal
            estimates of sums, and its error is the combination of the measured noises with weights H.
            Weights are rounded to multiples of 2**-40 before they are used, for estimate and error alike: the
            stated law is that of the printed number, and H A = C up to 1e-9 of the cells.
Looks       All of this holds for measurements whose number was fixed in advance. An analyst who looks, then
            decides whether to measure again, chooses when to stop by the noise: then beta is divided over the
            looks, beta / K for at most K looks, or beta / (k (k + 1)) for the k-th of any number, which adds
            up to beta. The worst of six looks at undivided beta = .05 covers 86%.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count, require_probability
from discreet.mechanisms.linear_combinations import LinearCombination
from discreet.mechanisms.noise_laws import Floats

LEAST_PARTS, PARTS_PER_WEIGHT = 100, 20
LARGEST_DESIGN = 512
WEIGHT_GRID = 2.0**40
UNBIASED = 1e-9


@dataclass(frozen=True, kw_only=True)
class CombinedMeasurement:
    """Weights of several measurements of one quantity, which add up to 1, and the error of their mean."""

    weights: tuple[Fraction, ...]
    error: LinearCombination

    def estimate(self, values: Sequence[Fraction | int]) -> Fraction:
        """Return the weighted mean of released values."""
        return sum((w * value for w, value in zip(self.weights, values, strict=True)), Fraction(0))


@lru_cache(maxsize=4_096)
def combine_measurements(*errors: LinearCombination) -> CombinedMeasurement:
    """Return the combination of independent measurements with the least variance.

    >>> from discreet.mechanisms.noise_laws import DiscreteLaplaceLaw
    >>> once, again = (DiscreteLaplaceLaw(rate=Fraction(1, rate)) for rate in (20, 10))
    >>> errors = [LinearCombination.from_equal_cells(law, 1) for law in (once, again)]
    >>> combined = combine_measurements(*errors)
    >>> combined.weights, combined.error.half_width(0.05)
    ((Fraction(1, 5), Fraction(4, 5)), Fraction(131, 5))
    """
    require_parameter(len(errors) > 0, "combine_measurements", "errors", "none", "at least one")
    exact = [index for index, error in enumerate(errors) if not error.terms]
    if exact:
        weights = [Fraction(int(index == exact[0])) for index in range(len(errors))]
    else:
        least = min(error.variance for error in errors)
        inverses = [least / error.variance for error in errors]
        weights = _round_weights([each / sum(inverses) for each in inverses])
    total = LinearCombination(())
    for weight, error in zip(weights, errors, strict=True):
        total += error.scale(weight)
    return CombinedMeasurement(weights=tuple(weights), error=total)


def _round_weights(weights: Sequence[float]) -> list[Fraction]:
    """Return the weights as multiples of one part, adding up to 1: the largest remainders are rounded up."""
    parts = max(LEAST_PARTS, PARTS_PER_WEIGHT * len(weights))
    shares = np.array(weights) * parts
    whole = np.floor(shares)
    whole[np.argsort(whole - shares, kind="stable")[: parts - int(whole.sum())]] += 1
    return [Fraction(int(each), parts) for each in whole]


def split_over_looks(beta: float, looks: int) -> float:
    """Return the miss probability of each of at most `looks` adaptive measurements of one quantity."""
    require_probability("split_over_looks", "beta", beta)
    require_count("split_over_looks", "looks", looks)
    return beta / looks


def spend_on_look(beta: float, look: int) -> float:
    """Return the miss probability of the `look`-th measurement (1, 2, …) if there may be any number.

    >>> spend_on_look(0.06, 1), spend_on_look(0.06, 2)
    (0.03, 0.01)
    """
    require_probability("spend_on_look", "beta", beta)
    require_count("spend_on_look", "look", look)
    return beta / (look * (look + 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class ConsistentTotals:
    """Estimates of outputs that agree with each other: `weights` has a row for each, over measured totals."""

    weights: Floats
    measured_errors: tuple[LinearCombination, ...]

    def estimate(self, values: Floats) -> Floats:
        """Return the estimates from the measured totals."""
        return np.asarray(self.weights @ np.asarray(values, dtype=np.float64))

    def get_error(self, output: int) -> LinearCombination:
        """Return the error of one output's estimate."""
        groups = [
            (term.law, Fraction(weight) * term.coefficient, term.copies)
            for weight, error in zip(self.weights[output].tolist(), self.measured_errors, strict=True)
            if weight
            for term in error.terms
        ]
        return LinearCombination.from_counts(groups)


def fit_totals(
    design: Floats, errors: Sequence[LinearCombination], outputs: Floats | None = None
) -> ConsistentTotals:
    """Return consistent estimates of `outputs` by generalized least squares.

    `design` has a row for each measured total and a column for each cell: 1 where the total contains the
    cell. `errors` are the totals' independent errors. `outputs` has a row for each wanted combination of
    cells; by default these are the measured totals themselves.
    """
    owner = "fit_totals"
    matrix = np.asarray(design, dtype=np.float64)
    wanted = matrix if outputs is None else np.asarray(outputs, dtype=np.float64)
    fits = matrix.ndim == 2 and 0 < max(matrix.shape) <= LARGEST_DESIGN and wanted.shape[0] <= LARGEST_DESIGN
    require_parameter(
        fits, owner, "design", f"{matrix.shape}", f"a matrix of at most {LARGEST_DESIGN} rows and columns"
    )
    require_parameter(len(errors) == matrix.shape[0], owner, "errors", len(errors), "one for each total")
    require_parameter(
        wanted.shape[1:] == matrix.shape[1:], owner, "outputs", f"{wanted.shape}", "over all cells"
    )
    require_parameter(all(error.terms for error in errors), owner, "errors", "0", "of totals with noise")
    roots = np.array([error.standard_deviation for error in errors])
    # relative to the smallest, so that the scale of the noise does not matter
    scaled = matrix * (roots.min() / roots)[:, None]
    weights = wanted @ np.linalg.pinv(scaled, rcond=1e-12) * (roots.min() / roots)
    weights = np.rint(weights * WEIGHT_GRID) / WEIGHT_GRID
    bias = float(np.abs(weights @ matrix - wanted).max(initial=0.0))
    require_parameter(
        bias <= UNBIASED, owner, "outputs", "one that no totals determine", "combinations of the totals"
    )
    return ConsistentTotals(weights=weights, measured_errors=tuple(errors))
