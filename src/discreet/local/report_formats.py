"""Report formats: how reports are stored, and how memory or an engine counts them, from clients to counts.

CodeFormat  one integer per client, in a column `report`. Counted by GROUP BY: how many clients sent each.
BitFormat   packed into 64-bit words, the first bit lowest, in columns `w0`, `w1`, ... as signed integers,
            since not every engine has unsigned ones; with several cohorts a column `cohort` before them.
            Counted by sums of single bits: how many clients of each cohort set each bit.

A report that does not fit its format is a fault of its sender or store: it is refused, never miscounted.
Reports are randomized before they are sent, so their counts may leave the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core.engine import Engine
from discreet.core.errors import DataError, require_parameter
from discreet.local.bit_sampling import count_set_bits
from discreet.mechanisms.sampling import Integers

Reports = NDArray[Any]

SUMS_PER_STATEMENT = 512  # some engines limit the columns of a result
WORD_BITS = 64


@dataclass(frozen=True, kw_only=True)
class ReportCounts:
    """All that estimation needs of the reports: `cells` as the format lays them out, and the clients.

    Codes: how many clients sent each. Bits: a row per cohort, its clients first, then the count of each bit.
    """

    clients: int
    cells: Integers

    def __repr__(self) -> str:
        return f"<ReportCounts of {self.clients:,} clients>"

    def __add__(self, other: ReportCounts) -> ReportCounts:
        return ReportCounts(clients=self.clients + other.clients, cells=self.cells + other.cells)


class ReportFormat(Protocol):
    """The format of an operator's reports."""

    def count(self, reports: Reports) -> ReportCounts:
        """Count reports in memory."""

    def build_count_queries(self, table: str) -> tuple[str, ...]:
        """Return the SELECT statements by which an engine counts the reports of a table."""

    def read_counts(self, tables: Sequence[pa.Table]) -> ReportCounts:
        """Read the counts from the engine's result tables."""

    def to_arrow(self, reports: Reports) -> pa.Table:
        """Return the reports as a table to store."""

    def from_arrow(self, table: pa.Table) -> Reports:
        """Read the reports of a stored table."""

    def to_matrix_columns(self, reports: Reports) -> Integers:
        """Return the operator's matrix column of each report."""


@dataclass(frozen=True, kw_only=True)
class CodeFormat:
    """Reports that are integers from 0 to outputs - 1."""

    outputs: int

    def count(self, reports: Reports) -> ReportCounts:
        codes = self.to_matrix_columns(reports)
        return ReportCounts(clients=codes.size, cells=np.bincount(codes, minlength=self.outputs))

    def build_count_queries(self, table: str) -> tuple[str, ...]:
        return (f"SELECT report, COUNT(*) AS clients FROM {_quote_table(table)} GROUP BY report",)

    def read_counts(self, tables: Sequence[pa.Table]) -> ReportCounts:
        codes = self.to_matrix_columns(_to_integers(tables[0]["report"]))
        clients = _to_integers(tables[0]["clients"])
        cells = np.zeros(self.outputs, np.int64)
        np.add.at(cells, codes, clients)
        return ReportCounts(clients=int(clients.sum()), cells=cells)

    def to_arrow(self, reports: Reports) -> pa.Table:
        return pa.table({"report": self.to_matrix_columns(reports)})

    def from_arrow(self, table: pa.Table) -> Reports:
        return self.to_matrix_columns(_to_integers(_get_columns(table, ["report"])[0]))

    def to_matrix_columns(self, reports: Reports) -> Integers:
        codes = np.asarray(reports)
        holds = codes.ndim == 1 and codes.dtype.kind in "iu"
        require_parameter(holds, "", "reports", "something else", "a vector of integers")
        if codes.size and (int(codes.min()) < 0 or int(codes.max()) >= self.outputs):
            raise _wrong_format_error(f"codes from 0 to {self.outputs - 1}")
        return codes.astype(np.int64, copy=False)


