"""Earth mover's distance between the sensitive values of a class and of the table, as integer quotients.

A class of n rows has value i c_i times, the table of N rows T_i times; p_i = c_i / n, q_i = T_i / N. The
earth mover's distance is the least work that turns p into q, where moving a part of the rows from value i
to j costs that part times the distance of i and j [LLV07]:

equal           all values are at distance 1:  sum max(0, p_i - q_i).
ordered         m values in their order, i and j at distance |i - j| / (m - 1):
                sum over i of |sum over j <= i of (p_j - q_j)|, divided by m - 1.
hierarchical    i and j are at distance level / H where they first share a label at that level, H the top.
                That is a walk on the tree whose edges are 1 / (2 H) long, so the work is the sum over all
                edges of |p - q| of what hangs on them, over 2 H: the mean of the equal distances of the
                labels of levels 0 to H - 1.

Every numerator is at most its denominator, n N times 1, m - 1 or H. Those of a class are computed
in 64 bits where they are certain to fit, otherwise in Python integers; at most m N**2 / 2**60 classes need
these, because all classes together have N rows.

[LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes import Codes, Integers, Sensitive
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.models.counts import lengths, owners, product, reduced, sums
from discreet.anonymity.models.model import Verdicts
from discreet.core.errors import RequestError

NARROW = 2**60  # numerators below this fit into 64 bits with room for sums


class Distances(NamedTuple):
    """One distance per class, as numerator / denominator."""

    numerators: Integers
    denominators: Integers


def equal(sensitive: Sensitive) -> Distances:
    """Return the distances where all values are at distance 1."""
    rows, total = sums(sensitive), int(sensitive.totals.sum())
    return Distances(_excess(sensitive, sensitive.totals), _denominators(rows, total))


def ordered(sensitive: Sensitive) -> Distances:
    """Return the distances where values are in their order, the first and last at distance 1."""
    rows, total, steps = sums(sensitive), int(sensitive.totals.sum()), max(1, len(sensitive.totals) - 1)
    numerators = _by_width(sensitive, rows, (steps + 1) * total, _ordered_work)
    return Distances(numerators, _denominators(rows, steps * total))


def hierarchical(sensitive: Sensitive, hierarchy: Hierarchy) -> Distances:
    """Return the distances where values are as far apart as the level of their first common label."""
    rows, total, height = sums(sensitive), int(sensitive.totals.sum()), hierarchy.height
    paths = label_paths(sensitive.names, hierarchy)

    def work(part: Sensitive, rows: Integers) -> Integers:
        return _tree_work(part, paths)

    return Distances(_by_width(sensitive, rows, height * total, work), _denominators(rows, height * total))


def label_paths(names: tuple[str, ...], hierarchy: Hierarchy) -> tuple[Codes, ...]:
    """Return the label of each value at the levels below the top."""
    missing = sum(name not in hierarchy.places for name in names)
    if missing:
        raise RequestError(
            f"The hierarchy {hierarchy.name} lacks {missing} of the column's values.",
            hint="Add them, so that every value has its place in the tree.",
        )
    leaves = np.array([hierarchy.places[name] for name in names], np.int64)
    return tuple(level[leaves] for level in hierarchy.maps[:-1])


def _denominators(rows: Integers, factor: int) -> Integers:
    return product(np.maximum(rows, 1), max(factor, 1))


def _excess(sensitive: Sensitive, totals: Integers) -> Integers:
    """Return the sum of max(0, c N - T n) of each class."""
    rows = np.repeat(sums(sensitive), lengths(sensitive))
    gained = product(sensitive.counts, int(totals.sum())) - product(rows, totals[sensitive.values])
    return reduced(np.add, sensitive.starts, np.maximum(gained, 0))


def _by_width(
    sensitive: Sensitive, rows: Integers, factor: int, work: Callable[[Sensitive, Integers], Integers]
) -> Integers:
    """Return the work of each class, in Python integers for classes too large for 64 bits."""
    wide = rows > NARROW // max(factor, 1)
    if not wide.any():
        return work(sensitive, rows)
    result = np.zeros(len(rows), object)
    result[~wide] = work(sensitive.at(np.flatnonzero(~wide)), rows[~wide])
    result[wide] = work(_widened(sensitive.at(np.flatnonzero(wide))), rows[wide].astype(object))
    return result


def _widened(sensitive: Sensitive) -> Sensitive:
    return Sensitive(
        starts=sensitive.starts,
        values=sensitive.values,
        counts=sensitive.counts.astype(object),
        totals=sensitive.totals.astype(object),
        names=sensitive.names,
    )


def _ordered_work(sensitive: Sensitive, rows: Integers) -> Integers:
    """Return the sum over i of |C_i N - Q_i n| of each class.

    C and Q are the counts up to value i in the class and in the table.

    From one value of a class to the next C stays, and Q rises: the terms are positive up to where Q passes
    C N / n and negative from there, so that sums of Q up to a place give each stretch in one step.
    """
    up_to = np.cumsum(sensitive.totals)
    sums_before = np.concatenate([[0], np.cumsum(up_to)])
    filled = lengths(sensitive) > 0
    firsts, total = sensitive.starts[:-1][filled], up_to[-1]
    n = np.repeat(rows, lengths(sensitive))
    here = sensitive.values.astype(np.int64)
    following = np.append(here[1:], 0)
    following[sensitive.starts[1:][filled] - 1] = len(up_to)
    running = np.cumsum(sensitive.counts)
    running = running - np.repeat(running[firsts] - sensitive.counts[firsts], lengths(sensitive)[filled])
    turn = np.searchsorted(up_to.astype(np.int64), (running * total // n).astype(np.int64), side="right")
    turn = np.clip(turn, here, following)
    stretches = (2 * turn - here - following) * (running * total)
    stretches = stretches + n * (sums_before[here] + sums_before[following] - 2 * sums_before[turn])
    result = reduced(np.add, sensitive.starts, stretches)
    result[filled] += rows[filled] * sums_before[here[firsts]]
    return result


def _tree_work(sensitive: Sensitive, paths: tuple[Codes, ...]) -> Integers:
    """Return the sum over levels of the excess of the labels."""
    # sorted by labels from the coarsest down, the values of one label are neighbours at every level
    rank = np.argsort(np.lexsort(paths))
    order = np.lexsort((rank[sensitive.values], owners(sensitive)))
    values, counts, owner = sensitive.values[order], sensitive.counts[order], owners(sensitive)
    work = np.zeros(len(sensitive.starts) - 1, sensitive.counts.dtype)
    for labels in paths:
        work = work + _excess(*_labelled(sensitive, labels, labels[values], counts, owner))
    return work


def _labelled(
    sensitive: Sensitive, labels: Codes, of_entry: Codes, counts: Integers, owner: Integers
) -> tuple[Sensitive, Integers]:
    """Return the counts of one level's labels in each class, and in the table."""
    begins = np.flatnonzero(_changes(owner) | _changes(of_entry))
    totals = np.zeros(int(labels.max()) + 1, sensitive.totals.dtype)
    np.add.at(totals, labels, sensitive.totals)
    starts = np.searchsorted(owner[begins], np.arange(len(sensitive.starts)))
    counted = Sensitive(
        starts=starts,
        values=of_entry[begins],
        counts=np.add.reduceat(counts, begins) if len(begins) else counts,
        totals=totals,
        names=sensitive.names,
    )
    return counted, totals


def _changes(codes: NDArray[np.signedinteger]) -> Verdicts:
    """Return where an entry differs from the one before it; the first always does."""
    return np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)]
