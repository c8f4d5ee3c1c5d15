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
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import duckdb
import pyarrow as pa

from discreet.core.engine import Closeable
from discreet.core.engine_faults import run_guarded
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.output_files import make_spill_folder
from discreet.core.policy import Policy
from discreet.core.release_target import split_source
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.core.table_entry import Table
from discreet.engines import statement_timeout
from discreet.engines.duckdb_connection import connect_duckdb, lock_down_connection, quote_path
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.inventory import DuckDBInventory
from discreet.engines.prepared_store import PreparedStore, prepare_store

READERS = {
    ".parquet": "read_parquet({path}, can_have_nan = true)",
    ".csv": "read_csv({path}, sample_size = -1, parallel = false)",
}
ATTACHED, ARRIVING = "_discreet_store", "_discreet_arriving"


class DuckDB(Closeable):
    """An `Engine` over the named files, or over a prepared store.

    >>> with DuckDB({}) as engine:
    ...     engine.count("SELECT 1")
    Exact()
    """

    def __init__(
        self,
        sources: Mapping[str, Path] | PreparedStore,
        *,
        seconds: float = statement_timeout.DEFAULT_SECONDS,
    ) -> None:
        opening, self._seconds, self._turn = _write_opening_statements(sources), seconds, threading.Lock()
        self._sources = sources  # keeps the store alive as long as the engine
        self._spill: TemporaryDirectory[str] | None = None
        if isinstance(sources, PreparedStore) and sources.memory_connection is not None:
            self._connection = run_guarded(sources.memory_connection.cursor)
            return
        self._spill = spill = make_spill_folder()
        try:
            self._connection = run_guarded(lambda: _open_connection(opening, spill.name))
        except BaseException:
            spill.cleanup()
            raise

    @classmethod
    def open(cls, store: PreparedStore, *, seconds: float = statement_timeout.DEFAULT_SECONDS) -> Self:
        """Return an engine over a prepared store; any number of them may be open at once."""
        return cls(store, seconds=seconds)

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT."""
        select = _parse_single_select("count", sql)
        with self._turn:
            return run_guarded(lambda: Exact(_run_select(self._connection, select, self._seconds)))

    def stop(self) -> None:
        """Stop the running statement."""
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()
        if self._spill is not None:
            self._spill.cleanup()


def prepare_engine(
    policy: Policy,
    *,
    key: bytes | None,
    folder: Path | None,
    frames: Mapping[str, pa.Table] | None,
    progress: Callable[[str], None] | None,
) -> Callable[[], DuckDB]:
    """Prepare the store of a policy once, and return a function that opens engines over it."""
    store = prepare_store(policy, folder, frames=frames, progress=progress, key=key)
    return lambda: DuckDB(store)


def open_tables(address: str, sources: Mapping[str, str]) -> DuckDB:
    """Return an engine without a policy, for rows that may be counted as they are."""
    return DuckDB({name: Path(source) for name, source in sources.items()})


def open_publisher(
    address: str, tables: Mapping[str, Table], *, store: str | None, lists: Collection[str]
) -> DuckDBPublisher:
    """Return a publisher of tables; it reads every list as one, and writes files."""
    return DuckDBPublisher(tables)


def open_inventory(address: str) -> DuckDBInventory:
    """Return the tables of the file that an address names."""
    return DuckDBInventory(Path(address.removeprefix("duckdb:///")))


def _parse_single_select(verb: str, sql: str) -> duckdb.Statement:
    """Return the parsed statement, to run as it is: parsing a thousand declared groups takes long."""
    statements = run_guarded(lambda: duckdb.extract_statements(sql))
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise RequestError(f"{verb}: the engine runs one SELECT at a time.", hint="Send one SELECT.")
    return statements[0]


def _run_select(connection: duckdb.DuckDBPyConnection, select: duckdb.Statement, seconds: float) -> pa.Table:
    """Return the rows of a SELECT, in a read-only transaction and within the time limit."""
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        with statement_timeout.stop_after_timeout(connection.interrupt, seconds):
            return connection.sql(select).to_arrow_table()
    finally:
        connection.execute("ROLLBACK")


def _open_connection(statements: list[str], spill: str) -> duckdb.DuckDBPyConnection:
    connection = connect_duckdb(spill_folder=spill)
    try:
        for statement in statements:
            connection.execute(statement)
        lock_down_connection(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_opening_statements(sources: Mapping[str, Path] | PreparedStore) -> list[str]:
    if not isinstance(sources, PreparedStore):
        return [
            statement for name, path in sources.items() for statement in _write_load_statements(name, path)
        ]
    file = quote_literal(str(sources.path))
    return [f"ATTACH {file} AS {ATTACHED} (READ_ONLY)", f"USE {ATTACHED}"]


def _write_load_statements(name: str, path: Path) -> list[str]:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise RequestError(
            f"DuckDB: the name of a source must be letters, digits and underscores; got {name!r}.",
            hint="Rename it in the policy.",
        )
    file, inner = split_source(str(path))
    if inner:
        return _write_copy_statements(name, Path(file), inner)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise RequestError(
            f"DuckDB: source {name} is {path}, which is not a Parquet or CSV file.",
            hint=f"Give a file that ends in {' or '.join(READERS)}.",
        )
    _require_file(name, path)
    return [f'CREATE TABLE "{name}" AS SELECT * FROM {reader.format(path=quote_path(path))}']


def _write_copy_statements(name: str, file: Path, inner: str) -> list[str]:
    """Return the statements that copy a table of a DuckDB file."""
    _require_file(name, file)
    schema, _, table = inner.rpartition(".")
    place = f"{ARRIVING}.{quote_identifier(schema or 'main')}.{quote_identifier(table)}"
    return [
        f"ATTACH {quote_literal(str(file))} AS {ARRIVING} (READ_ONLY)",
        f'CREATE TABLE "{name}" AS SELECT * FROM {place}',
        f"DETACH {ARRIVING}",
    ]


def _require_file(name: str, path: Path) -> None:
    if not path.is_file():
        raise RequestError(
            f"DuckDB: source {name} is {path}, and there is no such file.", hint="Check its path."
        )
