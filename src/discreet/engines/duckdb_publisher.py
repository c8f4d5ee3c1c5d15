"""DuckDB publisher: counts a custodian's tables in place and writes releases of them.

Nothing is loaded: a source is a view over its files, so that ten million rows need little memory. The
statements are the package's own and run for the custodian alone; an analyst never reaches this connection.

Written     under a temporary name first, and renamed once complete, so that an interrupted run leaves neither
            half a file nor the loss of an older one. Parquet, CSV or a table of a DuckDB file, which is
            created in one transaction and leaves the file's other tables unchanged.
CSV         Text that a spreadsheet would read as a formula is marked (`csv_escaping`). The certificate beside
            a file records this, and if it does the marks are removed again when the file is read here.
One text    Classes and values are counted by their text, and rows are published by their value, so every
            value is read in one form that has one text: otherwise NaN and -NaN would be two values to a model
            of diversity, and one to whoever reads the release.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.core.csv_escaping import escape_cell, escape_cell_sql, unescape_cell_sql
from discreet.core.engine import Closeable, DataState
from discreet.core.engine_faults import run_guarded, run_guarded_write
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.output_files import (
    get_draft_path,
    make_spill_folder,
    replace_output,
    require_output,
)
from discreet.core.release_target import ReleaseTarget
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.core.table_entry import Table
from discreet.engines import sources
from discreet.engines.coarse_times import convert_frame
from discreet.engines.csv_sources import write_text_view
from discreet.engines.duckdb_connection import connect_duckdb, quote_path
from discreet.engines.identifier_types import require_exact_identifiers
from discreet.engines.published_columns import select_canonical_value, select_published_column

PARQUET_OPTIONS = "FORMAT parquet, COMPRESSION zstd"
FORMATS = {".parquet": PARQUET_OPTIONS, ".pq": PARQUET_OPTIONS, ".csv": "FORMAT csv, HEADER"}
TEXT_TYPES = ("VARCHAR", "ENUM", "JSON", "INTERVAL")
FORMULA_CELLS = "formula_cells"
"""The certificate's entry about the marking of formula cells in a CSV file."""
ROW = "_discreet_row"
ARRIVING, GIVEN, MOST_WORDS = "_discreet_arriving", "_discreet_given", 10_000


