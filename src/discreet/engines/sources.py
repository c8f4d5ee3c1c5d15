"""Sources: the files or frames of a policy's tables, and the SQL that reads them.

Files       CSV with any separator, Parquet, a table of a DuckDB file (`file.duckdb#table`, or the table's own
            name in the policy), or a glob of the first two.
Frames      Arrow tables that a program passes in, in place of the policy's sources.
Collations  text of a DuckDB file is compared by its bytes, as everywhere else, whatever the collation of its
            column; but such a column cannot identify people (`identifier_types`).
Schema      the names and types of columns, from a header, a footer or a catalog: never from values. A
            declared column that is missing is a request error; undeclared columns are left out.
CSV         text throughout, so that types come from the policy. The separator is the one that finds the
            declared columns in the header; if the CSV dialect were guessed from rows, a single row could
            change how the file is read. Rows with too few fields or invalid UTF-8 are left out;
            `find_unread_rows` returns how many, for the custodian. Read by one thread: several would begin
            in the middle of the file, guess whether they are within a quoted value, and lose other people's
            rows if one person's text looks like rows. A value that would hold rows of others is refused
            (`csv_quotes`).
Parquet     by its pages, whatever its statistics claim (`duckdb_connection`). A column chunk of which the
            footer says that all of it is NULL is not read; that number is exact in the format.

Digests of the contents of sources, to detect data that changed.

Files       Parquet and CSV by the SHA-256 of their bytes.
Tables      of a DuckDB file by the sum of their rows' hashes, which depends neither on the file's other
            tables nor on the order of rows. Another version of DuckDB may hash differently, so the digest
            names the version, and two digests of different versions are not compared.
"""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.core.engine import UnreadRows
from discreet.core.engine_faults import run_guarded
from discreet.core.errors import RequestError
from discreet.core.policy import Table
from discreet.core.release_target import DATABASE_SUFFIXES, split_source
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.engines.coarse_times import (
    convert_frame,
    has_millisecond_columns,
    register_parquet_files,
    select_microseconds,
)
from discreet.engines.csv_quotes import require_closed_quotes
from discreet.engines.duckdb_connection import connect_duckdb, quote_path
from discreet.engines.identifier_types import IdentifierType

CSV_SUFFIXES = (".csv", ".tsv", ".txt", ".data")
PARQUET_SUFFIXES = (".parquet", ".pq")
ATTACHED, FRAME = "_discreet_source", "_discreet_frame"
PROBE = "_discreet_probe"
EXACT_TYPES = re.compile(
    r"BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|UUID|ENUM\(.*\)"
    r'|"NULL"'
    r"|BIGNUM|BLOB|BIT|DATE|TIME(_NS)?|TIME WITH TIME ZONE|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE",
    re.S,
)
"""Types in which equal values have equal text."""
COLLATED_COLUMN = re.compile(r"\bc(\d+) VARCHAR COLLATE ([^,)]+)")
MAX_HEADER_BYTES = 1 << 20
MAX_REJECTS = 100_000
MAX_LINES = 1_000
"""Unread lines that are listed for the custodian."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The files of one table, which all have the same suffix; or a frame."""

    name: str
    table: Table
    files: tuple[Path, ...] = ()
    inner_table: str = ""
    frame: pa.Table | None = field(default=None, repr=False)

    @property
    def state(self) -> list[tuple[str, int, int]]:
        """Path, size and modification time of each file, which change with the data."""
        seen = [(path, path.stat()) for path in self.files]
        return [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in seen]


@dataclass(frozen=True, kw_only=True)
class SourceRelation:
    """A source as SQL: the relation to select from, and the type of each declared column in it."""

    relation: str
    types: dict[str, str]
    identifier_types: dict[str, IdentifierType] = field(default_factory=dict)


def locate_source(name: str, table: Table) -> Source:
    """Return the source of a policy's table: its files, or the files that its glob matches."""
    declared, inner = split_source(table.source)
    found = [declared] if Path(declared).is_file() else glob.glob(declared, recursive=True)
    files = tuple(sorted(Path(path).resolve() for path in found if Path(path).is_file()))
    if not files:
        raise RequestError(
            f"prepare: the source of table {name} is {declared}, and there is no such file.",
            hint="Correct its path in the policy.",
        )
    suffixes = {path.suffix.lower() for path in files}
    families = [
        family for family in (CSV_SUFFIXES, PARQUET_SUFFIXES, DATABASE_SUFFIXES) if suffixes <= set(family)
    ]
    if not families or (families == [DATABASE_SUFFIXES] and len(files) > 1):
        raise RequestError(
            f"prepare: the source of table {name} is {declared}, which is not a CSV, Parquet or DuckDB file.",
            hint="Give a file that ends in "
            f"{', '.join((*CSV_SUFFIXES, *PARQUET_SUFFIXES, *DATABASE_SUFFIXES))}.",
        )
    return Source(name=name, table=table, files=files, inner_table=inner or name)


