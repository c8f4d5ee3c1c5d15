"""An answer: the released table, its intervals, its cost, and what an attacker can now believe."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from discreet.belief import Belief
from discreet.belief.wording import format_count
from discreet.core.csv_escaping import escape_cell
from discreet.core.html_summary import MAX_ROWS, build_facts, build_note, build_summary, build_table
from discreet.engines.duckdb import query_released_tables
from discreet.services.released_tables import ReleasedTable, describe_cost
from discreet.sql.accuracy import RankError
from discreet.sql.plan_execution import Release, build_empty_release
from discreet.sql.planner import QueryPlan

IntervalBounds = tuple[list[float | None], list[float | None]]
INTERVAL_NOTE = "Intervals cover the noise, not what clamping values and limiting a person's rows changed."


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer(ReleasedTable):
    """A released answer; `belief` bounds what an attacker can believe after all releases, this one included.

    `rank_errors` has, for columns picked by rank such as MEDIAN, by how many rows they may miss their rank,
    and for decisions such as BOOL_OR from how many rows on they are right.
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

    def __repr__(self) -> str:
        """Return size, columns and cost; the values are for `to_pandas()` and the notebook's table."""
        rows, columns = format_count(self.table.num_rows, "row", "rows"), ", ".join(self.table.column_names)
        return f"<Answer of {rows} ({columns}): {self._describe_cost()}>"

    def _repr_html_(self) -> str:
        first = self.table.slice(0, MAX_ROWS).to_pylist()
        rows = [
            [format_cell(self, name, place, value) for name, value in row.items()]
            for place, row in enumerate(first)
        ]
        return build_summary(
            build_table(
                self.table.column_names,
                rows,
                caption="Answer",
                right=self.measures,
                row_count=self.table.num_rows,
            ),
            *map(build_note, self.list_notes()),
            build_facts([("cost", self._describe_cost()), ("belief", self.sentence)]),
        )

    def _describe_cost(self) -> str:
        return describe_cost(self.epsilon, 0, self.entry, repeated=self.repeated)

    @property
    def measures(self) -> list[str]:
        """The noisy columns, in the order of the table."""
        noisy = {*self.intervals, *self.rank_errors, *self.no_interval}
        return [name for name in self.table.column_names if name in noisy]

    def list_notes(self) -> list[str]:
        """Return what a reader of the table must know of its errors, in sentences."""
        notes = []
        if any(end is not None for low, _ in self.intervals.values() for end in low):
            notes.append(f"± at {self.confidence:.0%}. {INTERVAL_NOTE}")
        if self.no_interval:
            notes.append(self.no_interval_sentence)
        if self.rank_errors:
            told = "; ".join(f"{name}: {found.description}" for name, found in self.rank_errors.items())
            remarks = dict.fromkeys(found.remark for found in self.rank_errors.values() if found.remark)
            notes.append(" ".join([f"At {self.confidence:.0%}, {told}.", *remarks]))
        return notes

    @property
    def no_interval_sentence(self) -> str:
        """One sentence on why columns have no error bar; empty if all have one."""
        columns: dict[str, list[str]] = {}
        for name, reason in self.no_interval.items():
            columns.setdefault(reason, []).append(name)
        told = [f"{', '.join(names)}: {reason}" for reason, names in columns.items()]
        return f"No error bar for {'; '.join(told)}." if told else ""

    def to_arrow(self) -> pa.Table:
        """Return the released values as an Arrow table."""
        return self.table

    @property
    def rows(self) -> list[list[object]]:
        """The rows as lists, in the order of the columns."""
        return [list(row.values()) for row in self.table.to_pylist()]

    def to_json(self) -> dict[str, object]:
        """Return the answer as a JSON object; `intervals` is null if no column has a valid one.

        `decisions` has, for each BOOL_OR and BOOL_AND, the probability that it is `wrong` in a group where no
        row settles it, or at least `rows` do.
        """
        decisions = {name: found for name, found in self.rank_errors.items() if found.is_decision}
        intervals = {
            name: [list(pair) for pair in zip(low, high, strict=True)]
            for name, (low, high) in self.intervals.items()
            if name not in decisions
        }
        return {
            "columns": self.table.column_names,
            "rows": [[_to_json_value(value) for value in row] for row in self.rows],
            "intervals": None if self.no_interval and not self.intervals else intervals,
            "no_interval": dict(self.no_interval),
            "ranks": {
                name: found.to_json() for name, found in self.rank_errors.items() if name not in decisions
            },
            "decisions": {
                name: {"wrong": round(1 - self.confidence, 12), "rows": found.rows, "why": found.description}
                for name, found in decisions.items()
            },
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


def format_cell(answer: Answer, name: str, row_index: int, value: object) -> str:
    """Return a value as text, with its ± if it has one."""
    half = _find_half_width(answer, name, row_index, value)
    if half is None:
        return _format_value(answer, name, value)
    if not isinstance(value, float):
        # Interval bounds of a whole number may be fractions, because rows are weighted.
        return f"{value:,} ± {math.ceil(half):,}"
    places = _count_decimals(half)
    rounded = round(value, places)
    return f"{rounded:,.{places}f} ± {_round_up(half + abs(value - rounded), places):,.{places}f}"


def _format_value(answer: Answer, name: str, value: object) -> str:
    """Return a value without ±; a NULL that has an interval could not be estimated."""
    if value is None:
        return "cannot be told" if name in answer.intervals else "NULL"
    if isinstance(value, float):
        return f"{value:,.3f}"
    whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if whole and name in answer.measures else str(value)


def _find_half_width(answer: Answer, name: str, row_index: int, value: object) -> float | None:
    """Return the half-width of a cell's interval around the displayed value; None if it has no interval."""
    ends = answer.intervals.get(name)
    if ends is None or not isinstance(value, int | float):
        return None
    low, high = ends[0][row_index], ends[1][row_index]
    return None if low is None or high is None else max(high - value, value - low)


def _round_up(value: float, decimals: int) -> float:
    """Round up, so that the error bar still covers the value; ignore floating-point error below 1e-12."""
    scale = float(10**decimals)
    return math.ceil(value * scale * (1 - 1e-12)) / scale


def _count_decimals(half: float) -> int:
    """Return how many decimals show two significant digits of the error."""
    return min(6, max(0, 1 - math.floor(math.log10(half)))) if half > 0 else 3


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
    """Return the table with interval bounds as columns of their own: name, name.low, name.high.

    What is true or false has none.
    """
    columns: dict[str, Any] = {}
    for name in table.column_names:
        columns[name] = table[name]
        ends = () if pa.types.is_boolean(table[name].type) else intervals.get(name, ())
        for end, values in zip(("low", "high"), ends, strict=False):
            columns[f"{name}.{end}"] = pa.array(values, pa.float64())
    return pa.table(columns)


def _to_json_value(value: object) -> object:
    return value.isoformat() if isinstance(value, date | datetime) else value


def build_empty_answer(plan: QueryPlan) -> Release:
    """Return an answer without rows, from the plan alone: its columns, types and which have intervals."""
    return build_empty_release(plan, query_released_tables)
