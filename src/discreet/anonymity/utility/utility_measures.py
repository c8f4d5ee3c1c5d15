"""Utility measures of any recoding, each a function of tuples, hierarchies and recoding.

The objectives of a search are defined in `search/objectives`, and computed here by the same
functions: loss, precision, class size, discernibility, entropy, ambiguity, height. In addition:

granularity     1 - (mean x - mean 1/H) / (1 - mean 1/H), means over all cells: 1 is unchanged, 0 is fully
                suppressed
certainty       the mean of a cell's penalty: 0 if it shows one value, else x                 [NCP, Xu 06]

x is the share of a column's domain that a row's label covers, and 1 if the row is suppressed; H is the
number of values in the domain. Higher is worse in all but granularity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.recoding import Floats, Recoding, get_extents, group_by_recoding
from discreet.anonymity.search.objectives.class_objectives import (
    compute_rows_per_class,
    count_confusions,
    sum_combinations,
)
from discreet.anonymity.search.objectives.column_objectives import (
    compute_column_loss,
    compute_information_loss,
    compute_level_costs,
    compute_spread,
    count_missing_bits,
)
from discreet.core.errors import RequestError

Measure = Callable[[Tuples, Sequence[Hierarchy], Recoding], float]


def compute_cell_shares(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> Floats:
    """Return x of every tuple in every column."""
    shares = np.ones(tuples.codes.shape)
    for j, extent in enumerate(get_extents(recoding, hierarchies)):
        shares[recoding.published, j] = extent.shares[recoding.codes[recoding.published, j]]
    return shares


def compute_mean_column_shares(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding
) -> Floats:
    """Return the mean of x over the rows, for every column."""
    return np.average(compute_cell_shares(tuples, hierarchies, recoding), axis=0, weights=tuples.counts)


def compute_least_shares(hierarchies: Sequence[Hierarchy]) -> Floats:
    """Return 1/H of every column."""
    return np.array([1 / hierarchy.size for hierarchy in hierarchies])


def compute_column_losses(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> Floats:
    """Return how much of its detail every column loses: 0 is none, 1 all."""
    costs = tuples.rows * compute_mean_column_shares(tuples, hierarchies, recoding)
    columns = [
        compute_column_loss(costs[j : j + 1], tuples.rows, each.size) for j, each in enumerate(hierarchies)
    ]
    return np.concatenate(columns)


def measure_loss(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the information loss."""
    return compute_information_loss(compute_column_losses(tuples, hierarchies, recoding))


def measure_granularity(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the granularity, as defined above."""
    least = float(compute_least_shares(hierarchies).mean())
    shares = float(compute_mean_column_shares(tuples, hierarchies, recoding).mean())
    return max(0.0, 1 - (shares - least) / (1 - least)) if least < 1 else 1.0


def measure_certainty_penalty(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the normalized certainty penalty."""
    cells = compute_cell_shares(tuples, hierarchies, recoding)
    for j, extent in enumerate(get_extents(recoding, hierarchies)):
        one = recoding.published & ((extent.high - extent.low) == 1)[recoding.codes[:, j]]
        cells[one, j] = 0
    return float(np.average(cells, axis=0, weights=tuples.counts).mean())


def measure_precision(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the precision."""
    cells = np.ones(tuples.codes.shape)
    extents = get_extents(recoding, hierarchies)
    for j, (hierarchy, extent) in enumerate(zip(hierarchies, extents, strict=True)):
        levels = extent.levels[recoding.codes[recoding.published, j]]
        cells[recoding.published, j] = compute_level_costs(levels, hierarchy.height)
    return float(np.average(cells, axis=0, weights=tuples.counts).mean())


def measure_class_size(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the average class size."""
    classes, suppressed = _group_published(tuples, recoding)
    return compute_rows_per_class(tuples.rows, len(classes), suppressed)


def measure_discernibility(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the discernibility."""
    classes, suppressed = _group_published(tuples, recoding)
    return count_confusions(classes.sizes, suppressed, tuples.rows)


def _group_published(tuples: Tuples, recoding: Recoding) -> tuple[EquivalenceClasses, int]:
    """Return the published classes, and the number of suppressed rows."""
    classes, _ = group_by_recoding(tuples, recoding)
    return classes, tuples.rows - int(classes.sizes.sum())


def measure_entropy(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the non-uniform entropy."""
    out, counts = ~recoding.published, tuples.counts
    total = 0.0
    for j in range(tuples.codes.shape[1]):
        labels, values = recoding.codes[:, j], tuples.codes[:, j]
        total += count_missing_bits(np.bincount(values, counts), np.bincount(labels, counts))
        total += compute_spread(np.bincount(labels[out], counts[out]))
    return total


def measure_ambiguity(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the ambiguity."""
    shares = compute_cell_shares(tuples, hierarchies, recoding)
    return sum_combinations(tuples.counts, (shares[:, j] * each.size for j, each in enumerate(hierarchies)))


def measure_height(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the sum of the levels; raise if the recoding is not full-domain."""
    if recoding.levels is None:
        raise RequestError(
            "Only a full-domain generalization has a height.",
            hint="Measure precision, which every recoding has.",
        )
    return float(sum(recoding.levels))


MEASURES: dict[str, Measure] = {
    "loss": measure_loss,
    "granularity": measure_granularity,
    "certainty": measure_certainty_penalty,
    "precision": measure_precision,
    "class-size": measure_class_size,
    "discernibility": measure_discernibility,
    "entropy": measure_entropy,
    "ambiguity": measure_ambiguity,
}