def read_source_schema(source: Source, connection: duckdb.DuckDBPyConnection) -> SourceRelation:
    """Read a source's schema, and no row; return the SQL relation that reads its rows."""
    suffix = source.files[0].suffix.lower() if source.files else ""
    if suffix in CSV_SUFFIXES:
        return _read_csv(source)
    if source.frame is not None:
        connection.register(FRAME, convert_frame(source.frame))
        relation = FRAME
    elif suffix in PARQUET_SUFFIXES and has_millisecond_columns(source.files, connection):
        frames = f"{FRAME} {source.name}"
        relation = register_parquet_files(source.files, source.table.columns, connection, frames)
    elif suffix in PARQUET_SUFFIXES:
        relation = write_parquet_reader(source.files)
    else:
        relation = _attach_database(source, connection)
    types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()}
    _require_columns(source, types, source.files[0].name if source.files else "the frame")
    collated = _find_collations(relation, list(types), connection) if suffix in DATABASE_SUFFIXES else {}
    replaced = {name: f'{quote_identifier(name)} COLLATE "C"' for name in collated}
    times = select_microseconds(types)
    if replaced or times:
        listed = ", ".join(f"{text} AS {quote_identifier(name)}" for name, text in (replaced | times).items())
        relation = f"(SELECT * REPLACE ({listed}) FROM {relation})"
        types |= dict.fromkeys(times, "TIMESTAMP")
    own = {name.lower(): name for name in types}
    declared = {name: own[name.lower()] for name in source.table.columns}
    return SourceRelation(
        relation=relation,
        types={name: types[there] for name, there in declared.items()},
        identifier_types={
            name: _make_identifier_type(types[there], collated.get(there, ""))
            for name, there in declared.items()
        },
    )


def _find_collations(
    relation: str, names: list[str], connection: duckdb.DuckDBPyConnection
) -> dict[str, str]:
    """Return the collation of each text column that has one.

    DuckDB keeps it as a part of the type and shows it only in a CREATE TABLE statement.
    """
    selected = ", ".join(f"{quote_identifier(name)} AS c{place}" for place, name in enumerate(names))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {PROBE} AS SELECT {selected} FROM {relation} LIMIT 0")
    text = f"SELECT sql FROM duckdb_tables() WHERE temporary AND table_name = {quote_literal(PROBE)}"
    ((made,),) = connection.execute(text).fetchall()
    connection.execute(f"DROP TABLE {PROBE}")
    return {names[int(place)]: collation.strip() for place, collation in COLLATED_COLUMN.findall(made)}


def _make_identifier_type(kind: str, collation: str) -> IdentifierType:
    if collation:
        return IdentifierType(type=f"{kind} COLLATE {collation}", is_exact=False)
    return IdentifierType(type=kind, is_exact=EXACT_TYPES.fullmatch(kind) is not None)


def write_parquet_reader(files: Iterable[Path]) -> str:
    """Return the SQL that reads Parquet files as one table with the columns of all of them.

    Without `can_have_nan` DuckDB takes the minimum and maximum in a file for those of all of its numbers.
    """
    listed = ", ".join(map(quote_path, files))
    return f"read_parquet([{listed}], union_by_name = true, hive_types_autocast = false, can_have_nan = true)"


def find_unread_rows(source: Source, connection: duckdb.DuckDBPyConnection) -> UnreadRows:
    """Return the rows of the CSV files just read that were left out."""
    if not source.files or source.files[0].suffix.lower() not in CSV_SUFFIXES:
        return UnreadRows()
    known = "SELECT count(*) FROM duckdb_tables() WHERE temporary AND table_name = 'reject_errors'"
    if connection.execute(known).fetchall() == [(0,)]:
        return UnreadRows()
    # a file that several statements have read has its lines once
    lines = (
        "SELECT DISTINCT s.file_path, e.line FROM reject_errors e "
        "JOIN reject_scans s ON s.scan_id = e.scan_id AND s.file_id = e.file_id"
    )
    found = connection.execute(f"SELECT file_path, line FROM ({lines}) ORDER BY ALL").fetchall()
    own = [(Path(file), line) for file, line in found if Path(file) in source.files]
    return UnreadRows(
        count=len(own), is_complete=len(found) < MAX_REJECTS, lines=tuple(line for _, line in own[:MAX_LINES])
    )


