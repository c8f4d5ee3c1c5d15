"""Local recoding: each row is generalized as little as its neighbours allow, and hardly any is suppressed.

Method      A search proposes a generalization for the remaining rows; the classes that meet every model are
            published under it, and the search continues with the rest [as ARX does, with its own search].
            The default search proposes all nodes from fine to coarse. Rows that no node can place join the
            published class that has to widen least and still meets every model; other rows are suppressed.
Classes     Labels of different nodes overlap, so a person may match several classes. Rows that show the same
            labels are one class, whatever their nodes, and every class is judged so at the end.
Claim       A person's row is in one class, and an attacker who knows the quasi-identifiers of everybody,
            and the search, finds out which. This class meets every model. The belief of any other attacker is
            a mixture over the matching classes, and every model here is convex: if each of several classes
            keeps a value's frequency, a match, an entropy, a distance or a presence in its bounds, so does
            any mixture of them. So the certificate may state each model's belief as for a global recoding.
            The exception is m-invariance, which compares signatures of one class each.
Not claimed That a row's label is all that is learned of its quasi-identifiers. An attacker who knows the
            order of the nodes reads a coarse class as "and in none of the finer classes that were published",
            which is narrower than its label. Nor that absent finer classes disclose nothing: they failed a
            model, which matters where models look at sensitive values (minimality attack [WFWP07]).
Averages    A model of the whole table is applied at the end and suppresses classes. It does not guide the
            search, so it is best combined with a model of single classes, such as k-anonymity.
Population  With a population table, rows that cannot be placed are suppressed, not joined: a widened label
            would cover people whom the models did not count.

Nodes are tried from fine to coarse, in an order that is fixed before data is read. The cost of a node is that
of its labels if every value of the domain were equally frequent: the sum over columns of weight times mean
share. So the order follows from the hierarchies and weights alone and may be public.

[WFWP07]    Wong, Fu, Wang & Pei, Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers, Tuples, number_rows, order_codes
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models.privacy_model import Model, judge_all, select_class_models
from discreet.anonymity.recoding import (
    Floats,
    Recoding,
    Weights,
    build_all_level_extents,
    group_tuples,
    judge_tuples,
    list_column_weights,
    number_shown_classes,
    select_tuples,
    sum_by_group,
)

Levels = tuple[int, ...]
Search = Callable[[Tuples], Levels | None]

MOST = 20_000  # nodes; each one costs a pass over the remaining tuples


def compute_mean_shares(hierarchy: Hierarchy) -> list[float]:
    """Return the mean share of a value's label, at each level."""
    return [
        float(shares[codes].mean()) if len(codes) else 0.0
        for shares, codes in zip(hierarchy.shares, hierarchy.maps, strict=True)
    ]


def order_nodes(
    hierarchies: Sequence[Hierarchy],
    *,
    weights: Weights | None = None,
    choices: Sequence[Sequence[int]] | None = None,
    most: int = MOST,
) -> Integers:
    """Return the lattice's nodes by rising cost, one per row; `choices` are the levels a column may have.

    Of a lattice with more than `most` nodes, that many are sampled at even distances, including both ends.
    """
    each = list_column_weights(weights, hierarchies)
    choices = [range(h.height + 1) for h in hierarchies] if choices is None else choices
    sizes = [len(levels) for levels in choices]
    number = prod(sizes)
    which = np.arange(number) if number <= most else np.linspace(0, number - 1, most).astype(np.int64)
    picks = np.unravel_index(which, sizes) if sizes else ()
    columns, cost = [], np.zeros(len(which))
    for hierarchy, weight, levels, pick in zip(hierarchies, each, choices, picks, strict=True):
        columns.append(np.asarray(levels)[pick])
        cost += weight * np.asarray(compute_mean_shares(hierarchy))[columns[-1]]
    by = np.argsort(cost, kind="stable")
    return np.stack(columns, axis=1)[by] if columns else np.zeros((1, 0), np.int64)


def make_ascending_search(nodes_in_order: Integers) -> Search:
    """Return a search that proposes one node after the other, whatever remains."""
    rest = iter(nodes_in_order.tolist())

    def propose(_tuples: Tuples) -> Levels | None:
        node = next(rest, None)
        return None if node is None else tuple(node)

    return propose


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


def recode_locally(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    models: Sequence[Model],
    *,
    search: Search | None = None,
    weights: Weights | None = None,
) -> Recoding:
    """Publish the classes that the search's proposals make publishable; then place the remaining rows."""
    search = search or make_ascending_search(order_nodes(hierarchies, weights=weights))
    by = order_codes(tuples.codes)
    ordered = select_tuples(tuples, by)
    levels = place_tuples(ordered, hierarchies, models, search)
    if tuples.population is None:
        levels = join_unplaced_tuples(ordered, hierarchies, models, levels, weights)
    return build_recoding(tuples, hierarchies, models, levels[np.argsort(by)])


def place_tuples(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model], search: Search
) -> Integers:
    """Return the levels of every tuple when the search ends; -1 where it is not placed.

    The search ends with None, or by repeating a proposal that has just published nothing.
    """
    alone = select_class_models(models)
    levels = np.full(tuples.codes.shape, -1, np.int64)
    rest, left, before = np.arange(len(tuples)), tuples, None
    while len(rest):
        node = search(left)
        if node is None or node == before:
            break
        groups, number = group_at_node(left, hierarchies, node)
        classes, ids = group_tuples(left, groups, number, rows=tuples.rows)
        fine = np.append(judge_all(classes, alone), False)[ids]
        if fine.any():
            levels[rest[fine]] = node
            rest = rest[~fine]
            left, before = select_tuples(tuples, rest), None
        else:
            before = node
    return levels


def group_at_node(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], node: Sequence[int]
) -> tuple[Integers, int]:
    """Return the group of every tuple under one full-domain generalization."""
    columns = [
        hierarchy.maps[level][tuples.codes[:, j]]
        for j, (hierarchy, level) in enumerate(zip(hierarchies, node, strict=True))
    ]
    sizes = [len(h.labels[level]) for h, level in zip(hierarchies, node, strict=True)]
    return number_rows(columns or [np.zeros(len(tuples), np.int64)], sizes or [1])


def build_recoding(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model], levels: Integers
) -> Recoding:
    """Return the recoding from each tuple's own levels (-1: not published), judged by its labels."""
    placed = levels.min(axis=1, initial=0) >= 0
    codes = np.zeros(levels.shape, np.int32)
    labels, extents = [], []
    for j, hierarchy in enumerate(hierarchies):
        names, places, extent = build_all_level_extents(hierarchy)
        codes[:, j] = np.stack(places)[np.where(placed, levels[:, j], hierarchy.height), tuples.codes[:, j]]
        labels.append(names)
        extents.append(extent)
    recoding = Recoding(
        columns=tuple(hierarchy.name for hierarchy in hierarchies),
        labels=tuple(labels),
        codes=codes,
        published=placed,
        extents=tuple(extents),
    )
    return replace(recoding, published=judge_tuples(tuples, *number_shown_classes(recoding), models))
