"""An answer: the released table, its intervals, its cost, and what an attacker can now believe."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.belief import Belief
from discreet.core.csv_escaping import escape_cell
from discreet.core.errors import RequestError
from discreet.engines.duckdb import query_released_tables
from discreet.sql.accuracy import RankError
from discreet.sql.plan_execution import Release, build_empty_release
from discreet.sql.planner import Plan

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

IntervalBounds = tuple[list[float | None], list[float | None]]
INTERVAL_NOTE = (
    "Each interval covers the clamped and bounded quantity of its group; it does not hold what clamping and "
    "bounding changed."
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A released answer; `belief` bounds what an attacker can believe after all releases, this one included.

    `rank_errors` has, for columns picked by rank such as MEDIAN, by how many rows they may miss their rank.
    `no_interval` has, for other noisy columns without an interval, the reason.
    """

    table: pa.Table
    intervals: Mapping[str, IntervalBounds]
    confidence: float
    epsilon: float
    belief: Belief
    entry: int
    repeated: bool
    sentence: str
    rank_errors: Mapping[str, RankError] = field(default_factory=dict)
    no_interval: Mapping[str, str] = field(default_factory=dict)

    @property
    def measures(self) -> list[str]:
        """The noisy columns, in the order of the table."""
        noisy = {*self.intervals, *self.rank_errors, *self.no_interval}
        return [name for name in self.table.column_names if name in noisy]

    @property
    def no_interval_sentence(self) -> str:
        """One sentence on why columns have no error bar; empty if all have one."""
        columns: dict[str, list[str]] = {}
        for name, reason in self.no_interval.items():
            columns.setdefault(reason, []).append(name)
        told = [f"{', '.join(names)}: {reason}" for reason, names in columns.items()]
        return f"No error bar for {'; '.join(told)}." if told else ""

    def to_arrow(self) -> pa.Table:
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        try:
            return self.table.to_pandas()
        except ImportError:
            raise RequestError("pandas is not installed.", hint="Run pip install pandas.") from None

    def to_polars(self) -> pl.DataFrame:
        try:
            import polars as pl
        except ImportError:
            raise RequestError("polars is not installed.", hint="Run pip install polars.") from None
        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    @property
    def rows(self) -> list[list[object]]:
        return [list(row.values()) for row in self.table.to_pylist()]

    def to_json(self) -> dict[str, object]:
        """Return the answer as a JSON object; `intervals` is null if no column has a valid one."""
        intervals = {
            name: [list(pair) for pair in zip(low, high, strict=True)]
            for name, (low, high) in self.intervals.items()
        }
        return {
            "columns": self.table.column_names,
            "rows": [[_to_json_value(value) for value in row] for row in self.rows],
            "intervals": None if self.no_interval and not self.intervals else intervals,
            "no_interval": dict(self.no_interval),
            "ranks": {name: found.to_json() for name, found in self.rank_errors.items()},
            "confidence": self.confidence,
            "epsilon": self.epsilon,
            "belief": {
                "prior": self.belief.prior,
                "posterior": self.belief.highest,
                "tail": self.belief.tail,
            },
            "entry": self.entry,
            "repeated": self.repeated,
            "sentence": self.sentence,
            "note": INTERVAL_NOTE,
        }

    def to_table_with_bounds(self) -> pa.Table:
        """Return the table with interval bounds beside the measures."""
        return add_interval_bounds(self.table, self.intervals)

    def to_csv(self) -> str:
        """Return the table with interval bounds as CSV; cells that a spreadsheet would run are escaped."""
        from pyarrow import csv

        sink = io.BytesIO()
        csv.write_csv(_escape_formulas(self.to_table_with_bounds()), sink)
        return sink.getvalue().decode()


def _escape_formulas(table: pa.Table) -> pa.Table:
    """Return the table with texts and column names escaped against formulas."""
    for place, column in enumerate(table.schema):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            values = table.column(place).to_pylist()
            texts = [None if value is None else escape_cell(value) for value in values]
            table = table.set_column(place, column.name, pa.array(texts, pa.string()))
    return table.rename_columns([escape_cell(name) for name in table.column_names])


def add_interval_bounds(table: pa.Table, intervals: Mapping[str, IntervalBounds]) -> pa.Table:
    """Return the table with interval bounds as columns of their own: name, name.low, name.high."""
    columns: dict[str, Any] = {}
    for name in table.column_names:
        columns[name] = table[name]
        for end, values in zip(("low", "high"), intervals.get(name, ()), strict=False):
            columns[f"{name}.{end}"] = pa.array(values, pa.float64())
    return pa.table(columns)


def answer_to_bytes(table: pa.Table, intervals: Mapping[str, IntervalBounds]) -> bytes:
    """Return table and intervals as the bytes that the ledger stores."""
    sink = io.BytesIO()
    noted = table.replace_schema_metadata({"intervals": json.dumps(dict(intervals))})
    with pa.ipc.new_stream(sink, noted.schema) as writer:
        writer.write_table(noted)
    return sink.getvalue()


def answer_from_bytes(content: bytes) -> tuple[pa.Table, dict[str, IntervalBounds]]:
    """Return table and intervals from bytes made by `answer_to_bytes`."""
    try:
        table = pa.ipc.open_stream(io.BytesIO(content)).read_all()
        kept = json.loads((table.schema.metadata or {}).get(b"intervals", b"{}"))
        intervals = {name: (low, high) for name, (low, high) in kept.items()}
    except (pa.ArrowException, ValueError, TypeError, AttributeError, OSError):
        raise build_damaged_ledger_error() from None
    return table.replace_schema_metadata(None), intervals


def build_damaged_ledger_error() -> RequestError:
    """Return the error for a stored answer that can no longer be read."""
    return RequestError(
        "The answer that the ledger stores cannot be read: the ledger is damaged.",
        hint="Restore it from a backup; without one, treat the whole promise as spent.",
    )


def _to_json_value(value: object) -> object:
    return value.isoformat() if isinstance(value, date | datetime) else value


def build_empty_answer(plan: Plan) -> Release:
    """Return an answer without rows, from the plan alone: its columns, types and which have intervals."""
    return build_empty_release(plan, query_released_tables)
