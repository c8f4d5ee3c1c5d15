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
from discreet.core.policy import Kind
from discreet.engines.connection import connect, literal, path_literal
from discreet.engines.sources import CSV, DATABASE, PARQUET, parquet_reader

KINDS = {
    r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(\d+,0\)": Kind.INTEGER,
    r"FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)": Kind.DECIMAL,
    r"ENUM\(.*\)": Kind.CATEGORY,
    r"VARCHAR|UUID|TIME|TIME_NS|TIME WITH TIME ZONE|INTERVAL": Kind.TEXT,
    r"DATE": Kind.DATE,
    r"TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE": Kind.TIMESTAMP,
    r"BOOLEAN": Kind.BOOLEAN,
}


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns of one table; the kind is None if policies have none for the type, such as lists and blobs.

    `other_files` belong to the same table.
    """

    path: Path
    table: str | None
    columns: tuple[tuple[str, Kind | None], ...]
    guessed: bool = False
    header: bool = True
    others: tuple[Path, ...] = ()

    @property
    def source(self) -> str:
        """The table's `source` in a policy."""
        return f"{self.path}#{self.table}" if self.table else str(self.path)


def describe(path: Path) -> list[tuple[str, Kind | None]]:
    """Return the names and kinds of the columns of a file with one table."""
    (schema,) = schemas(path)
    return list(schema.columns)


def schemas(path: Path) -> list[Schema]:
    """Return the schema of every table of a file: one in a Parquet or CSV file, any number in DuckDB's."""
    suffix = path.suffix.lower()
    if suffix not in (*PARQUET, *DATABASE, *CSV):
        raise RequestError(
            f"{path} is not a CSV, Parquet or DuckDB file.",
            hint=f"Give a file that ends in {', '.join((*CSV, *PARQUET, *DATABASE))}.",
        )
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise RequestError(f"{path} {what}.", hint="Name a CSV, Parquet or DuckDB file.")
    if path.stat().st_size == 0:
        raise RequestError(f"{path} is empty.", hint="Name a file with columns.")
    with _unquoted(path), closing(connect()) as connection:
        if suffix in PARQUET:
            return [_parquet(connection, path)]
        if suffix in DATABASE:
            return _database(connection, path)
        return [_text(connection, path)]


def together(pattern: str) -> Schema | None:
    """Return the schema of all files that match a glob, as one table; None if there is no file.

    Parquet files may have different columns; CSV files are described by the first.
    """
    files = sorted(path for each in glob.glob(pattern, recursive=True) if (path := Path(each)).is_file())
    if not files:
        return None
    suffixes = {path.suffix.lower() for path in files}
    if not any(suffixes <= set(family) for family in (PARQUET, CSV)):
        raise RequestError(
            f"The files that match {pattern} are not all CSV or all Parquet.",
            hint="Name files of one format, such as 'visits/*.parquet'.",
        )
    if suffixes <= set(CSV):
        return schemas(files[0])[0]
    with _unquoted(Path(pattern)), closing(connect()) as connection:
        return _parquet(connection, *files)


def kind_of(type_name: str) -> Kind | None:
    """Return the policy's kind for a DuckDB type, or None.

    >>> kind_of("DECIMAL(10,2)"), kind_of("INTEGER[]")
    (<Kind.DECIMAL: 'decimal'>, None)
    """
    return next((kind for pattern, kind in KINDS.items() if re.fullmatch(pattern, type_name, re.S)), None)


def _parquet(connection: duckdb.DuckDBPyConnection, first: Path, *others: Path) -> Schema:
    rows = connection.execute(f"DESCRIBE SELECT * FROM {parquet_reader((first, *others))}").fetchall()
    columns = tuple((row[0], kind_of(row[1])) for row in rows)
    return Schema(path=first, table=None, columns=columns, others=others)


def _database(connection: duckdb.DuckDBPyConnection, path: Path) -> list[Schema]:
    connection.execute(f"ATTACH {literal(str(path.absolute()))} AS described (READ_ONLY)")
    rows = connection.execute(
        """SELECT if(schema_name = 'main', table_name, schema_name || '.' || table_name) AS name,
          list((column_name, data_type) ORDER BY column_index) FROM duckdb_columns()
        WHERE database_name = 'described' AND NOT internal GROUP BY name ORDER BY name"""
    ).fetchall()
    return [
        Schema(path=path, table=table, columns=tuple((name, kind_of(kind)) for name, kind in columns))
        for table, columns in rows
    ]


def _text(connection: duckdb.DuckDBPyConnection, path: Path) -> Schema:
    row = connection.execute(f"SELECT HasHeader, Columns FROM sniff_csv({path_literal(path)})").fetchone()
    assert row is not None
    columns = tuple((column["name"], kind_of(column["type"])) for column in row[1])
    return Schema(path=path, table=None, columns=columns, guessed=True, header=bool(row[0]))


@contextmanager
def _unquoted(path: Path) -> Iterator[None]:
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
