"""Exact samplers: integers and choices that follow their law to the last bit, a million at a time.

Every law here is decided by a uniform real U in [0, 1), read from the operating system bit by bit, against
a bound such as exp(-x), x a fraction. The first 64 bits of U are compared in floating point, *only where
that cannot be wrong*: a value counts as decided if it keeps a distance from the bound that exceeds, by
orders of magnitude, both the bits of U not yet read and the error of `numpy.log` and `numpy.exp` (claimed:
a few units in the last place, 2**-50; allowed: `MARGIN`, 2**-40). The few that remain, one in a billion,
are settled by decimal arithmetic with proven bounds, drawing more bits of the same U until they decide.
So no tail is cut, nothing is rounded, and the speed is that of one vectorized logarithm.

sample_bernoulli_exp      Pr[True] = exp(-x)
sample_geometric          Pr[G >= k] = exp(-rate k)                     by inversion: floor(-ln U / rate)
sample_discrete_laplace   Pr[Z = z] proportional to exp(-rate |z|)      as a difference of two geometrics
sample_discrete_gaussian  Pr[Z = z] proportional to exp(-z**2 / (2 v))  by rejection from Laplace [CKS20]
sample_bernoulli_odds     Pr[True] = w exp(-x) / (1 + w exp(-x))
sample_uniform_below      uniform in [0, bound)                         by rejection
sample_index              Pr[i] proportional to m_i exp(-rate d_i)      by inversion over cumulated weights

The running time of a sampler depends on its parameters and on its own coins, never on the value that the
noise is added to.

[CKS20]     Canonne, Kamath & Steinke, The Discrete Gaussian for Differential Privacy.
[Shewchuk]  Adaptive Precision Floating-Point Arithmetic: the idea of a float that knows when it is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import require_parameter
from discreet.core.randomness import Randomness

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Booleans = NDArray[np.bool_]

MARGIN = 2.0**-40
UNIT = 2.0**-64
LARGEST = 2**62
CHUNK = 1 << 16


# -- One uniform, in as many bits as it takes ------------------------------------------------------------


class LazyUniform:
    """A uniform real of which more bits are read only when a decision needs them."""

    def __init__(self, word: int, random: Randomness) -> None:
        self._prefix, self._bits, self._random = word, 64, random

    def settle(self, decide: Callable[[Fraction, Fraction, int], int | None]) -> int:
        """Call `decide(low, high, digits)` with ever narrower bounds on U until it returns a decision."""
        while True:
            low = Fraction(self._prefix, 1 << self._bits)
            high = Fraction(self._prefix + 1, 1 << self._bits)
            answer = decide(low, high, 30 + self._bits // 3)
            if answer is not None:
                return answer
            self._prefix = (self._prefix << 64) | self._random.draw_bits(64)
            self._bits += 64


def bound_exp(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return fractions that enclose exp(-x).

    `Decimal.exp` is correctly rounded, so one step outwards suffices.
    """
    if x > 3 * digits:  # exp(-x) < 10**-digits: more digits would only make long fractions
        return Fraction(0), Fraction(1, 10**digits)
    down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
    least = down.divide(Decimal(-x.numerator), Decimal(x.denominator))
    most = up.divide(Decimal(-x.numerator), Decimal(x.denominator))
    return Fraction(down.next_minus(down.exp(least))), Fraction(up.next_plus(up.exp(most)))


