"""A recoding: the labels that every distinct tuple of quasi-identifiers shows, or its suppression.

Every method (full-domain, multidimensional, local) ends in a recoding, which is then judged, measured and
written.

Extents     A label covers some of its column's values. In an order in which siblings of the hierarchy are
            adjacent, every label of every level is one run of values, so its extent is two positions: `low`
            and `high` (excluded). An interval of an ordered column is a run in that column's order.
Weights     of quasi-identifiers are given by name, and are 1 where none is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Codes, Integers
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy
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
