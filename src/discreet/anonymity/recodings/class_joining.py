"""Joining the last unplaced rows, each to the published class that has to widen least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.key_numbering import number_rows
from discreet.anonymity.models.model_verdicts import judge_all, select_class_models
from discreet.anonymity.models.privacy_model import Model
from discreet.anonymity.recoding import Floats
from discreet.anonymity.recodings.column_weights import Weights, list_column_weights
from discreet.anonymity.tuple_grouping import group_tuples, sum_by_group

TRIES = 32  # classes that a tuple is offered to, cheapest first, before it is suppressed


def join_unplaced_tuples(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    models: Sequence[Model],
    levels: Integers,
    weights: Weights | None = None,
) -> Integers:
    """Return the levels after offering every unplaced tuple (-1) to the classes, the largest tuple first."""
    levels, each = levels.copy(), list_column_weights(weights, hierarchies)
    rest = np.flatnonzero((levels.min(axis=1, initial=0) < 0) & (tuples.counts > 0))
    if not len(rest) or not (levels.min(axis=1, initial=0) >= 0).any():
        return levels
    groups = _number_groups(tuples, hierarchies, levels)
    alone = select_class_models(models)
    for one in rest[np.argsort(-tuples.counts[rest], kind="stable")].tolist():
        cost, wider, group = _compute_offers(tuples, hierarchies, levels, groups, one, each)
        for offer in np.argsort(cost, kind="stable")[:TRIES].tolist():
            members = np.append(np.flatnonzero(groups == group[offer]), one)
            trial = np.full(len(tuples), -1, np.int64)
            trial[members] = 0
            classes, _ = group_tuples(tuples, trial, 1)
            if judge_all(classes, alone).all():
                levels[members] = wider[offer]
                groups[one] = group[offer]
                break
    return levels


def _number_groups(tuples: Tuples, hierarchies: Sequence[Hierarchy], levels: Integers) -> Integers:
    """Return the class of every placed tuple by node and label; -1 where it has none."""
    columns: list[NDArray[Any]] = []
    sizes: list[int] = []
    for j, hierarchy in enumerate(hierarchies):
        table = np.stack(hierarchy.maps)
        columns += [levels[:, j] + 1, table[levels[:, j], tuples.codes[:, j]]]
        sizes += [hierarchy.height + 2, max(map(len, hierarchy.labels))]
    groups, _ = number_rows(columns, sizes)
    return np.where(levels.min(axis=1, initial=0) >= 0, groups, -1)


def _compute_offers(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    levels: Integers,
    groups: Integers,
    one: int,
    weights: Sequence[float],
) -> tuple[Floats, Integers, Integers]:
    """Return for every class the loss from adding one tuple, the levels it would have, and its number."""
    placed = np.flatnonzero(groups >= 0)
    group, first = np.unique(groups[placed], return_index=True)
    head = placed[first]
    rows = sum_by_group(groups[placed], tuples.counts[placed], int(groups.max()) + 1)[group]
    wider = np.empty((len(group), len(hierarchies)), np.int64)
    cost = np.zeros(len(group))
    for j, (hierarchy, weight) in enumerate(zip(hierarchies, weights, strict=True)):
        codes, now = tuples.codes[head, j], levels[head, j]
        level = np.full(len(group), hierarchy.height, np.int64)
        for lower in range(hierarchy.height - 1, -1, -1):
            labels = hierarchy.maps[lower]
            level = np.where((labels[codes] == labels[tuples.codes[one, j]]) & (lower >= now), lower, level)
        shares = np.stack([s[m] for s, m in zip(hierarchy.shares, hierarchy.maps, strict=True)])
        cost += weight * ((rows + tuples.counts[one]) * shares[level, codes] - rows * shares[now, codes])
        wider[:, j] = level
    return cost, wider, group
