"""CSV files for Spark: read here by DuckDB's reader, and handed to Spark as Parquet.

Spark's own reader cannot be made safe by options. It splits a file at line feeds before it looks at quotes,
so the lines of one quoted note become rows of other people (`multiLine` avoids that). It reads all files of a
path by the header of one of them. And a row with more columns than `maxColumns` fails the whole read in every
mode, so a single row decides whether there is an answer. So Spark never reads CSV: the files are read through
`sources`, as for DuckDB, each by its own header; a row that is malformed is left out by itself.

Where       only in a session on this machine and from its files; a cluster would need the copy on every
            worker, and is asked for Parquet instead. A table of a catalog or a view over CSV is refused too.
Copy        in a folder that only its owner can enter, removed when the process ends; one for each state of
            the files (path, size, modification time). An open engine keeps the rows it was opened with.
Values      as the policy declares them, types and reading options (`csv_sources`). Where nothing is declared,
            for a custodian's draft or for reports, a column has the type that all of its values have.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from discreet.core.column_entry import Column
from discreet.core.engine_faults import CUSTODIAN_LOG, run_guarded
from discreet.core.errors import RequestError
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.engines import sources
from discreet.engines.csv_detection import detect_csv
from discreet.engines.duckdb_connection import connect_duckdb, quote_path

INTEGER = r"\s*[+-]?[0-9]+\s*"
INFERRED_TYPES = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN")
CSV_SCAN = re.compile(r"(?:FileScan|BatchScan|Scan) csv\b")
"""What the plan of a frame that reads CSV has in it."""

_ORIGINALS: dict[Path, tuple[Path, ...]] = {}
_CONVERTING = threading.Lock()


def convert_csv(session: Any, name: str, source: str, table: Table | None, folder: str) -> Path | None:
    """Write the rows of CSV files to a Parquet file in a folder and return it; None if there is no file.

    Its columns are those of `table`, by their declared names, or all.
    """
    pattern = source.removeprefix("file://")
    if "://" in pattern or not _is_local(session):
        raise RequestError(
            f"Spark: the source of table {name} is {source}; Spark reads CSV only in a session on this "
            "machine, and from its files.",
            hint="Convert it to Parquet, or use engine: spark:local.",
        )
    if os.path.isdir(pattern):
        pattern = os.path.join(glob.escape(pattern), f"*{Path(pattern).suffix}")
    if not os.path.isfile(pattern) and not glob.glob(pattern, recursive=True):
        return None
    with _CONVERTING:
        return _convert_once(name, pattern, table, Path(folder))


def find_original_files(path: Path) -> tuple[Path, ...]:
    """Return the CSV files that a Parquet file was converted from; other files are their own."""
    return _ORIGINALS.get(path, (path,))


def require_no_csv(session: Any, name: str, source: str, frame: Any) -> None:
    """Refuse a table or view of the catalog that reads CSV by Spark's own reader."""
    (plan,) = session.sql("EXPLAIN SELECT * FROM {frame}", frame=frame).collect()
    if CSV_SCAN.search(plan[0]):
        raise RequestError(
            f"Spark: the source of table {name} is {source}, which is stored as CSV; one row of it can "
            "change how Spark reads the others.",
            hint="Convert it to Parquet (CREATE TABLE … USING parquet AS SELECT …).",
        )


def _is_local(session: Any) -> bool:
    return hasattr(session, "_jsparkSession") and str(session.sparkContext.master).startswith("local")


def _convert_once(name: str, pattern: str, declared: Table | None, folder: Path) -> Path:
    table = _describe_columns(name, pattern) if declared is None else declared
    source = sources.locate_source(name, table.model_copy(update={"source": pattern}))
    described = {each: column.model_dump(mode="json") for each, column in table.columns.items()}
    options = None if table.csv is None else table.csv.model_dump(mode="json")
    state = repr((source.state, described, options, declared is None))
    path = folder / f"csv-{hashlib.sha256(state.encode()).hexdigest()[:32]}.parquet"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder) as workshop:
            texts = run_guarded(lambda: sources.make_texts(source, Path(workshop)))
            draft = Path(workshop) / "rows.parquet"
            run_guarded(lambda: _write_parquet(texts, draft, infer=declared is None))
            draft.rename(path)
    _ORIGINALS[path] = source.files
    return path


def _describe_columns(name: str, pattern: str) -> Table:
    """Return a declaration of all columns of a file, numbered, as their names may be any text."""
    files = sources.locate_source(name, Table(source=pattern, columns={})).files
    found = detect_csv(files[0])
    columns = {f"c{place}": Column(source_name=each) for place, (each, _) in enumerate(found.columns)}
    return Table(source=pattern, columns=columns, csv=found.options)


def _write_parquet(source: sources.Source, draft: Path, *, infer: bool) -> None:
    with closing(connect_duckdb(spill_folder=str(draft.with_suffix(".spill")))) as connection:
        reading = sources.read_source_schema(source, connection)
        unread = str(sources.inspect_texts(source, connection))
        if unread:
            CUSTODIAN_LOG.warning("table %s: %s", source.name, unread)
        types = _infer_types(reading, connection) if infer else reading.types
        names = source.table.source_names if infer else dict.fromkeys(source.table.columns, "")
        columns = ", ".join(
            f"CAST({own} AS {types.get(column, 'VARCHAR')}) AS {quote_identifier(names[column] or column)}"
            for column in source.table.columns
            for own in [quote_identifier(column)]
        )
        connection.execute(
            f"COPY (SELECT {columns} FROM {reading.relation}) TO {quote_path(draft)} (FORMAT parquet)"
        )
        sources.release_source(connection)


def _infer_types(reading: sources.SourceRelation, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the first type that all values of a column have, for each column that has one."""
    tests = [
        f"count({column}) > 0 AND coalesce(bool_and({_write_type_test(column, kind)}), false)"
        for column in map(quote_identifier, reading.types)
        for kind in INFERRED_TYPES
    ]
    row = connection.execute(f"SELECT {', '.join(tests)} FROM {reading.relation}").fetchone()
    assert row is not None
    found = iter(row)
    types = {column: [kind for kind in INFERRED_TYPES if next(found)] for column in reading.types}
    return {column: kinds[0] for column, kinds in types.items() if kinds}


def _write_type_test(column: str, kind: str) -> str:
    test = f"TRY_CAST({column} AS {kind}) IS NOT NULL OR {column} IS NULL"
    # DuckDB would round a fraction
    return f"({test}) AND regexp_full_match({column}, '{INTEGER}')" if kind == "BIGINT" else test
