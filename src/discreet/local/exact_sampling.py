"""Exact sampling: coins whose probabilities are multiples of 2**-64, and uniform integers, in bulk.

Law         Every coin of this package is true with probability t / 2**64, t an integer, so the sampled law
            is exactly the stated law: matrix, gamma and estimates are computed from t, not from the number
            that was rounded to t.
Rounding    For an operator constructed from epsilon, t is rounded toward more noise, by less than 2**-64
            and with a proven bound on exp(-epsilon): the gamma of the sampled law is at most exp(epsilon).

Each takes few random bits:

sample_coins    true with probability t / 2**64: 16 bits decide all but one in 65,536, which read 48 more.
sample_uniform  uniform in [0, bound): the top of bits * bound, rejected where it favors a value [Lemire19].

Reading random bits from the operating system dominates the time of collection, hence 16 bits first.

[Lemire19]  Lemire, Fast Random Integer Generation in an Interval.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import require_parameter
from discreet.core.numba_kernels import compile_kernel
from discreet.core.number_checks import Real, is_real, require_count
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Booleans, Integers, Words, bound_exp, sample_uniform_below

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


def compute_odds_probability(epsilon: Fraction, weight: Fraction | int = 1) -> Fraction:
    """Return the probability of a coin whose odds are exp(epsilon) to `weight`: t is rounded down.

    >>> float(compute_odds_probability(Fraction(1)))
    0.731...
    """
    most = bound_exp(epsilon, DIGITS)[1]
    return Fraction(math.floor(THRESHOLD_SCALE / (1 + weight * most)), THRESHOLD_SCALE)


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


def compute_mixture_probability(epsilon: Fraction, ratio: Fraction | int) -> Fraction:
    """Return the largest probability t / 2**64 whose odds are at most (exp(epsilon) - 1) to `ratio`.

    With such odds for one of w outputs instead of any of m, ratio = m / w, gamma is at most exp(epsilon).
    """
    most = bound_exp(epsilon, DIGITS)[1]
    return Fraction(math.floor(THRESHOLD_SCALE / (1 + ratio * most / (1 - most))), THRESHOLD_SCALE)


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


Words16 = NDArray[np.uint16]
Words32 = NDArray[np.uint32]

MAX_BOUND_16_BITS, MAX_BOUND_32_BITS = 1 << 10, 1 << 26
LOW_48_BITS = np.uint64((1 << 48) - 1)


def draw_words16(count: int, random: Randomness) -> Words16:
    """Return independent uniform 16-bit words."""
    return random.draw_words((count + 3) // 4).view(np.uint16)[:count]


def draw_words32(count: int, random: Randomness) -> Words32:
    """Return independent uniform 32-bit words."""
    return random.draw_words((count + 1) // 2).view(np.uint32)[:count]


def sample_coins(threshold: int, count: int, random: Randomness) -> Booleans:
    """Return `count` coins, each true with probability threshold / 2**64."""
    if threshold == THRESHOLD_SCALE:
        return np.ones(count, np.bool_)
    first = draw_words16(count, random)
    told = first < np.uint16(threshold >> 48)
    open_places = np.flatnonzero(first == np.uint16(threshold >> 48))
    told[open_places] = _draw_remaining_bits(open_places.size, random) < np.uint64(threshold) & LOW_48_BITS
    return told


def sample_coins_each(thresholds: Words, random: Randomness) -> Booleans:
    """Return one coin for each threshold below 2**64."""
    first, tops = draw_words16(thresholds.size, random), (thresholds >> np.uint64(48)).astype(np.uint16)
    told = first < tops
    open_places = np.flatnonzero(first == tops)
    told[open_places] = _draw_remaining_bits(open_places.size, random) < thresholds[open_places] & LOW_48_BITS
    return told


def sample_uniform(bound: int, count: int, random: Randomness) -> Integers:
    """Return `count` uniform integers in [0, bound)."""
    if bound == 1:
        return np.zeros(count, np.int64)
    if bound > MAX_BOUND_32_BITS:
        return sample_uniform_below(bound, count, random)
    drawn, kept = _draw_scaled(bound, count, random)
    open_places = np.flatnonzero(~kept)
    while open_places.size:
        again, kept = _draw_scaled(bound, open_places.size, random)
        drawn[open_places[kept]] = again[kept]
        open_places = open_places[~kept]
    return drawn


def _draw_remaining_bits(count: int, random: Randomness) -> Words:
    """Return the remaining 48 bits of coins that 16 bits did not decide."""
    return random.draw_words(count) >> np.uint64(16)


def _draw_scaled(bound: int, count: int, random: Randomness) -> tuple[Integers, Booleans]:
    """Return floor(bits * bound / 2**w) and the mask of accepted draws; w is 16 for small bounds, else 32."""
    if bound <= MAX_BOUND_16_BITS:
        return _scale_words(draw_words16(count, random), bound, 16)
    return _scale_words(draw_words32(count, random), bound, 32)


@compile_kernel
def _scale_words(bits: NDArray[Any], bound: int, width: int) -> tuple[Integers, Booleans]:
    """Return the scaled draws, and False where accepting one would favor a value."""
    drawn, kept = np.empty(bits.size, np.int64), np.empty(bits.size, np.bool_)
    refused, low = (1 << width) % bound, (1 << width) - 1
    for i in range(bits.size):
        scaled = np.int64(bits[i]) * bound  # below 2**58
        drawn[i] = scaled >> width
        kept[i] = (scaled & low) >= refused
    return drawn, kept
