"""Export of ledger entries to CSV, JSON or Parquet, read and written a page at a time."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from discreet.accounting.accountant import get_amount
from discreet.accounting.entries import Entry
from discreet.accounting.ledger import Ledger
from discreet.core.csv_escaping import escape_cell
from discreet.core.guarantees import PureDP

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


def export_entries(
    ledger: Ledger, path: Path, *, analyst: str | None = None, first: int = 1, limit: int | None = None
) -> tuple[int, int | None]:
    """Write up to `limit` entries from id `first`; return their number and the id of the next one.

    Stored answers are not exported: they belong to the analysts.
    """
    state = _EntryPages(ledger, analyst, first, limit)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.close(descriptor)
    WRITERS[path.suffix.lower()](path, state.read_pages())
    return state.count, state.next_id


class _EntryPages:
    """Reads entries page by page; `next_id` is the id of the next entry, if any."""

    def __init__(self, ledger: Ledger, analyst: str | None, first: int, limit: int | None) -> None:
        self._ledger, self._analyst, self._first, self._limit = ledger, analyst, first, limit
        self.count, self.next_id = 0, None if limit is None else first

    def read_pages(self) -> Iterator[list[Row]]:
        first = self._first
        while self._limit is None or self.count < self._limit:
            wanted = PAGE_SIZE if self._limit is None else min(PAGE_SIZE, self._limit - self.count)
            entries = self._ledger.list_entry_page(first, wanted, analyst=self._analyst)
            if not entries:
                break
            first = entries[-1].id + 1
            self.count += len(entries)
            yield [_entry_to_row(each) for each in entries]
        rest = (
            self._ledger.list_entry_page(first, 1, analyst=self._analyst) if self._limit is not None else []
        )
        self.next_id = rest[0].id if rest else None


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
