"""What leaves the execution of a plan: what its cores released, and the answer that is computed from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.released_constants import ConstantValues

IntervalBounds = tuple[list[float | None], list[float | None]]
"""The ends of the intervals of a column; None where a value has no interval."""
PostProcessor = Callable[[str, Mapping[str, pa.Table]], pa.Table]
"""Runs SQL over given tables."""


@dataclass(frozen=True, kw_only=True)
class MeasuredCore:
    """The release of a core, for every group: its keys, noisy primitives, and selected values.

    `constants` are the released values that rows were compared with, of it or of other cores of its plan.
    """

    keys: Mapping[str, pa.ChunkedArray]
    primitives: Mapping[str, ReleasedPrimitive]
    selected_values: Mapping[str, pa.Array]
    constants: ConstantValues = field(default_factory=dict)


MeasuredCores = Mapping[str, MeasuredCore]
"""What was released of the cores of a plan, by released table."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """The requested columns, the intervals of noisy ones, and whether these hold per row or all together."""

    table: pa.Table
    intervals: Mapping[str, IntervalBounds]
    interval_kinds: Mapping[str, str]
