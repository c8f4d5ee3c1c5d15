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
order
            of the nodes reads a coarse class as "and in none of the finer classes that were published", which
            is narrower than its label. Nor that absent finer classes disclose nothing: they failed a model,
            which matters where models look at sensitive values (minimality attack [WFWP07]).
Averages    A model of the whole table is applied at the end and suppresses classes. It does not guide the
            search, so it is best combined with a model of single classes, such as k-anonymity.
Population  With a population table, rows that cannot be placed are suppressed, not joined: a widened label
            would cover people whom the models did not count.

[WFWP07]    Wong, Fu, Wang & Pei, Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.key_numbering import number_rows
from discreet.anonymity.label_extents import build_all_level_extents
from discreet.anonymity.models.model_verdicts import judge_all, select_class_models
from discreet.anonymity.models.privacy_model import Model
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.recodings.class_joining import join_unplaced_tuples
from discreet.anonymity.recodings.column_weights import Weights
from discreet.anonymity.recodings.node_schedule import Search, make_ascending_search, order_nodes
from discreet.anonymity.tuple_grouping import (
    group_tuples,
    judge_tuples,
    number_shown_classes,
    order_tuples,
    select_tuples,
)


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
    by = order_tuples(tuples)
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
    kept = judge_tuples(tuples, *number_shown_classes(recoding), models)
    return Recoding(
        columns=recoding.columns,
        labels=recoding.labels,
        codes=codes,
        published=kept,
        extents=recoding.extents,
    )
