"""Exact coins and uniform integers in bulk, with few random bits each.

sample_coins    true with probability t / 2**64: 16 bits decide all but one in 65,536, which read 48 more.
sample_uniform  uniform in [0, bound): the top of bits * bound, rejected where it favors a value [Lemire19].

Reading random bits from the operating system dominates the time of collection, hence 16 bits first.

[Lemire19]  Lemire, Fast Random Integer Generation in an Interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.numba_kernels import compile_kernel
from discreet.core.randomness import Randomness
from discreet.local.thresholds import THRESHOLD_SCALE
from discreet.mechanisms.sampling import Booleans, Integers, Words, sample_uniform_below

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
