"""Plain copies of text sources: whatever the file is, DuckDB reads UTF-8 text of one row per line.

Copied      files that are compressed, in another encoding, with lines to leave out at the beginning, with
            bytes that are no UTF-8, and spreadsheets. Any other file is read where it is.
Bytes       that the encoding does not have become U+FFFD in the copy, so that no row is lost to them; their
            lines are counted for the custodian.
Sheets      of .xlsx files are written as CSV: the first sheet, its numbers with the declared decimal mark,
            its dates in ISO form.
Where       in a private folder of the caller, who removes it.
"""

from __future__ import annotations

import codecs
import csv
import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import pyarrow as pa

from discreet.core.csv_options import CsvOptions
from discreet.core.errors import RequestError
from discreet.engines.file_formats import COMPRESSIONS, FileFormat, find_file_format

CHUNK = 1 << 20
MAX_LISTED_LINES = 1000
REPLACEMENT = "\ufffd"
UTF_8 = ("utf-8", "ascii", "utf-8-sig")
ISO_DATES, ISO_TIMES = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """The text of a source's file: where it can be read, by which options, and its undecodable lines.

    `skipped` is how many lines of the original come before it.
    `undecodable` has the numbers of the first lines with bytes that the encoding does not have.
    """

    original: Path
    path: Path
    options: CsvOptions
    skipped: int = 0
    undecodable: tuple[int, ...] = ()
    undecodable_count: int = 0


def make_text_file(path: Path, options: CsvOptions, folder: Path) -> TextFile:
    """Return a file as UTF-8 text: the file itself, or a copy in `folder`."""
    if find_file_format(path) is FileFormat.SPREADSHEET:
        return _copy_sheet(path, options, folder)
    is_plain = options.encoding in UTF_8 and path.suffix.lower() not in COMPRESSIONS and not options.skip
    if is_plain and _is_utf_8(path):
        return TextFile(original=path, path=path, options=options)
    return _copy_text(path, options, folder)


@contextmanager
def open_text(path: Path, options: CsvOptions) -> Iterator[TextIO]:
    """Open the text of a file without its leading lines; undecodable bytes are replaced."""
    encoding = "utf-8-sig" if options.encoding in UTF_8 else options.encoding
    with (
        open_bytes(path) as raw,
        io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="") as text,
    ):
        for _ in range(options.skip):
            text.readline()
        yield text


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open the bytes of a file, decompressed; refuse a file that cannot be."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    if compression is None:
        with path.open("rb") as plain:
            yield plain
        return
    failed = False
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            yield cast(BinaryIO, io.BufferedReader(stream))
    except (OSError, pa.ArrowInvalid):
        failed = True
    # Raised outside of the handler, so that the driver's error does not become its context.
    if failed:
        raise RequestError(
            f"{path.name} cannot be decompressed: it is damaged, or not in the format of its suffix.",
            hint="Write it again, or decompress it first.",
        )


def _is_utf_8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        try:
            while chunk := file.read(CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _copy_text(path: Path, options: CsvOptions, folder: Path) -> TextFile:
    lines: list[int] = []
    count, before = 0, options.skip + 1
    with open_text(path, options) as source, _create_copy(folder) as (target, made):
        while chunk := source.read(CHUNK):
            if REPLACEMENT in chunk:
                parts = chunk.split("\n")
                bad = [before + place for place, part in enumerate(parts) if REPLACEMENT in part]
                count += len(bad)
                lines += bad[: MAX_LISTED_LINES - len(lines)]
            before += chunk.count("\n")
            target.write(chunk)
    return TextFile(
        original=path,
        path=made,
        options=options.model_copy(update={"skip": 0, "encoding": "utf-8"}),
        skipped=options.skip,
        undecodable=tuple(lines),
        undecodable_count=count,
    )


@contextmanager
def _create_copy(folder: Path) -> Iterator[tuple[TextIO, Path]]:
    handle, made = tempfile.mkstemp(prefix="text-", suffix=".csv", dir=folder)  # with mode 0600
    with open(handle, "w", encoding="utf-8", newline="") as target:
        yield target, Path(made)


def _copy_sheet(path: Path, options: CsvOptions, folder: Path) -> TextFile:
    with _create_copy(folder) as (target, made):
        writer = csv.writer(target, lineterminator="\n")
        for place, row in enumerate(read_sheet(path)):
            if place >= options.skip:
                writer.writerow([write_cell(cell, options) for cell in row])
    return TextFile(original=path, path=made, options=adapt_sheet_options(options), skipped=options.skip)


def adapt_sheet_options(options: CsvOptions) -> CsvOptions:
    """Return the options by which the copy of a sheet is read: ISO dates beside the declared formats."""
    changed: dict[str, Any] = {"delimiter": ",", "quote": '"', "encoding": "utf-8", "skip": 0}
    if options.dates:
        changed["dates"] = (*options.dates, ISO_DATES)
    if options.timestamps:
        changed["timestamps"] = (*options.timestamps, ISO_TIMES)
    return options.model_copy(update=changed)


def read_sheet(path: Path) -> Iterator[tuple[Any, ...]]:
    """Return the rows of the first sheet of an .xlsx file, each with as many cells as the first."""
    try:
        import openpyxl  # an optional driver
    except ImportError:
        raise RequestError(
            f"{path.name} is an Excel file, and its reader is not installed.",
            hint="Install it with pip install 'discreet[excel]', or save the sheet as CSV.",
        ) from None
    from zipfile import BadZipFile

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError):
        raise RequestError(
            f"{path.name} cannot be read as an Excel file.",
            hint="Save it again as .xlsx, without a password.",
        ) from None
    try:
        width = 0
        for row in book.worksheets[0].iter_rows(values_only=True):
            # a sheet may be formatted far beyond its last value
            filled = max((place + 1 for place, cell in enumerate(row) if cell is not None), default=0)
            width = width or filled
            if filled:
                yield (*row[: max(width, filled)], *(None for _ in range(width - len(row))))
    finally:
        book.close()


def write_cell(cell: Any, options: CsvOptions) -> str:
    """Return the text of a sheet's cell."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        moment = cell.isoformat(sep=" ")
        return moment.removesuffix(" 00:00:00")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, int | float):
        return repr(cell).replace(".", options.decimal)
    return str(cell)
