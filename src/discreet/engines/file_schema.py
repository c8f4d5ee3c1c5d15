"""File schema: the names and types of a file's columns; never a value.

Parquet     its own schema.
DuckDB      the schema of each table in the file; `shop.duckdb#visits` names one, `shop.duckdb#clinic.visits`
            one that is not in the schema main.
CSV         any separator; the names are its first line, if that is a header, and the types are guesses
            from the rows that follow. Nothing of those rows is kept, and no driver's message is passed on,
            as it may quote them.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from discreet.core.errors import RequestError
from discreet.core.policy import ColumnType
from discreet.core.release_target import DATABASE_SUFFIXES
from discreet.core.sql_quoting import quote_literal
from discreet.engines.duckdb_connection import connect_duckdb, quote_path
from discreet.engines.sources import CSV_SUFFIXES, PARQUET_SUFFIXES, write_parquet_reader

KINDS = {
    r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(\d+,0\)": ColumnType.INTEGER,
    r"FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)": ColumnType.DECIMAL,
    r"ENUM\(.*\)": ColumnType.CATEGORY,
    r"VARCHAR|UUID|TIME|TIME_NS|TIME WITH TIME ZONE|INTERVAL": ColumnType.TEXT,
    r"DATE": ColumnType.DATE,
    r"TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE": ColumnType.TIMESTAMP,
    r"BOOLEAN": ColumnType.BOOLEAN,
}


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns of one table; the kind is None if policies have none for the type, such as lists and blobs.

    `other_files` belong to the same table.
    """

    path: Path
    table: str | None
    columns: tuple[tuple[str, ColumnType | None], ...]
    is_guessed: bool = False
    has_header: bool = True
    other_files: tuple[Path, ...] = ()

    @property
    def source(self) -> str:
        """The table's `source` in a policy."""
        return f"{self.path}#{self.table}" if self.table else str(self.path)


def describe_file(path: Path) -> list[tuple[str, ColumnType | None]]:
    """Return the names and kinds of the columns of a file with one table."""
    (schema,) = read_schemas(path)
    return list(schema.columns)


def read_schemas(path: Path) -> list[Schema]:
    """Return the schema of every table of a file: one in a Parquet or CSV file, any number in DuckDB's."""
    suffix = path.suffix.lower()
    if suffix not in (*PARQUET_SUFFIXES, *DATABASE_SUFFIXES, *CSV_SUFFIXES):
        raise RequestError(
            f"{path} is not a CSV, Parquet or DuckDB file.",
            hint="Give a file that ends in "
            f"{', '.join((*CSV_SUFFIXES, *PARQUET_SUFFIXES, *DATABASE_SUFFIXES))}.",
        )
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise RequestError(f"{path} {what}.", hint="Name a CSV, Parquet or DuckDB file.")
    if path.stat().st_size == 0:
        raise RequestError(f"{path} is empty.", hint="Name a file with columns.")
    with _hide_driver_errors(path), closing(connect_duckdb()) as connection:
        if suffix in PARQUET_SUFFIXES:
            return [_read_parquet_schema(connection, path)]
        if suffix in DATABASE_SUFFIXES:
            return _read_database_schemas(connection, path)
        return [_read_csv_schema(connection, path)]


def read_glob_schema(pattern: str) -> Schema | None:
    """Return the schema of all files that match a glob, as one table; None if there is no file.

    Parquet files may have different columns; CSV files are described by the first.
    """
    files = sorted(path for each in glob.glob(pattern, recursive=True) if (path := Path(each)).is_file())
    if not files:
        return None
    suffixes = {path.suffix.lower() for path in files}
    if not any(suffixes <= set(family) for family in (PARQUET_SUFFIXES, CSV_SUFFIXES)):
        raise RequestError(
            f"The files that match {pattern} are not all CSV or all Parquet.",
            hint="Name files of one format, such as 'visits/*.parquet'.",
        )
    if suffixes <= set(CSV_SUFFIXES):
        return read_schemas(files[0])[0]
    with _hide_driver_errors(Path(pattern)), closing(connect_duckdb()) as connection:
        return _read_parquet_schema(connection, *files)


def find_kind(type_name: str) -> ColumnType | None:
    """Return the policy's kind for a DuckDB type, or None.

    >>> find_kind("DECIMAL(10,2)"), find_kind("INTEGER[]")
    (<ColumnType.DECIMAL: 'decimal'>, None)
    """
    return next((kind for pattern, kind in KINDS.items() if re.fullmatch(pattern, type_name, re.S)), None)


def _read_parquet_schema(connection: duckdb.DuckDBPyConnection, first: Path, *others: Path) -> Schema:
    rows = connection.execute(f"DESCRIBE SELECT * FROM {write_parquet_reader((first, *others))}").fetchall()
    columns = tuple((row[0], find_kind(row[1])) for row in rows)
    return Schema(path=first, table=None, columns=columns, other_files=others)


def _read_database_schemas(connection: duckdb.DuckDBPyConnection, path: Path) -> list[Schema]:
    connection.execute(f"ATTACH {quote_literal(str(path.absolute()))} AS described (READ_ONLY)")
    rows = connection.execute(
        """SELECT if(schema_name = 'main', table_name, schema_name || '.' || table_name) AS name,
          list((column_name, data_type) ORDER BY column_index) FROM duckdb_columns()
        WHERE database_name = 'described' AND NOT internal GROUP BY name ORDER BY name"""
    ).fetchall()
    return [
        Schema(path=path, table=table, columns=tuple((name, find_kind(kind)) for name, kind in columns))
        for table, columns in rows
    ]


def _read_csv_schema(connection: duckdb.DuckDBPyConnection, path: Path) -> Schema:
    row = connection.execute(f"SELECT HasHeader, Columns FROM sniff_csv({quote_path(path)})").fetchone()
    assert row is not None
    columns = tuple((column["name"], find_kind(column["type"])) for column in row[1])
    return Schema(path=path, table=None, columns=columns, is_guessed=True, has_header=bool(row[0]))


@contextmanager
def _hide_driver_errors(path: Path) -> Iterator[None]:
    failed = False
    try:
        yield
    except (duckdb.Error, OSError, UnicodeError):
        failed = True
    # Raised outside of the handler, so that the driver's error does not become its context.
    if failed:
        raise RequestError(
            f"{path} cannot be read in the format of its suffix.",
            hint="Check that it is complete, in UTF-8 if it is text, and not open elsewhere.",
        )
