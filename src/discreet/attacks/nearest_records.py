"""Exact nearest records among many, by a distance over numeric and categorical columns.

Distance    the sum over columns of a share from 0 to 1: for words, whether they differ; for numbers, the
            share of the synthetic values between them [Gower71, on ranks]. A missing value differs from all
            others. Shares are integers out of `UNIT`, so that sums and ties are exact.
Layout      a table is one contiguous row of 32-bit integers for each column. A record is compared with a
            whole column at once, eight values per instruction, which is faster than a tree in more than a few
            dimensions, and exact.

[Gower71]   Gower, A General Coefficient of Similarity and Some of Its Properties.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.core.numba_kernels import compile_kernel

Places = NDArray[np.int32]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]

UNIT = 1 << 18
MISSING = 2 * UNIT
MOST_COLUMNS = 4_096
MAX_DISTANCE = (1 << 31) - 1
BLOCK = 1_024


@compile_kernel
def compute_distances(record: Places, table: Places, numeric: Booleans, start: int, out: Places) -> None:
    """Write the distances of a record from the rows that begin at `start` into `out`."""
    out[:] = 0
    for j in range(len(table)):
        place, column = record[j], table[j, start : start + len(out)]
        if numeric[j]:
            for i in range(len(out)):
                out[i] += np.int32(min(abs(np.int32(column[i] - place)), np.int32(UNIT)))
        else:
            for i in range(len(out)):
                out[i] += np.int32(UNIT) if column[i] != place else np.int32(0)


def find_nearest_rows(records: Places, table: Places, numeric: Booleans) -> Integers:
    """Return the first nearest row of each record."""
    return find_nearest_rows_kernel(_make_contiguous(records), table, numeric)


def count_rows_within(records: Places, table: Places, numeric: Booleans, width: int) -> Integers:
    """Return how many rows are within `width` of each record in every number and equal in every word."""
    return count_rows_within_kernel(_make_contiguous(records), table, numeric, width)


def vote_secrets(
    records: Places, table: Places, numeric: Booleans, known: Booleans, secrets: Integers
) -> tuple[Places, Places]:
    """Return, for each secret column and record, the vote of the nearest rows and their distance.

    Distances are over the `known` columns except the secret itself.
    """
    shown = np.flatnonzero(known)
    return vote_secrets_kernel(
        _make_contiguous(records[shown]),
        table[shown],
        numeric[shown],
        _make_contiguous(records[secrets]),
        table[secrets],
        numeric[secrets],
        known[secrets],
    )


def compute_joint_distances(
    records: Places, table: Places, numeric: Booleans, first: Integers, second: Integers
) -> Places:
    """Return how near some row is to the `first` columns of record i and the `second` of j, for all pairs."""
    here, there = _make_contiguous(records[first]), _make_contiguous(records[second])
    return compute_joint_distances_kernel(
        here, there, table[first], table[second], numeric[first], numeric[second]
    )


def _make_contiguous(records: Places) -> Places:
    return np.ascontiguousarray(records)  # one layout, so that one form of each kernel is compiled


@compile_kernel
def find_nearest_rows_kernel(records: Places, table: Places, numeric: Booleans) -> Integers:
    """Compute `find_nearest_rows`."""
    rows = table.shape[1]
    found, out = np.empty(records.shape[1], np.int64), np.empty(rows, np.int32)
    for r in range(records.shape[1]):
        compute_distances(records[:, r].copy(), table, numeric, 0, out)
        found[r] = np.argmin(out)
    return found


@compile_kernel
def count_rows_within_kernel(records: Places, table: Places, numeric: Booleans, width: int) -> Integers:
    """Compute `count_rows_within`."""
    rows = table.shape[1]
    found, held = np.zeros(records.shape[1], np.int64), np.empty(rows, np.int32)
    for r in range(records.shape[1]):
        held[:] = 1
        for j in range(len(table)):
            place, column = records[j, r], table[j]
            if numeric[j]:
                for i in range(rows):
                    held[i] &= np.int32(abs(np.int32(column[i] - place)) <= width)
            else:
                for i in range(rows):
                    held[i] &= np.int32(column[i] == place)
        found[r] = held.sum()
    return found


@compile_kernel
def take_vote(values: Places, is_number: bool) -> int:
    """Return the median of numbers, or the commonest word (the smallest code among ties)."""
    values.sort()
    if is_number:
        return int(values[(len(values) - 1) // 2])
    best, most, start = values[0], 0, 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] != values[start]:
            if i - start > most:
                best, most = values[start], i - start
            start = i
    return int(best)


@compile_kernel
def vote_secrets_kernel(
    records: Places,
    table: Places,
    numeric: Booleans,
    truths: Places,
    secrets: Places,
    secret_kinds: Booleans,
    left_out: Booleans,
) -> tuple[Places, Places]:
    """Compute `vote_secrets`; where `left_out`, the secret's own distance is subtracted again."""
    rows, people = table.shape[1], records.shape[1]
    picked = np.empty((len(secrets), people), np.int32)
    away = np.empty((len(secrets), people), np.int32)
    total, other, tied = np.empty(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int32)
    least = np.empty((rows + BLOCK - 1) // BLOCK, np.int32)
    for r in range(people):
        compute_distances(records[:, r].copy(), table, numeric, 0, total)
        for s in range(len(secrets)):
            other[:] = 0
            if left_out[s]:
                alone = slice(s, s + 1)
                compute_distances(truths[alone, r].copy(), secrets[alone], secret_kinds[alone], 0, other)
            for b in range(len(least)):
                some = slice(b * BLOCK, (b + 1) * BLOCK)
                left, taken = total[some], other[some]
                for i in range(len(taken)):
                    taken[i] = np.int32(left[i] - taken[i])
                least[b] = taken.min()
            nearest, ties = least.min(), 0
            for b in range(len(least)):
                if least[b] == nearest:
                    for i in range(b * BLOCK, min((b + 1) * BLOCK, rows)):
                        if other[i] == nearest:
                            tied[ties] = secrets[s, i]
                            ties += 1
            picked[s, r] = take_vote(tied[:ties], secret_kinds[s])
            away[s, r] = nearest
    return picked, away


@compile_kernel
def compute_joint_distances_kernel(
    left: Places, right: Places, lefts: Places, rights: Places, left_kinds: Booleans, right_kinds: Booleans
) -> Places:
    """Compute `compute_joint_distances`; `lefts` and `rights` are the table's columns of either record."""
    rows, size = lefts.shape[1], left.shape[1]
    best = np.full((size, size), MAX_DISTANCE, np.int32)
    here, there = np.empty((size, BLOCK), np.int32), np.empty((size, BLOCK), np.int32)
    for start in range(0, rows, BLOCK):
        many = min(BLOCK, rows - start)
        for i in range(size):
            compute_distances(left[:, i].copy(), lefts, left_kinds, start, here[i, :many])
            compute_distances(right[:, i].copy(), rights, right_kinds, start, there[i, :many])
        for i in range(size):
            for j in range(size):
                least = best[i, j]
                one, other = here[i], there[j]
                for k in range(many):
                    least = min(least, np.int32(one[k] + other[k]))
                best[i, j] = least
    return best
