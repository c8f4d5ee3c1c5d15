"""A recoding: the labels that every distinct tuple of quasi-identifiers shows, or its suppression.

Every method (full-domain, multidimensional, local) ends in a recoding, which is then judged, measured and
written.

Extents     A label covers some of its column's values. In an order in which siblings of the hierarchy are
            adjacent, every label of every level is one run of values, so its extent is two positions: `low`
            and `high` (excluded). An interval of an ordered column is a run in that column's order.
Weights     of quasi-identifiers are given by name, and are 1 where none is given.
Classes     Tuples that show the same labels are counted together and judged. A class is what a reader of the
            release can distinguish: the rows that show equal labels, whatever their values were. So a
            recoding is judged by its labels, not by the partition that produced it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import (
    Codes,
    EquivalenceClasses,
    Integers,
    SensitiveCounts,
    Tuples,
    number_rows,
)
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy
from discreet.anonymity.models.privacy_model import Model, Verdicts, judge_all
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import require_positive

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelExtents:
    """The values that the labels of one column cover.

    Value v is at position `order[v]`. Label i covers the positions `low[i]` to `high[i]` (excluded), which
    are the share `shares[i]` of the domain; `levels[i]` is the lowest level at which they have one label.
    """

    order: Integers
    low: Integers
    high: Integers
    shares: Floats
    levels: Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Recoding:
    """Tuple i shows `labels[j][codes[i, j]]` in column j, and is published where `published[i]` is true.

    `levels` are the levels of a full-domain generalization, and None where tuples differ in them. `extents`
    lists the values that labels cover, where the levels do not determine it.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: Codes
    published: NDArray[np.bool_]
    levels: tuple[int, ...] | None = None
    extents: tuple[LabelExtents, ...] | None = None


def order_siblings(hierarchy: Hierarchy) -> Integers:
    """Return a position for every value such that every label of every level is a run of positions."""
    by = np.lexsort(np.stack([np.arange(len(hierarchy.values)), *hierarchy.maps[1:]]))
    order = np.empty(len(by), np.int64)
    order[by] = np.arange(len(by))
    return order


def build_level_extents(hierarchy: Hierarchy, level: int) -> LabelExtents:
    """Return the extents of the labels of one level."""
    order = order_siblings(hierarchy)
    low, high = _find_runs(hierarchy.maps[level], len(hierarchy.labels[level]), order)
    return LabelExtents(
        order=order,
        low=low,
        high=high,
        shares=hierarchy.shares[level],
        levels=np.full(len(low), level, np.int64),
    )


def _find_runs(codes: Codes, number: int, order: Integers) -> tuple[Integers, Integers]:
    low, high = np.full(number, len(order), np.int64), np.zeros(number, np.int64)
    np.minimum.at(low, codes, order)
    np.maximum.at(high, codes, order + 1)
    return np.minimum(low, high), high


def build_all_level_extents(hierarchy: Hierarchy) -> tuple[tuple[str, ...], list[Integers], LabelExtents]:
    """Return the labels of all levels, each value's label per level, and the labels' extents.

    A text that names groups at two levels is one label, because a reader cannot distinguish them. It covers
    the larger group; two groups of which neither contains the other are refused.
    """
    names = tuple(dict.fromkeys(name for level in hierarchy.labels for name in level))
    place = {name: number for number, name in enumerate(names)}
    order = order_siblings(hierarchy)
    low, high = np.full(len(names), len(order), np.int64), np.zeros(len(names), np.int64)
    shares, levels = np.zeros(len(names)), np.zeros(len(names), np.int64)
    places = []
    for level, labels in enumerate(hierarchy.labels):
        here = np.array([place[name] for name in labels], np.int64)
        low_here, high_here = _find_runs(hierarchy.maps[level], len(labels), order)
        seen = high[here] > 0
        outside = seen & ((low_here > low[here]) | (high_here < high[here])) & (low_here < high_here)
        if outside.any():
            raise RequestError(
                f"The hierarchy {hierarchy.name} gives one label to different groups of values, one of them "
                f"at level {level}.",
                hint="Name every group differently.",
            )
        wider = ~seen | (high_here - low_here > high[here] - low[here])
        low[here], high[here] = np.minimum(low[here], low_here), np.maximum(high[here], high_here)
        shares[here] = np.maximum(shares[here], hierarchy.shares[level])
        levels[here] = np.where(wider, level, levels[here])
        places.append(here[hierarchy.maps[level]])
    return names, places, LabelExtents(order=order, low=low, high=high, shares=shares, levels=levels)


def build_interval_extents(
    hierarchy: Hierarchy, low: Integers, high: Integers, order: Integers | None = None
) -> LabelExtents:
    """Return the extents of intervals of an ordered column, given by positions (`high` excluded).

    Values are ordered by `order`, or as in the hierarchy. Where they are an evenly spaced sample of the
    domain, an interval's share is its part of the sample.
    """
    order = np.arange(len(hierarchy.values), dtype=np.int64) if order is None else order
    by = np.argsort(order)
    before = np.concatenate([[0.0], np.cumsum(hierarchy.shares[0][hierarchy.maps[0]][by])])
    before /= before[-1] or 1.0
    levels = np.zeros(len(low), np.int64)
    for level in range(hierarchy.height):
        changes = np.concatenate([[0], np.cumsum(np.diff(hierarchy.maps[level][by]) != 0)])
        levels += changes[high - 1] != changes[low]
    whole = (low == 0) & (high == len(hierarchy.values))
    return LabelExtents(
        order=order,
        low=low,
        high=high,
        shares=np.where(whole, 1.0, before[high] - before[low]),
        levels=levels,
    )