def _bound_minus_log(low: Fraction, high: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return fractions that enclose -ln of everything in [low, high], 0 < low < high <= 1."""
    down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
    top = up.divide(Decimal(high.numerator), Decimal(high.denominator))
    bottom = down.divide(Decimal(low.numerator), Decimal(low.denominator))
    least = -Fraction(up.next_plus(up.ln(top)))
    most = -Fraction(down.next_minus(down.ln(bottom)))
    return max(least, Fraction(0)), most


def _settle_below_exp(x: Fraction, word: int, random: Randomness) -> bool:
    """Return whether U < exp(-x), for the U that begins with `word`."""

    def decide(low: Fraction, high: Fraction, digits: int) -> int | None:
        least, most = bound_exp(x, digits)
        return 1 if high <= least else 0 if low >= most else None

    return bool(LazyUniform(word, random).settle(decide))


def _settle_geometric(rate: Fraction, word: int, random: Randomness) -> int:
    """Return floor(-ln U / rate), for the U that begins with `word`."""

    def decide(low: Fraction, high: Fraction, digits: int) -> int | None:
        if low == 0:
            return None
        least, most = _bound_minus_log(low, high, digits)
        k = math.floor(least / rate)
        return k if k == math.floor(most / rate) else None

    return LazyUniform(word, random).settle(decide)


# -- Coins ---------------------------------------------------------------------------------------------------


def sample_bernoulli_exp(x: Fraction, random: Randomness) -> bool:
    """Return True with probability exp(-x), for x >= 0."""
    word = random.draw_bits(64)
    bound, u = math.exp(-x), word * UNIT
    return u < bound if abs(u - bound) > MARGIN else _settle_below_exp(x, word, random)


def _sample_coins(x: Floats, exact: Callable[[int], Fraction], random: Randomness) -> Booleans:
    """Toss one coin of probability exp(-x[i]) for each i; `exact(i)` is the fraction that x[i] approximates.

    x must be right to MARGIN / 8 (absolutely, where it is below 30); above that the bound is below MARGIN.
    """
    words = random.draw_words(x.size)
    u, bound = words * UNIT, np.exp(-x)
    coins = u < bound
    for i in np.flatnonzero(np.abs(u - bound) <= MARGIN):
        coins[i] = _settle_below_exp(exact(int(i)), int(words[i]), random)
    return coins


# -- Integers ------------------------------------------------------------------------------------------------


def sample_geometric(rate: Fraction, count: int, random: Randomness) -> Integers:
    """Return `count` draws with Pr[G >= k] = exp(-rate k), rate > 0.

    Below a rate of 2**-20 the draw is split, G = 2**j V + W with 2**j rate in (2**-11, 2**-10]: V is
    geometric of rate 2**j rate, W < 2**j is independent of it with weight exp(-rate W). A value beyond 2**62
    turns the result into an array of Python integers, so that nothing overflows; from a scale of 2**57 on
    that is likely, and takes microseconds per value.
    """
    shift = max(0, math.floor(1 / rate).bit_length() - 11) if rate < Fraction(1, 1 << 20) else 0
    sizes = [CHUNK] * (count // CHUNK) + [count % CHUNK]
    return np.concatenate([_sample_geometric_chunk(rate, shift, size, random) for size in sizes])


def _sample_geometric_chunk(rate: Fraction, shift: int, count: int, random: Randomness) -> Integers:
    high = _sample_geometric_by_inversion(rate * (1 << shift), count, random)
    if shift == 0:
        return high
    if shift < 62 and int(high.max(initial=0)) < LARGEST >> shift:
        return (high << shift) + _sample_low_parts(rate, shift, count, random)
    low = [_sample_low_integer(rate, shift, random) for _ in range(count)]
    return np.array([(int(v) << shift) + w for v, w in zip(high, low, strict=True)], dtype=object)


def _sample_geometric_by_inversion(rate: Fraction, count: int, random: Randomness) -> Integers:
    """Draw by inversion, for rates of at least 2**-20; a quotient beyond 2**53 cannot pass the filter."""
    words = random.draw_words(count)
    exponential = -np.log((words.astype(np.float64) + 0.5) * UNIT)
    scale = 1 / float(rate)
    quotient = exponential * scale
    margin = MARGIN * (1 + exponential) * scale + MARGIN * quotient
    # near U = 0 the first 64 bits do not determine ln U well enough
    undecided = (np.floor(quotient - margin) != np.floor(quotient + margin)) | (words < 1 << 48)
    draws = quotient.astype(np.int64)
    for i in np.flatnonzero(undecided):
        draws[i] = _settle_geometric(rate, int(words[i]), random)
    return draws


def _sample_low_parts(rate: Fraction, shift: int, count: int, random: Randomness) -> Integers:
    """Draw W in [0, 2**shift) with weight exp(-rate W), by rejection from uniform; shift < 62."""
    slope = float(rate)
    drawn = np.empty(count, np.int64)
    open_places = np.arange(count)
    while open_places.size:
        w = (random.draw_words(open_places.size) >> np.uint64(64 - shift)).astype(np.int64)

        def compute_exponent(i: int, w: Integers = w) -> Fraction:
            return rate * int(w[i])

        kept = _sample_coins(w.astype(np.float64) * slope, compute_exponent, random)
        drawn[open_places[kept]] = w[kept]
        open_places = open_places[~kept]
    return drawn


def _sample_low_integer(rate: Fraction, shift: int, random: Randomness) -> int:
    """Draw one W in [0, 2**shift) with weight exp(-rate W), for a shift of any size."""
    while not sample_bernoulli_exp(rate * (w := random.draw_bits(shift)), random):
        pass
    return w


def sample_discrete_laplace(rate: Fraction, count: int, random: Randomness) -> Integers:
    """Return `count` draws with Pr[Z = z] = (1 - a) / (1 + a) a**|z|, a = exp(-rate)."""
    return sample_geometric(rate, count, random) - sample_geometric(rate, count, random)


def sample_discrete_gaussian(variance: Fraction, count: int, random: Randomness) -> Integers:
    """Return `count` draws with Pr[Z = z] proportional to exp(-z**2 / (2 variance)).

    A discrete Laplace Y of scale t = floor(sigma) + 1 is kept with probability exp(-(|Y| - variance / t)**2 /
    (2 variance)) [CKS20, Algorithm 3].
    """
    t = math.isqrt(math.floor(variance)) + 1
    rate, centre = Fraction(1, t), variance / t
    drawn = np.empty(count, np.int64)
    open_places = np.arange(count)
    while open_places.size:
        y = sample_discrete_laplace(rate, open_places.size, random)
        if y.dtype == object:
            drawn = drawn.astype(object)

        def compute_exponent(i: int, y: Integers = y) -> Fraction:
            return (abs(int(y[i])) - centre) ** 2 / (2 * variance)

        offset = np.asarray(np.abs(y) / float(centre) - 1.0, dtype=np.float64)
        x = offset**2 * float(centre * centre / (2 * variance))
        kept = _sample_coins(x, compute_exponent, random)
        drawn[open_places[kept]] = y[kept]
        open_places = open_places[~kept]
    return drawn


# -- Choices -------------------------------------------------------------------------------------------------


def sample_index(
    distances: Integers, rate: Fraction, random: Randomness, *, multiplicities: Integers | None = None
) -> int:
    """Return an index i with Pr[i] proportional to m_i exp(-rate (d_i - min d)); m_i = 1 unless given."""
    gaps = distances - distances.min()
    times = np.ones(gaps.size, np.int64) if multiplicities is None else multiplicities
    cumulated = np.cumsum(np.exp(-gaps * float(rate)) * times)
    word = random.draw_bits(64)
    target = word * UNIT * cumulated[-1]
    # exp is right to MARGIN / 8 where it matters, and each partial sum adds at most 2**-52 of the total
    slack = (MARGIN + gaps.size * 2.0**-51) * cumulated[-1]
    first, last = np.searchsorted(cumulated, [target - slack, target + slack], side="right")
    if first == last:
        return int(first)

    def decide(low: Fraction, high: Fraction, digits: int) -> int | None:
        kinds, place = np.unique(gaps, return_inverse=True)
        bounds = [bound_exp(rate * int(gap), digits) for gap in kinds]
        least = np.cumsum([bounds[k][0] * int(m) for k, m in zip(place, times, strict=True)])
        most = np.cumsum([bounds[k][1] * int(m) for k, m in zip(place, times, strict=True)])
        surely_past = int(np.searchsorted(most, low * least[-1], side="right"))
        maybe_past = int(np.searchsorted(least, high * most[-1], side="right"))
        return surely_past if surely_past == maybe_past else None

    return LazyUniform(word, random).settle(decide)


# -- Many coins and uniform integers -------------------------------------------------------------------------


def sample_bernoulli_exps(distances: Integers, rate: Fraction, random: Randomness) -> Booleans:
    """Toss one coin for each i, True with probability exp(-rate d_i), d_i >= 0."""
    x = distances.astype(np.float64) * float(rate)
    return _sample_coins(x, lambda i: rate * int(distances[i]), random)


def sample_bernoulli_odds(x: Fraction, weight: int, count: int, random: Randomness) -> Booleans:
    """Toss `count` coins, True with odds of weight exp(-x) to 1, x >= 0."""
    words = random.draw_words(count)
    odds = weight * math.exp(-x)
    u, bound = words * UNIT, odds / (1 + odds)
    coins = u < bound

    def decide(low: Fraction, high: Fraction, digits: int) -> int | None:
        least, most = (weight * max(each, Fraction(0)) for each in bound_exp(x, digits))
        return 1 if high <= least / (1 + least) else 0 if low >= most / (1 + most) else None

    for i in np.flatnonzero(np.abs(u - bound) <= MARGIN):
        coins[i] = bool(LazyUniform(int(words[i]), random).settle(decide))
    return coins


def sample_uniform_below(bound: int, count: int, random: Randomness) -> Integers:
    """Return `count` uniform integers in [0, bound), 1 <= bound <= 2**62, by rejection."""
    require_parameter(
        1 <= bound <= LARGEST, "sample_uniform_below", "bound", bound, "an integer from 1 to 2**62"
    )
    if bound == 1:
        return np.zeros(count, np.int64)
    spare = np.uint64(64 - (bound - 1).bit_length())
    drawn = np.empty(count, np.int64)
    open_places = np.arange(count)
    while open_places.size:
        draw = (random.draw_words(open_places.size) >> spare).astype(np.int64)
        kept = draw < bound
        drawn[open_places[kept]] = draw[kept]
        open_places = open_places[~kept]
    return drawn
