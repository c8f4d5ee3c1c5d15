"""Probabilities that can be sampled exactly: multiples of 2**-64.

Law         Every coin of this package is true with probability t / 2**64, t an integer, so the sampled law
            is exactly the stated law: matrix, gamma and estimates are computed from t, not from the number
            that was rounded to t.
Rounding    For an operator constructed from epsilon, t is rounded toward more noise, by less than 2**-64
            and with a proven bound on exp(-epsilon): the gamma of the sampled law is at most exp(epsilon).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, is_real, require_count
from discreet.mechanisms.sampling import Integers, bound_exp

THRESHOLD_SCALE = 1 << 64
DIGITS = 60
MIN_EPSILON, MAX_EPSILON = 1e-6, 30.0
LARGEST_DOMAIN = 1 << 20


def require_epsilon(owner: object, epsilon: Real) -> Fraction:
    """Return epsilon as an exact fraction; refuse one that no operator can be sampled at.

    Below 10**-6 the rounding of t would matter; above 30 a lie is rarer than 2**-43, which protects nobody.
    """
    holds = is_real(epsilon) and MIN_EPSILON <= epsilon <= MAX_EPSILON
    require_parameter(holds, owner, "epsilon", epsilon, "a number from 0.000001 to 30")
    return Fraction(epsilon)


def require_values(owner: object, values: int, *, least: int = 2, most: int = LARGEST_DOMAIN) -> None:
    """Refuse a domain of fewer than `least` or more than `most` values."""
    require_count(owner, "values", values, minimum=least)
    require_parameter(values <= most, owner, "values", values, f"at most {most:,}")


def compute_odds_threshold(epsilon: Fraction, weight: Fraction | int = 1) -> int:
    """Return the t of a coin whose odds are exp(epsilon) to `weight`, rounded down.

    >>> compute_odds_threshold(Fraction(1)) / THRESHOLD_SCALE
    0.731...
    """
    most = bound_exp(epsilon, DIGITS)[1]
    return math.floor(THRESHOLD_SCALE / (1 + weight * most))


def round_to_threshold(owner: object, name: str, probability: Real) -> int:
    """Return the t nearest to a probability; a positive probability stays positive."""
    holds = is_real(probability) and 0 <= probability <= 1
    require_parameter(holds, owner, name, probability, "a probability from 0 to 1")
    exact = Fraction(probability) * THRESHOLD_SCALE
    t = round(exact)
    return max(t, 1) if exact > 0 else t


def round_field_to_threshold(owner: object, name: str) -> None:
    """Check that a field of a frozen dataclass is a probability, and round it to a multiple of 2**-64."""
    t = round_to_threshold(owner, name, getattr(owner, name))
    object.__setattr__(owner, name, Fraction(t, THRESHOLD_SCALE))


def compute_mixture_threshold(epsilon: Fraction, ratio: Fraction | int) -> int:
    """Return the largest t whose odds are at most (exp(epsilon) - 1) to `ratio`.

    With such odds for one of w outputs instead of any of m, ratio = m / w, gamma is at most exp(epsilon).
    """
    most = bound_exp(epsilon, DIGITS)[1]
    return math.floor(THRESHOLD_SCALE / (1 + ratio * most / (1 - most)))


def fraction_to_threshold(probability: Fraction) -> int:
    """Return the t of a probability that is a multiple of 2**-64."""
    return int(probability * THRESHOLD_SCALE)


def require_codes(owner: object, x: Integers, values: int) -> Integers:
    """Return the clients' values as codes 0 .. values - 1; the error never names a value."""
    codes = np.asarray(x)
    holds = codes.ndim == 1 and codes.dtype.kind in "iu"
    require_parameter(holds, owner, "x", "something else", "a vector of integer codes, one for each client")
    inside = codes.size == 0 or (int(codes.min()) >= 0 and int(codes.max()) < values)
    require_parameter(inside, owner, "x", "a value outside of the domain", f"codes from 0 to {values - 1}")
    return codes.astype(np.int64, copy=False)
