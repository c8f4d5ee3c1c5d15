"""The columns of a released table from which intervals are computed: see `sql.released_schema`.

m0.low, m0.high         the interval of its own row, at the stated confidence.
m0.all.low, .high       holds for all rows at once: cells are independent, so each row misses with at most
                        1 - (1 - beta)**(1/n) of n rows.
m0.box.low, .high       holds for all rows of all measures that a query reads: beta is divided among these.
                        It is of raw values, negative counts included.
m0.top, m0.bottom       the parts of a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.mechanisms.noise_laws import Floats
from discreet.mechanisms.simultaneous_bounds import split_miss_probability
from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive
from discreet.sql.measure_decomposition import DecomposedMeasure
from discreet.sql.primitives import Primitive
from discreet.sql.released_schema import RatioMeasure

EstimateAt = Callable[[float, bool], Estimate]
"""Returns a measure's values and intervals at a confidence, raw or as shown."""


def build_interval_columns(
    name: str,
    wanted: Iterable[str],
    estimate_at: EstimateAt,
    *,
    confidence: float,
    rows: int,
    box_measures: int,
) -> dict[str, pa.Array]:
    """Return the wanted interval columns of one measure over `rows` rows."""
    columns: dict[str, pa.Array] = {}
    beta = 1 - confidence
    levels = {
        "": (beta, False),
        ".all": (split_miss_probability(beta, max(1, rows)), False),
        ".box": (split_miss_probability(beta / max(1, box_measures), max(1, rows)), True),
    }
    for level, (share, is_raw) in levels.items():
        ends = [f"{name}{level}.{end}" for end in ("low", "high")]
        if set(ends) & set(wanted):
            found = estimate_at(1 - share, is_raw)
            columns |= {
                end: pa.array(numbers, from_pandas=True)
                for end, numbers in zip(ends, (found.low, found.high), strict=True)
            }
    return columns


def build_ratio_columns(
    output: DecomposedMeasure,
    wanted: Iterable[str],
    released: Mapping[str, ReleasedPrimitive],
    primitives: Mapping[str, Primitive],
) -> dict[str, pa.Array]:
    """Return the wanted parts of a mean: the sum above, and the count below."""
    form = output.measure.describe_form(output, primitives)
    if not isinstance(form, RatioMeasure):
        return {}
    parts = {f"{output.column}.top": form.top, f"{output.column}.bottom": form.bottom}
    return {
        name: pa.array(add_primitives(coefficients, released, primitives))
        for name, coefficients in parts.items()
        if name in set(wanted)
    }


def add_primitives(
    coefficients: Mapping[str, Fraction],
    released: Mapping[str, ReleasedPrimitive],
    primitives: Mapping[str, Primitive],
) -> Floats:
    """Return the weighted sum of noisy primitives in every row."""
    terms: list[Any] = [
        float(weight * primitives[name].unit) * released[name].values for name, weight in coefficients.items()
    ]
    return np.asarray(sum(terms), dtype=np.float64)
