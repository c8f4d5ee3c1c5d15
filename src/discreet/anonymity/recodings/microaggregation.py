"""Microaggregation: numbers are replaced by the mean or median of a group of at least k rows.

univariate  The grouping of one column with the least squared error among all with at least k rows per group.
            In some optimum the groups are runs of the sorted values, so it is a shortest path [HM03];
            rows with the same value stay together.
mdav        A heuristic grouping of several columns at once [DM02]: the tuple farthest from the mean takes its
            nearest neighbours until they are k rows, then the tuple farthest from it does the same, until
            fewer than 2k rows are left. Columns are scaled to equal variance, times their weights.
Promise     For all quasi-identifiers together, k-anonymity: at least k rows show the same. For some of them,
            the classes are the recoding's, and only those are judged. A mean is computed from the values that
            it replaces: an attacker who knows all others of a group computes the last one from an exact mean,
            and a median is some row's own value. It bounds no belief about a value, as generalization does
            not, and it adds no noise.

[HM03]      Hansen & Mukherjee, A Polynomial Algorithm for Optimal Univariate Microaggregation, 2003.
[DM02]      Domingo-Ferrer & Mateo-Sanz, Practical Data-Oriented Microaggregation, 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.models.privacy_model import Model
from discreet.anonymity.recoding import Floats, Recoding
from discreet.anonymity.tuple_grouping import judge_tuples, number_shown_classes, sum_by_group
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count


class Centre(StrEnum):
    """The statistic that replaces a group's numbers."""

    MEAN = "mean"
    MEDIAN = "median"


def group_univariate(numbers: Floats, counts: Integers, k: int) -> Integers:
    """Return the group of each value; equal numbers share one. Raise if there are fewer than k rows."""
    _require_rows(counts, k)
    distinct, places = np.unique(numbers, return_inverse=True)
    rows = np.concatenate([[0], np.cumsum(sum_by_group(places, counts, len(distinct)))])
    centred = distinct - distinct.mean()
    weight = np.diff(rows)
    first = np.concatenate([[0.0], np.cumsum(weight * centred)])
    second = np.concatenate([[0.0], np.cumsum(weight * centred**2)])
    cost, came = np.full(len(rows), np.inf), np.zeros(len(rows), np.int64)
    cost[0] = 0.0
    # a group that can be divided into two of k rows is never better whole: its start is bounded below too
    latest = np.searchsorted(rows, rows - k, side="right") - 1
    for end in range(1, len(rows)):
        if latest[end] < 0:
            continue
        earliest = max(int(latest[latest[end]]), 0) if latest[end] > 0 else 0
        starts = np.arange(earliest, latest[end] + 1)
        size = rows[end] - rows[starts]
        total = first[end] - first[starts]
        error = cost[starts] + (second[end] - second[starts]) - total**2 / size
        best = int(error.argmin())
        cost[end], came[end] = error[best], starts[best]
    return _trace_groups(came, len(distinct))[places]


def _trace_groups(came: Integers, number: int) -> Integers:
    groups, end, group = np.zeros(number, np.int64), number, 0
    while end > 0:
        groups[came[end] : end] = group
        end, group = int(came[end]), group + 1
    return groups


def mdav(points: Floats, counts: Integers, k: int, *, weights: Sequence[float] | None = None) -> Integers:
    """Return the group, of at least k rows, of each tuple of numbers; `weights` scale squared distances."""
    _require_rows(counts, k)
    spread = points.std(axis=0)
    scaled = points / np.where(spread > 0, spread, 1.0)
    scaled = scaled if weights is None else scaled * np.sqrt(weights)
    groups = np.full(len(points), -1, np.int64)
    group, rest = 0, np.arange(len(points))
    while counts[rest].sum() >= 2 * k:
        mean = np.average(scaled[rest], axis=0, weights=counts[rest])
        far = rest[_compute_squared_distances(scaled[rest], mean).argmax()]
        other = rest[_compute_squared_distances(scaled[rest], scaled[far]).argmax()]
        for seed in (far, other):
            left = counts[rest].sum()
            if groups[seed] >= 0 or left < 2 * k:
                continue
            near = rest[np.argsort(_compute_squared_distances(scaled[rest], scaled[seed]), kind="stable")]
            taken = near[: int(np.searchsorted(np.cumsum(counts[near]), k)) + 1]
            if left - counts[taken].sum() < k:
                taken = near
            groups[taken] = group
            group, rest = group + 1, rest[groups[rest] < 0]
    groups[rest] = group
    return groups


