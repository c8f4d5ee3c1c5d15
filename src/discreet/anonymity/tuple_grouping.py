"""Grouping tuples into classes: tuples that show the same labels are counted together and judged.

A class is what a reader of the release can distinguish: the rows that show equal labels, whatever their
values were. So a recoding is judged by its labels, not by the partition that produced it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.equivalence_classes import (
    EquivalenceClasses,
    Integers,
    SensitiveCounts,
    Tuples,
    number_rows,
)
from discreet.anonymity.models.privacy_model import Model, Verdicts, judge_all
from discreet.anonymity.recoding import Recoding

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


def order_tuples(tuples: Tuples) -> Integers:
    """Return the tuples' positions by rising codes, so that no tie depends on the order of counting."""
    if not tuples.codes.shape[1]:
        return np.arange(len(tuples))
    return np.lexsort(tuples.codes.T[::-1]).astype(np.int64)


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
