"""The kernel of Mondrian that finds the most balanced cut of each part of an ordered column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers
from discreet.core.numba_kernels import compile_kernel


@compile_kernel
def cut_parts(
    starts: Integers,
    places: Integers,
    counts: Integers,
    relaxed: bool,
    sides: NDArray[np.bool_],
    left_high: Integers,
    right_low: Integers,
) -> None:
    """Cut every part where its two sides come closest to having equally many rows.

    Part p holds the entries `starts[p]:starts[p + 1]`. `sides` marks the upper side; the lower side ends
    before `left_high[p]`, the upper side begins at `right_low[p]`; both are -1 where a part cannot be cut. A
    strict cut falls between two positions, in the middle of a gap, so that both sides have rows; a relaxed
    one may divide the entries at one position, in their given order.
    """
    for p in range(len(starts) - 1):
        first, last = starts[p], starts[p + 1]
        left_high[p] = right_low[p] = -1
        by = np.argsort(places[first:last], kind="mergesort") + first
        total = counts[first:last].sum()
        below, best, at, previous = 0, total + 1, -1, -1
        lowest, highest = -1, -1
        for n in range(len(by)):
            i = by[n]
            if counts[i] == 0:
                continue
            if lowest < 0:
                lowest = places[i]
            highest = places[i]
            free = previous >= 0 and (relaxed or places[by[previous]] != places[i])
            if free and abs(2 * below - total) < best:
                best, at = abs(2 * below - total), n
            below += counts[i]
            previous = n
        if at < 0 or lowest == highest:
            continue
        upper, lower = places[by[at]], -1
        for n in range(at):
            if counts[by[n]] > 0:
                lower = places[by[n]]
        if lower == upper:
            left_high[p], right_low[p] = upper + 1, upper
        else:
            left_high[p] = right_low[p] = (lower + upper + 1) // 2
        for n in range(len(by)):
            i = by[n]
            sides[i] = places[i] >= right_low[p] if lower != upper else n >= at
