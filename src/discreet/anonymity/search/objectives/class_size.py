"""Average class size: rows over published classes [LDR06].

Definition  N over the number of kept classes; the suppressed rows, if there are any, count as one more.
Bound       No node has more classes than its labels allow or than one below it has.

[LDR06]     LeFevre, DeWitt & Ramakrishnan, Mondrian multidimensional k-anonymity, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.search.lattice import Floats
from discreet.anonymity.search.objectives.objective import ANY, Scale, Setting, View


def rows_per_class(rows: int, classes: int, suppressed: int) -> float:
    """Return the average class size, as defined above."""
    return rows / (classes + (suppressed > 0))


@dataclass(frozen=True)
class ClassSize:
    """Rows per class."""

    name: ClassVar[str] = "class-size"
    weighted: ClassVar[bool] = False

    def over(self, setting: Setting) -> Scale:
        return _ClassSize(setting=setting)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ClassSize:
    setting: Setting

    def bounds(self) -> Floats:
        return self.setting.rows / self.setting.most_classes()

    def score(self, view: View) -> float:
        return rows_per_class(self.setting.rows, int(view.kept.sum()), view.gone.rows)

    def below(self, view: View) -> float:
        return ANY

    def above(self, view: View) -> float:
        return self.setting.rows / len(view.sizes)

    def shown(self, score: float) -> float:
        return score
