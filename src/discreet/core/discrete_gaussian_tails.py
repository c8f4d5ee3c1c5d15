"""Bounds on tail probabilities of the discrete Gaussian: sums of exp(-z**2 / (2 v)) over integers.

Up to sigma = 1000 the sum is taken term by term. Above, the trapezoid rule is used with a bound on its error:
for f(z) = exp(-z**2 / (2 v)) the sum over z >= m is the integral from m plus f(m) / 2, off by at most one
eighth of the variation of f' beyond m: |f'(m)| / 8 past the inflection at sigma, and 3 exp(-1/2) / (8 sigma)
for any m (f' rises to exp(-1/2) / sigma, falls to its negative, and returns to 0).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import scipy

TERMWISE = 1000.0  # above it a sum has too many terms, and closed forms are as close
REACH = 40.0  # standard deviations; the terms beyond are below the least double
COVER = 2.0**-46  # a bound on the relative rounding error of the sums


def compute_normalizer(variance: Fraction) -> float:
    """Return the sum over all integers.

    From sigma = 1 on it is sigma sqrt(2 pi), by Poisson summation, to 1e-8.
    """
    sigma = math.sqrt(variance)
    if sigma > TERMWISE:
        return sigma * math.sqrt(2 * math.pi)
    z = np.arange(1, math.ceil(REACH * sigma) + 2, dtype=np.float64)
    return 1.0 + 2.0 * float(np.exp(-(z**2) / (2 * float(variance)))[::-1].sum())


def bound_tail(variance: Fraction, m: int) -> tuple[float, float]:
    """Return lower and upper bounds on Pr[Z >= m]."""
    if m <= 0:
        low, high = bound_tail(variance, 1 - m)
        return 1.0 - high, 1.0 - low
    sigma = math.sqrt(variance)
    if sigma > TERMWISE:
        return _bound_tail_by_trapezoid(sigma, m)
    last = math.ceil(REACH * sigma) + 1
    if m > last:
        v = float(variance)
        return 0.0, math.exp(-(m**2) / (2 * v)) / -math.expm1(-(2 * m + 1) / (2 * v)) / compute_normalizer(
            variance
        )
    z = np.arange(m, last + 1, dtype=np.float64)
    total = float(np.exp(-(z**2) / (2 * float(variance)))[::-1].sum()) / compute_normalizer(variance)
    return total * (1 - COVER), total * (1 + COVER)


def _bound_tail_by_trapezoid(sigma: float, m: int) -> tuple[float, float]:
    """Return bounds on Pr[Z >= m] by the trapezoid rule, whose error is bounded above."""
    x = m / sigma
    norm = sigma * math.sqrt(2 * math.pi)
    here = math.exp(-x * x / 2)
    middle = math.exp(float(scipy.special.log_ndtr(-x))) + here / (2 * norm)
    wobble = (x * here / sigma if x >= 1 else 3 * math.exp(-0.5) / sigma) / 8 / norm
    return middle * (1 - COVER) - wobble, middle * (1 + COVER) + wobble
