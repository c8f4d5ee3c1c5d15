"""What labels stand for: the extents of a hierarchy's labels, of intervals, and of a recoding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.classes import Codes, Integers
from discreet.anonymity.hierarchies.hierarchy import TOP, Hierarchy
from discreet.anonymity.recoding import Extents, Recoding
from discreet.core.errors import RequestError


def sibling_order(hierarchy: Hierarchy) -> Integers:
    """A place for every value, such that every label of every level is a run of places."""
    by = np.lexsort(np.stack([np.arange(len(hierarchy.values)), *hierarchy.maps[1:]]))
    order = np.empty(len(by), np.int64)
    order[by] = np.arange(len(by))
    return order


def of_level(hierarchy: Hierarchy, level: int) -> Extents:
    """The extents of the labels of one level."""
    order = sibling_order(hierarchy)
    low, high = _runs(hierarchy.maps[level], len(hierarchy.labels[level]), order)
    return Extents(
        order=order,
        low=low,
        high=high,
        shares=hierarchy.shares[level],
        levels=np.full(len(low), level, np.int64),
    )


def _runs(codes: Codes, number: int, order: Integers) -> tuple[Integers, Integers]:
    low, high = np.full(number, len(order), np.int64), np.zeros(number, np.int64)
    np.minimum.at(low, codes, order)
    np.maximum.at(high, codes, order + 1)
    return np.minimum(low, high), high


def of_all_levels(hierarchy: Hierarchy) -> tuple[tuple[str, ...], list[Integers], Extents]:
    """All labels of all levels, the place among them of every value at each level, and their extents.

    A text that names one group at two levels is one label: a reader cannot tell them apart. It stands for the
    larger of the two, and is refused where they are not one inside the other.
    """
    names = tuple(dict.fromkeys(name for level in hierarchy.labels for name in level))
    place = {name: number for number, name in enumerate(names)}
    order = sibling_order(hierarchy)
    low, high = np.full(len(names), len(order), np.int64), np.zeros(len(names), np.int64)
    shares, levels = np.zeros(len(names)), np.zeros(len(names), np.int64)
    places = []
    for level, labels in enumerate(hierarchy.labels):
        here = np.array([place[name] for name in labels], np.int64)
        low_here, high_here = _runs(hierarchy.maps[level], len(labels), order)
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
    return names, places, Extents(order=order, low=low, high=high, shares=shares, levels=levels)


def of_intervals(
    hierarchy: Hierarchy, low: Integers, high: Integers, order: Integers | None = None
) -> Extents:
    """The extents of intervals of an ordered column, by the places of their ends (`high` excluded).

    Values stand where `order` says, or as the hierarchy has them. Where they are only some of the domain, at
    even distances, an interval has its part of them.
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
    return Extents(
        order=order,
        low=low,
        high=high,
        shares=np.where(whole, 1.0, before[high] - before[low]),
        levels=levels,
    )


def interval_label(hierarchy: Hierarchy, low: int, high: int) -> str:
    """How an interval of values reads, as in hierarchies: a value, [first, last], or the top."""
    if high - low == 1:
        return hierarchy.values[low]
    if low == 0 and high == len(hierarchy.values):
        return TOP
    return f"[{hierarchy.values[low]}, {hierarchy.values[high - 1]}]"


def extents_of(recoding: Recoding, hierarchies: Sequence[Hierarchy]) -> tuple[Extents, ...]:
    """What the labels of a recoding stand for."""
    if recoding.extents is not None:
        return recoding.extents
    if recoding.levels is None:
        raise RequestError("A recoding without levels must say what its labels stand for.")
    return tuple(
        of_level(hierarchy, level) for hierarchy, level in zip(hierarchies, recoding.levels, strict=True)
    )
