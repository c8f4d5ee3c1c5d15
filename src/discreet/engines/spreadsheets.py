"""Spreadsheets: the rows of a sheet of an .xlsx file, and the text of its cells.

Cells       numbers are written with the declared decimal mark, dates in ISO form.
Formulas    are read as the values that were stored with them. A file that a program wrote without computing
            them has none: their cells are read as the text of the formula, which is unreadable or undeclared,
            and never as missing values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from discreet.core.csv_options import CsvOptions
from discreet.core.errors import RequestError

CHUNK, LONGEST_CELL = 1 << 20, 1 << 15
UNCOMPUTED = re.compile(
    rb"<(?:\w+:)?c\b([^>]*)>\s*<(?:\w+:)?f\b[^>]*?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
"""A cell with a formula and without a value."""
EMPTY_TEXT = b't="str"'
"""What a cell has whose formula was computed as a text, which may be empty."""


def read_sheet(path: Path, name: str | None = None) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a sheet of an .xlsx file, or of the first, each with as many cells as the first."""
    with _open_workbook(path) as book:
        if name is not None and name not in book.sheetnames:
            raise RequestError(
                f"{path.name} has no sheet {name}.", hint=f"It has {', '.join(book.sheetnames)}."
            )
        sheet = book.worksheets[0] if name is None else book[name]
        rows = sheet.iter_rows(values_only=True)
        width = 0
        for row in _fill_in_formulas(path, sheet.title, rows) if _has_uncomputed_formulas(path) else rows:
            # a sheet may be formatted far beyond its last value
            filled = max((place + 1 for place, cell in enumerate(row) if cell is not None), default=0)
            width = width or filled
            if filled:
                yield (*row[: max(width, filled)], *(None for _ in range(width - len(row))))


def list_sheets(path: Path) -> list[str]:
    """Return the names of an .xlsx file's sheets."""
    with _open_workbook(path) as book:
        return [sheet.title for sheet in book.worksheets]


def _fill_in_formulas(path: Path, name: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a sheet with the text of a formula in each cell that has no value for it."""
    with _open_workbook(path, has_formulas=True) as book:
        for row, formulas in zip(rows, book[name].iter_rows(values_only=True), strict=True):
            yield tuple(
                # the formula of several cells is an object with its text
                getattr(formula, "text", formula) if cell is None else cell
                for cell, formula in zip(row, formulas, strict=True)
            )


def _has_uncomputed_formulas(path: Path) -> bool:
    with ZipFile(path) as file:
        for member in file.namelist():
            if not member.startswith("xl/worksheets/") or not member.endswith(".xml"):
                continue
            rest = b""
            with file.open(member) as sheet:
                while chunk := sheet.read(CHUNK):
                    rest = rest[-LONGEST_CELL:] + chunk
                    if any(EMPTY_TEXT not in cell[1] for cell in UNCOMPUTED.finditer(rest)):
                        return True
    return False


@contextmanager
def _open_workbook(path: Path, *, has_formulas: bool = False) -> Iterator[Any]:
    try:
        import openpyxl  # an optional driver
    except ImportError:
        raise RequestError(
            f"{path.name} is an Excel file, and its reader is not installed.",
            hint="Install it with pip install 'discreet[excel]', or save the sheet as CSV.",
        ) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=not has_formulas)
    except (BadZipFile, KeyError, ValueError, OSError):
        raise RequestError(
            f"{path.name} cannot be read as an Excel file.",
            hint="Save it again as .xlsx, without a password.",
        ) from None
    try:
        yield book
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
