"""What is public about a released table: its keys, its measures, and the laws of their noise.

A released table has one row for each group, a *cell*: keys k0, k1 … and measures m0, m1 …. Its noise is one
independent number for each cell and *primitive* (`sql.primitives`), whose law is public, and its measures are
computed from the noisy primitives of their row. Different released tables have independent noise.

LinearMeasure   a weighted sum of primitives: COUNT, SUM.
RatioMeasure    offset + top / bottom within limits, top and bottom weighted sums of primitives: AVG. The
                table has these two as columns m0.top and m0.bottom.
OpaqueMeasure   anything else: the table has its interval, or it has none, as a selected value.

Every measure has its interval beside it: m0.low and m0.high, that of its own row; m0.all.low and
m0.all.high, which holds for all rows at once; m0.box.low and m0.box.high, for all measures in all rows at
once (`sql.interval_columns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.mechanisms.linear_combinations import LinearCombination

RELEASED = "released"
"""The name of the released table of a question that is one aggregation."""


@dataclass(frozen=True, kw_only=True)
class LinearMeasure:
    """A weighted sum of primitives, shown with a rounding error of at most `rounding`."""

    coefficients: Mapping[str, Fraction]
    rounding: Fraction = Fraction(0)
    is_whole: bool = False


@dataclass(frozen=True, kw_only=True)
class RatioMeasure:
    """The ratio of two weighted sums of primitives, plus `offset`, within limits; NULL where unknown."""

    top: Mapping[str, Fraction]
    bottom: Mapping[str, Fraction]
    offset: Fraction
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class OpaqueMeasure:
    """A measure whose noise has no law that could be carried on."""

    has_interval: bool


MeasureForm = LinearMeasure | RatioMeasure | OpaqueMeasure


@dataclass(frozen=True, kw_only=True)
class ReleasedSchema:
    """A released table; `noises` has the error of one cell's noisy primitive, `looks` what it combines.

    `is_complete` means that every group of a declared domain has its row: otherwise groups were selected
    privately, and a total over the rows misses those that were not. `row_count` is the number of declared
    groups, `key_sizes` the numbers of values of keys, if all combinations are groups. The rows may have been
    chosen among `shown_cells` after these were seen; `has_chosen_cells` if these were any cells.
    """

    name: str
    keys: tuple[str, ...]
    measures: Mapping[str, MeasureForm]
    noises: Mapping[str, LinearCombination]
    is_complete: bool
    row_count: int | None = None
    key_sizes: Mapping[str, int] = field(default_factory=dict)
    looks: Mapping[str, frozenset[int]] = field(default_factory=dict)
    shown_cells: int = 0
    has_chosen_cells: bool = False


def describe_exact_table(name: str, columns: Sequence[str]) -> ReleasedSchema:
    """Return the schema of a table without noise: declared keys, or public rows."""
    return ReleasedSchema(name=name, keys=tuple(columns), measures={}, noises={}, is_complete=True)