def _compute_squared_distances(points: Floats, centre: Floats) -> Floats:
    squared: Floats = ((points - centre) ** 2).sum(axis=1)
    return squared


def compute_centres(
    numbers: Floats, counts: Integers, groups: Integers, *, centre: Centre = Centre.MEAN
) -> Floats:
    """Return the mean or the (lower) median of every group."""
    number = int(groups.max(initial=-1)) + 1
    if centre is Centre.MEAN:
        return np.bincount(groups, counts * numbers, number) / np.maximum(
            sum_by_group(groups, counts, number), 1
        )
    by = np.lexsort([numbers, groups])
    below = np.cumsum(counts[by])
    ends = np.searchsorted(groups[by], np.arange(number), side="right") - 1
    starts = np.searchsorted(groups[by], np.arange(number)) - 1
    before = np.where(starts >= 0, below[starts], 0)
    middle = before + (below[ends] - before + 1) // 2
    found: Floats = numbers[by][np.searchsorted(below, middle)]
    return found


def replace_column(
    tuples: Tuples,
    recoding: Recoding,
    column: str,
    numbers: Floats,
    models: Sequence[Model],
    *,
    groups: Integers | None = None,
    centre: Centre = Centre.MEAN,
    decimals: int = 0,
) -> Recoding:
    """Return the recoding with centres in one column, of `groups` or of the recoding's classes.

    `numbers[i]` is the value of tuple i in the column. Groups whose centres round to the same number become
    one class, so the result is judged again by its labels.
    """
    if column not in recoding.columns:
        raise RequestError(f"There is no column {column} to aggregate.", hint="Name a quasi-identifier.")
    groups = number_shown_classes(recoding)[0] if groups is None else groups
    inside = recoding.published & (groups >= 0)
    codes, labels = recoding.codes.copy(), list(recoding.labels)
    j = recoding.columns.index(column)
    group = np.unique(groups[inside], return_inverse=True)[1]
    middle = compute_centres(numbers[inside], tuples.counts[inside], group, centre=centre)
    # a mean that rounds to 0 from below is 0, and not a label of its own
    texts = [f"{round(float(number), decimals) + 0.0:.{decimals}f}" for number in middle]
    names = tuple(dict.fromkeys(texts)) or ("",)
    place = {name: number for number, name in enumerate(names)}
    codes[inside, j] = np.array([place[text] for text in texts], np.int32)[group] if texts else 0
    codes[~inside, j] = 0
    labels[j] = names
    return _judge_recoding(tuples, recoding, codes, tuple(labels), inside, models)


def _judge_recoding(
    tuples: Tuples,
    recoding: Recoding,
    codes: NDArray[np.int32],
    labels: tuple[tuple[str, ...], ...],
    inside: NDArray[np.bool_],
    models: Sequence[Model],
) -> Recoding:
    shape = Recoding(columns=recoding.columns, labels=labels, codes=codes, published=inside)
    kept = judge_tuples(tuples, *number_shown_classes(shape), models)
    return Recoding(columns=recoding.columns, labels=labels, codes=codes, published=kept)


def _require_rows(counts: Integers, k: int) -> None:
    require_count("microaggregation", "k", k)
    if counts.sum() < k:
        raise RequestError(f"The table has fewer than k = {k} rows.", hint="Choose a smaller k.")
