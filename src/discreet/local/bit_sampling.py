"""Independent bits of one probability, exactly and in bulk; and counts of set bits.

Law         Every bit is set with probability t / 2**64. Eight bits are drawn at a time: a pattern with i of
            them set has probability t**i (2**64 - t)**(8 - i) / 2**512, a binary number of 512 places.
Table       16 random bits, a window, choose among 2**16 entries. A pattern owns a run of 2**(16 - d) of them
            for each place d of its probability that is 1, up to the 16th [KY76]. The remaining entries, a
            few in a thousand, represent the places beyond: a draw that hits one of them reads more bits and
            compares with the patterns' boundaries, in all their 512 places if need be.
Reuse       All windows of a run give the same pattern. In a run of 256 or more the last 8 bits remain uniform
            given the pattern, so they form the next windows. Nothing is rounded, and a bit of probability
            0.27 takes 1.3 random bits, where a float would take 64.

[KY76]      Knuth & Yao, The Complexity of Nonuniform Random Number Generation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.numba_kernels import compile_kernel
from discreet.core.randomness import Randomness
from discreet.local.exact_sampling import THRESHOLD_SCALE, Words16, draw_words16
from discreet.mechanisms.sampling import Booleans, Integers, Words

BLOCK, PLACES, WINDOW, WORD = 8, 512, 16, 64
PATTERNS = 1 << BLOCK
BEYOND = PLACES - WINDOW
CHUNKS = -(-BEYOND // WORD)  # the words that hold the places after the window
BLOCKS_PER_BATCH = 1 << 16  # blocks, so that random bits are used while they are in the cache

Octets = NDArray[np.uint8]


@dataclass(frozen=True)
class BitTable:
    """The pattern of each window below `decided_below`; below `reusable_below`, its last 8 bits are reused.

    `bounds` has every pattern's upper boundary for the other windows: its window, and the words beyond.
    """

    patterns: Octets
    reusable_below: int
    decided_below: int
    bounds: Words


@lru_cache(maxsize=64)
def build_bit_table(threshold: int) -> BitTable:
    """Return the sampling table for bits of probability threshold / 2**64."""
    weights = [
        threshold ** pattern.bit_count() * (THRESHOLD_SCALE - threshold) ** (BLOCK - pattern.bit_count())
        for pattern in range(PATTERNS)
    ]
    # longer runs come first, so that each begins at a multiple of its length
    runs = [
        (pattern, 1 << left)
        for left in range(WINDOW, -1, -1)
        for pattern, weight in enumerate(weights)
        if weight >> (BEYOND + left) & 1
    ]
    owned = np.repeat(*np.array(runs, np.int64).T)
    patterns = np.zeros(1 << WINDOW, np.uint8)
    patterns[: owned.size] = owned
    spared = sum(length for _, length in runs if length >= PATTERNS)
    bounds, end = [], owned.size << BEYOND
    for weight in weights:
        end += weight & ((1 << BEYOND) - 1)
        bounds.append(_split_boundary(end))
    return BitTable(patterns, spared, owned.size, np.array(bounds, np.uint64))


def sample_bits(threshold: int, rows: int, width: int, random: Randomness) -> Words:
    """Return rows of `width` bits of probability threshold / 2**64, packed in 64-bit words, lowest first."""
    found = np.zeros((rows, -(-width // WORD)), "<u8")
    octets, table = found.view(np.uint8)[:, : -(-width // BLOCK)], build_bit_table(threshold)
    step, spare = max(1, BLOCKS_PER_BATCH // octets.shape[1]), np.zeros(0, np.uint8)
    for start in range(0, rows, step):
        spare = _fill_octets(octets[start : start + step], table, spare, random)
    found[:, -1] &= np.uint64((1 << ((width - 1) % WORD + 1)) - 1)
    return found


def count_set_bits(words: Words) -> Integers:
    """Return for each bit the number of rows in which it is set."""
    sums = np.zeros(words.shape[1] * WORD, np.int64)
    _add_set_bits(np.ascontiguousarray(words), sums)
    return sums


def _fill_octets(octets: Octets, table: BitTable, spare: Octets, random: Randomness) -> Octets:
    """Draw patterns, from spare bits first; return the bits that are spare afterwards."""
    again = spare[: min(spare.size // 2, octets.size) * 2].view(np.uint16)
    windows = np.concatenate([again, draw_words16(octets.size - again.size, random)])
    _look_up_patterns(octets, windows, table.patterns)
    spare, open_places = np.empty(windows.size, np.uint8), np.empty(windows.size, np.int64)
    kept, left_open = _collect_reusable_bits(
        windows, table.reusable_below, table.decided_below, spare, open_places
    )
    _resolve_windows(octets, open_places[:left_open], windows, table.bounds, random)
    return spare[:kept]


def _resolve_windows(
    octets: Octets, places: Integers, windows: Words16, bounds: Words, random: Randomness
) -> None:
    """Resolve the undecided windows; one more word each nearly always suffices."""
    words = random.draw_words(places.size)
    for at in _resolve_with_one_word(octets, places, windows, words, bounds):
        beyond = np.concatenate([words[at : at + 1], random.draw_words(CHUNKS - 1)])
        octets[divmod(places[at], octets.shape[1])] = _find_pattern(windows[places[at]], beyond, bounds)


def _split_boundary(bound: int) -> list[int]:
    """Return a boundary as its first 16 places, then 64-bit words; the last one, 1, exceeds every window."""
    padded = bound << (WORD * CHUNKS - BEYOND)
    return [
        padded >> (WORD * CHUNKS),
        *((padded >> (WORD * (CHUNKS - 1 - j))) % THRESHOLD_SCALE for j in range(CHUNKS)),
    ]


@compile_kernel
def _look_up_patterns(octets: Octets, windows: Words16, patterns: Octets) -> None:
    width = octets.shape[1]
    for i in range(octets.shape[0]):
        for j in range(width):
            octets[i, j] = patterns[windows[i * width + j]]


@compile_kernel
def _collect_reusable_bits(
    windows: Words16, reusable_below: int, decided_below: int, spare: Octets, open_places: Integers
) -> tuple[int, int]:
    """Collect the reusable bits of decided windows and the undecided places; return both counts."""
    kept, left_open = np.uint64(0), np.uint64(0)
    for at in range(windows.size):
        window = windows[at]
        spare[kept] = window & 255  # kept only if counted below: an unpredictable branch would cost more
        kept += np.uint64(window < reusable_below)
        if window >= decided_below:
            open_places[left_open] = at
            left_open += np.uint64(1)
    return int(kept), int(left_open)


@compile_kernel
def _find_pattern(window: np.uint16, beyond: Words, bounds: Words) -> int:
    """Return the first pattern whose boundary exceeds the number formed by window and following words."""
    low, high = 0, bounds.shape[0]
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


@compile_kernel
def _resolve_with_one_word(
    octets: Octets, places: Integers, windows: Words16, words: Words, bounds: Words
) -> Integers:
    """Resolve the undecided windows by one word each; return those that need more words."""
    tied, count = np.empty(places.size, np.int64), 0
    for at in range(places.size):
        place = places[at]
        found = _find_pattern(windows[place], words[at : at + 1], bounds)
        octets[place // octets.shape[1], place % octets.shape[1]] = found
        if found and bounds[found - 1, 0] == windows[place] and bounds[found - 1, 1] == words[at]:
            tied[count] = at
            count += 1
    return tied[:count]


@compile_kernel
def _add_set_bits(words: Words, sums: Integers) -> None:
    """Add to `sums` with eight one-byte counters per word, emptied before 256 rows can overflow them."""
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


@compile_kernel
def popcount(word: np.uint64) -> int:
    """Return the number of set bits of a word; compiles to one instruction where there is one."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))


def unpack_bits(words: Words, width: int) -> Booleans:
    """Return the bits of each row as booleans."""
    octets = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little").astype(np.bool_)


@compile_kernel
def assign_bits(words: Words, places: Integers, values: Booleans) -> None:
    """Set one bit of each row to a value."""
    for i in range(places.size):
        word, mask = places[i] >> 6, np.uint64(1) << np.uint64(places[i] & 63)
        if values[i]:
            words[i, word] |= mask
        else:
            words[i, word] &= ~mask
