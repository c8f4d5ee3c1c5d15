"""Utility measures of any recoding, each a function of tuples, hierarchies and recoding.

The objectives of a search are defined in `search/objectives`, one file each, and computed here by the same
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

from discreet.anonymity.classes import Classes, Tuples
from discreet.anonymity.extents import extents_of
from discreet.anonymity.grouping import classes_of_recoding
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.recoding import Floats, Recoding
from discreet.anonymity.search.objectives.ambiguity import combinations
from discreet.anonymity.search.objectives.class_size import rows_per_class
from discreet.anonymity.search.objectives.discernibility import confusions
from discreet.anonymity.search.objectives.entropy import missing_bits, spread
from discreet.anonymity.search.objectives.loss import information_loss, lost
from discreet.anonymity.search.objectives.precision import climbed
from discreet.core.errors import RequestError

Measure = Callable[[Tuples, Sequence[Hierarchy], Recoding], float]


def cell_shares(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> Floats:
    """Return x of every tuple in every column."""
    shares = np.ones(tuples.codes.shape)
    for j, extent in enumerate(extents_of(recoding, hierarchies)):
        shares[recoding.kept, j] = extent.shares[recoding.codes[recoding.kept, j]]
    return shares


def mean_column_shares(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> Floats:
    """Return the mean of x over the rows, for every column."""
    return np.average(cell_shares(tuples, hierarchies, recoding), axis=0, weights=tuples.counts)


def least_shares(hierarchies: Sequence[Hierarchy]) -> Floats:
    """Return 1/H of every column."""
    return np.array([1 / hierarchy.size for hierarchy in hierarchies])


def column_losses(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> Floats:
    """Return how much of its detail every column loses: 0 is none, 1 all."""
    costs = tuples.rows * mean_column_shares(tuples, hierarchies, recoding)
    columns = [lost(costs[j : j + 1], tuples.rows, each.size) for j, each in enumerate(hierarchies)]
    return np.concatenate(columns)


def loss(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the information loss."""
    return information_loss(column_losses(tuples, hierarchies, recoding))


def granularity(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the granularity, as defined above."""
    least = float(least_shares(hierarchies).mean())
    shares = float(mean_column_shares(tuples, hierarchies, recoding).mean())
    return max(0.0, 1 - (shares - least) / (1 - least)) if least < 1 else 1.0


def certainty_penalty(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the normalized certainty penalty."""
    cells = cell_shares(tuples, hierarchies, recoding)
    for j, extent in enumerate(extents_of(recoding, hierarchies)):
        one = recoding.kept & ((extent.high - extent.low) == 1)[recoding.codes[:, j]]
        cells[one, j] = 0
    return float(np.average(cells, axis=0, weights=tuples.counts).mean())


def precision(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the precision."""
    cells = np.ones(tuples.codes.shape)
    extents = extents_of(recoding, hierarchies)
    for j, (hierarchy, extent) in enumerate(zip(hierarchies, extents, strict=True)):
        levels = extent.levels[recoding.codes[recoding.kept, j]]
        cells[recoding.kept, j] = climbed(levels, hierarchy.height)
    return float(np.average(cells, axis=0, weights=tuples.counts).mean())


def class_size(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the average class size."""
    classes, suppressed = _published(tuples, recoding)
    return rows_per_class(tuples.rows, len(classes), suppressed)


def discernibility(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the discernibility."""
    classes, suppressed = _published(tuples, recoding)
    return confusions(classes.sizes, suppressed, tuples.rows)


def _published(tuples: Tuples, recoding: Recoding) -> tuple[Classes, int]:
    """Return the published classes, and the number of suppressed rows."""
    classes, _ = classes_of_recoding(tuples, recoding)
    return classes, tuples.rows - int(classes.sizes.sum())


def entropy(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the non-uniform entropy."""
    out, counts = ~recoding.kept, tuples.counts
    total = 0.0
    for j in range(tuples.codes.shape[1]):
        labels, values = recoding.codes[:, j], tuples.codes[:, j]
        total += missing_bits(np.bincount(values, counts), np.bincount(labels, counts))
        total += spread(np.bincount(labels[out], counts[out]))
    return total


def ambiguity(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the ambiguity."""
    shares = cell_shares(tuples, hierarchies, recoding)
    return combinations(tuples.counts, (shares[:, j] * each.size for j, each in enumerate(hierarchies)))


def height(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    """Return the sum of the levels; raise if the recoding is not full-domain."""
    if recoding.levels is None:
        raise RequestError(
            "Only a full-domain generalization has a height.",
            hint="Measure precision, which every recoding has.",
        )
    return float(sum(recoding.levels))


MEASURES: dict[str, Measure] = {
    "loss": loss,
    "granularity": granularity,
    "certainty": certainty_penalty,
    "precision": precision,
    "class-size": class_size,
    "discernibility": discernibility,
    "entropy": entropy,
    "ambiguity": ambiguity,
}
