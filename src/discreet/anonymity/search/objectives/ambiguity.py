"""Ambiguity: the number of combinations of values that a published row may stand for [NC07].

Definition  Σ over kept rows of Π over columns of the values under its label, and the size of the whole domain
            for every suppressed row.
Bound       A coarser label has more values under it. From single columns: the mean of a product is at least
            the product of geometric means (Jensen). Rows that stay suppressed cost the whole domain.

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
from discreet.anonymity.search.objectives.objective import JudgedNode, SearchSetting, TableObjective


@dataclass(frozen=True)
class Ambiguity:
    """Combinations of values."""

    name: ClassVar[str] = "ambiguity"
    weighted: ClassVar[bool] = False

    def for_table(self, setting: SearchSetting) -> TableObjective:
        widths = [[share * column.hierarchy.size for share in column.shares] for column in setting.columns]
        domain = float(np.prod([column.hierarchy.size for column in setting.columns]))
        return _AmbiguityOfTable(setting=setting, widths=widths, domain=domain)


@dataclass(frozen=True, kw_only=True, eq=False)
class _AmbiguityOfTable:
    """Ambiguity for one table; `widths[j][level][label]` counts the values under a label."""

    setting: SearchSetting
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

    def convert_score(self, score: float) -> float:
        return score

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
