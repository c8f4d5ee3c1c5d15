"""Workload error: the relative error of random count queries on the release.

Query       COUNT of the rows whose values of some quasi-identifiers lie in given sets, and which have a given
            sensitive value, if there is a sensitive column. For an ordered column the set is an interval; for
            another, the values of a label of its hierarchy, or random values.
Estimate    A row counts as the fraction of its label's values that lie in the set, as if they were equally
            frequent, multiplied over columns. Suppressed rows count nothing.
Error       |estimate - truth| / max(truth, 0.1% of the rows); the floor keeps rare counts from dominating.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.recoding import Floats, LabelExtents, Recoding, get_extents
from discreet.core.number_checks import require_count
from discreet.core.randomness import Randomness

FLOOR = 0.001  # of the rows: else a query with hardly any rows would have an unbounded relative error


@dataclass(frozen=True, kw_only=True, eq=False)
class CountQuery:
    """A count query: `sets[j]` marks the values of column j; `sensitive` is a column and a value's code."""

    sets: Mapping[int, NDArray[np.bool_]]
    sensitive: tuple[str, int] | None = None


@dataclass(frozen=True, kw_only=True)
class WorkloadError:
    """The relative errors of a workload."""

    queries: int
    mean: float
    median: float
    worst: float


def draw_workload(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    random: Randomness,
    *,
    queries: int = 1000,
    columns: int = 2,
    ordered: frozenset[str] = frozenset(),
) -> list[CountQuery]:
    """Return queries over `columns` quasi-identifiers and one sensitive value each; counts are not read."""
    require_count("workload", "queries", queries)
    require_count("workload", "columns", columns)
    names = sorted(name for name, column in tuples.sensitive.items() if column.names)
    found = []
    for _ in range(queries):
        picked = _draw_columns(len(hierarchies), min(columns, len(hierarchies)), random)
        sets = {j: _draw_set(hierarchies[j], hierarchies[j].name in ordered, random) for j in picked}
        sensitive = None
        if names:
            name = names[random.draw_below(len(names))]
            sensitive = (name, random.draw_below(len(tuples.sensitive[name].names)))
        found.append(CountQuery(sets=sets, sensitive=sensitive))
    return found


def _draw_columns(number: int, wanted: int, random: Randomness) -> list[int]:
    left = list(range(number))
    return [left.pop(random.draw_below(len(left))) for _ in range(wanted)]


def _draw_set(hierarchy: Hierarchy, ordered: bool, random: Randomness) -> NDArray[np.bool_]:
    size = len(hierarchy.values)
    if ordered:
        ends = sorted((random.draw_below(size), random.draw_below(size)))
        places = np.arange(size)
        return (places >= ends[0]) & (places <= ends[1])
    if hierarchy.height > 1 and random.draw_below(2):
        level = 1 + random.draw_below(hierarchy.height - 1)
        return np.asarray(hierarchy.maps[level] == random.draw_below(len(hierarchy.labels[level])))
    return np.asarray(random.draw_words(size) % 2 == 0)


def measure_workload_error(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding, workload: Sequence[CountQuery]
) -> WorkloadError:
    """Return the errors of a workload, computing one query over all tuples at a time."""
    extents = get_extents(recoding, hierarchies)
    codes, shown = np.asfortranarray(tuples.codes), np.asfortranarray(recoding.codes)
    errors = np.empty(len(workload))
    for number, query in enumerate(workload):
        rows = _count_rows(tuples, query).astype(float)
        truth, estimate = rows, np.where(recoding.published, rows, 0.0)
        for j, inside in query.sets.items():
            truth = truth * inside[codes[:, j]]
            estimate = estimate * _compute_overlap(extents[j], inside)[shown[:, j]]
        errors[number] = _compute_relative_error(float(estimate.sum()), float(truth.sum()), tuples.rows)
    return WorkloadError(
        queries=len(errors),
        mean=float(errors.mean()),
        median=float(np.median(errors)),
        worst=float(errors.max()),
    )


def _compute_overlap(extent: LabelExtents, inside: NDArray[np.bool_]) -> Floats:
    """Return the fraction of each label's values that lie in the set."""
    by_place = np.empty(len(inside))
    by_place[extent.order] = inside
    before = np.concatenate([[0.0], np.cumsum(by_place)])
    counted = before[extent.high] - before[extent.low]
    return np.asarray(counted / np.maximum(extent.high - extent.low, 1))


def _compute_relative_error(estimate: float, truth: float, rows: int) -> float:
    return abs(estimate - truth) / max(truth, FLOOR * rows)


def _count_rows(tuples: Tuples, query: CountQuery) -> Integers | Floats:
    """Return how many rows of each tuple have the sensitive value of a query."""
    if query.sensitive is None:
        return tuples.counts
    name, value = query.sensitive
    column = tuples.sensitive[name]
    owners = np.repeat(np.arange(len(tuples)), np.diff(column.starts))
    mine = column.values == value
    return np.bincount(owners[mine], column.counts[mine], len(tuples))
