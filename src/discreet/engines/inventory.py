"""Table inventory: the names, columns and types of files and of an engine's own catalog; never a value.

It is read for a custodian who has not written a policy yet. Spark infers the types of a CSV path from its
rows, as is done here for a CSV file; nothing of those rows is kept. The engine counts how many of
a column's first values match a pattern, and no value is returned; columns that cannot be read are left out,
and a policy draft is written without them.

A DuckDB file lists its tables and views under the names that `file.duckdb#name` uses.

Parquet     its own schema.
DuckDB      the schema of each table in the file; `shop.duckdb#visits` names one, `shop.duckdb#clinic.visits`
            one that is not in the schema main.
CSV         how it is to be read, its names and types are guesses from its first rows (`csv_detection`). No
            driver's message is passed on, as it may quote them.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa

from discreet.core.column_entry import ColumnType
from discreet.core.engine import Closeable, Engine
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.release_target import DATABASE_SUFFIXES
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.engines.csv_detection import CsvDetection, detect_csv
from discreet.engines.duckdb_connection import attach_database, connect_duckdb
from discreet.engines.file_formats import (
    KNOWN_FORMATS,
    FileFormat,
    find_common_format,
    find_file_format,
    list_suffixes,
)
from discreet.engines.sources import read_arrow_files, refuse_unreadable_file, write_parquet_reader

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

    `other_files` belong to the same table. `csv` is how a text file seems to be read, a guess from its rows.
    """

    path: Path
    table: str | None
    columns: tuple[tuple[str, ColumnType | None], ...]
    other_files: tuple[Path, ...] = ()
    csv: CsvDetection | None = None

    @property
    def is_guessed(self) -> bool:
        """True if the types are guesses from text."""
        return self.csv is not None

    @property
    def has_header(self) -> bool:
        """True if the names are in the file."""
        return self.csv is None or self.csv.options.header

    @property
    def source(self) -> str:
        """The table's `source` in a policy."""
        return f"{self.path}#{self.table}" if self.table else str(self.path)


def read_schemas(path: Path) -> list[Schema]:
    """Return the schema of every table of a file: one in a Parquet or CSV file, any number in DuckDB's."""
    form = find_file_format(path)
    if form is None:
        raise RequestError(
            f"{path} is not {KNOWN_FORMATS}.", hint=f"Give a file that ends in {list_suffixes()}."
        )
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise RequestError(f"{path} {what}.", hint="Name a CSV, Parquet or DuckDB file.")
    if path.stat().st_size == 0:
        raise RequestError(f"{path} is empty.", hint="Name a file with columns.")
    with refuse_unreadable_file(str(path)), closing(connect_duckdb()) as connection:
        if form is FileFormat.PARQUET:
            return [_read_parquet_schema(connection, path)]
        if form is FileFormat.DATABASE:
            return _read_database_schemas(connection, path)
        if form is FileFormat.ARROW:
            return [_read_arrow_schema(connection, path)]
        return [_read_csv_schema(path)]


def read_glob_schema(pattern: str) -> Schema | None:
    """Return the schema of all files that match a glob, as one table; None if there is no file.

    Parquet files may have different columns; CSV files are described by the first.
    """
    files = sorted(path for each in glob.glob(pattern, recursive=True) if (path := Path(each)).is_file())
    if not files:
        return None
    form = find_common_format(files)
    if form is None or form is FileFormat.DATABASE:
        raise RequestError(
            f"The files that match {pattern} are not all CSV or all Parquet.",
            hint="Name files of one format, such as 'visits/*.parquet'.",
        )
    if form is not FileFormat.PARQUET:
        return read_schemas(files[0])[0]
    with refuse_unreadable_file(pattern), closing(connect_duckdb()) as connection:
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
    attach_database(connection, path, "described")
    rows = connection.execute(
        """SELECT if(schema_name = 'main', table_name, schema_name || '.' || table_name) AS name,
          list((column_name, data_type) ORDER BY column_index) FROM duckdb_columns()
        WHERE database_name = 'described' AND NOT internal GROUP BY name ORDER BY name"""
    ).fetchall()
    return [
        Schema(path=path, table=table, columns=tuple((name, find_kind(kind)) for name, kind in columns))
        for table, columns in rows
    ]


def _read_csv_schema(path: Path) -> Schema:
    found = detect_csv(path)
    return Schema(path=path, table=None, columns=found.columns, csv=found)


def _read_arrow_schema(connection: duckdb.DuckDBPyConnection, path: Path) -> Schema:
    connection.register(INSPECTED_TABLE, read_arrow_files([path]).schema.empty_table())
    rows = connection.execute(f"DESCRIBE {INSPECTED_TABLE}").fetchall()
    return Schema(path=path, table=None, columns=tuple((row[0], find_kind(row[1])) for row in rows))


MAX_INSPECTED_ROWS = 10_000


