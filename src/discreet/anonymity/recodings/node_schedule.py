"""The order in which local recoding tries nodes: from fine to coarse, fixed before data is read.

The cost of a node is that of its labels if every value of the domain were equally frequent: the sum over
columns of weight times mean share. So the order follows from the hierarchies and weights alone and may be
public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.recodings.column_weights import Weights, list_column_weights

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
