"""Average class size: rows over published classes [LDR06].

Definition  N over the number of kept classes; the suppressed rows, if there are any, count as one more.
Bound       No node has more classes than its labels allow or than one below it has.

[LDR06]     LeFevre, DeWitt & Ramakrishnan, Mondrian multidimensional k-anonymity, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.search.lattice import Floats
from discreet.anonymity.search.objectives.objective import ANY, JudgedNode, SearchSetting, TableObjective


def compute_rows_per_class(rows: int, classes: int, suppressed: int) -> float:
    """Return the average class size, as defined above."""
    return rows / (classes + (suppressed > 0))


@dataclass(frozen=True)
class ClassSize:
    """Rows per class."""

    name: ClassVar[str] = "class-size"
    weighted: ClassVar[bool] = False

    def for_table(self, setting: SearchSetting) -> TableObjective:
        return _ClassSizeOfTable(setting=setting)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ClassSizeOfTable:
    setting: SearchSetting

    def compute_bounds(self) -> Floats:
        return self.setting.rows / self.setting.bound_classes()

    def score(self, view: JudgedNode) -> float:
        return compute_rows_per_class(self.setting.rows, int(view.kept.sum()), view.suppressed_classes.rows)

    def bound_below(self, view: JudgedNode) -> float:
        return ANY

    def bound_above(self, view: JudgedNode) -> float:
        return self.setting.rows / len(view.sizes)

    def convert_score(self, score: float) -> float:
        return score
