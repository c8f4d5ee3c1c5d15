"""Numbers replaced by the mean or median of their class, or of groups made for it (microaggregation).

show_centres    a column of a recoding shows the mean or median of each class instead of its label.
microaggregate  all quasi-identifiers are numbers, and groups of at least k rows are made from them alone:
                the optimal groups of a single column, groups of close rows for several columns.

For measures of loss, a centre covers the values from the least to the greatest of the rows that show it.
`discreet.anonymity.recodings.microaggregation` states what may be claimed of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy
from discreet.anonymity.label_extents import build_interval_extents, build_level_extents, get_extents
from discreet.anonymity.models.privacy_model import Model
from discreet.anonymity.ordered_columns import parse_numbers
from discreet.anonymity.recoding import Floats, LabelExtents, Recoding
from discreet.anonymity.recodings.column_weights import Weights, list_column_weights
from discreet.anonymity.recodings.microaggregation import Centre, group_univariate, mdav, replace_column
from discreet.anonymity.tuple_grouping import number_shown_classes, order_tuples, select_tuples
from discreet.core.errors import DataError, RequestError

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
    by = order_tuples(tuples)
    ordered = select_tuples(tuples, by)
    points = np.stack([_get_numbers(ordered, hierarchies, j) for j in range(len(hierarchies))], axis=1)
    each = list_column_weights(weights, hierarchies)
    if len(hierarchies) == 1:
        groups = group_univariate(points[:, 0], ordered.counts, k)
    elif len(ordered) > MOST_TUPLES:
        raise RequestError(
            f"Microaggregation of several columns compares combinations, at most {MOST_TUPLES:,} of them.",
            hint="Use the method mondrian, with --centre for the columns that should show a mean.",
        )
    else:
        groups = mdav(points, ordered.counts, k, weights=each)
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
    by = order_tuples(tuples)
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
