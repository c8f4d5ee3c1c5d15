"""Objectives that are a sum over columns: loss, precision, entropy and height.

The cost of a column of a node is that of its labels, which depends on that column alone, plus a cost for
suppressed rows. The rows of classes that are not `certain` are suppressed below as well, where labels are
finer and suppression costs more: so their extra cost here is a lower bound there. Where nothing is
suppressed, the bound is exact.

[GT09]      Gionis & Tassa, k-Anonymization with minimal loss of information, 2009.
[S01]       Samarati, Protecting respondents' identities in microdata release, 2001.
[S02]       Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.search.lattice import Floats, compute_outer_sum
from discreet.anonymity.search.node_tables import SearchColumn
from discreet.anonymity.search.objectives.objective import (
    ANY,
    JudgedNode,
    SearchSetting,
    SuppressedClasses,
    TableObjective,
)

ROUNDING = 1e-12  # a difference this small is an effect of adding floats in another order


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnSumObjective:
    """The sum over columns of weight times `term` of the column's cost.

    `costs[j][level]` is the cost of column j at a level without suppression; `extra` is the cost that
    suppressed classes add, which never falls with more suppression or finer labels; `term` is increasing.
    """

    setting: SearchSetting
    costs: Sequence[Floats]
    extra: Callable[[int, SuppressedClasses], float]
    term: Callable[[Floats], Floats] = np.asarray
    unit: Callable[[float], float] = float

    def compute_bounds(self) -> Floats:
        return compute_outer_sum([self._compute_terms(j, cost, 0.0) for j, cost in enumerate(self.costs)])

    def score(self, view: JudgedNode) -> float:
        here = np.array([self.costs[j][level] for j, level in enumerate(view.levels)])
        return float(self.setting.weights @ self.term(here + self._compute_extras(view.suppressed_classes)))

    def bound_below(self, view: JudgedNode) -> Floats | float:
        if not view.surely_suppressed_classes.rows:  # then the initial bounds are as good
            return ANY
        extras = self._compute_extras(view.surely_suppressed_classes)
        costs = [self.costs[j][: level + 1] for j, level in enumerate(view.levels)]
        return compute_outer_sum(
            [self._compute_terms(j, cost, float(extras[j])) for j, cost in enumerate(costs)]
        )

    def bound_above(self, view: JudgedNode) -> float:
        return ANY

    def convert_score(self, score: float) -> float:
        return self.unit(score)

    def _compute_terms(self, j: int, costs: Floats, extra: float) -> Floats:
        return float(self.setting.weights[j]) * self.term(costs + extra)

    def _compute_extras(self, gone: SuppressedClasses) -> Floats:
        if not gone.rows:
            return np.zeros(len(self.costs))
        return np.array([self.extra(j, gone) for j in range(len(self.costs))])


def compute_column_loss(costs: Floats, rows: int, size: float) -> Floats:
    """Return L of a column with a domain of `size` values, for total costs of its rows."""
    unit = rows * (1 - 1 / size)
    more = costs - rows / size
    # rounding may put a sum of shares slightly above the cost of unchanged values
    return np.where(more > ROUNDING * rows, more, 0.0) / unit if unit else np.zeros(len(costs))


def compute_information_loss(columns: Floats) -> float:
    """Return the loss of a release from L of its columns."""
    return math.expm1(float(np.log1p(columns).mean()))


@dataclass(frozen=True)
class Loss:
    """Information loss, as ARX measures it: the fraction of its domain that a published value leaves open.

    The cost of a row in a column is the share of its label (`Hierarchy.shares`), or 1 if suppressed. With N
    rows and a domain of H values, L = (Σ cost − N/H) / (N − N/H) is 0 where every value is shown and 1 where
    none is. The loss is Π (1 + L)^(1/n) − 1 over the n columns; with weights, the weighted mean of
    logarithms.
    """

    name: ClassVar[str] = "loss"
    weighted: ClassVar[bool] = True

    def for_table(self, setting: SearchSetting) -> TableObjective:
        shares = [column.shares for column in setting.columns]
        units = [setting.rows * (1 - 1 / column.hierarchy.size) for column in setting.columns]

        def compute_extra(j: int, gone: SuppressedClasses) -> float:
            shown = shares[j][gone.levels[j]][setting.columns[j].extract_labels(gone.keys)]
            return (gone.rows - float(gone.sizes @ shown)) / units[j] if units[j] else 0.0

        def compute_costs(j: int, column: SearchColumn) -> Floats:
            sums = np.array([column.count_rows(level) @ share for level, share in enumerate(shares[j])])
            return compute_column_loss(sums, setting.rows, column.hierarchy.size)

        columns = len(setting.columns)
        return ColumnSumObjective(
            setting=setting,
            costs=[compute_costs(j, column) for j, column in enumerate(setting.columns)],
            extra=compute_extra,
            term=np.log1p,
            unit=lambda score: math.expm1(score / columns),
        )


def compute_level_costs(levels: Integers, height: int) -> Floats:
    """Return the cost of cells at these levels in a column of this height."""
    return levels / max(height, 1)


@dataclass(frozen=True)
class Precision:
    """Precision: the mean height of the labels, relative to each hierarchy's height [S02].

    The cost of a cell is level / height, or 1 if its row is suppressed; the mean over all cells.
    """

    name: ClassVar[str] = "precision"
    weighted: ClassVar[bool] = True

    def for_table(self, setting: SearchSetting) -> TableObjective:
        heights = [column.hierarchy.height for column in setting.columns]
        costs = [compute_level_costs(np.arange(height + 1), height) for height in heights]

        def compute_extra(j: int, gone: SuppressedClasses) -> float:
            return gone.rows * (1 - float(costs[j][gone.levels[j]])) / setting.rows

        columns = len(setting.columns)
        return ColumnSumObjective(
            setting=setting, costs=costs, extra=compute_extra, unit=lambda score: score / columns
        )


Counts = Floats | Integers


@dataclass(frozen=True)
class Entropy:
    """Non-uniform entropy: the bits that a reader lacks to infer each value from its label [GT09].

    A cell costs log2 of (rows with its label / rows with its value), both in the input. Suppressed rows are
    one pool: distinguishing their labels costs Σ c · log2(s / c) more in a column, with c of the s suppressed
    rows under a label; it rises with more rows (entropy is concave) and with finer labels.
    """

    name: ClassVar[str] = "entropy"
    weighted: ClassVar[bool] = True

    def for_table(self, setting: SearchSetting) -> TableObjective:
        def compute_extra(j: int, gone: SuppressedClasses) -> float:
            return compute_spread(
                np.bincount(setting.columns[j].extract_labels(gone.keys), weights=gone.sizes)
            )

        return ColumnSumObjective(
            setting=setting, costs=[_compute_costs(column) for column in setting.columns], extra=compute_extra
        )


def _compute_costs(column: SearchColumn) -> Floats:
    levels = range(len(column.places))
    return np.array([count_missing_bits(column.counts, column.count_rows(level)) for level in levels])


def count_missing_bits(values: Counts, labels: Counts) -> float:
    """Return the cost of a column's cells, Σ log2(label / value), from the rows of values and of labels."""
    return compute_spread(values) - compute_spread(labels)


def compute_spread(counts: Counts) -> float:
    """Return Σ c · log2(total / c): the bits to distinguish so many rows."""
    counted = counts[counts > 0]
    return float(counted @ np.log2(counted.sum() / counted))


@dataclass(frozen=True)
class Height:
    """Height: the sum of the levels, whatever is suppressed [S01]."""

    name: ClassVar[str] = "height"
    weighted: ClassVar[bool] = True

    def for_table(self, setting: SearchSetting) -> TableObjective:
        costs = [np.arange(float(column.hierarchy.height + 1)) for column in setting.columns]
        return ColumnSumObjective(setting=setting, costs=costs, extra=lambda *_: 0.0)
