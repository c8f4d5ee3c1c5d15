"""Numbering of equal keys: the single pass that every grouping of tuples begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Codes, Integers
from discreet.core.numba_kernels import compile_kernel

MIXER = np.uint64(0x9E3779B97F4A7C15)


@compile_kernel
def number_keys(keys: Integers, numbers: Integers | Codes) -> int:
    """Give equal keys one number, by first appearance, and return how many numbers were given.

    Open addressing with multiplicative hashing, in a table at most half full.
    """
    bits = 4
    while (1 << bits) < 2 * len(keys):
        bits += 1
    mask = (1 << bits) - 1
    shift = np.uint64(64 - bits)
    slots = np.full(1 << bits, -1, np.int32)
    firsts = np.empty(len(keys), np.int64)
    found = 0
    for i in range(len(keys)):
        if i > 0 and keys[i] == keys[i - 1]:  # runs of equal keys are common, and need no look-up
            numbers[i] = numbers[i - 1]
            continue
        slot = np.int64((np.uint64(keys[i]) * MIXER) >> shift)
        while slots[slot] >= 0 and firsts[slots[slot]] != keys[i]:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = found
            firsts[found] = keys[i]
            found += 1
        numbers[i] = slots[slot]
    return found


def number_rows(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[Integers, int]:
    """Return a number for every row, equal where all columns are; column j holds codes below `sizes[j]`.

    Codes are packed into one 64-bit key; where the next column would not fit, the key is numbered first.
    """
    rows = len(columns[0]) if columns else 0
    key, width = np.zeros(rows, np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if width * size >= 2**62:  # the next product might overflow 64 bits
            key, width = _renumber_keys(key)
        key = key * size + codes
        width *= size
    return _renumber_keys(key)


def _renumber_keys(key: Integers) -> tuple[Integers, int]:
    numbers = np.empty(len(key), np.int64)
    return numbers, int(number_keys(key, numbers))
