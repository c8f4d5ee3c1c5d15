"""Non-uniform entropy: the bits that a reader lacks to infer each value from its label [GT09].

Definition  A cell costs log2 of (rows with its label / rows with its value), both in the input. Suppressed
            rows are one pool: distinguishing their labels costs Σ c · log2(s / c) more in a column, with c of
            the s suppressed rows under a label. In bits, over all cells.
Bound       Exact where nothing is suppressed. The pool's part rises with more rows (entropy is concave) and
            with finer labels.

[GT09]      Gionis & Tassa, k-Anonymization with minimal loss of information, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.search.lattice import Floats
from discreet.anonymity.search.node_tables import SearchColumn
from discreet.anonymity.search.objectives.objective import (
    ColumnSumObjective,
    SearchSetting,
    SuppressedClasses,
    TableObjective,
)

Counts = Floats | Integers


@dataclass(frozen=True)
class Entropy:
    """Bits that are missing."""

    name: ClassVar[str] = "entropy"
    weighted: ClassVar[bool] = True

    def for_table(self, setting: SearchSetting) -> TableObjective:
        def extra(j: int, gone: SuppressedClasses) -> float:
            return compute_spread(
                np.bincount(setting.columns[j].extract_labels(gone.keys), weights=gone.sizes)
            )

        return ColumnSumObjective(
            setting=setting, costs=[_compute_costs(column) for column in setting.columns], extra=extra
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