def release_source(connection: duckdb.DuckDBPyConnection) -> None:
    """Detach the sources of `read_source_schema`, and drop the driver's rejects tables, which quote rows."""
    connection.execute(f"DETACH DATABASE IF EXISTS {ATTACHED}")
    known = f"SELECT view_name FROM duckdb_views() WHERE starts_with(view_name, {quote_literal(FRAME)})"
    for (name,) in connection.execute(known).fetchall():
        connection.unregister(name)
    for table in ("reject_errors", "reject_scans"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def read_csv_header(path: Path, declared: Iterable[str]) -> list[str]:
    """Return the column names in the first line of a CSV file, split by the detected separator."""
    return _detect_csv_dialect(path, declared)[1]


def _attach_database(source: Source, connection: duckdb.DuckDBPyConnection) -> str:
    connection.execute(f"ATTACH {quote_literal(str(source.files[0]))} AS {ATTACHED} (READ_ONLY)")
    *schema, name = source.inner_table.split(".")
    place = ".".join(schema) or "main"
    known = connection.execute(
        "SELECT 1 FROM information_schema.tables "
        "WHERE table_catalog = ? AND table_schema = ? AND table_name = ?",
        [ATTACHED, place, name],
    ).fetchall()
    if not known:
        raise RequestError(
            f"prepare: the source of table {source.name} is {source.inner_table} in {source.files[0].name}, "
            "and there is no such table.",
            hint="Name it in the policy as file.duckdb#table.",
        )
    return f"{ATTACHED}.{quote_identifier(place)}.{quote_identifier(name)}"


def _read_csv(source: Source) -> SourceRelation:
    columns = ", ".join(map(quote_identifier, source.table.columns))
    parts = [f"SELECT {columns} FROM {_write_csv_reader(source, path)}" for path in source.files]
    return SourceRelation(
        relation="(" + " UNION ALL ".join(parts) + ")",
        types=dict.fromkeys(source.table.columns, "VARCHAR"),
        identifier_types=dict.fromkeys(source.table.columns, _make_identifier_type("VARCHAR", "")),
    )


def require_readable_rows(source: Source) -> None:
    """Refuse a CSV file in which a quoted value may hold other people's rows (`csv_quotes`)."""
    for path in source.files:
        if path.suffix.lower() in CSV_SUFFIXES:
            require_closed_quotes(source.name, path, _detect_csv_dialect(path, source.table.columns)[0])


def _write_csv_reader(source: Source, path: Path) -> str:
    separator, header = _detect_csv_dialect(path, source.table.columns)
    _require_columns(source, header, path.name)
    declared = {name.lower(): name for name in source.table.columns}
    # Undeclared columns may share a name, so they are numbered.
    names = [declared.pop(name.lower(), f"_discreet_{number}") for number, name in enumerate(header)]
    struct = ", ".join(f"{quote_literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({quote_path(path)}, auto_detect = false, header = true, delim = "
        f"{quote_literal(separator)}, "
        f"quote = '\"', escape = '\"', columns = {{{struct}}}, strict_mode = false, "
        f"ignore_errors = true, store_rejects = true, rejects_limit = {MAX_REJECTS}, parallel = false)"
    )


def _detect_csv_dialect(path: Path, declared: Iterable[str]) -> tuple[str, list[str]]:
    """Return the separator that finds the most declared columns in the header, and the header's names."""
    with path.open("rb") as file:
        text = file.read(MAX_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    wanted = {name.lower() for name in declared}
    first = text.partition("\n")[0]
    marks = [mark for mark in first if not mark.isalnum() and mark not in '_"\r\n']
    headers = {mark: _parse_header(text, mark) for mark in dict.fromkeys([*",;\t|", *marks])}
    best = max(headers, key=lambda mark: len(wanted & {name.strip().lower() for name in headers[mark]}))
    names = headers[best]
    # a blank after every separator is part of the separator
    spaced = len(names) > 1 and all(name.startswith(" ") for name in names[1:])
    return best + " " if spaced else best, [name.strip() for name in names]


def _parse_header(text: str, mark: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=mark), [])
    except csv.Error:
        return []


def _require_columns(source: Source, names: Iterable[str], place: str) -> None:
    found = {name.lower() for name in names}
    missing = [name for name in source.table.columns if name.lower() not in found]
    if missing:
        raise RequestError(
            f"prepare: table {source.name} declares the column {missing[0]}; {place} does not have it.",
            hint="Correct its name in the policy, or remove it.",
        )


TABLE_DIGEST_PREFIX = "duckdb-"


def digest_contents(source: Source) -> str:
    """Return a digest of the rows of a source's files."""
    if source.files[0].suffix.lower() in DATABASE_SUFFIXES:
        return run_guarded(lambda: _digest_table(source))
    whole = hashlib.sha256()
    for path in source.files:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def have_changed(before: str, now: str) -> bool:
    """Return whether two digests are certainly of different contents.

    >>> have_changed("duckdb-2.0:[(3, 5)]", "duckdb-2.0:[(3, 6)]")
    True
    >>> have_changed("duckdb-2.0:[(3, 5)]", "duckdb-2.1:[(3, 6)]")
    False
    """
    versions = {each.partition(":")[0] for each in (before, now) if each.startswith(TABLE_DIGEST_PREFIX)}
    return before != now and len(versions) < 2


def _digest_table(source: Source) -> str:
    *schema, name = source.inner_table.split(".")
    place = f"source.{quote_identifier('.'.join(schema) or 'main')}.{quote_identifier(name)}"
    with connect_duckdb() as connection:
        connection.execute(f"ATTACH {quote_literal(str(source.files[0]))} AS source (READ_ONLY)")
        rows = f"SELECT count(*), sum(hash(t)::HUGEINT) FROM {place} AS t"
        found = connection.execute(rows).fetchall()
    return f"{TABLE_DIGEST_PREFIX}{duckdb.__version__}:{found}"
