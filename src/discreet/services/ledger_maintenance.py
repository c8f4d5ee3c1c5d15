"""Maintenance of a policy's ledger: create, verify, back up, restore, export, and change the privacy unit.

An export reads and writes a page of entries at a time. Stored answers are not exported: they belong to the
analysts.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet
from pydantic import BaseModel, ConfigDict, Field

from discreet.accounting.amounts import get_amount
from discreet.accounting.entries import Entry
from discreet.accounting.high_water_marks import HighWaterMarks
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_backup import RestoreResult, back_up_ledger, restore_ledger
from discreet.accounting.ledger_database import has_ledger
from discreet.accounting.ledger_storage import strip_sibling_path
from discreet.core.csv_escaping import escape_cell
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP
from discreet.core.policy import Policy
from discreet.services.ledgers import (
    find_high_water_marks,
    open_ledger,
    open_ledger_readonly,
    open_ledger_unmarked,
)
from discreet.services.privacy_units import find_units
from discreet.services.request_fields import CommandLine

PAGE_SIZE = 1_000
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("number", pa.int64()),
        ("time", pa.timestamp("s", tz="UTC")),
        ("analyst", pa.string()),
        ("question", pa.string()),
        ("epsilon", pa.float64()),
        ("rho", pa.float64()),
        ("delta", pa.float64()),
        ("state", pa.string()),
        ("incident", pa.string()),
    ]
)
Row = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class MarkState:
    """The entries that each mark of a ledger holds, by its path, and the places where a mark is missing."""

    entries: Mapping[Path, int]
    missing: tuple[Path, ...]

    @classmethod
    def read(cls, marks: HighWaterMarks, identity: str) -> MarkState:
        there = {file.path: mark.total[3] for file, mark in marks.read() if mark.ledger == identity}
        missing = tuple(file.path for file in marks.files if file.written and file.path not in there)
        return cls(entries=there, missing=missing)


@dataclass(frozen=True, kw_only=True)
class CreatedLedger:
    """The identity of a new ledger, what it says about belief, and its marks."""

    identity: str
    sentence: str
    marks: MarkState


@dataclass(frozen=True, kw_only=True)
class VerifiedLedger:
    """A ledger whose entries, sums and marks agree; `separate` are other ledgers about the same data."""

    identity: str
    entries: int
    links: int
    head: str
    separate: Mapping[str, str]
    marks: MarkState


def create_ledger(policy: Policy, *, separate_promise: bool = False) -> CreatedLedger:
    """Create the ledger of a policy, and write its high-water marks beside the data."""
    if has_ledger(strip_sibling_path(policy.ledger)):
        raise RequestError(
            f"The ledger {format_ledger_address(policy)} exists already.", hint="Use it as it is."
        )
    with open_ledger(policy, separate_promise=separate_promise) as ledger:
        ledger.write_marks()
        identity = ledger.read_mark().ledger
        return CreatedLedger(
            identity=identity,
            sentence=ledger.describe_belief(),
            marks=MarkState.read(ledger.marks, identity),
        )


def verify_ledger(policy: Policy) -> VerifiedLedger:
    """Check every entry, sum and high-water mark; raise if something was changed."""
    if not has_ledger(strip_sibling_path(policy.ledger)):
        open_ledger_readonly(policy).close()  # raises if the data have marks of a ledger
        raise _make_missing_error(policy)
    with open_ledger_readonly(policy) as ledger:
        ledger.verify()
        mark = ledger.read_mark()
        return VerifiedLedger(
            identity=mark.ledger,
            entries=mark.total[3],
            links=mark.count,
            head=mark.head,
            separate=ledger.list_separate_ledgers(),
            marks=MarkState.read(find_high_water_marks(policy), mark.ledger),
        )


def back_up_policy_ledger(policy: Policy, file: Path) -> int:
    """Copy a verified snapshot of the ledger into a new file; return its number of entries."""
    if not has_ledger(strip_sibling_path(policy.ledger)):
        raise _make_missing_error(policy)
    with open_ledger(policy) as ledger:
        ledger.verify()
        back_up_ledger(ledger, file)
        return ledger.read_mark().total[3]


def restore_policy_ledger(policy: Policy, file: Path | None) -> tuple[RestoreResult, str]:
    """Replace the ledger by a backup and charge what was asked since; return that, and the new belief."""
    restored = restore_ledger(
        file,
        strip_sibling_path(policy.ledger),
        find_high_water_marks(policy),
        lambda address: open_ledger_unmarked(policy, address),
    )
    with open_ledger_readonly(policy) as ledger:
        return restored, ledger.describe_belief()


def change_privacy_units(policy: Policy) -> tuple[list[str], str]:
    """Record changed privacy units; return the tables whose unit changed, and the belief sentence."""
    with open_ledger(policy, check_units=False) as ledger:
        return list(ledger.change_units(find_units(policy))), ledger.describe_belief()


def format_ledger_address(policy: Policy) -> str:
    """Return the address of a policy's ledger without its password and options."""
    return strip_sibling_path(policy.ledger).partition("?")[0].rpartition("@")[2]