def compute_file_pattern_shares(
    schema: Schema, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return, for each column of a file, the share of its first values that each pattern matches in full."""
    if not columns:
        return {}
    with closing(connect_duckdb()) as connection:
        try:
            relation = _write_file_relation(connection, schema)
            row = connection.execute(_write_count_query(relation, columns, patterns)).fetchone()
        except (duckdb.Error, OSError, UnicodeError, pa.ArrowInvalid):
            return {}
    assert row is not None
    return _parse_counts(row, columns, patterns)


def compute_engine_pattern_shares(
    engine: Engine, table: str, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the pattern shares of an engine's table."""
    return compute_pattern_shares(engine.count, table, columns, patterns)


def compute_pattern_shares(
    count: Callable[[str], Exact[pa.Table]], table: str, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the pattern shares of a table, counted by the function `count`."""
    found = count(_write_count_query(quote_identifier(table), columns, patterns)).secret.to_pylist()[0]
    return _parse_counts(list(found.values()), columns, patterns)


def _parse_counts(
    row: Sequence[int], columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the shares from the single row that `_write_count_query` selects."""
    counts = iter(row)
    found: dict[str, dict[str, float]] = {}
    for column in columns:
        present = max(next(counts), 1)
        found[column] = {name: next(counts) / present for name in patterns}
    return found


def _write_count_query(relation: str, columns: Sequence[str], patterns: Mapping[str, str]) -> str:
    """Return the SELECT that counts each column's first values, and those that each pattern matches."""
    counts: list[str] = []
    for column in columns:
        text = f"trim(CAST({quote_identifier(column)} AS VARCHAR))"
        counts.append(f"count({quote_identifier(column)})")
        counts += [
            f"count(*) FILTER (WHERE regexp_full_match({text}, {quote_literal(pattern)}))"
            for pattern in patterns.values()
        ]
    # outputs are numbered, because columns may have any name
    named = ", ".join(f"{count} AS n{place}" for place, count in enumerate(counts))
    return f"SELECT {named} FROM (SELECT * FROM {relation} LIMIT {MAX_INSPECTED_ROWS})"


def _write_file_relation(connection: duckdb.DuckDBPyConnection, schema: Schema) -> str:
    form = find_file_format(schema.path)
    if form is FileFormat.PARQUET:
        return write_parquet_reader((schema.path, *schema.other_files))
    if form is FileFormat.DATABASE:
        attach_database(connection, schema.path, "described")
        place, _, name = (schema.table or "").rpartition(".")
        return f"described.{quote_identifier(place or 'main')}.{quote_identifier(name)}"
    if form is FileFormat.ARROW:
        connection.register(INSPECTED_TABLE, read_arrow_files([schema.path]))
        return INSPECTED_TABLE
    assert schema.csv is not None
    names = [name for name, _ in schema.columns]
    rows = [dict(zip(names, row, strict=True)) for row in schema.csv.rows]
    text = pa.schema([(name, pa.string()) for name in names])
    connection.register(INSPECTED_TABLE, pa.Table.from_pylist(rows, schema=text))
    return INSPECTED_TABLE


INSPECTED_TABLE = "looked_at"
INSPECTION_SECONDS = 120.0
"""A view may take arbitrarily long to return its first row; a policy draft is not worth waiting longer."""


@dataclass(frozen=True, kw_only=True)
class InventoryTable:
    """A table or view of an engine, under the name that a policy's `source` has for it.

    The kind of a column is None if policies have no kind for its type, such as lists and documents.
    """

    source: str
    columns: tuple[tuple[str, ColumnType | None], ...]
    is_guessed: bool = False


class Inventory(Protocol):
    """The tables of one engine that the connected user may read."""

    def list_names(self) -> list[str]:
        """Return the names of all tables, in order."""

    def find_table(self, word: str) -> InventoryTable | None:
        """Return the table of that name, or None."""

    def compute_pattern_shares(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the share of each column's first values that match each pattern, within the time limit."""

    def close(self) -> None: ...


def match_name(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that equals a word, or else its lower-case form; None if there is none.

    >>> match_name("clinic.Visits", ["clinic.visits"]), match_name("visit", ["visits"])
    ('clinic.visits', None)
    """
    names = set(candidates)
    return next((each for each in (word, word.lower()) if each in names), None)


MAIN = "main"


class DuckDBInventory(Closeable):
    """An `Inventory` of a file, which is read once and then closed."""

    def __init__(self, file: Path) -> None:
        if file.suffix.lower() not in DATABASE_SUFFIXES:
            raise RequestError(
                f"DuckDB: {file} is not a DuckDB file.",
                hint=f"Name one that ends in {', '.join(DATABASE_SUFFIXES)}.",
            )
        self._tables = {schema.table: schema for schema in read_schemas(file) if schema.table}

    def list_names(self) -> list[str]:
        return list(self._tables)

    def find_table(self, word: str) -> InventoryTable | None:
        """Return the table of that name; DuckDB ignores case."""
        wanted = word.removeprefix(f"{MAIN}.").lower()
        return next(
            (
                InventoryTable(source=name, columns=schema.columns)
                for name, schema in self._tables.items()
                if name.lower() == wanted
            ),
            None,
        )

    def compute_pattern_shares(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        return compute_file_pattern_shares(self._tables[source], columns, patterns)

    def close(self) -> None:
        """Do nothing: no file is kept open."""
