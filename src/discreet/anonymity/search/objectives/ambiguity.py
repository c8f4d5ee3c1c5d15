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

from discreet.anonymity.classes import Integers
from discreet.anonymity.search.kernels import Truths
from discreet.anonymity.search.lattice import Floats, outer_sum
from discreet.anonymity.search.objectives.objective import Scale, Setting, View


@dataclass(frozen=True)
class Ambiguity:
    """Combinations of values."""

    name: ClassVar[str] = "ambiguity"
    weighted: ClassVar[bool] = False

    def over(self, setting: Setting) -> Scale:
        widths = [[share * column.hierarchy.size for share in column.shares] for column in setting.columns]
        domain = float(np.prod([column.hierarchy.size for column in setting.columns]))
        return _Ambiguity(setting=setting, widths=widths, domain=domain)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ambiguity:
    """Ambiguity for one table; `widths[j][level][label]` counts the values under a label."""

    setting: Setting
    widths: list[list[Floats]]
    domain: float

    def bounds(self) -> Floats:
        logarithms = [
            np.array([column.rows(level) @ np.log(width) for level, width in enumerate(widths)])
            for column, widths in zip(self.setting.columns, self.widths, strict=True)
        ]
        return self.setting.rows * np.exp(outer_sum(logarithms) / self.setting.rows)

    def score(self, view: View) -> float:
        return self._combinations(view, view.kept) + view.gone.rows * self.domain

    def below(self, view: View) -> float:
        return view.surely_gone.rows * self.domain

    def above(self, view: View) -> float:
        return self._combinations(view, np.ones(len(view.sizes), np.bool_))

    def shown(self, score: float) -> float:
        return score

    def _combinations(self, view: View, some: Truths) -> float:
        keys = view.keys[some]
        widths = (
            self.widths[j][view.levels[j]][column.shown(keys)]
            for j, column in enumerate(self.setting.columns)
        )
        return combinations(view.sizes[some], widths)


def combinations(rows: Integers, widths: Iterable[Floats]) -> float:
    """Return Σ over rows of Π over columns of the values under a label; `widths` are per class."""
    products = rows.astype(float)
    for width in widths:
        products *= width
    return float(products.sum())
