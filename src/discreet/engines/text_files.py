"""Plain copies of text sources: whatever the file is, DuckDB reads UTF-8 text of one row per line.

Copied      files that are compressed, in another encoding, with lines to leave out at the beginning, with
            bytes that are no UTF-8, and spreadsheets. Any other file is read where it is.
Bytes       that the encoding does not have become U+FFFD in the copy, so that no row is lost to them; their
            lines are counted for the custodian.
Sheets      of .xlsx files are written as CSV (`spreadsheets`): the declared sheet or the first.
Where       in a private folder of the caller, who removes it.
"""

from __future__ import annotations

import codecs
import csv
import io
import mmap
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import pyarrow as pa

from discreet.core.csv_options import CsvOptions
from discreet.core.errors import RequestError
from discreet.engines.file_formats import COMPRESSIONS, FileFormat, find_file_format
from discreet.engines.spreadsheets import read_sheet, write_cell

CHUNK = 1 << 20
MAX_LISTED_LINES = 1000
REPLACEMENT = "\ufffd"
SIGNATURES = {
    b"PK\x03\x04": ("an Excel workbook or another archive", "Rename it to end in .xlsx, or unpack it."),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook of an old format", "Save it as .xlsx or .csv."),
    b"\x1f\x8b": ("compressed", "Rename it to end in .csv.gz."),
    b"\x28\xb5\x2f\xfd": ("compressed", "Rename it to end in .csv.zst."),
    b"PAR1": ("a Parquet file", "Rename it to end in .parquet."),
    b"ARROW1": ("an Arrow file", "Rename it to end in .arrow."),
    b"%PDF": ("a PDF file", "Export its table as text."),
    b"SQLite format 3": ("a SQLite database", "Export its table as text."),
}
"""How files of other formats begin: what each is, and what to do with it."""
UTF_8 = ("utf-8", "ascii", "utf-8-sig")
ISO_DATES, ISO_TIMES = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """The text of a source's file: where it can be read, by which options, and its undecodable lines.

    `skipped` is how many lines of the original come before it, `comments` the numbers of later lines that it
    leaves out. `options` have a quote mark only if the text has one.
    `undecodable` has the numbers of the first lines with bytes that the encoding does not have.
    """

    original: Path
    path: Path
    options: CsvOptions
    skipped: int = 0
    comments: Sequence[int] = ()
    undecodable: tuple[int, ...] = ()
    undecodable_count: int = 0

    def find_original_line(self, line: int) -> int:
        """Return the number that a line of the text has in the original."""
        found = line + self.skipped
        for comment in self.comments:  # in order
            if comment > found:
                break
            found += 1
        return found


def require_text(path: Path) -> None:
    """Refuse a file that begins as one of another format does, whatever its name says."""
    with open_bytes(path) as file:
        head = file.read(max(map(len, SIGNATURES)))
    for signature, (what, hint) in SIGNATURES.items():
        if head.startswith(signature):
            raise RequestError(f"{path.name} is not text: it is {what}.", hint=hint)


def make_text_file(path: Path, options: CsvOptions, folder: Path) -> TextFile:
    """Return a file as UTF-8 text: the file itself, or a copy in `folder`."""
    if find_file_format(path) is FileFormat.SPREADSHEET:
        return _copy_sheet(path, options, folder)
    require_text(path)
    is_plain = options.encoding in UTF_8 and path.suffix.lower() not in COMPRESSIONS
    if is_plain and not options.skip and options.comment is None and _is_utf_8(path):
        return _drop_unused_quote(TextFile(original=path, path=path, options=options))
    return _drop_unused_quote(_copy_text(path, options, folder))


def _drop_unused_quote(file: TextFile) -> TextFile:
    """Return a file that quotes nothing without its quote mark, so that several threads can read it."""
    if file.options.quote and file.path.stat().st_size:
        with file.path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text:
            if text.find(file.options.quote.encode()) >= 0:
                return file
    return replace(file, options=file.options.model_copy(update={"quote": ""}))


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
    comments: list[int] = []
    count, before = 0, options.skip + 1
    with open_text(path, options) as source, _create_copy(folder) as (target, made):
        chunks: Iterable[str] = iter(lambda: source.read(CHUNK), "")
        for chunk in chunks if options.comment is None else _drop_comments(source, options, comments):
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
        options=options.model_copy(update={"skip": 0, "encoding": "utf-8", "comment": None}),
        skipped=options.skip,
        comments=comments,
        undecodable=tuple(lines),
        undecodable_count=count,
    )


def _drop_comments(source: TextIO, options: CsvOptions, comments: list[int]) -> Iterator[str]:
    """Yield the lines of a text that are no comments, and append the numbers of those that are.

    A comment is a line that begins with the mark, outside of a quoted value. DuckDB's own comments begin
    anywhere in a line, and a line with too few values before the mark would be lost without being counted.
    """
    is_quoted, mark = False, options.comment or ""
    for number, line in enumerate(source, options.skip + 1):
        if not is_quoted and line.startswith(mark):
            comments.append(number)
            continue
        is_quoted ^= bool(options.quote) and line.count(options.quote) % 2 == 1
        yield line


@contextmanager
def _create_copy(folder: Path) -> Iterator[tuple[TextIO, Path]]:
    handle, made = tempfile.mkstemp(prefix="text-", suffix=".csv", dir=folder)  # with mode 0600
    with open(handle, "w", encoding="utf-8", newline="") as target:
        yield target, Path(made)


def _copy_sheet(path: Path, options: CsvOptions, folder: Path) -> TextFile:
    with _create_copy(folder) as (target, made):
        writer = csv.writer(target, lineterminator="\n")
        for place, row in enumerate(read_sheet(path, options.sheet)):
            first = str(row[0]) if row else ""
            if place >= options.skip and not (options.comment and first.startswith(options.comment)):
                writer.writerow([write_cell(cell, options) for cell in row])
    return TextFile(original=path, path=made, options=adapt_sheet_options(options), skipped=options.skip)


def adapt_sheet_options(options: CsvOptions) -> CsvOptions:
    """Return the options by which the copy of a sheet is read: ISO dates beside the declared formats."""
    changed: dict[str, Any] = {
        "delimiter": ",",
        "quote": '"',
        "encoding": "utf-8",
        "skip": 0,
        "comment": None,
        "sheet": None,
    }
    if options.dates:
        changed["dates"] = (*options.dates, ISO_DATES)
    if options.timestamps:
        changed["timestamps"] = (*options.timestamps, ISO_TIMES)
    return options.model_copy(update=changed)