def _make_missing_error(policy: Policy) -> RequestError:
    return RequestError(
        f"There is no ledger {format_ledger_address(policy)} yet.", hint="Ask something first."
    )


class ExportRequest(BaseModel):
    """The file to write, and the entries to write to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Annotated[
        Path,
        Field(description="The file to write: .csv, .json or .parquet."),
        CommandLine(is_argument=True),
    ]
    analyst: Annotated[str | None, Field(description="Only this analyst's entries.")] = None
    first: Annotated[
        int,
        Field(description="The first entry, by its id.", ge=1),
        CommandLine(flags=("--from",), least=1),
    ] = 1
    limit: Annotated[
        int | None, Field(description="The most entries to write.", ge=1), CommandLine(least=1)
    ] = None


def export_policy_ledger(policy: Policy, request: ExportRequest) -> tuple[int, int | None]:
    """Write entries to a new file; return their number and the id of the next one."""
    file = request.file
    write = WRITERS.get(file.suffix.lower())
    if write is None:
        raise RequestError(f"export: {file} has no known ending.", hint=f"Use {', '.join(WRITERS)}.")
    if file.exists():
        raise RequestError(f"export: {file} exists already.", hint="Name a new file.")
    with open_ledger_readonly(policy) as ledger:
        ledger.verify()
        pages = _EntryPages(ledger, request)
        # made before it is written, so that nobody else may read it
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        write(file, pages.read_pages())
        return pages.count, pages.next_id


class _EntryPages:
    """The entries of an export, page by page; `next_id` is the id of the next entry, if any."""

    def __init__(self, ledger: Ledger, request: ExportRequest) -> None:
        self._ledger, self._request = ledger, request
        self.count, self.next_id = 0, None if request.limit is None else request.first

    def read_pages(self) -> Iterator[list[Row]]:
        first, limit = self._request.first, self._request.limit
        while limit is None or self.count < limit:
            entries = self._read_page(
                first, PAGE_SIZE if limit is None else min(PAGE_SIZE, limit - self.count)
            )
            if not entries:
                break
            first = entries[-1].id + 1
            self.count += len(entries)
            yield [_entry_to_row(each) for each in entries]
        rest = [] if limit is None else self._read_page(first, 1)
        self.next_id = rest[0].id if rest else None

    def _read_page(self, first: int, size: int) -> list[Entry]:
        return self._ledger.list_entry_page(first, size, analyst=self._request.analyst)


def _entry_to_row(entry: Entry) -> Row:
    pure = isinstance(entry.charge, PureDP)
    return {
        "id": entry.id,
        "number": entry.number,
        "time": entry.time,
        "analyst": entry.analyst,
        "question": entry.question,
        "epsilon": get_amount(entry.charge) if pure else None,
        "rho": None if pure else get_amount(entry.charge),
        "delta": float(getattr(entry.charge, "delta", 0)),
        "state": entry.state.value,
        "incident": entry.incident,
    }


def _write_csv(path: Path, pages: Iterable[list[Row]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, SCHEMA.names)
        writer.writeheader()
        for page in pages:
            for row in page:
                cells = row | {"time": _format_time(row)}
                writer.writerow(
                    {name: escape_cell(x) if isinstance(x, str) else x for name, x in cells.items()}
                )


def _write_json(path: Path, pages: Iterable[list[Row]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write('{"entries": [')
        between = "\n"
        for page in pages:
            for row in page:
                file.write(between + json.dumps(row | {"time": _format_time(row)}))
                between = ",\n"
        file.write("\n]}\n")


def _write_parquet(path: Path, pages: Iterable[list[Row]]) -> None:
    with pyarrow.parquet.ParquetWriter(path, SCHEMA) as writer:
        for page in pages:
            writer.write_table(pa.Table.from_pylist(page, SCHEMA))


def _format_time(row: Row) -> str:
    return row["time"].isoformat()  # type: ignore[attr-defined, no-any-return]


WRITERS: dict[str, Callable[[Path, Iterable[list[Row]]], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}
