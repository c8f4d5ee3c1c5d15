"""Discernibility: the number of rows with which each row can be confused [BA05].

Definition  Σ |E|² over kept classes, and N for every suppressed row.
Bound       Merging classes adds to the sum of squares, and a suppressed row costs at least its class; c
            classes have squares of at least N²/c. Rows that stay suppressed cost N each.

[BA05]      Bayardo & Agrawal, Data privacy through optimal k-anonymization, 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.search.lattice import Floats
from discreet.anonymity.search.objectives.objective import JudgedNode, SearchSetting, TableObjective


def count_confusions(kept: Integers, suppressed: int, rows: int) -> float:
    """Return the discernibility, as defined above, from the sizes of the kept classes."""
    sizes = kept.astype(float)
    return float(sizes @ sizes) + suppressed * rows


@dataclass(frozen=True)
class Discernibility:
    """Pairs of rows that look the same."""

    name: ClassVar[str] = "discernibility"
    weighted: ClassVar[bool] = False

    def for_table(self, setting: SearchSetting) -> TableObjective:
        return _DiscernibilityOfTable(setting=setting)


@dataclass(frozen=True, kw_only=True, eq=False)
class _DiscernibilityOfTable:
    setting: SearchSetting

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

    def convert_score(self, score: float) -> float:
        return score
