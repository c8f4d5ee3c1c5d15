"""File formats: what a source's file holds, by the end of its name."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from discreet.core.release_target import DATABASE_SUFFIXES


class FileFormat(StrEnum):
    """A format of files with rows."""

    CSV = "CSV"
    SPREADSHEET = "Excel"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    DATABASE = "DuckDB"


SUFFIXES: dict[FileFormat, tuple[str, ...]] = {
    FileFormat.CSV: (".csv", ".tsv", ".tab", ".txt", ".data", ".dat"),
    FileFormat.SPREADSHEET: (".xlsx",),
    FileFormat.PARQUET: (".parquet", ".pq"),
    FileFormat.ARROW: (".arrow", ".feather"),
    FileFormat.DATABASE: DATABASE_SUFFIXES,
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""The ends of compressed CSV files, such as visits.csv.gz, and what pyarrow calls their formats."""
TEXT_FORMATS = (FileFormat.CSV, FileFormat.SPREADSHEET)
"""Formats that are read as text, by the options of `csv:`."""
KNOWN_FORMATS = "a CSV, Excel, Parquet, Arrow or DuckDB file"


def find_file_format(path: Path) -> FileFormat | None:
    """Return the format of a file, or None if its name does not tell.

    >>> find_file_format(Path("visits.csv.gz")), find_file_format(Path("visits.pdf"))
    (<FileFormat.CSV: 'CSV'>, None)
    """
    suffix = path.suffix.lower()
    if suffix in COMPRESSIONS:
        found = find_file_format(path.with_suffix(""))
        return found if found is FileFormat.CSV else None
    return next((each for each, suffixes in SUFFIXES.items() if suffix in suffixes), None)


def find_common_format(files: Iterable[Path]) -> FileFormat | None:
    """Return the format that all files have, or None."""
    formats = {find_file_format(path) for path in files}
    return formats.pop() if len(formats) == 1 else None


def is_text_source(source: str) -> bool:
    """Return whether a table's source is read as text, by the options of `csv:`; it may be a glob.

    >>> is_text_source("visits/*.csv.gz"), is_text_source("clinic.visits")
    (True, False)
    """
    return find_file_format(Path(source)) in TEXT_FORMATS


def is_spreadsheet(source: str) -> bool:
    """Return whether a table's source is an Excel file, or several."""
    return find_file_format(Path(source)) is FileFormat.SPREADSHEET


def strip_suffixes(path: Path) -> str:
    """Return the name of a file without the suffixes of its format.

    >>> strip_suffixes(Path("visits.2024.csv.gz"))
    'visits.2024'
    """
    return path.with_suffix("").stem if path.suffix.lower() in COMPRESSIONS else path.stem


def list_suffixes() -> str:
    """Return all suffixes, for a hint."""
    return ", ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