@dataclass(frozen=True, kw_only=True)
class BitFormat:
    """Rows of `width` bits in 64-bit words, with exactly `ones` bits set if that is given.

    With several cohorts, the cohort's number precedes the words.
    """

    width: int
    cohorts: int = 1
    ones: int | None = None

    @property
    def word_count(self) -> int:
        """The number of 64-bit words of a report."""
        return -(-self.width // WORD_BITS)

    @property
    def has_cohorts(self) -> bool:
        """True if the cohort is part of the report."""
        return self.cohorts > 1

    def count(self, reports: Reports) -> ReportCounts:
        cohort, words = self.split_reports(reports)
        order = np.argsort(cohort, kind="stable") if self.has_cohorts else slice(None)
        ends = np.cumsum(np.bincount(cohort, minlength=self.cohorts))
        parts = np.split(words[order], ends[:-1])
        rows = [np.concatenate([[len(part)], count_set_bits(part)[: self.width]]) for part in parts]
        return ReportCounts(clients=len(words), cells=np.array(rows, np.int64))

    def build_count_queries(self, table: str) -> tuple[str, ...]:
        sums = [f"SUM((w{i // WORD_BITS} >> {i % WORD_BITS}) & 1) AS b{i}" for i in range(self.width)]
        # sums ignore NULL words and the spare bits of the last word, so malformed reports are counted here
        strange = [f"w{j} IS NULL" for j in range(self.word_count)]
        if self.width % WORD_BITS:
            strange.append(f"(w{self.word_count - 1} >> {self.width % WORD_BITS}) <> 0")
        sums.append(f"COUNT(*) FILTER (WHERE {' OR '.join(strange)}) AS strange")
        cohort, by = ("cohort", " GROUP BY cohort") if self.has_cohorts else ("0 AS cohort", "")
        chunks = [sums[i : i + SUMS_PER_STATEMENT] for i in range(0, len(sums), SUMS_PER_STATEMENT)]
        head = f"SELECT {cohort}, COUNT(*) AS clients, "
        return tuple(f"{head}{', '.join(chunk)} FROM {_quote_table(table)}{by}" for chunk in chunks)

    def read_counts(self, found: Sequence[pa.Table]) -> ReportCounts:
        cells = np.zeros((self.cohorts, 1 + self.width), np.int64)
        strange = 0
        for table in found:
            cohorts = self._require_cohorts(_to_integers(table["cohort"]))
            for name in table.column_names:
                if name == "strange":
                    strange = int(_to_integers(table[name], null_value=0).sum())
                elif name != "cohort":
                    place = 0 if name == "clients" else 1 + int(name[1:])
                    cells[cohorts, place] = _to_integers(table[name], null_value=0)
        if strange:
            raise _wrong_format_error(f"{self.width} bits")
        clients = int(cells[:, 0].sum())
        if self.ones is not None and int(cells[:, 1:].sum()) != self.ones * clients:
            raise _wrong_format_error(f"{self.ones} bits that are set")
        return ReportCounts(clients=clients, cells=cells)

    def to_arrow(self, reports: Reports) -> pa.Table:
        cohort, words = self.split_reports(reports)
        named = {"cohort": cohort} if self.has_cohorts else {}
        signed = {f"w{j}": np.ascontiguousarray(words[:, j]).view(np.int64) for j in range(self.word_count)}
        return pa.table(named | signed)

    def from_arrow(self, table: pa.Table) -> Reports:
        names = ["cohort"] * self.has_cohorts + [f"w{j}" for j in range(self.word_count)]
        columns = [_to_integers(column) for column in _get_columns(table, names)]
        reports: Reports = np.column_stack(columns).astype(np.int64).view(np.uint64)
        self.split_reports(reports)
        return reports

    def to_matrix_columns(self, reports: Reports) -> Integers:
        cohort, words = self.split_reports(reports)
        return np.asarray((cohort << self.width) + words[:, 0].astype(np.int64))

    def split_reports(self, reports: Reports) -> tuple[Integers, NDArray[np.uint64]]:
        """Return the cohort and the words of each report, after checking both."""
        rows = np.asarray(reports)
        holds = (
            rows.ndim == 2 and rows.dtype == np.uint64 and rows.shape[1] == self.word_count + self.has_cohorts
        )
        require_parameter(
            holds,
            "",
            "reports",
            "something else",
            f"rows of {self.word_count + self.has_cohorts} 64-bit words",
        )
        cohort = rows[:, 0].astype(np.int64) if self.has_cohorts else np.zeros(len(rows), np.int64)
        words = rows[:, int(self.has_cohorts) :]
        spare = self.word_count * WORD_BITS - self.width
        if spare and np.any(words[:, -1] >> np.uint64(WORD_BITS - spare)):
            raise _wrong_format_error(f"{self.width} bits")
        if self.ones is not None and np.any(np.bitwise_count(words).sum(axis=1) != self.ones):
            raise _wrong_format_error(f"{self.ones} bits that are set")
        return self._require_cohorts(cohort), words

    def _require_cohorts(self, cohort: Integers) -> Integers:
        if cohort.size and (int(cohort.min()) < 0 or int(cohort.max()) >= self.cohorts):
            raise _wrong_format_error(f"cohorts from 0 to {self.cohorts - 1}")
        return cohort


def _wrong_format_error(expected: str) -> DataError:
    return DataError(
        f"Some reports were not made by this operator: it sends {expected}.",
        hint="Estimate with the operator that made the reports, and leave out all other reports.",
    )


def _get_columns(table: pa.Table, names: list[str]) -> list[Any]:
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise DataError(
            f"The table of reports has no column {missing[0]}.",
            hint=f"It needs {', '.join(names)}, as `to_arrow` writes them.",
        )
    return [table[name] for name in names]


def _to_integers(column: Any, *, null_value: int | None = None) -> Integers:
    """Return a column as integers; `null_value` replaces NULL, the aggregate over no rows."""
    if column.null_count and null_value is not None:
        column = column.fill_null(null_value)
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)):
        raise _not_integers_error()
    try:
        return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)
    except pa.ArrowInvalid:  # beyond 64 bits, or a decimal with a fraction
        raise _not_integers_error() from None


def _not_integers_error() -> DataError:
    return DataError("Some reports are empty or not integers.", hint="Leave out rows that no client sent.")


def _quote_table(table: str) -> str:
    return exp.to_identifier(table, quoted=True).sql(dialect="duckdb")


def count_stored_reports(report_format: ReportFormat, engine: Engine, table: str) -> ReportCounts:
    """Count the reports of a table inside the engine; only counts come back."""
    return report_format.read_counts(
        [engine.count(sql).secret for sql in report_format.build_count_queries(table)]
    )
