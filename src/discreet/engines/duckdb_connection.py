"""A DuckDB connection that can be locked down: it then reads its own tables and nothing else.

Locked down  no external access (files, ATTACH, COPY, extensions, replacement scans), and a locked
             configuration; what was loaded or attached before stays readable.
Statistics   of a column's values decide neither what is read nor how. DuckDB rewrites a statement by them,
             and a rewritten statement may raise where the original does not, so this is disabled on every
             connection. Those of a Parquet file may also be wrong: most writers leave NaN out of them, and
             then one person's value would decide how everybody's NaN is read. So while a connection may read
             files, nothing that could compare their statistics with a filter is enabled either: no filter
             reaches a scan, whether it is written in the statement or found by a join or a sort. Locking down
             enables filters in scans again: the tables that can be read from then on are DuckDB's own, whose
             statistics it computed itself, from the rows as they are stored, with NaN as the largest number.
On disk      what does not fit in memory is spilled to the folder that the caller names; without one nothing
             is written, and there is no memory limit either.
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from discreet.core.errors import RequestError
from discreet.core.sql_quoting import quote_literal

MEMORY_LIMIT = "1GiB"
DUCKDB_MAGIC, SQLITE_MAGIC = b"DUCK", b"SQLite format 3\0"
DUCKDB_MAGIC_OFFSET = 8
STATISTICS_OPTIMIZER = "statistics_propagation"
SCAN_FILTER_OPTIMIZERS = (
    "filter_pushdown",
    "cte_filter_pusher",
    "join_filter_pushdown",
    "top_n",
    "top_n_window_elimination",
    "row_group_pruner",
    "late_materialization",
    "partitioned_execution",
)
"""Optimizers that compare a filter, a join's keys or a sort's bound with the statistics of a scan."""


def connect_duckdb(
    database: str = ":memory:", *, spill_folder: str = "", memory_limit: str = MEMORY_LIMIT
) -> duckdb.DuckDBPyConnection:
    """Return a connection that fetches no extensions and prints nothing; its time zone is always UTC."""
    limits: dict[str, str] = {"memory_limit": memory_limit} if spill_folder else {}
    connection = duckdb.connect(
        database,
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "temp_directory": spill_folder,
            **limits,
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    _disable_optimizers(connection, STATISTICS_OPTIMIZER, *SCAN_FILTER_OPTIMIZERS)
    # In `python -c` and in notebooks DuckDB writes a progress bar to stdout. Without Jupyter's widgets there
    # is none, and switching it off would raise.
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


def choose_memory_limit(columns: int) -> str:
    """Return the memory limit for a statement that reads so many declared columns.

    Reading a column as its type takes about half a MiB, however many rows there are.

    >>> choose_memory_limit(20), choose_memory_limit(5_000)
    ('1044MiB', '6024MiB')
    """
    return f"{1024 + columns}MiB"


def lock_down_connection(connection: duckdb.DuckDBPyConnection) -> None:
    """Restrict a connection to its own tables for good: no later statement can change that."""
    # set before the configuration is locked; applies to every connection to the same database
    _disable_optimizers(connection, STATISTICS_OPTIMIZER)
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _disable_optimizers(connection: duckdb.DuckDBPyConnection, *names: str) -> None:
    connection.execute(f"SET disabled_optimizers = {quote_literal(','.join(names))}")


def attach_database(connection: duckdb.DuckDBPyConnection, file: Path, name: str) -> None:
    """Attach a DuckDB file read-only; refuse any other file, for which DuckDB would load an extension."""
    require_database(file)
    connection.execute(f"ATTACH {quote_literal(str(file.absolute()))} AS {name} (TYPE duckdb, READ_ONLY)")


def require_database(file: Path) -> None:
    """Refuse a file that is not a DuckDB file by its first bytes, whatever its suffix is."""
    with file.open("rb") as opened:
        head = opened.read(len(SQLITE_MAGIC))
    if head[DUCKDB_MAGIC_OFFSET:].startswith(DUCKDB_MAGIC):
        return
    found = "is a SQLite file, not a DuckDB file" if head == SQLITE_MAGIC else "is not a DuckDB file"
    raise RequestError(
        f"{file.name} {found}.", hint="Export the table as a CSV or Parquet file, and name that file."
    )


def quote_path(path: Path) -> str:
    """Return a path as an SQL literal; glob characters are bracketed, so that one name means one file."""
    return quote_literal(re.sub(r"([*?\[])", r"[\1]", str(path.absolute())))
