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
            `format_unread_rows` returns how many, for the custodian.
"""

from __future__ import annotations

import csv
import glob
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.policy import Table
from discreet.engines.connection import literal, path_literal, quoted
from discreet.engines.identities import Identity

CSV = (".csv", ".tsv", ".txt", ".data")
PARQUET = (".parquet", ".pq")
DATABASE = (".duckdb", ".db", ".ddb")
ATTACHED, FRAME = "_discreet_source", "_discreet_frame"
PROBE = "_discreet_probe"
EXACT = re.compile(
    r"BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|UUID|ENUM\(.*\)"
    r'|"NULL"'
    r"|BIGNUM|BLOB|BIT|DATE|TIME(_NS)?|TIME WITH TIME ZONE|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE",
    re.S,
)
"""Types in which equal values have equal text."""
COLLATED = re.compile(r"\bc(\d+) VARCHAR COLLATE ([^,)]+)")
HEADER = 1 << 20
MOST_UNREAD = 100_000


@dataclass(frozen=True, kw_only=True)
class Source:
    """The files of one table, which all have the same suffix; or a frame."""

    name: str
    table: Table
    files: tuple[Path, ...] = ()
    inner: str = ""
    frame: pa.Table | None = field(default=None, repr=False)

    @property
    def state(self) -> list[tuple[str, int, int]]:
        """Path, size and modification time of each file, which change with the data."""
        seen = [(path, path.stat()) for path in self.files]
        return [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in seen]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A source as SQL: the relation to select from, and the type of each declared column in it."""

    relation: str
    types: dict[str, str]
    identities: dict[str, Identity] = field(default_factory=dict)


def locate(name: str, table: Table) -> Source:
    """Return the source of a policy's table: its files, or the files that its glob matches."""
    declared, inner = split(table.source)
    found = [declared] if Path(declared).is_file() else glob.glob(declared, recursive=True)
    files = tuple(sorted(Path(path).resolve() for path in found if Path(path).is_file()))
    if not files:
        raise RequestError(
            f"prepare: the source of table {name} is {declared}, and there is no such file.",
            hint="Correct its path in the policy.",
        )
    suffixes = {path.suffix.lower() for path in files}
    families = [family for family in (CSV, PARQUET, DATABASE) if suffixes <= set(family)]
    if not families or (families == [DATABASE] and len(files) > 1):
        raise RequestError(
            f"prepare: the source of table {name} is {declared}, which is not a CSV, Parquet or DuckDB file.",
            hint=f"Give a file that ends in {', '.join((*CSV, *PARQUET, *DATABASE))}.",
        )
    return Source(name=name, table=table, files=files, inner=inner or name)


def read(source: Source, connection: duckdb.DuckDBPyConnection) -> Reading:
    """Read a source's schema, and no row; return the SQL relation that reads its rows."""
    suffix = source.files[0].suffix.lower() if source.files else ""
    if suffix in CSV:
        return _read_csv(source)
    if source.frame is not None:
        connection.register(FRAME, source.frame)
        relation = FRAME
    elif suffix in PARQUET:
        relation = parquet_reader(source.files)
    else:
        relation = _attach(source, connection)
    types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()}
    _require_columns(source, types, source.files[0].name if source.files else "the frame")
    collated = _find_collations(relation, list(types), connection) if suffix in DATABASE else {}
    if collated:
        by_bytes = ", ".join(f'{quoted(name)} COLLATE "C" AS {quoted(name)}' for name in collated)
        relation = f"(SELECT * REPLACE ({by_bytes}) FROM {relation})"
    own = {name.lower(): name for name in types}
    declared = {name: own[name.lower()] for name in source.table.columns}
    return Reading(
        relation=relation,
        types={name: types[there] for name, there in declared.items()},
        identities={
            name: _identity(types[there], collated.get(there, "")) for name, there in declared.items()
        },
    )


def _find_collations(
    relation: str, names: list[str], connection: duckdb.DuckDBPyConnection
) -> dict[str, str]:
    """Return the collation of each text column that has one.

    DuckDB keeps it as a part of the type and shows it only in a CREATE TABLE statement.
    """
    selected = ", ".join(f"{quoted(name)} AS c{place}" for place, name in enumerate(names))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {PROBE} AS SELECT {selected} FROM {relation} LIMIT 0")
    text = f"SELECT sql FROM duckdb_tables() WHERE temporary AND table_name = {literal(PROBE)}"
    ((made,),) = connection.execute(text).fetchall()
    connection.execute(f"DROP TABLE {PROBE}")
    return {names[int(place)]: collation.strip() for place, collation in COLLATED.findall(made)}


def _identity(kind: str, collation: str) -> Identity:
    if collation:
        return Identity(type=f"{kind} COLLATE {collation}", is_exact=False)
    return Identity(type=kind, is_exact=EXACT.fullmatch(kind) is not None)


