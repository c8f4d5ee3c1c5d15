"""Public schemas of the sample tables: names, types, bounds, values and roles, as in a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Kind = Literal["integer", "category", "date"]
Role = Literal["identifier", "quasi", "sensitive", "other"]


@dataclass(frozen=True, kw_only=True)
class SampleColumn:
    """One column; numbers and dates have bounds, categories have values, none of them taken from rows."""

    name: str
    kind: Kind
    meaning: str
    role: Role = "other"
    low: int | None = None
    high: int | None = None
    days: tuple[date, date] | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TableSchema:
    """One table; `person`, the privacy unit, is "row" or the column that identifies the person."""

    name: str
    meaning: str
    person: str
    rows_per_person: int
    columns: tuple[SampleColumn, ...]

    def get_column(self, name: str) -> SampleColumn:
        """Return a column by its name.

        >>> from discreet.services.sample.census import SCHEMA
        >>> SCHEMA.get_column("age").high
        90
        """
        return next(column for column in self.columns if column.name == name)


def take_labels(names: Sequence[str], index: NDArray[np.int64]) -> pa.Array:
    """Return the names at the given indices, as an array of text."""
    return pa.DictionaryArray.from_arrays(pa.array(index), pa.array(names, pa.string())).cast(pa.string())
