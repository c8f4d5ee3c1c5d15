"""Many independent bits of one probability, exactly and in bulk; and how often each bit is set.

Law         Every bit is set with probability t / 2**64. Eight bits are drawn at a time: a pattern with i of
            them set has probability t**i (2**64 - t)**(8 - i) / 2**512, a binary number of 512 places.
Table       16 random bits choose among 2**16 entries, of which each pattern owns as many as its first 16
            places say. The entries that are left over, a few in a thousand, stand for the places beyond: who
            draws one of them reads on, and compares with the patterns' boundaries in all their 512 places.
            So nothing is rounded, and two random bits are spent on a bit where a float would spend 64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.compiled import kernel
from discreet.core.randomness import Randomness
from discreet.local.draws import Short, short_words
from discreet.local.thresholds import WHOLE
from discreet.mechanisms.sampling import Booleans, Integers, Words

BLOCK, PLACES, WINDOW, WORD = 8, 512, 16, 64
PATTERNS = 1 << BLOCK
BEYOND = PLACES - WINDOW
CHUNKS = -(-BEYOND // WORD)  # the words that hold the places after the window
AT_ONCE = 1 << 16  # blocks, so that random bits are used while they are in the cache

Octets = NDArray[np.uint8]


@dataclass(frozen=True)
class Table:
    """The pattern of each window below `decided`, and for the others every pattern's upper boundary."""

    patterns: Octets
    decided: int
    bounds: Words


@lru_cache(maxsize=64)
def table_for(threshold: int) -> Table:
    """The table for bits of probability threshold / 2**64."""
    weights = [
        threshold ** pattern.bit_count() * (WHOLE - threshold) ** (BLOCK - pattern.bit_count())
        for pattern in range(PATTERNS)
    ]
    owned = np.repeat(np.arange(PATTERNS), [weight >> BEYOND for weight in weights])
    patterns = np.zeros(1 << WINDOW, np.uint8)
    patterns[: owned.size] = owned
    bounds, end = [], owned.size << BEYOND
    for weight in weights:
        end += weight & ((1 << BEYOND) - 1)
        bounds.append(_places(end))
    return Table(patterns, owned.size, np.array(bounds, np.uint64))


def bits(threshold: int, rows: int, width: int, random: Randomness) -> Words:
    """Rows of `width` bits of probability threshold / 2**64, packed in 64-bit words, the first bit lowest."""
    found = np.zeros((rows, -(-width // WORD)), "<u8")
    octets, table = found.view(np.uint8)[:, : -(-width // BLOCK)], table_for(threshold)
    step = max(1, AT_ONCE // octets.shape[1])
    for start in range(0, rows, step):
        _fill(octets[start : start + step], table, random)
    found[:, -1] &= np.uint64((1 << ((width - 1) % WORD + 1)) - 1)
    return found


def bit_sums(words: Words) -> Integers:
    """How many rows have each bit set."""
    sums = np.zeros(words.shape[1] * WORD, np.int64)
    _add_up(np.ascontiguousarray(words), sums)
    return sums


def _fill(octets: Octets, table: Table, random: Randomness) -> None:
    windows = short_words(octets.size, random).reshape(octets.shape)
    left_open = _look_up(octets, windows, table.patterns, table.decided)
    beyond = random.words(left_open * CHUNKS).reshape(left_open, CHUNKS)
    _settle(octets, windows, table.decided, beyond, table.bounds)


def _places(bound: int) -> list[int]:
    """A boundary as its first 16 places and then words of 64; the last boundary, 1, is past every window."""
    padded = bound << (WORD * CHUNKS - BEYOND)
    return [
        padded >> (WORD * CHUNKS),
        *((padded >> (WORD * (CHUNKS - 1 - j))) % WHOLE for j in range(CHUNKS)),
    ]


@kernel
def _look_up(octets: Octets, windows: Short, patterns: Octets, decided: int) -> int:
    """The patterns of the windows; how many were not decided."""
    left_open = 0
    for i in range(octets.shape[0]):
        for j in range(octets.shape[1]):
            window = windows[i, j]
            octets[i, j] = patterns[window]
            left_open += window >= decided
    return left_open


@kernel
def _pattern(window: np.uint16, beyond: Words, bounds: Words) -> int:
    """The first pattern whose boundary is above the number that begins with the window and goes on beyond."""
    low, high = 0, bounds.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        below = window < bounds[middle, 0]
        if window == bounds[middle, 0]:
            for j in range(beyond.size):
                if beyond[j] != bounds[middle, j + 1]:
                    below = beyond[j] < bounds[middle, j + 1]
                    break
        if below:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _settle(octets: Octets, windows: Short, decided: int, beyond: Words, bounds: Words) -> None:
    """The patterns of the windows that were not decided, each with the next row of bits beyond them."""
    at = 0
    for i in range(octets.shape[0]):
        for j in range(octets.shape[1]):
            if windows[i, j] >= decided:
                octets[i, j] = _pattern(windows[i, j], beyond[at], bounds)
                at += 1


@kernel
def _add_up(words: Words, sums: Integers) -> None:
    """Eight counters to a word, a byte each, emptied before 256 rows can overflow them."""
    rows, width = words.shape
    lanes = np.uint64(0x0101010101010101)
    held = np.zeros((width, 8), np.uint64)
    for start in range(0, rows, 255):
        held[:] = np.uint64(0)
        for i in range(start, min(start + 255, rows)):
            for j in range(width):
                word = words[i, j]
                for s in range(8):
                    held[j, s] += (word >> np.uint64(s)) & lanes
        for j in range(width):
            for s in range(8):
                for lane in range(8):
                    sums[64 * j + 8 * lane + s] += np.int64(
                        (held[j, s] >> np.uint64(8 * lane)) & np.uint64(255)
                    )


def unpacked(words: Words, width: int) -> Booleans:
    """The bits of each row as booleans."""
    octets = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little").astype(np.bool_)


@kernel
def put(words: Words, places: Integers, values: Booleans) -> None:
    """Set one bit of each row to a value."""
    for i in range(places.size):
        word, mask = places[i] >> 6, np.uint64(1) << np.uint64(places[i] & 63)
        if values[i]:
            words[i, word] |= mask
        else:
            words[i, word] &= ~mask
