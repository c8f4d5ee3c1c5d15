"""The inner loops of grouping: integers alone, linear in what they read.

A row of a table is a key and a count. The key holds one label number for each column, in fields of fixed
bits; one column is made coarser by exchanging its field, and rows whose keys are then equal become one, by
open addressing, in the order in which they first appear. Keys of up to 63 bits are one integer; wider ones
are several, in a second dimension.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes import Codes, Integers
from discreet.core.compiled import kernel

Truths = NDArray[np.bool_]

MIX = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: neighbours land far apart
HALF = np.uint64(32)
NEXT = np.uint64(1)


@kernel
def roll_up(
    keys: Integers,
    counts: Integers,
    field: tuple[int, int, int],
    labels: Codes,
    merged: Integers,
    sums: Integers,
    slots: Codes,
    inverse: Codes,
) -> int:
    """Write the keys and counts to `merged` and `sums` after `labels` replaces what stands in a field.

    A field is a word, a shift and a mask. `slots` are a power of two and more than there are rows; what they
    held is overwritten. `inverse` receives the new row of every old one, unless it is empty. Returns how many
    rows there are.
    """
    _, shift, mask = field
    others = ~(mask << shift)
    last = np.uint64(len(slots) - 1)
    slots[:] = 0
    found = 0
    for i in range(len(keys)):
        key = (keys[i] & others) | (np.int64(labels[(keys[i] >> shift) & mask]) << shift)
        mixed = np.uint64(key) * MIX
        place = (mixed ^ (mixed >> HALF)) & last
        row = slots[place] - 1
        while row >= 0 and merged[row] != key:
            place = (place + NEXT) & last
            row = slots[place] - 1
        if row < 0:
            row = found
            found += 1
            slots[place] = found
            merged[row], sums[row] = key, counts[i]
        else:
            sums[row] += counts[i]
        if len(inverse) > 0:
            inverse[i] = row
    return found


@kernel
def roll_up_wide(
    keys: Integers,
    counts: Integers,
    field: tuple[int, int, int],
    labels: Codes,
    merged: Integers,
    sums: Integers,
    slots: Codes,
    inverse: Codes,
) -> int:
    """The same for keys of several words."""
    word, shift, mask = field
    others = ~(mask << shift)
    size, words = keys.shape
    last = np.uint64(len(slots) - 1)
    slots[:] = 0
    found = 0
    for i in range(size):
        mixed = np.uint64(0)
        for w in range(words):
            key = keys[i, w]
            if w == word:
                key = (key & others) | (np.int64(labels[(key >> shift) & mask]) << shift)
            merged[found, w] = key
            mixed = (mixed ^ np.uint64(key)) * MIX
            mixed ^= mixed >> HALF
        place = mixed & last
        row = slots[place] - 1
        while row >= 0 and not np.array_equal(merged[row], merged[found]):
            place = (place + NEXT) & last
            row = slots[place] - 1
        if row < 0:
            row = found
            found += 1
            slots[place] = found
            sums[row] = counts[i]
        else:
            sums[row] += counts[i]
        if len(inverse) > 0:
            inverse[i] = row
    return found


@kernel
def pack(words: Integers, numbers: Codes, codes: Codes, shift: int) -> None:
    """Write the numbers of codes into a field of the words, which was empty."""
    for i in range(len(codes)):
        words[i] |= np.int64(numbers[codes[i]]) << shift


@kernel
def added(inverse: Codes, counts: Integers, groups: int) -> Integers:
    """The counts of each group's members, added up."""
    sums = np.zeros(groups, np.int64)
    for i in range(len(inverse)):
        sums[inverse[i]] += counts[i]
    return sums


@kernel
def united(
    inverse: Codes, groups: int, starts: Integers, values: Codes, counts: Integers, width: int
) -> tuple[Integers, Codes, Integers]:
    """How often each sensitive value occurs in each group, from how often it occurs with its members.

    Members are ordered by group (a counting sort); a group's values are then summed in an array as wide as
    the column has values, and read from it by rising code.
    """
    ends = np.zeros(groups + 1, np.int64)
    for i in range(len(inverse)):
        ends[inverse[i] + 1] += 1
    ends = np.cumsum(ends)
    filled, members = ends[:-1].copy(), np.empty(len(inverse), np.int32)
    for i in range(len(inverse)):
        members[filled[inverse[i]]] = i
        filled[inverse[i]] += 1

    begins = np.zeros(groups + 1, np.int64)
    merged_values, merged_counts = np.empty(len(values), np.int32), np.empty(len(values), np.int64)
    sums, seen = np.zeros(width, np.int64), np.empty(width, np.int32)
    place = 0
    for group in range(groups):
        held = 0
        for m in range(ends[group], ends[group + 1]):
            for e in range(starts[members[m]], starts[members[m] + 1]):
                if sums[values[e]] == 0:
                    seen[held] = values[e]
                    held += 1
                sums[values[e]] += counts[e]
        if held > 1:
            seen[:held].sort()
        for h in range(held):
            merged_values[place], merged_counts[place] = seen[h], sums[seen[h]]
            sums[seen[h]] = 0
            place += 1
        begins[group + 1] = place
    return begins, merged_values[:place].copy(), merged_counts[:place].copy()


@kernel
def suppressed_rows(sizes: Integers, kept: Truths) -> int:
    """How many rows are in classes that are not kept."""
    total = 0
    for i in range(len(sizes)):
        if not kept[i]:
            total += sizes[i]
    return total
