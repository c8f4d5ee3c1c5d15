"""Objectives of the classes of a node: average class size, discernibility and ambiguity.

[BA05]      Bayardo & Agrawal, Data privacy through optimal k-anonymization, 2005.
[LDR06]     LeFevre, DeWitt & Ramakrishnan, Mondrian multidimensional k-anonymity, 2006.
[NC07]      Nergiz & Clifton, Thoughts on k-anonymization, 2007.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.search.grouping_kernels import Truths
from discreet.anonymity.search.lattice import Floats, compute_outer_sum
from discreet.anonymity.search.objectives.objective import ANY, JudgedNode, SearchSetting, TableObjective


@dataclass(frozen=True, kw_only=True, eq=False)
class _ClassObjective:
    setting: SearchSetting

    def convert_score(self, score: float) -> float:
        return score


def compute_rows_per_class(rows: int, classes: int, suppressed: int) -> float:
    """Return the average class size."""
    return rows / (classes + (suppressed > 0))


@dataclass(frozen=True)
class ClassSize:
    """Average class size: rows over published classes [LDR06].

    N over the number of kept classes; the suppressed rows, if there are any, count as one more. No node has
    more classes than its labels allow or than one below it has.
    """

    name: ClassVar[str] = "class-size"
    weighted: ClassVar[bool] = False

    def for_table(self, setting: SearchSetting) -> TableObjective:
        return _ClassSizeOfTable(setting=setting)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ClassSizeOfTable(_ClassObjective):
    def compute_bounds(self) -> Floats:
        return self.setting.rows / self.setting.bound_classes()

    def score(self, view: JudgedNode) -> float:
        return compute_rows_per_class(self.setting.rows, int(view.kept.sum()), view.suppressed_classes.rows)

    def bound_below(self, view: JudgedNode) -> float:
        return ANY

    def bound_above(self, view: JudgedNode) -> float:
        return self.setting.rows / len(view.sizes)


def count_confusions(kept: Integers, suppressed: int, rows: int) -> float:
    """Return the discernibility from the sizes of the kept classes."""
    sizes = kept.astype(float)
    return float(sizes @ sizes) + suppressed * rows


@dataclass(frozen=True)
class Discernibility:
    """Discernibility: the number of rows with which each row can be confused [BA05].

    Σ |E|² over kept classes, and N for every suppressed row. Merging classes adds to the sum of squares, and
    a suppressed row costs at least its class; c classes have squares of at least N²/c. Rows that stay
    suppressed cost N each.
    """

    name: ClassVar[str] = "discernibility"
    weighted: ClassVar[bool] = False

    def for_table(self, setting: SearchSetting) -> TableObjective:
        return _DiscernibilityOfTable(setting=setting)


@dataclass(frozen=True, kw_only=True, eq=False)
class _DiscernibilityOfTable(_ClassObjective):
    def compute_bounds(self) -> Floats:
        return float(self.setting.rows) ** 2 / self.setting.bound_classes()

    def score(self, view: JudgedNode) -> float:
        return count_confusions(view.sizes[view.kept], view.suppressed_classes.rows, self.setting.rows)

    def bound_below(self, view: JudgedNode) -> float:
        gone = view.surely_suppressed_classes.rows
        return gone * self.setting.rows + (self.setting.rows - gone)

    def bound_above(self, view: JudgedNode) -> float:
        sizes = view.sizes.astype(float)
        return float(sizes @ sizes)


@dataclass(frozen=True)
class Ambiguity:
    """Ambiguity: the number of combinations of values that a published row may stand for [NC07].

    Σ over kept rows of Π over columns of the values under its label, and the size of the whole domain for
    every suppressed row. A coarser label has more values under it. From single columns: the mean of a product
    is at least the product of geometric means (Jensen). Rows that stay suppressed cost the whole domain.
    """

    name: ClassVar[str] = "ambiguity"
    weighted: ClassVar[bool] = False

    def for_table(self, setting: SearchSetting) -> TableObjective:
        widths = [[share * column.hierarchy.size for share in column.shares] for column in setting.columns]
        domain = float(np.prod([column.hierarchy.size for column in setting.columns]))
        return _AmbiguityOfTable(setting=setting, widths=widths, domain=domain)


@dataclass(frozen=True, kw_only=True, eq=False)
class _AmbiguityOfTable(_ClassObjective):
    """Ambiguity for one table; `widths[j][level][label]` counts the values under a label."""

    widths: list[list[Floats]]
    domain: float

    def compute_bounds(self) -> Floats:
        logarithms = [
            np.array([column.count_rows(level) @ np.log(width) for level, width in enumerate(widths)])
            for column, widths in zip(self.setting.columns, self.widths, strict=True)
        ]
        return self.setting.rows * np.exp(compute_outer_sum(logarithms) / self.setting.rows)

    def score(self, view: JudgedNode) -> float:
        return self._sum_combinations(view, view.kept) + view.suppressed_classes.rows * self.domain

    def bound_below(self, view: JudgedNode) -> float:
        return view.surely_suppressed_classes.rows * self.domain

    def bound_above(self, view: JudgedNode) -> float:
        return self._sum_combinations(view, np.ones(len(view.sizes), np.bool_))

    def _sum_combinations(self, view: JudgedNode, some: Truths) -> float:
        keys = view.keys[some]
        widths = (
            self.widths[j][view.levels[j]][column.extract_labels(keys)]
            for j, column in enumerate(self.setting.columns)
        )
        return sum_combinations(view.sizes[some], widths)


def sum_combinations(rows: Integers, widths: Iterable[Floats]) -> float:
    """Return Σ over rows of Π over columns of the values under a label; `widths` are per class."""
    products = rows.astype(float)
    for width in widths:
        products *= width
    return float(products.sum())
