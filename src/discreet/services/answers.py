"""An answer: the released table, its intervals, its cost, and what an attacker can now believe."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.belief import Belief
from discreet.belief.wording import format_count, format_number
from discreet.core.csv_escaping import escape_cell
from discreet.core.html_summary import MAX_ROWS, build_facts, build_note, build_summary, build_table
from discreet.engines.released_queries import query_released_tables
from discreet.services.released_tables import ReleasedTable, describe_cost, name_entries
from discreet.sql.accuracy import RankError, find_rank_errors
from discreet.sql.error_expressions import DERIVED
from discreet.sql.error_plan import ALL_ROWS, PER_ROW
from discreet.sql.plan_execution import build_empty_release
from discreet.sql.releases import IntervalBounds, Release

if TYPE_CHECKING:
    from discreet.sql.planner import QueryPlan

OLDER = "it was stored by an earlier version without one that holds"
INTERVAL_NOTE = "Intervals cover the noise, not what clamping values and limiting a person's rows changed."


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer(ReleasedTable):
    """A released answer; `belief` bounds what an attacker can believe after all releases, this one included.

    `epsilon` is what was charged now: 0 where everything was released before. `entries` are the ledger
    entries that it is computed from. `rank_errors` has, for columns picked by rank such as MEDIAN, by how
    many rows they may miss their rank, and for decisions such as BOOL_OR from how many rows on they are
    right. `interval_kind` has, for each column with intervals, "per_row" if each row's interval holds with
    the confidence, and "all_rows" if all of the column hold together: after selecting rows by noisy values.
    `no_interval` has, for other noisy columns without an interval, the reason. `constants` are the released
    values that a condition compares rows with, by the text of their subqueries; None cannot be told.
    """

    table: pa.Table
    intervals: Mapping[str, IntervalBounds]
    confidence: float
    epsilon: float
    belief: Belief
    entries: tuple[int, ...]
    sentence: str
    rank_errors: Mapping[str, RankError] = field(default_factory=dict)
    no_interval: Mapping[str, str] = field(default_factory=dict)
    interval_kind: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def repeated(self) -> bool:
        """True if it was free: everything that it needs was released before."""
        return self.epsilon == 0

    @property
    def entry(self) -> int | None:
        """The newest ledger entry that it is computed from; None if it follows from the policy alone."""
        return max(self.entries, default=None)

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

    @property
    def cost_sentence(self) -> str:
        """The charge of this answer, and the entries that the answer is computed from, in a few words."""
        if not self.entries:
            return "nothing: it follows from the question and the policy"
        if self.repeated:
            return f"nothing: everything that it needs was released before ({name_entries(self.entries)})"
        *before, now = self.entries
        rest = f"; the rest was released before ({name_entries(before)})" if before else ""
        return f"epsilon {format_number(self.epsilon)} (entry {now}){rest}"

    def _describe_cost(self) -> str:
        if self.entry is None:
            return self.cost_sentence
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
            notes.append(f"± at {self.confidence:.0%}. {self.interval_kind_sentence}{INTERVAL_NOTE}")
        if self.no_interval:
            notes.append(self.no_interval_sentence)
        if self.rank_errors:
            told = "; ".join(f"{name}: {found.description}" for name, found in self.rank_errors.items())
            remarks = dict.fromkeys(found.remark for found in self.rank_errors.values() if found.remark)
            notes.append(" ".join([f"At {self.confidence:.0%}, {told}.", *remarks]))
        return [*notes, *map(describe_constant, self.constants.items())]

    @property
    def interval_kind_sentence(self) -> str:
        """One sentence on columns whose intervals hold together, with a blank behind it; empty without."""
        together = [name for name, kind in self.interval_kind.items() if kind == ALL_ROWS]
        if not together:
            return ""
        reason = "because rows or values were chosen by noise, or seen before"
        if len(together) == len(self.interval_kind):
            return f"All intervals of a column hold together, {reason}. "
        return f"All intervals of {', '.join(together)} hold together, {reason}. "

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
            "interval_kind": {name: self.interval_kind.get(name, PER_ROW) for name in intervals},
            "no_interval": dict(self.no_interval),
            "ranks": {
                name: found.to_json() for name, found in self.rank_errors.items() if name not in decisions
            },
            "decisions": {
                name: {"wrong": round(1 - self.confidence, 12), "rows": found.rows, "why": found.description}
                for name, found in decisions.items()
            },
            "constants": [{"subquery": written, "value": value} for written, value in self.constants.items()],
            "confidence": self.confidence,
            "epsilon": self.epsilon,
            "belief": {
                "prior": self.belief.prior,
                "posterior": self.belief.highest,
                "tail": self.belief.tail,
            },
            "entry": self.entry,
            "entries": list(self.entries),
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


def describe_constant(constant: tuple[str, float | None]) -> str:
    """Return a sentence on a released value that rows were compared with, of its subquery and the value."""
    written, value = constant
    if value is None:
        return f"«{written}» cannot be told from what was released: no row meets a comparison with it."
    return (
        f"Rows were compared with {value:,.6g}, the released value of «{written}»: intervals hold for that "
        "number, not for the true value of the subquery."
    )


def format_cell(answer: Answer, name: str, row_index: int, value: object) -> str:
    """Return a value as text, with its ± if it has one."""
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
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
    """Return a value without ±; one whose interval has no ends, or is NULL, cannot be told."""
    if value is None:
        return "cannot be told" if name in answer.intervals else "NULL"
    if isinstance(value, float):
        shown = f"{value:,.3f}"
    else:
        whole = isinstance(value, int) and not isinstance(value, bool)
        shown = f"{value:,}" if whole and name in answer.measures else str(value)
    unbounded = name in answer.intervals and name not in answer.rank_errors
    return f"{shown} (cannot be told)" if unbounded else shown


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


def describe_interval_kind(answer: Answer, name: str) -> str:
    """Return what to write behind a column's ± if all of its intervals hold together; empty else."""
    return ", all rows together" if answer.interval_kind.get(name) == ALL_ROWS else ""


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


def build_answer(
    plan: QueryPlan,
    table: pa.Table,
    intervals: Mapping[str, IntervalBounds],
    interval_kinds: Mapping[str, str],
    *,
    charged: Fraction,
    entries: tuple[int, ...],
    belief: Belief,
    sentence: str,
) -> Answer:
    """Return the answer of a planned question, from what was released now or before."""
    errors = plan.column_errors
    # An answer stored by an earlier version may have intervals that this version knows to be invalid, or of
    # another kind, or none where this version has one.
    kinds = {
        name: kind
        for name, kind in errors.interval_kinds.items()
        if name in intervals and interval_kinds.get(name) == kind
    }
    older = {name: OLDER for name in errors.interval_kinds if name not in kinds}
    unnamed = dict.fromkeys(plan.list_unnamed_columns(table.column_names), DERIVED)
    return Answer(
        table=table,
        intervals={name: intervals[name] for name in kinds},
        interval_kind=kinds,
        no_interval={
            name: reason
            for name, reason in {**unnamed, **errors.missing_reasons, **older}.items()
            if name in table.column_names
        },
        confidence=plan.confidence,
        epsilon=float(charged),
        belief=belief,
        entries=entries,
        sentence=sentence,
        rank_errors=find_rank_errors(plan),
        constants={
            plan.split.constants[name].written: None if value is None else float(value)
            for name, value in plan.constants.items()
        },
    )


def build_empty_answer(plan: QueryPlan) -> Release:
    """Return an answer without rows, from the plan alone: its columns, types and which have intervals."""
    return build_empty_release(plan, query_released_tables)
