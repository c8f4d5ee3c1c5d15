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

Ordered columns: numbers, days and times, ordered by their values.

Only such a column can be cut into intervals or replaced by a mean. A missing value has no place in the order,
and two texts of one number (0.5 and 0.50) would give overlapping intervals; a column with either is cut by
its hierarchy instead.

Numbers are replaced by the mean or median of their class, or of groups made for it:

show_centres    a column of a recoding shows the mean or median of each class instead of its label.
microaggregate  all quasi-identifiers are numbers, and groups of at least k rows are made from them alone:
                the optimal groups of a single column, groups of close rows for several columns.

For measures of loss, a centre covers the values from the least to the greatest of the rows that show it.

[HM03]      Hansen & Mukherjee, A Polynomial Algorithm for Optimal Univariate Microaggregation, 2003.
[DM02]      Domingo-Ferrer & Mateo-Sanz, Practical Data-Oriented Microaggregation, 2002.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers, Tuples, order_codes
from discreet.anonymity.hierarchies.date_periods import parse_day
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy
from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.anonymity.models.privacy_model import Model
from discreet.anonymity.recoding import (
    Floats,
    LabelExtents,
    Recoding,
    Weights,
    build_interval_extents,
    build_level_extents,
    get_extents,
    judge_tuples,
    list_column_weights,
    number_shown_classes,
    select_tuples,
    sum_by_group,
)
from discreet.core.errors import DataError, RequestError
from discreet.core.number_checks import require_count


def find_ordered_columns(hierarchies: Sequence[Hierarchy], candidates: Collection[str]) -> frozenset[str]:
    """Return the names among `candidates` whose columns are ordered."""
    return frozenset(each.name for each in hierarchies if each.name in candidates and is_ordered(each))


def is_ordered(hierarchy: Hierarchy) -> bool:
    """Return whether the values of a hierarchy are sorted numbers, or sorted days or times."""
    numbers = [parse_number(value) for value in hierarchy.values]
    if None not in numbers:
        return all(one < other for one, other in pairwise(numbers))  # type: ignore[operator]
    days = [parse_day(value) for value in hierarchy.values]
    in_order = all(one < other for one, other in pairwise(hierarchy.values))
    return in_order and None not in days and all(one <= other for one, other in pairwise(days))  # type: ignore[operator]


def parse_numbers(hierarchy: Hierarchy) -> Floats | None:
    """Return the values of a hierarchy as numbers, or None if one of them is not a number."""
    found = [parse_number(value) for value in hierarchy.values]
    return None if None in found else np.array([float(each) for each in found if each is not None])


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


def group_by_mdav(
    points: Floats, counts: Integers, k: int, *, weights: Sequence[float] | None = None
) -> Integers:
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


MOST_TUPLES = 100_000  # MDAV is quadratic in the number of tuples


@dataclass(frozen=True, kw_only=True)
class CentreOptions:
    """The statistic that replaces the numbers of a class, and its decimals."""

    centre: Centre = Centre.MEAN
    decimals: int = 0


def microaggregate(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    models: Sequence[Model],
    k: int,
    columns: Mapping[str, CentreOptions],
    *,
    weights: Weights | None = None,
) -> Recoding:
    """Replace every column by the centre of groups of at least k rows; suppress groups that break a model."""
    by = order_codes(tuples.codes)
    ordered = select_tuples(tuples, by)
    points = np.stack([_get_numbers(ordered, hierarchies, j) for j in range(len(hierarchies))], axis=1)
    each = list_column_weights(weights, hierarchies)
    if len(hierarchies) == 1:
        groups = group_univariate(points[:, 0], ordered.counts, k)
    elif len(ordered) > MOST_TUPLES:
        raise RequestError(
            f"Microaggregation of several columns compares combinations, at most {MOST_TUPLES:,} of them.",
            hint="Use the method mondrian, with `centres=` for the columns that should show a mean.",
        )
    else:
        groups = group_by_mdav(points, ordered.counts, k, weights=each)
    whole = _recode_as_one_class(len(ordered), hierarchies)
    found = show_centres(ordered, hierarchies, whole, models, columns, groups=groups)
    back = np.argsort(by)
    return replace(found, codes=found.codes[back], published=found.published[back])


