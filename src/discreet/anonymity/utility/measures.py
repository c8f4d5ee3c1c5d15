"""Measures of what a recoding costs, each one function of tuples, hierarchies and recoding.

N rows; x is the share of a column's domain that a row's label stands for, and 1 where the row is
suppressed; H is the number of values in the domain. Definitions are ARX's where it has one, so that figures
compare.

loss            Π (L + 1)^(1/n) - 1 over the n columns, L = (Σ x - N/H) / (N - N/H)          [Iyengar 02]
granularity     1 - (mean x - mean 1/H) / (1 - mean 1/H), means over all cells: 1 is untouched, 0 is nothing
                left
certainty       the mean of a cell's penalty: 0 if it shows one value, else x                 [NCP, Xu 06]
precision       the mean over cells of level / height, 1 if suppressed                    [Sweeney 02]
class size      N / number of classes, the suppressed rows counting as one class              [LeFevre 06]
discernibility  Σ size², a suppressed row counting N                                         [Bayardo 05]
entropy         Σ over cells of log2(rows with its label / rows with its value), and for suppressed rows also
                log2(suppressed rows / suppressed rows with its label): non-uniform entropy   [Gionis 09]
ambiguity       Σ over rows of the number of value combinations that its labels stand for     [Goldberger 10]
height          the sum of levels of a full-domain generalization

Higher is worse in all but granularity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes import Integers, Tuples
from discreet.anonymity.extents import extents_of
from discreet.anonymity.grouping import classes_of_recoding
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.recoding import Floats, Recoding
from discreet.core.errors import RequestError

Measure = Callable[[Tuples, Sequence[Hierarchy], Recoding], float]


def cell_shares(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> Floats:
    """x of every tuple in every column."""
    shares = np.ones(tuples.codes.shape)
    for j, extent in enumerate(extents_of(recoding, hierarchies)):
        shares[recoding.kept, j] = extent.shares[recoding.codes[recoding.kept, j]]
    return shares


def mean_column_shares(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> Floats:
    return np.average(cell_shares(tuples, hierarchies, recoding), axis=0, weights=tuples.counts)


def least_shares(hierarchies: Sequence[Hierarchy]) -> Floats:
    """1/H of every column."""
    return np.array([1 / hierarchy.size for hierarchy in hierarchies])


def column_losses(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> Floats:
    """How much of its detail every column loses: 0 is none, 1 all."""
    least = least_shares(hierarchies)
    free = 1 - least
    over = mean_column_shares(tuples, hierarchies, recoding) - least
    return np.where(free > 0, over / np.where(free > 0, free, 1), 0.0)


def loss(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    lost = column_losses(tuples, hierarchies, recoding)
    return float(np.prod(lost + 1) ** (1 / len(lost)) - 1)


def granularity(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    least = float(least_shares(hierarchies).mean())
    shares = float(mean_column_shares(tuples, hierarchies, recoding).mean())
    return 1 - (shares - least) / (1 - least) if least < 1 else 1.0


def certainty_penalty(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    cells = cell_shares(tuples, hierarchies, recoding)
    for j, extent in enumerate(extents_of(recoding, hierarchies)):
        one = recoding.kept & ((extent.high - extent.low) == 1)[recoding.codes[:, j]]
        cells[one, j] = 0
    return float(np.average(cells, axis=0, weights=tuples.counts).mean())


def precision(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    cells = np.ones(tuples.codes.shape)
    extents = extents_of(recoding, hierarchies)
    for j, (hierarchy, extent) in enumerate(zip(hierarchies, extents, strict=True)):
        cells[recoding.kept, j] = extent.levels[recoding.codes[recoding.kept, j]] / max(hierarchy.height, 1)
    return float(np.average(cells, axis=0, weights=tuples.counts).mean())


def class_size(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    classes, _ = classes_of_recoding(tuples, recoding)
    return tuples.rows / (len(classes) + (int(classes.sizes.sum()) < tuples.rows))


def discernibility(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    classes, _ = classes_of_recoding(tuples, recoding)
    suppressed = tuples.rows - int(classes.sizes.sum())
    return float(sum(size * size for size in classes.sizes.tolist()) + suppressed * tuples.rows)


def entropy(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    out, counts = ~recoding.kept, tuples.counts
    total = 0.0
    for j in range(tuples.codes.shape[1]):
        labels, values = recoding.codes[:, j], tuples.codes[:, j]
        with_value, with_label = np.bincount(values, counts), np.bincount(labels, counts)
        total += _weighted_log(with_label[labels], with_value[values], counts)
        among = np.bincount(labels[out], counts[out])
        total += _weighted_log(np.full(int(out.sum()), counts[out].sum()), among[labels[out]], counts[out])
    return total


def _weighted_log(above: NDArray[Any], below: NDArray[Any], counts: Integers) -> float:
    some = counts > 0
    return float((counts[some] * np.log2(above[some] / below[some])).sum())


def ambiguity(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    sizes = np.array([hierarchy.size for hierarchy in hierarchies])
    cells = cell_shares(tuples, hierarchies, recoding) * sizes
    return float((tuples.counts * cells.prod(axis=1)).sum())


def height(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> float:
    if recoding.levels is None:
        raise RequestError(
            "Only a full-domain generalization has a height.", hint="Measure precision, which every one has."
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