def format_interval(hierarchy: Hierarchy, low: int, high: int) -> str:
    """Return the label of an interval in the notation of hierarchies: a value, [first, last], or the top."""
    if high - low == 1:
        return hierarchy.values[low]
    if low == 0 and high == len(hierarchy.values):
        return TOP
    return f"[{hierarchy.values[low]}, {hierarchy.values[high - 1]}]"


def get_extents(recoding: Recoding, hierarchies: Sequence[Hierarchy]) -> tuple[LabelExtents, ...]:
    """Return the extents of a recoding's labels."""
    if recoding.extents is not None:
        return recoding.extents
    if recoding.levels is None:
        raise RequestError("A recoding without levels must state the extents of its labels.")
    return tuple(
        build_level_extents(hierarchy, level)
        for hierarchy, level in zip(hierarchies, recoding.levels, strict=True)
    )


Weights = Mapping[str, float]


def list_column_weights(weights: Weights | None, hierarchies: Sequence[Hierarchy]) -> list[float]:
    """Return the weight of every column."""
    given = weights or {}
    for name, weight in given.items():
        require_positive("weights", name, weight)
    require_columns("weights", "columns", given, hierarchies)
    return [float(given.get(hierarchy.name, 1.0)) for hierarchy in hierarchies]


def require_columns(
    owner: str, name: str, columns: Mapping[str, object] | frozenset[str], hierarchies: Sequence[Hierarchy]
) -> None:
    """Raise if a name is not that of a quasi-identifier."""
    unknown = sorted(set(columns) - {hierarchy.name for hierarchy in hierarchies})
    require_parameter(not unknown, owner, name, ", ".join(unknown), "quasi-identifiers of the table")


DENSE = 8  # a table of sums may have this many cells per summand before sorting is cheaper


def group_tuples(
    tuples: Tuples, groups: Integers, number: int, *, rows: int | None = None
) -> tuple[EquivalenceClasses, Integers]:
    """Return the classes of a grouping with group numbers below `number`, and the class of each tuple.

    A group below 0 is left out. So is one without rows (tuples that only the population has); its tuples
    have class -1. `rows` counts the whole table when `tuples` is a part of it.
    """
    inside = groups >= 0
    everywhere = bool(inside.all())
    places = groups if everywhere else groups[inside]
    counts = tuples.counts if everywhere else tuples.counts[inside]
    sizes = sum_by_group(places, counts, number)
    filled = sizes > 0
    # the appended -1 is what group -1, which was left out, indexes
    ids = np.append(np.where(filled, np.cumsum(filled) - 1, -1), -1)[groups]
    classes = EquivalenceClasses(
        sizes=sizes[filled],
        rows=tuples.rows if rows is None else rows,
        sensitive={
            name: _merge_sensitive(column, ids, int(filled.sum()))
            for name, column in tuples.sensitive.items()
        },
        population=_sum_population(tuples, ids, int(filled.sum())),
    )
    return classes, ids


def sum_by_group(places: Integers, counts: Integers, number: int) -> Integers:
    """Return the number of rows in each group; floats hold counts below 2**53 exactly."""
    return np.bincount(places, counts, number).astype(np.int64)


def _sum_population(tuples: Tuples, ids: Integers, number: int) -> Integers | None:
    if tuples.population is None:
        return None
    return sum_by_group(ids[ids >= 0], tuples.population[ids >= 0], number)


def _merge_sensitive(column: SensitiveCounts, ids: Integers, number: int) -> SensitiveCounts:
    """Return the sensitive counts of classes, merged from those of tuples."""
    size = max(len(column.names), 1)
    owners = np.repeat(ids, np.diff(column.starts))
    inside = owners >= 0
    keys = owners[inside] * size + column.values[inside]
    counts = column.counts[inside]
    if number * size <= DENSE * len(keys):
        table = sum_by_group(keys, counts, number * size)
        present = np.flatnonzero(table)
        counts = table[present]
    else:
        present, places = np.unique(keys, return_inverse=True)
        counts = sum_by_group(places, counts, len(present))
    starts = np.searchsorted(present, np.arange(number + 1) * size)
    return SensitiveCounts(
        starts=starts.astype(np.int64),
        values=(present % size).astype(np.int32),
        counts=counts,
        totals=column.totals,
        names=column.names,
    )


def select_tuples(tuples: Tuples, places: Integers) -> Tuples:
    """Return some of the tuples; the totals that models compare with still cover the whole table."""
    sensitive = {name: column.select(places) for name, column in tuples.sensitive.items()}
    population = None if tuples.population is None else tuples.population[places]
    return Tuples(
        codes=tuples.codes[places],
        counts=tuples.counts[places],
        sensitive=sensitive,
        population=population,
    )


def judge_tuples(tuples: Tuples, groups: Integers, number: int, models: Sequence[Model]) -> Verdicts:
    """Return which tuples are in classes that meet every model."""
    classes, ids = group_tuples(tuples, groups, number)
    kept: Verdicts = np.append(judge_all(classes, models), False)[ids]
    return kept


def number_shown_classes(recoding: Recoding) -> tuple[Integers, int]:
    """Return the class of every tuple by the labels that it shows; -1 where it is not published."""
    columns = [recoding.codes[:, j] for j in range(len(recoding.columns))]
    numbers, number = number_rows(columns, [max(len(labels), 1) for labels in recoding.labels])
    return np.where(recoding.published, numbers, -1), number


def group_by_recoding(tuples: Tuples, recoding: Recoding) -> tuple[EquivalenceClasses, Integers]:
    """Return the classes that a reader of the release sees, and each tuple's class (-1: suppressed)."""
    return group_tuples(tuples, *number_shown_classes(recoding))