def parquet_reader(files: Iterable[Path]) -> str:
    """Return the SQL that reads Parquet files as one table with the columns of all of them."""
    listed = ", ".join(map(path_literal, files))
    return f"read_parquet([{listed}], union_by_name = true, hive_types_autocast = false)"


def unread(source: Source, connection: duckdb.DuckDBPyConnection) -> str:
    """Return how many rows of the CSV files just read were left out, as text; empty if none."""
    if not source.files or source.files[0].suffix.lower() not in CSV:
        return ""
    known = "SELECT count(*) FROM duckdb_tables() WHERE temporary AND table_name = 'reject_errors'"
    if connection.execute(known).fetchall() == [(0,)]:
        return ""
    lines = "SELECT count(*) FROM (SELECT DISTINCT scan_id, file_id, line FROM reject_errors)"
    ((count,),) = connection.execute(lines).fetchall()
    return f"at least {count:,}" if count >= MOST_UNREAD else f"{count:,}" if count else ""


def let_go(connection: duckdb.DuckDBPyConnection) -> None:
    """Detach the source of `read_source_schema`, and drop the driver's rejects tables, which quote rows."""
    connection.execute(f"DETACH DATABASE IF EXISTS {ATTACHED}")
    connection.unregister(FRAME)
    for table in ("reject_errors", "reject_scans"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def split(source: str) -> tuple[str, str]:
    """Return the file and the table inside it that a source such as `file.duckdb#table` names."""
    file, _, inner = source.rpartition("#")
    return (file, inner) if Path(file).suffix.lower() in DATABASE else (source, "")


def header(path: Path, declared: Iterable[str]) -> list[str]:
    """Return the column names in the first line of a CSV file, split by the detected separator."""
    return _dialect(path, declared)[1]


def _attach(source: Source, connection: duckdb.DuckDBPyConnection) -> str:
    connection.execute(f"ATTACH {literal(str(source.files[0]))} AS {ATTACHED} (READ_ONLY)")
    *schema, name = source.inner.split(".")
    place = ".".join(schema) or "main"
    known = connection.execute(
        "SELECT 1 FROM information_schema.tables "
        "WHERE table_catalog = ? AND table_schema = ? AND table_name = ?",
        [ATTACHED, place, name],
    ).fetchall()
    if not known:
        raise RequestError(
            f"prepare: the source of table {source.name} is {source.inner} in {source.files[0].name}, "
            "and there is no such table.",
            hint="Name it in the policy as file.duckdb#table.",
        )
    return f"{ATTACHED}.{quoted(place)}.{quoted(name)}"


def _read_csv(source: Source) -> Reading:
    columns = ", ".join(map(quoted, source.table.columns))
    parts = [f"SELECT {columns} FROM {_csv_reader(source, path)}" for path in source.files]
    return Reading(
        relation="(" + " UNION ALL ".join(parts) + ")",
        types=dict.fromkeys(source.table.columns, "VARCHAR"),
        identities=dict.fromkeys(source.table.columns, _identity("VARCHAR", "")),
    )


def _csv_reader(source: Source, path: Path) -> str:
    separator, header = _dialect(path, source.table.columns)
    _require_columns(source, header, path.name)
    declared = {name.lower(): name for name in source.table.columns}
    # Undeclared columns may share a name, so they are numbered.
    names = [declared.pop(name.lower(), f"_discreet_{number}") for number, name in enumerate(header)]
    struct = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({path_literal(path)}, auto_detect = false, header = true, delim = {literal(separator)}, "
        f"quote = '\"', escape = '\"', columns = {{{struct}}}, strict_mode = false, "
        f"ignore_errors = true, store_rejects = true, rejects_limit = {MOST_UNREAD})"
    )


def _dialect(path: Path, declared: Iterable[str]) -> tuple[str, list[str]]:
    """Return the separator that finds the most declared columns in the header, and the header's names."""
    with path.open("rb") as file:
        text = file.read(HEADER).decode("utf-8-sig", errors="replace")
    wanted = {name.lower() for name in declared}
    first = text.partition("\n")[0]
    marks = [mark for mark in first if not mark.isalnum() and mark not in '_"\r\n']
    headers = {mark: _header(text, mark) for mark in dict.fromkeys([*",;\t|", *marks])}
    best = max(headers, key=lambda mark: len(wanted & {name.strip().lower() for name in headers[mark]}))
    names = headers[best]
    # a blank after every separator is part of the separator
    spaced = len(names) > 1 and all(name.startswith(" ") for name in names[1:])
    return best + " " if spaced else best, [name.strip() for name in names]


def _header(text: str, mark: str) -> list[str]:
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
