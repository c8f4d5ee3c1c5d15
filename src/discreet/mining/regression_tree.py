"""Leaves of a regression tree: noisy row counts and noisy sums of targets.

Release     For a target in bins 0 .. B-1, over the leaves: n + noise, and the sum of 2 t - (B - 1), which is
            centred so that it is small, + noise. Both follow from the counts that the splits are chosen by.
Guarantee   A row is in one leaf: it adds 1 to one number of rows, and at most B - 1 to one sum. A quarter of
            the leaves' epsilon for the first, three quarters for the second.
Pruning     costs nothing: a leaf's mean is taken together with its parent's, which weighs as many rows as the
            noise is wide; two leaves that noise does not distinguish become one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.sampling import Floats
from discreet.mining.attributes import Attribute
from discreet.mining.bin_counters import Counter
from discreet.mining.boosting import compute_deviation
from discreet.mining.decision_tree import MERGE_THRESHOLD, Node, Splits
from discreet.mining.tree_growth import TreePlan

COUNT_SHARE = Fraction(1, 4)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedLeaves:
    """Released row counts and centered sums of the leaves, and the deviations of their noise."""

    rows: Floats
    sums: Floats
    row_noise: float
    sum_noise: float


def release_leaves(plan: TreePlan, counter: Counter, splits: Splits, random: Randomness) -> ReleasedLeaves:
    """Release the leaves' row counts and centered sums."""
    exact = counter.count_by_node(splits).secret
    bins = exact.shape[1]
    epsilon, most = plan.compute_leaf_epsilon(len(splits.levels)), plan.rows_per_person

    def make_noise(share: Fraction, sensitivity: int) -> DiscreteLaplace:
        return DiscreteLaplace(epsilon=epsilon * share, sensitivity=sensitivity, relation=Relation.PRESENCE)

    counting, summing = make_noise(COUNT_SHARE, most), make_noise(1 - COUNT_SHARE, most * (bins - 1))
    rows = counting.release_many(Exact(exact.sum(axis=1)), random).value
    sums = summing.release_many(Exact(exact @ (2 * np.arange(bins) - (bins - 1))), random).value
    return ReleasedLeaves(
        rows=rows.astype(np.float64),
        sums=sums.astype(np.float64),
        row_noise=compute_deviation(counting),
        sum_noise=compute_deviation(summing),
    )


def build_regression_tree(splits: Splits, leaves: ReleasedLeaves, target: Attribute) -> Node:
    """Return the pruned tree; a node's value is the mean of the target."""
    levels, bins = len(splits.levels), target.regular_bins
    totals = [np.stack([leaves.rows, leaves.sums], axis=1)]
    for _ in range(levels):
        totals.append(totals[-1].reshape(-1, 2, 2).sum(axis=1))
    totals.reverse()

    def build_node(depth: int, place: int, inherited: float) -> tuple[Node, float, float]:
        """The node, its mean in centred steps, and how uncertain that is."""
        wide = 2 ** ((levels - depth) / 2)
        rows, total = totals[depth][place]
        weight = max(leaves.row_noise, leaves.sum_noise / (bins - 1)) * wide
        held = max(float(rows), 0.0)
        mean = float(np.clip((total + weight * inherited) / (held + weight), 1 - bins, bins - 1))
        doubt = leaves.sum_noise * wide / (held + weight) + (bins - 1) / (held + weight) ** 0.5
        node = Node(rows=float(rows), value=(_convert_to_units(target, mean),))
        if depth == levels:
            return node, mean, doubt
        (first, one, its), (second, other, others) = (
            build_node(depth + 1, 2 * place + side, mean) for side in (0, 1)
        )
        leaf = not (first.children or second.children)
        if leaf and abs(one - other) <= MERGE_THRESHOLD * (its**2 + others**2) ** 0.5 / 2:
            return node, mean, doubt
        split = splits.levels[depth][place]
        return Node(rows=node.rows, value=node.value, split=split, children=(first, second)), mean, doubt

    return build_node(0, 0, 0.0)[0]


def _convert_to_units(target: Attribute, centred: float) -> float:
    """Return a mean of 2 t - (B - 1) in the target's units, interpolated between bin midpoints."""
    at = (centred + target.regular_bins - 1) / 2
    return float(np.interp(at, np.arange(target.regular_bins), target.midpoints))
