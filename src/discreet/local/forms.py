"""Report formats: how reports are stored, and how an engine counts them so that only counts reach Python.

CodeFormat  one integer per client, in a column `report`. Counted by GROUP BY: how many clients sent each.
BitFormat   packed into 64-bit words, the first bit lowest, in columns `w0`, `w1`, ... as signed integers,
            since not every engine has unsigned ones; with several cohorts a column `cohort` before them.
            Counted by sums of single bits: how many clients of each cohort set each bit.

A report that does not fit its format is a fault of its sender or store: it is refused, never miscounted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core.errors import DataError, require_parameter
from discreet.local.bits import bit_sums
from discreet.mechanisms.sampling import Integers

Reports = NDArray[Any]

SUMS_PER_STATEMENT = 512
WORD = 64


@dataclass(frozen=True, kw_only=True)
class Counts:
    """All that estimation needs of the reports: `cells` as the format lays them out, and the clients.

    Codes: how many clients sent each. Bits: a row per cohort, its clients first, then the count of each bit.
    """

    clients: int
    cells: Integers

    def __add__(self, other: Counts) -> Counts:
        return Counts(clients=self.clients + other.clients, cells=self.cells + other.cells)


class Form(Protocol):
    """The format of an operator's reports."""

    def count(self, reports: Reports) -> Counts:
        """Count reports in memory."""

    def tally(self, table: str) -> tuple[str, ...]:
        """Return the SELECT statements by which an engine counts the reports of a table."""

    def counted(self, found: Sequence[pa.Table]) -> Counts:
        """Read the counts from the engine's result tables."""

    def to_arrow(self, reports: Reports) -> pa.Table:
        """Return the reports as a table to store."""

    def from_arrow(self, table: pa.Table) -> Reports:
        """Read the reports of a stored table."""

    def index(self, reports: Reports) -> Integers:
        """Return the operator's matrix column of each report."""


@dataclass(frozen=True, kw_only=True)
class Codes:
    """Reports that are integers from 0 to outputs - 1."""

    outputs: int

    def count(self, reports: Reports) -> Counts:
        codes = self.index(reports)
        return Counts(clients=codes.size, cells=np.bincount(codes, minlength=self.outputs))

    def tally(self, table: str) -> tuple[str, ...]:
        return (f"SELECT report, COUNT(*) AS clients FROM {_quoted(table)} GROUP BY report",)

    def counted(self, found: Sequence[pa.Table]) -> Counts:
        codes = self.index(_integers(found[0]["report"]))
        clients = _integers(found[0]["clients"])
        cells = np.zeros(self.outputs, np.int64)
        np.add.at(cells, codes, clients)
        return Counts(clients=int(clients.sum()), cells=cells)

    def to_arrow(self, reports: Reports) -> pa.Table:
        return pa.table({"report": self.index(reports)})

    def from_arrow(self, table: pa.Table) -> Reports:
        return self.index(_integers(_columns(table, ["report"])[0]))

    def index(self, reports: Reports) -> Integers:
        codes = np.asarray(reports)
        holds = codes.ndim == 1 and codes.dtype.kind in "iu"
        require_parameter(holds, "reports", "codes", "something else", "a vector of integers")
        if codes.size and (int(codes.min()) < 0 or int(codes.max()) >= self.outputs):
            raise _outside(f"codes from 0 to {self.outputs - 1}")
        return codes.astype(np.int64, copy=False)


