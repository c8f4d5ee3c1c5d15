"""Classification utility: the accuracy of a decision tree trained on the release, and on the original.

A random third of the rows is held out. One tree is trained on the others as released, one on the original
values; each is tested on the held-out rows in the same form. Suppressed rows are not used for training, and
are predicted as the commonest class. The baseline always predicts that class.

Each node tests whether a row's label in one column is in a set. Labels are ordered by how often they occur
with the commonest class of the node, and cut where the Gini impurity falls most: for two classes no other set
is better [Breiman 84]; for more it is a heuristic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Codes, Integers, SensitiveCounts, Tuples
from discreet.anonymity.recoding import Floats, Recoding
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count
from discreet.core.randomness import Randomness

HELD_OUT = 3  # one row in this many is tested on


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Shares of the held-out rows that were predicted correctly."""

    release: float
    original: float
    baseline: float


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeSplit:
    """An inner node: rows with a label of `inside` in `column` go to `yes`."""

    column: int
    inside: NDArray[np.bool_]
    yes: TreeSplit | int
    no: TreeSplit | int


@dataclass(frozen=True, kw_only=True)
class TreeTrainer:
    """Trainer of decision trees, with limits on their size."""

    depth: int = 8
    leaf: int = 20

    def __post_init__(self) -> None:
        require_count(self, "depth", self.depth, minimum=0)
        require_count(self, "leaf", self.leaf)

    def train(self, labels: Codes, counts: Integers) -> TreeSplit | int:
        """Return a tree for `counts[i, c]` rows of class c with the labels of row i; a leaf is a class."""
        return self._grow(labels, counts, np.flatnonzero(counts.sum(axis=1)), self.depth)

    def _grow(self, labels: Codes, counts: Integers, rows: Integers, depth: int) -> TreeSplit | int:
        totals = counts[rows].sum(axis=0)
        common = int(totals.argmax()) if totals.size else 0
        if depth == 0 or totals.sum() < 2 * self.leaf or totals.max() == totals.sum():
            return common
        found = [self._find_best_split(labels[rows, j], counts[rows], common) for j in range(labels.shape[1])]
        column = int(np.argmin([impurity for impurity, _ in found])) if found else -1
        if column < 0 or found[column][0] >= _compute_impurity(totals[None])[0] - 1e-9:
            return common
        inside = found[column][1]
        goes = inside[labels[rows, column]]
        return TreeSplit(
            column=column,
            inside=inside,
            yes=self._grow(labels, counts, rows[goes], depth - 1),
            no=self._grow(labels, counts, rows[~goes], depth - 1),
        )

    def _find_best_split(
        self, labels: Codes, counts: Integers, common: int
    ) -> tuple[float, NDArray[np.bool_]]:
        """Return the least impurity that a set of labels reaches, and the set."""
        number, classes = int(labels.max()) + 1, counts.shape[1]
        table = np.stack([np.bincount(labels, counts[:, c], number) for c in range(classes)], axis=1)
        present = np.flatnonzero(table.sum(axis=1))
        share = table[present, common] / table[present].sum(axis=1)
        by = present[np.argsort(share, kind="stable")]
        below = np.cumsum(table[by], axis=0)[:-1]
        above = table.sum(axis=0) - below
        large = (below.sum(axis=1) >= self.leaf) & (above.sum(axis=1) >= self.leaf)
        impurity = np.where(large, _compute_impurity(below) + _compute_impurity(above), np.inf)
        inside = np.zeros(number, np.bool_)
        if not len(impurity):
            return np.inf, inside
        best = int(impurity.argmin())
        inside[by[: best + 1]] = True
        return float(impurity[best]), inside


def _compute_impurity(counts: Floats | Integers) -> Floats:
    """Return rows times Gini impurity."""
    totals: Floats = counts.sum(axis=1).astype(float)
    squares: Floats = (counts.astype(float) ** 2).sum(axis=1)
    return totals - squares / np.maximum(totals, 1)


def predict_classes(tree: TreeSplit | int, labels: Codes) -> Integers:
    """Return the class of every row."""
    if not isinstance(tree, TreeSplit):
        return np.full(len(labels), tree, np.int64)
    known = np.append(tree.inside, False)
    goes = known[np.minimum(labels[:, tree.column], len(tree.inside))]
    found = np.empty(len(labels), np.int64)
    found[goes] = predict_classes(tree.yes, labels[goes])
    found[~goes] = predict_classes(tree.no, labels[~goes])
    return found


def measure_classification_accuracy(
    tuples: Tuples, recoding: Recoding, target: str, random: Randomness, *, trainer: TreeTrainer | None = None
) -> Accuracy:
    """Measure how well `target`, a sensitive column, is predicted from the quasi-identifiers."""
    if target not in tuples.sensitive:
        raise RequestError(
            f"There is no sensitive column {target} to predict.",
            hint="Name a sensitive column of the policy.",
        )
    trainer = trainer or TreeTrainer()
    train, test = _split_rows(tuples.sensitive[target], len(tuples), random)
    common = int(train.sum(axis=0).argmax())
    shown = train * recoding.published[:, None]
    release = predict_classes(trainer.train(recoding.codes, shown), recoding.codes)
    original = predict_classes(trainer.train(tuples.codes, train), tuples.codes)
    baseline = np.full(len(tuples), common)
    release = np.where(recoding.published, release, common)
    return Accuracy(
        release=_compute_accuracy(test, release),
        original=_compute_accuracy(test, original),
        baseline=_compute_accuracy(test, baseline),
    )


def _compute_accuracy(test: Integers, predicted: Integers) -> float:
    return float(test[np.arange(len(test)), predicted].sum() / max(test.sum(), 1))


def _split_rows(column: SensitiveCounts, number: int, random: Randomness) -> tuple[Integers, Integers]:
    """Assign every row to training or testing, and return both as counts per tuple and class."""
    owners = np.repeat(np.repeat(np.arange(number), np.diff(column.starts)), column.counts)
    values = np.repeat(column.values, column.counts)
    held = random.draw_words(len(values)) % HELD_OUT == 0
    tables = []
    for mine in (~held, held):
        table = np.zeros((number, len(column.names)), np.int64)
        np.add.at(table, (owners[mine], values[mine]), 1)
        tables.append(table)
    return tables[0], tables[1]
