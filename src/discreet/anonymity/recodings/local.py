"""Local recoding: each row is generalized as little as its neighbours allow, and hardly any is left out.

How         A search proposes a generalization for the rows that are left; the classes that meet every model
            are published under it, and it is asked again about the rest [as ARX does, with its own search].
            The default proposes all nodes from fine to coarse. Rows that no node can place join the
            published class that this widens least, where the widened class still meets every model; others
            are suppressed.
Classes     Labels of different nodes overlap, so a person may match several classes. Rows that show the same
            are one class however they came to, and every class is judged so, at the end.
Claim       A person's row is in one class, and an attacker who knows the quasi-identifiers of everybody,
            and how we search, finds out which. It meets every model. One who does not holds a mixture of
            what the matching classes allow, and every model here is convex: if each of several classes
            keeps a value's frequency, a match, an entropy, a distance or a presence in its bounds, so does
            any mixture of them. So the certificate may state each model's belief as for a global recoding.
            Exempt is m-invariance, which compares signatures of one class each.
Not claimed That a label is all one learns of a row's quasi-identifiers. Who knows the order of the nodes
            reads a coarse class as "and in none of the finer classes that were published", which is less
            than its label says. Nor that it tells nothing which finer classes are missing: they failed a
            model, which matters where models look at sensitive values (minimality attack [WFWP07]).
Averages    A model about the whole table speaks at the end and leaves out classes. It steers nothing before,
            so it is best asked for together with a model of single classes, such as k-anonymity.
Population  With a population table, rows that cannot be placed are suppressed, not joined: a widened label
            would cover people whom the judgement did not count.

[WFWP07]    Wong, Fu, Wang & Pei, Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.classes import Integers, Tuples
from discreet.anonymity.extents import of_all_levels
from discreet.anonymity.grouping import chosen, grouped, in_order, shown, upheld
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.models.judging import by_class, judge_all
from discreet.anonymity.models.model import Model
from discreet.anonymity.numbering import numbered
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.recodings.joining import join
from discreet.anonymity.recodings.schedule import Search, ascending, nodes
from discreet.anonymity.recodings.weights import Weights


def recode_locally(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    models: Sequence[Model],
    *,
    search: Search | None = None,
    weights: Weights | None = None,
) -> Recoding:
    """Publish what a search's proposals make publishable, one after the other; then place the rest."""
    search = search or ascending(nodes(hierarchies, weights=weights))
    by = in_order(tuples)
    ordered = chosen(tuples, by)
    levels = place(ordered, hierarchies, models, search)
    if tuples.population is None:
        levels = join(ordered, hierarchies, models, levels, weights)
    return recoding_of_levels(tuples, hierarchies, models, levels[np.argsort(by)])


def place(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model], search: Search
) -> Integers:
    """The levels of every tuple when the search ends; -1 where it is not placed.

    It ends with None, or with proposing again what has just published nothing.
    """
    alone = by_class(models)
    levels = np.full(tuples.codes.shape, -1, np.int64)
    rest, left, before = np.arange(len(tuples)), tuples, None
    while len(rest):
        node = search(left)
        if node is None or node == before:
            break
        groups, number = at_node(left, hierarchies, node)
        classes, ids = grouped(left, groups, number, rows=tuples.rows)
        fine = np.append(judge_all(classes, alone), False)[ids]
        if fine.any():
            levels[rest[fine]] = node
            rest = rest[~fine]
            left, before = chosen(tuples, rest), None
        else:
            before = node
    return levels


def at_node(tuples: Tuples, hierarchies: Sequence[Hierarchy], node: Sequence[int]) -> tuple[Integers, int]:
    """The group of every tuple under one full-domain generalization."""
    columns = [
        hierarchy.maps[level][tuples.codes[:, j]]
        for j, (hierarchy, level) in enumerate(zip(hierarchies, node, strict=True))
    ]
    sizes = [len(h.labels[level]) for h, level in zip(hierarchies, node, strict=True)]
    return numbered(columns or [np.zeros(len(tuples), np.int64)], sizes or [1])


def recoding_of_levels(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model], levels: Integers
) -> Recoding:
    """The recoding that gives every tuple levels of its own (-1: not published), judged as it reads."""
    placed = levels.min(axis=1, initial=0) >= 0
    codes = np.zeros(levels.shape, np.int32)
    labels, extents = [], []
    for j, hierarchy in enumerate(hierarchies):
        names, places, extent = of_all_levels(hierarchy)
        codes[:, j] = np.stack(places)[np.where(placed, levels[:, j], hierarchy.height), tuples.codes[:, j]]
        labels.append(names)
        extents.append(extent)
    recoding = Recoding(
        columns=tuple(hierarchy.name for hierarchy in hierarchies),
        labels=tuple(labels),
        codes=codes,
        kept=placed,
        extents=tuple(extents),
    )
    kept = upheld(tuples, *shown(recoding), models)
    return Recoding(
        columns=recoding.columns,
        labels=recoding.labels,
        codes=codes,
        kept=kept,
        extents=recoding.extents,
    )
