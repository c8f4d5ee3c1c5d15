"""The SQLite store of a survey's reports, without sender or time.

Content     For each browser a random ticket and one report per question, and the survey's operators, so that
            `collect estimate` needs nothing else. No address, no time, no answer.
Order       Rows are sorted by ticket, which is random, not by arrival. The pages of a database that is
            changed in place keep traces of the order of arrival, so this file never is: a new image is laid
            out from the sorted rows and replaces the file. The bytes of a copy depend only on the reports and
            on the number of writes.
Ticket      drawn in the browser and sent with every repetition of the same reports: a known ticket is not
            counted again, and no other reports are stored under it.
Durable     A report is on disk before it is acknowledged; a crash leaves it whole or absent. Reports that
            arrive during a write are written together.
Counting    uses the same statements as any engine, on a copy in memory, so that readers do not wait for the
            disk.
Locking     One process writes a file; any number may read it.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

import pyarrow as pa

from discreet.core.engine import Closeable
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.output_files import sync_path
from discreet.services.collect.report_files import (
    ReportDescription,
    description_from_json,
    description_to_json,
)

APPLICATION_ID = 0x64697363  # "disc" in ASCII: a file of another application is not written to
STORE_SUFFIX = ".sqlite"


class ReportStore(Closeable):
    """The reports of one survey, as an `Engine` that counts them."""

    def __init__(self, path: Path, lock: int | None = None) -> None:
        self.path, self._lock = path.resolve(), lock
        self._guard, self._writing = threading.Lock(), threading.Lock()
        self._arrived_count = self._written_count = 0
        self._connection = _load_into_memory(self.path)

    @classmethod
    def open_readonly(cls, path: Path) -> Self:
        """Open an existing store for reading."""
        if not path.is_file():
            raise RequestError(f"There is no store {path}.", hint="Name the store of a survey.")
        store = cls(path)
        if not store._list_tables():
            store.close()
            raise _not_a_store_error(path)
        return store

    @classmethod
    def open_or_create(cls, path: Path, survey: str, descriptions: Sequence[ReportDescription]) -> Self:
        """Open the store of this survey for writing, and create it if it does not exist."""
        lock = _open_locked(path)
        try:
            store = cls(path, lock)
        except BaseException:
            os.close(lock)
            raise
        try:
            store._initialize(survey, descriptions)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def descriptions(self) -> tuple[ReportDescription, ...]:
        """The description of each question's reports."""
        with self._guard:
            rows = self._connection.execute("SELECT description FROM question ORDER BY place").fetchall()
        return tuple(description_from_json(self.path, text) for (text,) in rows)

    @property
    def clients(self) -> int:
        """The number of browsers that sent reports."""
        with self._guard:
            return int(self._connection.execute("SELECT count(*) FROM report").fetchone()[0])

    def add(self, ticket: bytes, reports: Sequence[Sequence[int]]) -> bool:
        """Store the reports of one browser, one list of codes per question, once per ticket.

        Return False if other reports are stored under this ticket. Raise an OSError if the disk refuses the
        write; the reports are then written together with the next ones.
        """
        words = tuple(_codes_to_word(codes) for codes in reports)
        places = ", ".join("?" * (len(words) + 1))
        with self._guard:
            row = (ticket, *words)
            self._arrived_count += self._connection.execute(
                f"INSERT OR IGNORE INTO report VALUES ({places})", row
            ).rowcount
            kept = self._connection.execute("SELECT * FROM report WHERE ticket = ?", (ticket,)).fetchone()
            wanted = self._arrived_count
        self._write(wanted)
        return bool(kept == row)

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT, all integers."""
        with self._guard, closing(self._connection.execute(sql)) as cursor:
            names, rows = [each[0] for each in cursor.description], cursor.fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [pa.array(column, pa.int64()) for column in columns]
        return Exact(pa.table(dict(zip(names, arrays, strict=True))))

    def close(self) -> None:
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _list_tables(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}

    def _initialize(self, survey: str, descriptions: Sequence[ReportDescription]) -> None:
        if not self._list_tables():
            for statement, values in _build_schema(survey, descriptions):
                self._connection.execute(statement, values)
        kept = self._connection.execute("SELECT id FROM survey").fetchone()
        if kept != (survey,):
            raise RequestError(
                f"The store {self.path} holds reports of another version of this survey.",
                hint="Name another store in the survey file, so that the two are not mixed.",
            )
        self._arrived_count += 1
        try:
            self._write(self._arrived_count)
        except OSError as error:
            reason = error.strerror or "the system refuses"
            raise RequestError(
                f"The store {self.path} cannot be written: {reason}.", hint="Check its folder."
            ) from None

    def _write(self, up_to: int) -> None:
        """Write to disk what has arrived up to `up_to`, together with anything later."""
        with self._writing:
            if self._written_count >= up_to:
                return
            with self._guard:
                arrived = self._arrived_count
                self._connection.execute("VACUUM")  # lays the rows out in the order of their tickets
                image = self._connection.serialize()
            self._lock = _replace_file(self.path, image, self._lock)
            sync_path(self.path.parent)
            self._written_count = arrived


def get_view_name(place: int) -> str:
    """Return the name of the view with a question's reports, in the columns of the operator's form."""
    return f"question_{place}"


def _codes_to_word(codes: Sequence[int]) -> int:
    """Return codes as the bits of a signed 64-bit word."""
    word = sum(1 << code for code in codes)
    return word - (1 << 64) if word >> 63 else word


def _build_schema(
    survey: str, descriptions: Sequence[ReportDescription]
) -> list[tuple[str, Mapping[str, object]]]:
    columns = ", ".join(f"q{place} INTEGER NOT NULL" for place in range(len(descriptions)))
    made: list[tuple[str, Mapping[str, object]]] = [
        (f"PRAGMA application_id = {APPLICATION_ID}", {}),
        ("CREATE TABLE survey (id TEXT NOT NULL)", {}),
        ("INSERT INTO survey VALUES (:id)", {"id": survey}),
        ("CREATE TABLE question (place INTEGER PRIMARY KEY, description TEXT NOT NULL)", {}),
        (f"CREATE TABLE report (ticket BLOB PRIMARY KEY, {columns}) WITHOUT ROWID", {}),
    ]
    for place, each in enumerate(descriptions):
        said = {"place": place, "text": json.dumps(description_to_json(each))}
        made.append(("INSERT INTO question VALUES (:place, :text)", said))
        made.append((f"CREATE VIEW {get_view_name(place)} AS SELECT q{place} AS w0 FROM report", {}))
    return made


def _load_into_memory(path: Path) -> sqlite3.Connection:
    """Return a copy of the file's database in memory; an empty file is an empty database."""
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as file:
            file.backup(memory)
        mark = memory.execute("PRAGMA application_id").fetchone()[0]
        tables = memory.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != APPLICATION_ID and (mark or tables):
            raise _not_a_store_error(path)
        memory.execute("PRAGMA secure_delete = ON")
        memory.execute("PRAGMA temp_store = MEMORY")
    except sqlite3.DatabaseError:
        memory.close()
        raise _not_a_store_error(path) from None
    except BaseException:
        memory.close()
        raise
    return memory


def _open_locked(path: Path) -> int:
    """Return a descriptor of the file, created if missing and locked against other writers."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            raise RequestError(f"The store {path} cannot be opened.", hint="Check its folder.") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        except OSError:
            os.close(file)
            raise RequestError(
                f"Another process writes reports to {path}.", hint="Stop it, or name another store."
            ) from None
        os.close(file)  # the file was replaced while it was being opened: try again


def _replace_file(path: Path, image: bytes, old_lock: int | None) -> int:
    """Replace the file atomically and durably; lock the new one before others see it, then unlock the old."""
    draft = path.with_name(f".{path.name}.draft")
    file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.fchmod(file, path.stat().st_mode & 0o777)
        with os.fdopen(os.dup(file), "wb") as whole:
            whole.write(image)
        os.fsync(file)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        os.close(file)
        raise
    if old_lock is not None:
        os.close(old_lock)
    return file


def _not_a_store_error(path: Path) -> RequestError:
    return RequestError(f"{path} is not the store of a survey.", hint="Name another file.")
