"""Uploaded files: stored beside the policy, under a name of our own, readable by their owner only.

Name        The name that a browser sends is never a path: its words become the name of the table, and its
            ending must be one that we read. A file that is there already is not overwritten.
Size        Bytes beyond `MAX_UPLOAD_BYTES` are refused, and what was written is removed.
Databases   are not uploaded: opening another program's database file runs more code than reading a table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from discreet.core.errors import RequestError
from discreet.core.output_files import make_unwritable_error, sync_path
from discreet.engines.file_formats import COMPRESSIONS, FileFormat, find_file_format, strip_suffixes

UPLOAD_FOLDER = "data"
MAX_UPLOAD_BYTES = 512 * 2**20
MAX_STEM_LENGTH = 60
MAX_SAME_NAMES = 1_000
UPLOAD_FORMATS = (FileFormat.CSV, FileFormat.SPREADSHEET, FileFormat.PARQUET, FileFormat.ARROW)
UPLOAD_SUFFIXES = (
    *(".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".arrow", ".feather"),
    *(f".csv{suffix}" for suffix in COMPRESSIONS),
)
"""The endings that the page offers; others of the same formats are taken, too."""


class UploadTooLargeError(RequestError):
    """A file with more bytes than an upload may have."""

    code = "too-long"

    def __init__(self) -> None:
        super().__init__(
            f"A file may have at most {MAX_UPLOAD_BYTES // 2**20} MB.",
            hint="Copy a larger one into the folder of the policy, and choose it there.",
        )


class UploadWriter:
    """Writes the bytes of one upload, and refuses too many."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = 0

    def write(self, content: bytes) -> None:
        self.size += len(content)
        if self.size > MAX_UPLOAD_BYTES:
            raise UploadTooLargeError
        self._file.write(content)


def choose_upload_name(name: str) -> tuple[str, str]:
    """Return a stem and an ending of our own for the name of a file that somebody sends.

    >>> choose_upload_name("../../etc/Visits 2024 (new).CSV"), choose_upload_name("a.csv.gz")
    (('Visits_2024_new', '.csv'), ('a', '.csv.gz'))
    """
    last = Path(re.split(r"[/\\]", name.replace("\0", ""))[-1])
    if find_file_format(last) not in UPLOAD_FORMATS:
        raise RequestError(
            "A file with this ending cannot be brought in.",
            hint=f"Choose one of {', '.join(UPLOAD_SUFFIXES)}.",
        )
    stem = "_".join(re.findall(r"[A-Za-z0-9]+", strip_suffixes(last)))[:MAX_STEM_LENGTH] or "table"
    packing = last.suffix.lower() if last.suffix.lower() in COMPRESSIONS else ""
    inner = last.with_suffix("") if packing else last
    return stem, inner.suffix.lower() + packing


@contextmanager
def store_upload(folder: Path, name: str) -> Iterator[tuple[Path, UploadWriter]]:
    """Yield the path of a new file in the policy's folder and its writer; a failure removes the file."""
    stem, suffix = choose_upload_name(name)
    place = folder / UPLOAD_FOLDER
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        if place.is_symlink():
            raise RequestError(f"{UPLOAD_FOLDER} is a link.", hint="Make it a folder.")
        path, handle = _create_file(place, stem, suffix)
    except OSError as error:
        raise make_unwritable_error(place, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            writer = UploadWriter(file)
            yield path, writer
            if not writer.size:
                raise RequestError("The file is empty.", hint="Choose a file with a table.")
        sync_path(path)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise make_unwritable_error(path, error) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _create_file(place: Path, stem: str, suffix: str) -> tuple[Path, int]:
    """Create a file that was not there, and return its path and handle."""
    for number in range(1, MAX_SAME_NAMES):
        path = place / (f"{stem}{suffix}" if number == 1 else f"{stem}_{number}{suffix}")
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
    raise RequestError(f"There are too many files {stem}{suffix}.", hint="Give it another name.")