def show_centres(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    recoding: Recoding,
    models: Sequence[Model],
    columns: Mapping[str, CentreOptions],
    *,
    groups: Integers | None = None,
) -> Recoding:
    """Return the recoding with centres in some columns: of `groups`, or of its own classes."""
    by = order_codes(tuples.codes)
    ordered, back = select_tuples(tuples, by), np.argsort(by)
    groups = number_shown_classes(recoding)[0] if groups is None else groups
    before = get_extents(recoding, hierarchies)
    found = replace(recoding, codes=recoding.codes[by], published=recoding.published[by])
    last = list(columns)[-1:]
    for name, centred in columns.items():
        found = replace_column(
            ordered,
            found,
            name,
            _get_numbers(ordered, hierarchies, recoding.columns.index(name)),
            models if [name] == last else (),
            groups=groups[by],
            centre=centred.centre,
            decimals=centred.decimals,
        )
    extents = tuple(
        _build_centre_extents(ordered, found, hierarchies[j], j) if name in columns else before[j]
        for j, name in enumerate(recoding.columns)
    )
    return replace(found, codes=found.codes[back], published=found.published[back], extents=extents)


def replace_centres_with_intervals(
    recoding: Recoding, hierarchies: Sequence[Hierarchy], columns: Collection[str]
) -> Recoding:
    """Return the recoding with centres replaced by the intervals that an attacker could infer."""
    labels = list(recoding.labels)
    for j, (name, hierarchy) in enumerate(zip(recoding.columns, hierarchies, strict=True)):
        if name in columns:
            extent = get_extents(recoding, hierarchies)[j]
            values = [hierarchy.values[place] for place in np.argsort(extent.order).tolist()]
            ends = zip(extent.low.tolist(), extent.high.tolist(), strict=True)
            labels[j] = tuple(f"[{values[low]}, {values[high - 1]}]" for low, high in ends)
    return replace(recoding, labels=tuple(labels))


def require_numbers(hierarchy: Hierarchy) -> Floats:
    """Return the values of a column as numbers; raise if one is missing or not a number."""
    numbers = parse_numbers(hierarchy)
    if numbers is None:
        raise DataError(
            f"Some values of {hierarchy.name} are not numbers, so they have no mean.",
            hint="If they are missing, suppress them with missing: suppress; otherwise use another method.",
        )
    return numbers


def _get_numbers(tuples: Tuples, hierarchies: Sequence[Hierarchy], j: int) -> Floats:
    found: Floats = require_numbers(hierarchies[j])[tuples.codes[:, j]]
    return found


def _recode_as_one_class(number: int, hierarchies: Sequence[Hierarchy]) -> Recoding:
    """Return a recoding with all rows in one class."""
    return Recoding(
        columns=tuple(hierarchy.name for hierarchy in hierarchies),
        labels=((TOP,),) * len(hierarchies),
        codes=np.zeros((number, len(hierarchies)), np.int32),
        published=np.ones(number, np.bool_),
        extents=tuple(build_level_extents(hierarchy, hierarchy.height) for hierarchy in hierarchies),
    )


def _build_centre_extents(tuples: Tuples, recoding: Recoding, hierarchy: Hierarchy, j: int) -> LabelExtents:
    numbers = require_numbers(hierarchy)
    order = np.empty(len(numbers), np.int64)
    order[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    labels, number = recoding.codes[:, j], len(recoding.labels[j])
    present: NDArray[np.bool_] = recoding.published & (tuples.counts > 0)
    places = order[tuples.codes[present, j]]
    low, high = np.full(number, len(order), np.int64), np.zeros(number, np.int64)
    np.minimum.at(low, labels[present], places)
    np.maximum.at(high, labels[present], places + 1)
    unused = high == 0
    return build_interval_extents(
        hierarchy, np.where(unused, 0, low), np.where(unused, len(order), high), order
    )
