"""DuckDB: the engine for files on one machine, or for a prepared store.

Sources      Parquet and CSV files and tables of DuckDB files (`file.duckdb#table`), loaded as tables when the
             engine is opened, so that it sees one state of the data for its whole life. Views that read the
             files later would need them in `allowed_paths`, and DuckDB lets COPY write to a path that it may
             read.
Store        the result of `prepare_store`, attached read-only.
Locked down  after loading: no external access (files, ATTACH, COPY, extensions, replacement scans), and a
             locked configuration. In addition, `count` accepts one SELECT, in a read-only transaction: DuckDB
             lets a SELECT write through a data-modifying WITH.
Threads      take turns: a connection has one transaction at a time.
Limits       on memory where it can spill to disk, and on the time of each statement.
On disk      what does not fit in memory is spilled to a folder that only this user can read, and that is
             removed at the end.
Released     `query_released_tables` queries tables that were released, in a database without any other.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Self

import duckdb
import pyarrow as pa

from discreet.core.closing import Closing
from discreet.core.errors import RequestError
from discreet.core.output_files import make_spill_folder
from discreet.core.values import Exact
from discreet.engines import limits
from discreet.engines.connection import connect, literal, path_literal, quoted, shut_off
from discreet.engines.faults import guarded
from discreet.engines.sources import split
from discreet.engines.store import PreparedStore

READERS = {
    ".parquet": "read_parquet({path})",
    ".csv": "read_csv({path}, sample_size = -1)",
}
ATTACHED, ARRIVING = "_discreet_store", "_discreet_arriving"


class DuckDB(Closing):
    """An `Engine` over the named files, or over a prepared store.

    >>> with DuckDB({}) as engine:
    ...     engine.count("SELECT 1")
    Exact()
    """

    def __init__(
        self, sources: Mapping[str, Path] | PreparedStore, *, seconds: float = limits.SECONDS
    ) -> None:
        opening, self._seconds, self._turn = _opening(sources), seconds, threading.Lock()
        self._sources = sources  # keeps the store alive as long as the engine
        self._spill = make_spill_folder()
        try:
            if isinstance(sources, PreparedStore) and sources.memory is not None:
                self._connection = guarded(sources.memory.cursor)
            else:
                self._connection = guarded(lambda: _opened(opening, self._spill.name))
        except BaseException:
            self._spill.cleanup()
            raise

    @classmethod
    def open(cls, store: PreparedStore, *, seconds: float = limits.SECONDS) -> Self:
        """Return an engine over a prepared store; any number of them may be open at once."""
        return cls(store, seconds=seconds)

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT."""
        select = _one_select("count", sql)
        with self._turn:
            return guarded(lambda: Exact(_selected(self._connection, select, self._seconds)))

    def stop(self) -> None:
        """Stop the running statement."""
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()
        self._spill.cleanup()


def run_released(sql: str, released: Mapping[str, pa.Table]) -> pa.Table:
    """Return the rows of one SELECT over released tables, in a database that can reach nothing else.

    >>> run_released("SELECT max(n) AS n FROM released", {"released": pa.table({"n": [1, 2]})}).to_pylist()
    [{'n': 2}]
    """
    select = _one_select("run_released", sql)

    def work() -> pa.Table:
        with _scratch(os.getpid()).cursor() as connection:
            for name, table in released.items():
                connection.register(ARRIVING, table)
                # Temporary tables belong to the cursor, and are dropped when it closes.
                connection.execute(f"CREATE TEMP TABLE {quoted(name)} AS FROM {ARRIVING}")
                connection.unregister(ARRIVING)
            return _selected(connection, select, limits.SECONDS)

    return guarded(work)


@cache
def _scratch(_process: int) -> duckdb.DuckDBPyConnection:
    """Return an empty database, cached per process: opening one takes longer than most queries in it."""
    return _opened([], spill="")


def _one_select(verb: str, sql: str) -> duckdb.Statement:
    """Return the parsed statement, to run as it is: parsing a thousand declared groups takes long."""
    statements = guarded(lambda: duckdb.extract_statements(sql))
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise RequestError(f"{verb}: the engine runs one SELECT at a time.", hint="Send one SELECT.")
    return statements[0]


def _selected(connection: duckdb.DuckDBPyConnection, select: duckdb.Statement, seconds: float) -> pa.Table:
    """Return the rows of a SELECT, in a read-only transaction and within the time limit."""
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        with limits.limited(connection.interrupt, seconds):
            return connection.sql(select).to_arrow_table()
    finally:
        connection.execute("ROLLBACK")


def _opened(statements: list[str], spill: str) -> duckdb.DuckDBPyConnection:
    connection = connect(spill=spill)
    try:
        for statement in statements:
            connection.execute(statement)
        shut_off(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _opening(sources: Mapping[str, Path] | PreparedStore) -> list[str]:
    if not isinstance(sources, PreparedStore):
        return [statement for name, path in sources.items() for statement in _load(name, path)]
    file = literal(str(sources.path))
    return [f"ATTACH {file} AS {ATTACHED} (READ_ONLY)", f"USE {ATTACHED}"]


def _load(name: str, path: Path) -> list[str]:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise RequestError(
            f"DuckDB: the name of a source must be letters, digits and underscores; got {name!r}.",
            hint="Rename it in the policy.",
        )
    file, inner = split(str(path))
    if inner:
        return _copied(name, Path(file), inner)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise RequestError(
            f"DuckDB: source {name} is {path}, which is not a Parquet or CSV file.",
            hint=f"Give a file that ends in {' or '.join(READERS)}.",
        )
    _require_file(name, path)
    return [f'CREATE TABLE "{name}" AS SELECT * FROM {reader.format(path=path_literal(path))}']


def _copied(name: str, file: Path, inner: str) -> list[str]:
    """Return the statements that copy a table of a DuckDB file."""
    _require_file(name, file)
    schema, _, table = inner.rpartition(".")
    place = f"{ARRIVING}.{quoted(schema or 'main')}.{quoted(table)}"
    return [
        f"ATTACH {literal(str(file))} AS {ARRIVING} (READ_ONLY)",
        f'CREATE TABLE "{name}" AS SELECT * FROM {place}',
        f"DETACH {ARRIVING}",
    ]


def _require_file(name: str, path: Path) -> None:
    if not path.is_file():
        raise RequestError(
            f"DuckDB: source {name} is {path}, and there is no such file.", hint="Check its path."
        )
