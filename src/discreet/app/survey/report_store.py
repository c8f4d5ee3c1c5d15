"""The store of a survey: reports, and nothing about who sent them or when.

Holds       a random ticket and one report a question for each browser that sent some, and the survey's
            operators, so that `collect estimate` needs nothing else. No address, no time, no answer.
Order       rows stand in the order of their tickets, which are random: not in the order of arrival.
Ticket      drawn in the browser and sent with every repetition of the same reports: what comes again under
            a known ticket is not counted again.
Durable     a report is on the disk before it is acknowledged; a crash leaves it whole or not at all.
Counted     by the statements that any engine counts reports with, in the store itself.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from discreet.app.collect.report_files import Description, as_data, of_data
from discreet.core.errors import RequestError
from discreet.core.values import Exact

MARK, PATIENCE = 0x64697363, 10.0
SUFFIX = ".sqlite"


class ReportStore:
    """An `Engine` over the reports of one survey."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._connection = _connected(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store of a survey that is there already."""
        if not path.is_file():
            raise RequestError(f"There is no store {path}.", hint="Name the store of a survey.")
        store = cls(path)
        if not store._names():
            store.close()
            raise _foreign(path)
        return store

    @classmethod
    def found(cls, path: Path, survey: str, descriptions: Sequence[Description]) -> Self:
        """The store of this very survey, made where there is none."""
        store = cls(path)
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

    def add(self, ticket: bytes, reports: Sequence[Sequence[int]]) -> None:
        """Keep the reports of one browser, one list of codes for each question; once, however often sent."""
        words = [_word(codes) for codes in reports]
        places = ", ".join("?" * (len(words) + 1))
        with self._guard:
            self._connection.execute(f"INSERT OR IGNORE INTO report VALUES ({places})", [ticket, *words])

    def count(self, sql: str) -> Exact[pa.Table]:
        """The rows of one SELECT, of integers."""
        with self._guard, closing(self._connection.execute(sql)) as cursor:
            names, rows = [each[0] for each in cursor.description], cursor.fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [pa.array(column, pa.int64()) for column in columns]
        return Exact(pa.table(dict(zip(names, arrays, strict=True))))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _names(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}

    def _settle(self, survey: str, descriptions: Sequence[Description]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        if not self._names():
            for statement, values in _schema(survey, descriptions):
                self._connection.execute(statement, values)
        self._connection.execute("COMMIT")
        kept = self._connection.execute("SELECT id FROM survey").fetchone()
        if kept != (survey,):
            raise RequestError(
                f"The store {self.path} holds reports of another version of this survey.",
                hint="Name another store in the survey, so that the two are not mixed.",
            )


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


def _connected(path: Path) -> sqlite3.Connection:
    try:
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error):
        raise RequestError(f"The store {path} cannot be opened.", hint="Check its folder.") from None
    try:
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != MARK and (mark or tables):
            raise _foreign(path)
        # a write-ahead log would keep reports in the order of their arrival
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
    except sqlite3.DatabaseError:
        connection.close()
        raise _foreign(path) from None
    except BaseException:
        connection.close()
        raise
    return connection


def _foreign(path: Path) -> RequestError:
    return RequestError(f"{path} is not the store of a survey.", hint="Name another file.")
