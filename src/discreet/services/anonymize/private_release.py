"""A privately generalized table: its classes, and the rows that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.hierarchies import HierarchySpec
from discreet.anonymity.sampled_generalization import SampledGeneralization
from discreet.anonymity.tuple_counts import COUNT
from discreet.core.policy import Table
from discreet.core.release_target import ReleaseTarget
from discreet.engines.duckdb_publisher import DuckDBPublisher, stage_output

CLASSES = "_discreet_classes"


@dataclass(frozen=True, kw_only=True)
class GeneralizedColumn:
    """A published column at its declared level."""

    name: str
    spec: HierarchySpec
    level: int
    height: int
    keeps_missing: bool

    def generalize(self, values: list[str]) -> list[str | None]:
        """Return the label of each value, independent of the others; None where its row is suppressed."""
        uncovered = set(self.spec.find_uncovered(values))
        covered = [value for value in values if value not in uncovered]
        hierarchy = self.spec.build_hierarchy(covered)
        unknown = ("*" if self.level == self.height else "") if self.keeps_missing else None
        return [
            hierarchy.generalize(value, self.level)
            if value not in uncovered
            else (unknown if value == "" else None)
            for value in values
        ]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivateRelease:
    """Classes with their numbers of published rows; the table's `rows` is for the custodian only."""

    name: str
    table: Table
    columns: tuple[GeneralizedColumn, ...]
    mechanism: SampledGeneralization
    classes: pa.Table
    rows: int
    entry: int | None
    sentence: str
    seconds: float

    def __repr__(self) -> str:
        """Return the columns and the cost; `rows` and `classes` are left out."""
        names = ", ".join(each.name for each in self.columns)
        return f"<PrivateRelease of {self.name} ({names}): {self.mechanism.guarantee!r}>"

    @property
    def published_rows(self) -> int:
        """The number of published rows."""
        return int(self.sizes.sum())

    @property
    def sizes(self) -> Integers:
        found: Integers = self.classes.column(COUNT).to_numpy()
        return found

    @property
    def levels(self) -> dict[str, int]:
        return {each.name: each.level for each in self.columns}

    @property
    def unchanged_columns(self) -> tuple[str, ...]:
        """The columns that are not generalized."""
        return tuple(each.name for each in self.columns if each.level == 0)

    def write(self, path: str | Path) -> None:
        """Write the published rows as a Parquet or CSV file, or as a table of a DuckDB file."""
        with stage_output(ReleaseTarget.parse(path)) as file, DuckDBPublisher({}) as engine:
            engine.write(self._sql, file, {CLASSES: self.classes})

    def to_arrow(self) -> pa.Table:
        with DuckDBPublisher({}) as engine:
            return engine.count(self._sql, {CLASSES: self.classes}).secret

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        import polars as pl  # an optional companion

        return pl.from_arrow(self.to_arrow())

    @property
    def _sql(self) -> str:
        names = ", ".join('"' + each.name.replace('"', '""') + '"' for each in self.columns)
        return (
            f"SELECT {names} FROM (SELECT {names}, unnest(range({COUNT})) FROM {CLASSES}) "
            f"ORDER BY {', '.join(str(place + 1) for place in range(len(self.columns)))}"
        )
