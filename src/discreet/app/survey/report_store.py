"""The store of a survey: reports, and nothing about who sent them or when.

Holds       a random ticket and one report a question for each browser that sent some, and the survey's
            operators, so that `collect estimate` needs nothing else. No address, no time, no answer.
Order       rows stand in the order of their tickets, which are random: not in the order of arrival. The pages
            of a database that is changed in place keep traces of that order, so this one never is: what is
            kept is laid out anew from the sorted rows, and takes the place of the file. Whenever the file is
            copied, its bytes follow from which reports it holds and how often it was written.
Ticket      drawn in the browser and sent with every repetition of the same reports: what comes again under
            a known ticket is not counted again, and nothing else is kept under it.
Durable     a report is on the disk before it is acknowledged; a crash leaves it whole or not at all. Reports
            that arrive while others are being written are written together.
Counted     by the statements that any engine counts reports with, on a copy in memory, so that whoever reads
            waits for no disk.
Alone       one process keeps reports in a file; any number may read it.
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

from discreet.app.collect.report_files import Description, as_data, of_data
from discreet.core.closeable import Closeable
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact

MARK = 0x64697363
SUFFIX = ".sqlite"


class ReportStore(Closeable):
    """An `Engine` over the reports of one survey."""

    def __init__(self, path: Path, lock: int | None = None) -> None:
        self.path, self._lock = path.resolve(), lock
        self._guard, self._writing = threading.Lock(), threading.Lock()
        self._arrived = self._written = 0
        self._connection = _loaded(self.path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store of a survey that is there already, to be read."""
        if not path.is_file():
            raise RequestError(f"There is no store {path}.", hint="Name the store of a survey.")
        store = cls(path)
        if not store._names():
            store.close()
            raise _foreign(path)
        return store

    @classmethod
    def found(cls, path: Path, survey: str, descriptions: Sequence[Description]) -> Self:
        """The store of this very survey, made where there is none, to keep reports in."""
        lock = _locked(path)
        try:
            store = cls(path, lock)
        except BaseException:
            os.close(lock)
            raise
        try:
            store._settle(survey, descriptions)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def descriptions(self) -> tuple[Description, ...]:
        """What the reports of each question are of."""
        with self._guard:
            rows = self._connection.execute("SELECT description FROM question ORDER BY place").fetchall()
        return tuple(of_data(self.path, text) for (text,) in rows)

    @property
    def clients(self) -> int:
        """How many browsers' reports are there."""
        with self._guard:
            return int(self._connection.execute("SELECT count(*) FROM report").fetchone()[0])

    def add(self, ticket: bytes, reports: Sequence[Sequence[int]]) -> bool:
        """Keep the reports of one browser, one list of codes for each question; once, however often sent.

        False if other reports are kept under this ticket. An OSError says that the disk does not take them;
        they are written with the next that it takes.
        """
        words = tuple(_word(codes) for codes in reports)
        places = ", ".join("?" * (len(words) + 1))
        with self._guard:
            row = (ticket, *words)
            self._arrived += self._connection.execute(
                f"INSERT OR IGNORE INTO report VALUES ({places})", row
            ).rowcount
            kept = self._connection.execute("SELECT * FROM report WHERE ticket = ?", (ticket,)).fetchone()
            wanted = self._arrived
        self._write(wanted)
        return bool(kept == row)

    def count(self, sql: str) -> Exact[pa.Table]:
        """The rows of one SELECT, of integers."""
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

    def _names(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}

    def _settle(self, survey: str, descriptions: Sequence[Description]) -> None:
        if not self._names():
            for statement, values in _schema(survey, descriptions):
                self._connection.execute(statement, values)
        kept = self._connection.execute("SELECT id FROM survey").fetchone()
        if kept != (survey,):
            raise RequestError(
                f"The store {self.path} holds reports of another version of this survey.",
                hint="Name another store in the survey, so that the two are not mixed.",
            )
        self._arrived += 1
        try:
            self._write(self._arrived)
        except OSError as error:
            reason = error.strerror or "the system refuses"
            raise RequestError(
                f"The store {self.path} cannot be written: {reason}.", hint="Check its folder."
            ) from None

    def _write(self, wanted: int) -> None:
        """Have the disk hold what has arrived up to `wanted`, and what arrived since then with it."""
        with self._writing:
            if self._written >= wanted:
                return
            with self._guard:
                arrived = self._arrived
                self._connection.execute("VACUUM")  # lays the rows out in the order of their tickets
                image = self._connection.serialize()
            self._lock = _put(self.path, image, self._lock)
            _remember_name(self.path.parent)
            self._written = arrived


def view(place: int) -> str:
    """The table in which the reports of a question are, as its form lays them out."""
    return f"question_{place}"


def _word(codes: Sequence[int]) -> int:
    """Codes as the bits of a signed 64-bit word."""
    word = sum(1 << code for code in codes)
    return word - (1 << 64) if word >> 63 else word


def _schema(survey: str, descriptions: Sequence[Description]) -> list[tuple[str, Mapping[str, object]]]:
    columns = ", ".join(f"q{place} INTEGER NOT NULL" for place in range(len(descriptions)))
    made: list[tuple[str, Mapping[str, object]]] = [
        (f"PRAGMA application_id = {MARK}", {}),
        ("CREATE TABLE survey (id TEXT NOT NULL)", {}),
        ("INSERT INTO survey VALUES (:id)", {"id": survey}),
        ("CREATE TABLE question (place INTEGER PRIMARY KEY, description TEXT NOT NULL)", {}),
        (f"CREATE TABLE report (ticket BLOB PRIMARY KEY, {columns}) WITHOUT ROWID", {}),
    ]
    for place, each in enumerate(descriptions):
        said = {"place": place, "text": json.dumps(as_data(each))}
        made.append(("INSERT INTO question VALUES (:place, :text)", said))
        made.append((f"CREATE VIEW {view(place)} AS SELECT q{place} AS w0 FROM report", {}))
    return made


def _loaded(path: Path) -> sqlite3.Connection:
    """What a file holds, in memory; a file that is empty holds nothing."""
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as file:
            file.backup(memory)
        mark = memory.execute("PRAGMA application_id").fetchone()[0]
        tables = memory.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != MARK and (mark or tables):
            raise _foreign(path)
        memory.execute("PRAGMA secure_delete = ON")
        memory.execute("PRAGMA temp_store = MEMORY")
    except sqlite3.DatabaseError:
        memory.close()
        raise _foreign(path) from None
    except BaseException:
        memory.close()
        raise
    return memory


def _locked(path: Path) -> int:
    """The file, open and locked against others who would keep reports in it; made where there is none."""
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
                f"Another process keeps reports in {path}.", hint="Stop it, or name another store."
            ) from None
        os.close(file)  # another file took its place while it was being opened


def _put(path: Path, image: bytes, held: int | None) -> int:
    """Give the file a new content at once, durably; it is locked before it is seen, and `held` let go."""
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
    if held is not None:
        os.close(held)
    return file


def _remember_name(folder: Path) -> None:
    """Have the disk know which file the name means."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _foreign(path: Path) -> RequestError:
    return RequestError(f"{path} is not the store of a survey.", hint="Name another file.")
