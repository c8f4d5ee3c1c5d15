"""t-closeness: the shared base of its variants, and the distances between sensitive values that they use.

Earth mover's distance between the sensitive values of a class and of the table, as integer quotients.

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

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Codes, EquivalenceClasses, Integers, SensitiveCounts
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models.class_counts import (
    compute_quotients,
    count_distinct,
    count_rows,
    find_owners,
    is_at_most,
    multiply_exactly,
    reduce_by_class,
)
from discreet.anonymity.models.model_option import ModelOption, RequestedModel, coerce_share, parse_share
from discreet.anonymity.models.privacy_model import Floats, Verdicts
from discreet.core.errors import RequestError

NARROW = 2**60  # numerators below this fit into 64 bits with room for sums


class Distances(NamedTuple):
    """One distance per class, as numerator / denominator."""

    numerators: Integers
    denominators: Integers


def measure_equal_distances(sensitive: SensitiveCounts) -> Distances:
    """Return the distances where all values are at distance 1."""
    rows, total = count_rows(sensitive), int(sensitive.totals.sum())
    return Distances(_sum_excess(sensitive, sensitive.totals), _build_denominators(rows, total))


def measure_ordered_distances(sensitive: SensitiveCounts) -> Distances:
    """Return the distances where values are in their order, the first and last at distance 1."""
    rows, total, steps = count_rows(sensitive), int(sensitive.totals.sum()), max(1, len(sensitive.totals) - 1)
    numerators = _compute_by_width(sensitive, rows, (steps + 1) * total, _compute_ordered_work)
    return Distances(numerators, _build_denominators(rows, steps * total))


def measure_hierarchical_distances(sensitive: SensitiveCounts, hierarchy: Hierarchy) -> Distances:
    """Return the distances where values are as far apart as the level of their first common label."""
    rows, total, height = count_rows(sensitive), int(sensitive.totals.sum()), hierarchy.height
    paths = find_label_paths(sensitive.names, hierarchy)

    def compute_work(part: SensitiveCounts, rows: Integers) -> Integers:
        return _compute_tree_work(part, paths)

    return Distances(
        _compute_by_width(sensitive, rows, height * total, compute_work),
        _build_denominators(rows, height * total),
    )


def find_label_paths(names: tuple[str, ...], hierarchy: Hierarchy) -> tuple[Codes, ...]:
    """Return the label of each value at the levels below the top."""
    missing = sum(name not in hierarchy.positions for name in names)
    if missing:
        raise RequestError(
            f"The hierarchy {hierarchy.name} lacks {missing} of the column's values.",
            hint="Add them, so that every value has its place in the tree.",
        )
    leaves = np.array([hierarchy.positions[name] for name in names], np.int64)
    return tuple(level[leaves] for level in hierarchy.maps[:-1])


def _build_denominators(rows: Integers, factor: int) -> Integers:
    return multiply_exactly(np.maximum(rows, 1), max(factor, 1))


def _sum_excess(sensitive: SensitiveCounts, totals: Integers) -> Integers:
    """Return the sum of max(0, c N - T n) of each class."""
    rows = np.repeat(count_rows(sensitive), count_distinct(sensitive))
    gained = multiply_exactly(sensitive.counts, int(totals.sum())) - multiply_exactly(
        rows, totals[sensitive.values]
    )
    return reduce_by_class(np.add, sensitive.starts, np.maximum(gained, 0))


def _compute_by_width(
    sensitive: SensitiveCounts,
    rows: Integers,
    factor: int,
    work: Callable[[SensitiveCounts, Integers], Integers],
) -> Integers:
    """Return the work of each class, in Python integers for classes too large for 64 bits."""
    wide = rows > NARROW // max(factor, 1)
    if not wide.any():
        return work(sensitive, rows)
    result = np.zeros(len(rows), object)
    result[~wide] = work(sensitive.select(np.flatnonzero(~wide)), rows[~wide])
    result[wide] = work(_widen_counts(sensitive.select(np.flatnonzero(wide))), rows[wide].astype(object))
    return result


def _widen_counts(sensitive: SensitiveCounts) -> SensitiveCounts:
    return SensitiveCounts(
        starts=sensitive.starts,
        values=sensitive.values,
        counts=sensitive.counts.astype(object),
        totals=sensitive.totals.astype(object),
        names=sensitive.names,
    )


def _compute_ordered_work(sensitive: SensitiveCounts, rows: Integers) -> Integers:
    """Return the sum over i of |C_i N - Q_i n| of each class.

    C and Q are the counts up to value i in the class and in the table.

    From one value of a class to the next C stays, and Q rises: the terms are positive up to where Q passes
    C N / n and negative from there, so that sums of Q up to a place give each stretch in one step.
    """
    up_to = np.cumsum(sensitive.totals)
    sums_before = np.concatenate([[0], np.cumsum(up_to)])
    filled = count_distinct(sensitive) > 0
    firsts, total = sensitive.starts[:-1][filled], up_to[-1]
    n = np.repeat(rows, count_distinct(sensitive))
    here = sensitive.values.astype(np.int64)
    following = np.append(here[1:], 0)
    following[sensitive.starts[1:][filled] - 1] = len(up_to)
    running = np.cumsum(sensitive.counts)
    running = running - np.repeat(
        running[firsts] - sensitive.counts[firsts], count_distinct(sensitive)[filled]
    )
    turn = np.searchsorted(up_to.astype(np.int64), (running * total // n).astype(np.int64), side="right")
    turn = np.clip(turn, here, following)
    stretches = (2 * turn - here - following) * (running * total)
    stretches = stretches + n * (sums_before[here] + sums_before[following] - 2 * sums_before[turn])
    result = reduce_by_class(np.add, sensitive.starts, stretches)
    result[filled] += rows[filled] * sums_before[here[firsts]]
    return result


def _compute_tree_work(sensitive: SensitiveCounts, paths: tuple[Codes, ...]) -> Integers:
    """Return the sum over levels of the excess of the labels."""
    # sorted by labels from the coarsest down, the values of one label are neighbours at every level
    rank = np.argsort(np.lexsort(paths))
    order = np.lexsort((rank[sensitive.values], find_owners(sensitive)))
    values, counts, owner = sensitive.values[order], sensitive.counts[order], find_owners(sensitive)
    work = np.zeros(len(sensitive.starts) - 1, sensitive.counts.dtype)
    for labels in paths:
        work = work + _sum_excess(*_count_labels(sensitive, labels, labels[values], counts, owner))
    return work


def _count_labels(
    sensitive: SensitiveCounts, labels: Codes, of_entry: Codes, counts: Integers, owner: Integers
) -> tuple[SensitiveCounts, Integers]:
    """Return the counts of one level's labels in each class, and in the table."""
    begins = np.flatnonzero(_find_changes(owner) | _find_changes(of_entry))
    totals = np.zeros(int(labels.max()) + 1, sensitive.totals.dtype)
    np.add.at(totals, labels, sensitive.totals)
    starts = np.searchsorted(owner[begins], np.arange(len(sensitive.starts)))
    counted = SensitiveCounts(
        starts=starts,
        values=of_entry[begins],
        counts=np.add.reduceat(counts, begins) if len(begins) else counts,
        totals=totals,
        names=sensitive.names,
    )
    return counted, totals


def _find_changes(codes: NDArray[np.signedinteger]) -> Verdicts:
    """Return where an entry differs from the one before it; the first always does."""
    return np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)]


T_CLOSENESS = ModelOption(name="t_closeness", help="COLUMN:0.2:equal|ordered|hierarchical.")


@dataclass(frozen=True, kw_only=True)
class TCloseness(RequestedModel, Protocol):
    """The sensitive values of every class are within distance t of the whole table's."""

    column: str
    t: Fraction

    option: ClassVar[ModelOption] = T_CLOSENESS
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False

    def __post_init__(self) -> None:
        coerce_share(self, "t")

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        return {"column": texts["column"], "t": parse_share(f"the t of {cls.option.argument}", texts["t"])}

    @abstractmethod
    def measure_distances(self, classes: EquivalenceClasses) -> Distances:
        """Return the distance of each class from the table, as quotients."""

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return is_at_most(*self.measure_distances(classes), self.t)

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        return float(self.t) - compute_quotients(*self.measure_distances(classes))
