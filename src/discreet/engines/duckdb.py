"""DuckDB, in memory, over files: the engine of a laptop, a demo and a test.

Sources     Parquet and CSV files, loaded as tables when the engine is opened, so that it sees one state of
            the data for its whole life. Views that read the files later would need them in `allowed_paths`,
            and DuckDB lets COPY write to a path that it may read.
Shut off    after loading: no external access (files, ATTACH, COPY, extensions, replacement scans), and a
            locked configuration. On top of it `count` takes one SELECT, in a read-only transaction: DuckDB
            lets a SELECT write through a data-modifying WITH.
On disk     what does not fit in memory goes to a folder that only this user can read, removed at the end.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.values import Exact
from discreet.engines.faults import guarded

READERS = {
    ".parquet": "read_parquet({path})",
    ".csv": "read_csv({path}, sample_size = -1)",
}


class DuckDB:
    """An `Engine` over the named files.

    >>> with DuckDB({}) as engine:
    ...     engine.count("SELECT 1")
    Exact()
    """

    def __init__(self, sources: Mapping[str, Path]) -> None:
        statements = [_load(name, path) for name, path in sources.items()]
        self._spill = tempfile.TemporaryDirectory(prefix="discreet-")
        try:
            self._connection = guarded(lambda: _opened(statements, self._spill.name))
        except BaseException:
            self._spill.cleanup()
            raise

    def count(self, sql: str) -> Exact[pa.Table]:
        """The rows of one SELECT."""
        statements = guarded(lambda: duckdb.extract_statements(sql))
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise RequestError("count: the engine runs one SELECT at a time.", hint="Send one SELECT.")
        return guarded(lambda: Exact(self._counted(sql)))

    def _counted(self, sql: str) -> pa.Table:
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            return self._connection.sql(sql).to_arrow_table()
        finally:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()
        self._spill.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _opened(statements: list[str], spill: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "temp_directory": spill,
        },
    )
    try:
        for statement in (*statements, "SET enable_external_access = false", "SET lock_configuration = true"):
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _load(name: str, path: Path) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise RequestError(
            f"DuckDB: the name of a source must be letters, digits and underscores; got {name!r}.",
            hint="Rename it in the policy.",
        )
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise RequestError(
            f"DuckDB: source {name} is {path}, which is no Parquet or CSV file.",
            hint=f"Give a file that ends in {' or '.join(READERS)}.",
        )
    if not path.is_file():
        raise RequestError(
            f"DuckDB: source {name} is {path}, and there is no such file.", hint="Check its path."
        )
    return f'CREATE TABLE "{name}" AS SELECT * FROM {reader.format(path=_literal(path))}'


def _literal(path: Path) -> str:
    """The path as SQL text; glob characters stand in brackets, so that one name means one file."""
    plain = re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))
    return "'" + plain.replace("'", "''") + "'"