@dataclass(frozen=True, kw_only=True)
class Bits:
    """Rows of `width` bits in 64-bit words, with exactly `ones` bits set if that is given.

    With several cohorts, the cohort's number precedes the words.
    """

    width: int
    cohorts: int = 1
    ones: int | None = None

    @property
    def words(self) -> int:
        """The number of 64-bit words of a report."""
        return -(-self.width // WORD)

    @property
    def named(self) -> bool:
        """True if the cohort is part of the report."""
        return self.cohorts > 1

    def count(self, reports: Reports) -> Counts:
        cohort, words = self.parts(reports)
        order = np.argsort(cohort, kind="stable") if self.named else slice(None)
        ends = np.cumsum(np.bincount(cohort, minlength=self.cohorts))
        parts = np.split(words[order], ends[:-1])
        rows = [np.concatenate([[len(part)], bit_sums(part)[: self.width]]) for part in parts]
        return Counts(clients=len(words), cells=np.array(rows, np.int64))

    def tally(self, table: str) -> tuple[str, ...]:
        sums = [f"SUM((w{i // WORD} >> {i % WORD}) & 1) AS b{i}" for i in range(self.width)]
        # sums ignore NULL words and the spare bits of the last word, so malformed reports are counted here
        strange = [f"w{j} IS NULL" for j in range(self.words)]
        if self.width % WORD:
            strange.append(f"(w{self.words - 1} >> {self.width % WORD}) <> 0")
        sums.append(f"COUNT(*) FILTER (WHERE {' OR '.join(strange)}) AS strange")
        cohort, by = ("cohort", " GROUP BY cohort") if self.named else ("0 AS cohort", "")
        chunks = [sums[i : i + SUMS_PER_STATEMENT] for i in range(0, len(sums), SUMS_PER_STATEMENT)]
        head = f"SELECT {cohort}, COUNT(*) AS clients, "
        return tuple(f"{head}{', '.join(chunk)} FROM {_quoted(table)}{by}" for chunk in chunks)

    def counted(self, found: Sequence[pa.Table]) -> Counts:
        cells = np.zeros((self.cohorts, 1 + self.width), np.int64)
        strange = 0
        for table in found:
            cohorts = self._cohorts(_integers(table["cohort"]))
            for name in table.column_names:
                if name == "strange":
                    strange = int(_integers(table[name], empty=0).sum())
                elif name != "cohort":
                    place = 0 if name == "clients" else 1 + int(name[1:])
                    cells[cohorts, place] = _integers(table[name], empty=0)
        if strange:
            raise _outside(f"{self.width} bits")
        clients = int(cells[:, 0].sum())
        if self.ones is not None and int(cells[:, 1:].sum()) != self.ones * clients:
            raise _outside(f"{self.ones} bits that are set")
        return Counts(clients=clients, cells=cells)

    def to_arrow(self, reports: Reports) -> pa.Table:
        cohort, words = self.parts(reports)
        named = {"cohort": cohort} if self.named else {}
        signed = {f"w{j}": np.ascontiguousarray(words[:, j]).view(np.int64) for j in range(self.words)}
        return pa.table(named | signed)

    def from_arrow(self, table: pa.Table) -> Reports:
        names = ["cohort"] * self.named + [f"w{j}" for j in range(self.words)]
        columns = [_integers(column) for column in _columns(table, names)]
        reports: Reports = np.column_stack(columns).astype(np.int64).view(np.uint64)
        self.parts(reports)
        return reports

    def index(self, reports: Reports) -> Integers:
        cohort, words = self.parts(reports)
        return np.asarray((cohort << self.width) + words[:, 0].astype(np.int64))

    def parts(self, reports: Reports) -> tuple[Integers, NDArray[np.uint64]]:
        """Return the cohort and the words of each report, after checking both."""
        rows = np.asarray(reports)
        holds = rows.ndim == 2 and rows.dtype == np.uint64 and rows.shape[1] == self.words + self.named
        require_parameter(
            holds, "reports", "bits", "something else", f"rows of {self.words + self.named} 64-bit words"
        )
        cohort = rows[:, 0].astype(np.int64) if self.named else np.zeros(len(rows), np.int64)
        words = rows[:, int(self.named) :]
        spare = self.words * WORD - self.width
        if spare and np.any(words[:, -1] >> np.uint64(WORD - spare)):
            raise _outside(f"{self.width} bits")
        if self.ones is not None and np.any(np.bitwise_count(words).sum(axis=1) != self.ones):
            raise _outside(f"{self.ones} bits that are set")
        return self._cohorts(cohort), words

    def _cohorts(self, cohort: Integers) -> Integers:
        if cohort.size and (int(cohort.min()) < 0 or int(cohort.max()) >= self.cohorts):
            raise _outside(f"cohorts from 0 to {self.cohorts - 1}")
        return cohort


def _outside(wanted: str) -> DataError:
    return DataError(
        f"Some reports were not made by this operator: it sends {wanted}.",
        hint="Estimate with the operator that made the reports, and leave out all other reports.",
    )


def _columns(table: pa.Table, names: list[str]) -> list[Any]:
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise DataError(
            f"The table of reports has no column {missing[0]}.",
            hint=f"It needs {', '.join(names)}, as `to_arrow` writes them.",
        )
    return [table[name] for name in names]


def _integers(column: Any, *, empty: int | None = None) -> Integers:
    """Return a column as integers; `null_value` replaces NULL, the aggregate over no rows."""
    if column.null_count and empty is not None:
        column = column.fill_null(empty)
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)):
        raise _no_integers()
    try:
        return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)
    except pa.ArrowInvalid:  # beyond 64 bits, or a decimal with a fraction
        raise _no_integers() from None


def _no_integers() -> DataError:
    return DataError("Some reports are empty or not integers.", hint="Leave out rows that no client sent.")


def _quoted(table: str) -> str:
    return exp.to_identifier(table, quoted=True).sql(dialect="duckdb")
