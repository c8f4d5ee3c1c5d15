"""The inner loops of grouping: integers only, linear in their input.

A row of a table is a key and a count. The key holds one label number for each column, in bit fields of fixed
width; one column is made coarser by replacing its field, and rows whose keys are then equal are merged. Keys
of up to 63 bits are one integer: the dense columns are its lowest bits, the stem is the rest. Rows of one
stem are adjacent, so an array indexed by the dense bits finds equal keys. Wider keys are several integers,
in a second dimension, and are compared through a hash table with open addressing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Codes, Integers, number_keys
from discreet.core.numba_kernels import compile_kernel

Truths = NDArray[np.bool_]

MIX = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: neighbours land far apart
HALF = np.uint64(32)
ONE = np.uint64(1)


@compile_kernel
def list_members(inverse: Codes, groups: int) -> tuple[Integers, Codes]:
    """Return the members of each group, group after group, and where each begins: a counting sort."""
    starts = np.zeros(groups + 1, np.int64)
    for i in range(len(inverse)):
        starts[inverse[i] + 1] += 1
    starts = np.cumsum(starts)
    filled, ordered = starts[:-1].copy(), np.empty(len(inverse), np.int32)
    for i in range(len(inverse)):
        ordered[filled[inverse[i]]] = i
        filled[inverse[i]] += 1
    return starts, ordered


@compile_kernel
def order_by_stem(keys: Integers, field: tuple[int, int, int], labels: Codes, dense: int) -> Codes:
    """Return an order in which rows with equal stems under the labels are adjacent."""
    _, shift, mask = field
    others = ~(mask << shift)
    stems = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        key = (keys[i] & others) | (np.int64(labels[(keys[i] >> shift) & mask]) << shift)
        stems[i] = key >> dense
    groups = np.empty(len(keys), np.int32)
    return list_members(groups, number_keys(stems, groups))[1]


@compile_kernel
def roll_up(
    keys: Integers,
    counts: Integers,
    order: Codes,
    field: tuple[int, int, int],
    labels: Codes,
    dense: int,
    merged: Integers,
    sums: Integers,
    inverse: Codes,
) -> int:
    """Write the keys and counts to `merged` and `sums` after `labels` replaces the labels of one field.

    A field is a word, a shift and a mask. Rows of equal stems are adjacent in the `order`, or in the given
    order if it is empty. `inverse` receives the new row of every old one. Return the number of rows.
    """
    shift, mask, high = np.uint64(field[1]), np.uint64(field[2]), np.uint64(dense)
    others, low = ~(mask << shift), (ONE << high) - ONE
    rows = np.full(1 << dense, -1, np.int32)
    stem, start, found = ~ONE, np.int32(0), np.int32(0)
    # no unpredictable branch, and no sums yet: reading back a row that was just written stalls
    for n in range(len(keys)):
        i = order[n] if len(order) > 0 else n
        key = np.uint64(keys[i])
        key = (key & others) | (np.uint64(labels[(key >> shift) & mask]) << shift)
        start = found if key >> high != stem else start
        stem = key >> high
        row = rows[key & low]
        new = row < start  # that row is of another stem
        row = found if new else row
        rows[key & low] = row
        inverse[i] = row
        merged[np.uint32(found)] = np.int64(key)
        found = np.int32(found + new)
    sums[:found] = 0
    for i in range(len(keys)):
        sums[np.uint32(inverse[i])] += counts[i]
    return int(found)


@compile_kernel
def roll_up_wide(
    keys: Integers,
    counts: Integers,
    field: tuple[int, int, int],
    labels: Codes,
    merged: Integers,
    sums: Integers,
    inverse: Codes,
) -> int:
    """Do the same as `roll_up` for keys of several words."""
    word, shift, mask = field
    others = ~(mask << shift)
    size, words = keys.shape
    bits = 1
    while (1 << bits) < 2 * size:
        bits += 1
    slots = np.zeros(1 << bits, np.int32)
    last = np.uint64(len(slots) - 1)
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
            place = (place + ONE) & last
            row = slots[place] - 1
        if row < 0:
            row = found
            found += 1
            slots[place] = found
            sums[row] = counts[i]
        else:
            sums[row] += counts[i]
        inverse[i] = row
    return found


@compile_kernel
def pack_field(words: Integers, numbers: Codes, codes: Codes, shift: int) -> None:
    """Write the numbers of codes into a field of the words, which was empty."""
    for i in range(len(codes)):
        words[i] |= np.int64(numbers[codes[i]]) << shift


@compile_kernel
def sum_by_group(inverse: Codes, counts: Integers, groups: int) -> Integers:
    """Return the sum of the counts of each group's members."""
    sums = np.zeros(groups, np.int64)
    for i in range(len(inverse)):
        sums[inverse[i]] += counts[i]
    return sums


@compile_kernel
def merge_sensitive_counts(
    inverse: Codes, groups: int, starts: Integers, values: Codes, counts: Integers, width: int
) -> tuple[Integers, Codes, Integers]:
    """Count each sensitive value in each group, from the counts of the group's members.

    Members are ordered by group (a counting sort); a group's values are then summed in an array as wide as
    the column has values, and read from it by rising code.
    """
    ends, ordered = list_members(inverse, groups)
    begins = np.zeros(groups + 1, np.int64)
    merged_values, merged_counts = np.empty(len(values), np.int32), np.empty(len(values), np.int64)
    sums, seen = np.zeros(width, np.int64), np.empty(width, np.int32)
    place = 0
    for group in range(groups):
        held = 0
        for m in range(ends[group], ends[group + 1]):
            for e in range(starts[ordered[m]], starts[ordered[m] + 1]):
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
