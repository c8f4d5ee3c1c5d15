"""A DuckDB connection that reaches what it is given and, once shut off, nothing else.

Shut off    no external access (files, ATTACH, COPY, extensions, replacement scans), and a locked
            configuration; what was loaded or attached before stays readable.
Statistics  DuckDB rewrites a statement by what it keeps of the values of a column, as whether all are NULL,
            and a rewriting may err where the statement does not. Once shut off it leaves that out.
On disk     what does not fit in memory goes to the folder that the caller names; without one nothing is
            written, and there is no limit of memory either.
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

MEMORY = "1GiB"


def connect(
    database: str = ":memory:", *, spill: str = "", memory: str = MEMORY
) -> duckdb.DuckDBPyConnection:
    """A connection that fetches no extensions and prints nothing; its time zone is UTC wherever it runs."""
    limits: dict[str, str] = {"memory_limit": memory} if spill else {}
    connection = duckdb.connect(
        database,
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "temp_directory": spill,
            **limits,
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    # Without a script of its own (python -c, a notebook) DuckDB writes a progress bar to stdout. Where
    # Jupyter has nothing to draw it with there is none, and it is an error to say so.
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


def shut_off(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on the connection reads its own tables only, and no setting can change that."""
    # before the configuration is locked, and for every connection to the same database
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def quoted(name: str) -> str:
    """A name as SQL text."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string as SQL text."""
    return "'" + text.replace("'", "''") + "'"


def path_literal(path: Path) -> str:
    """The path as SQL text; glob characters stand in brackets, so that one name means one file."""
    return literal(re.sub(r"([*?\[])", r"[\1]", str(path.absolute())))
