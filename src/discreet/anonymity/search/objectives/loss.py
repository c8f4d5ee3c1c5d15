"""Information loss: the fraction of its domain that a published value leaves open, as ARX measures it.

Definition  The cost of a row in a column is the share of its label (`Hierarchy.shares`), or 1 if suppressed.
            With N rows and a domain of H values, L = (Σ cost − N/H) / (N − N/H) is 0 where every value is
            shown and 1 where none is. The loss is Π (1 + L)^(1/n) − 1 over the n columns; with weights, the
            weighted mean of logarithms.
Bound       Exact where nothing is suppressed, because a label's share does not depend on other columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.search.lattice import Floats
from discreet.anonymity.search.node_tables import SearchColumn
from discreet.anonymity.search.objectives.objective import (
    ColumnSumObjective,
    SearchSetting,
    SuppressedClasses,
    TableObjective,
)

ROUNDING = 1e-12  # a difference this small is an effect of adding floats in another order


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
    """The default objective."""

    name: ClassVar[str] = "loss"
    weighted: ClassVar[bool] = True

    def for_table(self, setting: SearchSetting) -> TableObjective:
        shares = [column.shares for column in setting.columns]
        units = [setting.rows * (1 - 1 / column.hierarchy.size) for column in setting.columns]

        def extra(j: int, gone: SuppressedClasses) -> float:
            shown = shares[j][gone.levels[j]][setting.columns[j].extract_labels(gone.keys)]
            return (gone.rows - float(gone.sizes @ shown)) / units[j] if units[j] else 0.0

        def costs(j: int, column: SearchColumn) -> Floats:
            sums = np.array([column.count_rows(level) @ share for level, share in enumerate(shares[j])])
            return compute_column_loss(sums, setting.rows, column.hierarchy.size)

        columns = len(setting.columns)
        return ColumnSumObjective(
            setting=setting,
            costs=[costs(j, column) for j, column in enumerate(setting.columns)],
            extra=extra,
            term=np.log1p,
            unit=lambda score: math.expm1(score / columns),
        )
