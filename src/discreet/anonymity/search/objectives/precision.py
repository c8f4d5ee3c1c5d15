"""Precision: the mean height of the labels, relative to each hierarchy's height [S02].

Definition  The cost of a cell is level / height, or 1 if its row is suppressed; the mean over all cells.
Bound       Exact where nothing is suppressed.

[S02]       Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.search.lattice import Floats
from discreet.anonymity.search.objectives.objective import (
    ColumnSumObjective,
    SearchSetting,
    SuppressedClasses,
    TableObjective,
)


def compute_level_costs(levels: Integers, height: int) -> Floats:
    """Return the cost of cells at these levels in a column of this height."""
    return levels / max(height, 1)


@dataclass(frozen=True)
class Precision:
    """0 where nothing is generalized, 1 where everything is."""

    name: ClassVar[str] = "precision"
    weighted: ClassVar[bool] = True

    def for_table(self, setting: SearchSetting) -> TableObjective:
        heights = [column.hierarchy.height for column in setting.columns]
        costs = [compute_level_costs(np.arange(height + 1), height) for height in heights]

        def extra(j: int, gone: SuppressedClasses) -> float:
            return gone.rows * (1 - float(costs[j][gone.levels[j]])) / setting.rows

        columns = len(setting.columns)
        return ColumnSumObjective(
            setting=setting, costs=costs, extra=extra, unit=lambda score: score / columns
        )