class DuckDBPublisher(Closeable):
    """A `Publisher` over policy tables and frames, each under its name."""

    def __init__(self, tables: Mapping[str, Table], frames: Mapping[str, pa.Table] | None = None) -> None:
        self._sources: list[sources.Source] = []
        self._unread: dict[str, sources.UnreadRows] = {}
        self._names = {*tables, *(frames or {})}
        self._spill = make_spill_folder()
        self._connection = run_guarded(lambda: connect_duckdb(spill_folder=self._spill.name))
        try:
            for name, frame in (frames or {}).items():
                self._register_frame(name, frame)
            found = {name: self._create_view(name, table).identifier_types for name, table in tables.items()}
            require_exact_identifiers("DuckDB", tables, found)
        except BaseException:
            self.close()
            raise

    def count(self, sql: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        def count_rows() -> Exact[pa.Table]:
            with self._register_lookup_tables(lookup_tables or {}):
                return Exact(self._connection.sql(sql).to_arrow_table())

        return run_guarded(count_rows)

    def write(self, sql: str, path: Path, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        with self._register_lookup_tables(lookup_tables or {}), replace_output(path) as draft:
            run_guarded_write(lambda: self._copy_rows(sql, draft, path), path)

    def write_batches(self, rows: pa.RecordBatchReader, path: Path) -> None:
        """Write rows from another engine to a file, batch by batch."""
        self._connection.register(ARRIVING, rows)
        with replace_output(path) as draft:
            run_guarded_write(lambda: self._copy_rows(f"SELECT * FROM {ARRIVING}", draft, path), path)

    def column_types(self, name: str) -> Mapping[str, str]:
        text = f"DESCRIBE {quote_identifier(name)}"
        return {row[0]: row[1] for row in run_guarded(lambda: self._connection.execute(text).fetchall())}

    def unread_rows(self, name: str) -> sources.UnreadRows:
        """Return the rows of a text source that cannot be read; none for other sources."""
        return self._unread.get(name, sources.UnreadRows())

    def has_table(self, name: str) -> bool:
        """Return whether there is a table or frame of that name."""
        return name in self._names

    def is_source(self, file: Path, table: str = "") -> bool:
        """Return whether writing there would overwrite a source."""
        return any(
            file.resolve() in source.files and table in ("", source.inner_table) for source in self._sources
        )

    @property
    def data_state(self) -> DataState:
        """Path, size and modification time of each source file."""
        return [each for source in self._sources for each in source.state]

    def close(self) -> None:
        self._connection.close()
        self._spill.cleanup()

    def _register_frame(self, name: str, frame: pa.Table) -> None:
        """Register a frame, and a view of it under its name."""
        registered = f"{GIVEN} {name}"
        self._connection.register(registered, convert_frame(frame))
        columns = ", ".join(itertools.starmap(select_canonical_value, self.column_types(registered).items()))
        text = f"CREATE VIEW {quote_identifier(name)} AS SELECT {columns} FROM {quote_identifier(registered)}"
        run_guarded(lambda: self._connection.execute(text))

    def _create_view(self, name: str, table: Table) -> sources.SourceRelation:
        located = sources.locate_source(name, table)
        source = run_guarded(lambda: sources.make_texts(located, Path(self._spill.name)))
        self._sources.append(source)
        reading = run_guarded(lambda: sources.read_source_schema(source, self._connection))
        self._unread[name] = run_guarded(lambda: sources.inspect_texts(source, self._connection))
        is_marked = any(map(has_marked_formulas, source.files))
        columns = ", ".join(
            f"{unescape_cell_sql(quote_identifier(each))} AS {quote_identifier(each)}"
            if is_marked
            else select_published_column(table, each, reading.types.get(each, ""))
            for each in table.columns
        )
        # as declared, whatever case the file has; rows without columns still count
        names = ", ".join(map(quote_identifier, table.columns or (ROW,)))
        columns = columns or f"true AS {ROW}"
        # not a temporary view: it would shadow tables of the file that the file's own views name
        text = f"CREATE VIEW {quote_identifier(name)} ({names}) AS SELECT {columns} FROM {reading.relation}"
        run_guarded(lambda: self._connection.execute(text))
        if reading.csv is not None:
            lines = write_text_view(name, reading.csv)
            run_guarded(lambda: self._connection.execute(lines))
        return reading

    def _copy_rows(self, sql: str, draft: Path, path: Path) -> None:
        if path.suffix.lower() in FORMATS:
            options, is_csv = FORMATS[path.suffix.lower()], path.suffix.lower() == ".csv"
            text = self._mark_formula_cells(sql) if is_csv else sql
            self._connection.execute(f"COPY ({text}) TO {quote_path(draft)} ({options})")
            return
        self._connection.execute(f"ATTACH {quote_literal(str(draft))} AS _discreet_release")
        try:
            self._connection.execute(f"CREATE TABLE _discreet_release.{quote_identifier(path.stem)} AS {sql}")
        finally:
            self._connection.execute("DETACH _discreet_release")

    def _mark_formula_cells(self, sql: str) -> str:
        """Return the SELECT with formula cells marked, in values and column names, for a CSV file."""
        described = self._connection.execute(f"DESCRIBE {sql}").fetchall()
        columns = [
            f"{self._mark_formula_column(name, kind)} AS {quote_identifier(escape_cell(name))}"
            for name, kind, *_ in described
        ]
        return f"SELECT {', '.join(columns)} FROM ({sql})"

    def _mark_formula_column(self, name: str, kind: str) -> str:
        if kind.startswith("ENUM") and not self._has_formulas(kind):
            return quote_identifier(name)  # an ENUM is written much faster than text
        return (
            escape_cell_sql(f"CAST({quote_identifier(name)} AS VARCHAR)")
            if kind.startswith(TEXT_TYPES)
            else quote_identifier(name)
        )

    def _has_formulas(self, kind: str) -> bool:
        words = f"SELECT unnest(enum_range(CAST(NULL AS {kind})))"
        return any(escape_cell(word) != word for (word,) in self._connection.execute(words).fetchall())

    @contextmanager
    def _register_lookup_tables(self, lookup_tables: Mapping[str, pa.Table]) -> Iterator[None]:
        """Register lookup tables for one statement; dictionaries become ENUMs.

        Grouping and writing text costs several times as much as grouping and writing an ENUM.
        """
        for name, table in lookup_tables.items():
            self._connection.register(ARRIVING, table)
            columns = ", ".join(
                _cast_dictionary_to_enum(field, table.column(field.name)) for field in table.schema
            )
            self._connection.execute(
                f"CREATE TEMP TABLE {quote_identifier(name)} AS SELECT {columns} FROM {ARRIVING}"
            )
            self._connection.unregister(ARRIVING)
        try:
            yield
        finally:
            for name in lookup_tables:
                self._connection.execute(f"DROP TABLE IF EXISTS {quote_identifier(name)}")


def has_marked_formulas(path: Path) -> bool:
    """Return whether the certificate beside a CSV file says that its formula cells are marked."""
    beside = ReleaseTarget(file=path).make_companion_path("certificate.json")
    if path.suffix.lower() != ".csv" or not beside.is_file():
        return False
    with suppress(OSError, ValueError):
        told = json.loads(beside.read_text(encoding="utf-8"))
        return isinstance(told, dict) and (told.get("file"), FORMULA_CELLS in told) == (path.name, True)
    return False


@contextmanager
def stage_output(target: ReleaseTarget) -> Iterator[Path]:
    """Yield the file to write; if the target is a database, the file then becomes a table of it.

    The staging file is needed because the source may be another table of the same database, which cannot be
    open for reading and writing at once.
    """
    if not target.table:
        yield target.file
        return
    require_output(target.file)
    draft = get_draft_path(target.file, target.file.suffix)
    try:
        yield draft
        _move_into_database(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _move_into_database(draft: Path, target: ReleaseTarget) -> None:
    failed = False
    with closing(connect_duckdb()) as connection:
        try:
            connection.execute(f"ATTACH {quote_literal(str(target.file))} AS _discreet_target")
        except duckdb.Error:
            failed = True
        else:
            connection.execute(f"ATTACH {quote_literal(str(draft))} AS _discreet_release (READ_ONLY)")
            place, made = f"_discreet_target.{quote_identifier(target.table)}", quote_identifier(draft.stem)
            text = f"CREATE OR REPLACE TABLE {place} AS FROM _discreet_release.{made}"
            run_guarded_write(lambda: connection.execute(text), target.file)
    # Raised outside of the handler, so that the driver's error does not become its context.
    if failed:
        raise RequestError(
            f"{target.file} cannot be written to.",
            hint="Check that it is a DuckDB file and not open elsewhere.",
        )


def _cast_dictionary_to_enum(field: pa.Field, column: pa.ChunkedArray) -> str:
    if not pa.types.is_dictionary(field.type) or column.num_chunks != 1:
        return quote_identifier(field.name)
    words = column.chunk(0).dictionary.to_pylist()
    if not words or len(words) > MOST_WORDS:
        return quote_identifier(field.name)
    return (
        f"CAST({quote_identifier(field.name)} AS ENUM ({', '.join(map(quote_literal, words))})) "
        f"AS {quote_identifier(field.name)}"
    )
