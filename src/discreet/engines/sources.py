"""Sources: the files or frames of a policy's tables, and the SQL that reads them.

Files       CSV with any separator, plain or compressed (.gz, .zst), the first sheet of an Excel file,
            Parquet, Arrow (.arrow, .feather), a glob of these, or a table of a DuckDB file
            (`file.duckdb#table`, or the table's own name in the policy).
Frames      Arrow tables that a program passes in, in place of the policy's sources.
Collations  text of a DuckDB file is compared by its bytes, as everywhere else, whatever the collation of its
            column; but such a column cannot identify people (`identifier_types`).
Schema      the names and types of columns, from a header, a footer or a catalog: never from values. A
            declared column that is missing is a request error; undeclared columns are left out. A column has
            its own name in the source, or the one that the policy declares by `from`.
CSV         by the options that the policy declares under `csv:` (`csv_sources`), from a copy in UTF-8 where
            one is needed (`text_files`); a value that would hold rows of others is refused (`csv_quotes`).
Parquet     by its pages, whatever its statistics claim (`duckdb_connection`). A column chunk of which the
            footer says that all of it is NULL is not read; that number is exact in the format.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.core.csv_options import CsvOptions
from discreet.core.errors import RequestError
from discreet.core.release_target import split_source
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.core.table_entry import Table
from discreet.engines.coarse_times import (
    convert_frame,
    has_millisecond_columns,
    register_parquet_files,
    select_microseconds,
)
from discreet.engines.csv_blanks import may_need_trimming
from discreet.engines.csv_quotes import MAX_LISTED_LINES, count_lines, find_overlong_lines, inspect_rows
from discreet.engines.csv_sources import (
    UNREAD,
    CsvRelation,
    read_header,
    require_columns,
    write_csv_relation,
)
from discreet.engines.duckdb_connection import attach_database, quote_path
from discreet.engines.file_formats import (
    KNOWN_FORMATS,
    TEXT_FORMATS,
    FileFormat,
    find_common_format,
    find_file_format,
    list_suffixes,
)
from discreet.engines.identifier_types import IdentifierType
from discreet.engines.text_files import TextFile, make_text_file

ATTACHED, FRAME = "_discreet_source", "_discreet_frame"
PROBE = "_discreet_probe"
MAX_SHOWN_LINES = 10
EXACT_TYPES = re.compile(
    r"BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|UUID|ENUM\(.*\)"
    r'|"NULL"'
    r"|BIGNUM|BLOB|BIT|DATE|TIME(_NS)?|TIME WITH TIME ZONE|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE",
    re.S,
)
"""Types in which equal values have equal text."""
COLLATED_COLUMN = re.compile(r"\bc(\d+) VARCHAR COLLATE ([^,)]+)")


@dataclass(frozen=True, kw_only=True)
class Source:
    """The files of one table, which all have the same format; or a frame.

    `texts` are the files of a text format as UTF-8, from `make_texts`.
    """

    name: str
    table: Table
    files: tuple[Path, ...] = ()
    inner_table: str = ""
    frame: pa.Table | None = field(default=None, repr=False)
    texts: tuple[TextFile, ...] = ()

    @property
    def format(self) -> FileFormat | None:
        """The format of the files; None for a frame."""
        return find_file_format(self.files[0]) if self.files else None

    @property
    def is_text(self) -> bool:
        """True if the rows are text, read by the options of `csv:`."""
        return self.format in TEXT_FORMATS

    @property
    def state(self) -> list[tuple[str, int, int]]:
        """Path, size and modification time of each file, which change with the data."""
        seen = [(path, path.stat()) for path in self.files]
        return [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in seen]


@dataclass(frozen=True, kw_only=True)
class SourceRelation:
    """A source as SQL: the relation to select from, and the type of each declared column in it.

    `csv` is how a text source is read: the text of each value, and the value that is made from it.
    """

    relation: str
    types: dict[str, str]
    identifier_types: dict[str, IdentifierType] = field(default_factory=dict)
    csv: CsvRelation | None = None


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
    form = find_common_format(files)
    if form is None or (form is FileFormat.DATABASE and len(files) > 1):
        raise RequestError(
            f"prepare: the source of table {name} is {declared}, which is not {KNOWN_FORMATS}.",
            hint=f"Give a file that ends in {list_suffixes()}.",
        )
    if table.csv is not None and form not in TEXT_FORMATS:
        raise RequestError(
            f"prepare: table {name} declares csv, and its source {files[0].name} is not text.",
            hint="Remove csv from the policy.",
        )
    return Source(name=name, table=table, files=files, inner_table=inner or name)


def make_texts(source: Source, folder: Path) -> Source:
    """Return a source whose text can be read; copies that this takes are made in `folder`."""
    if not source.is_text:
        return source
    options, declared = source.table.csv or CsvOptions(), source.table.source_names.values()
    made = (make_text_file(path, options, folder) for path in source.files)
    return replace(source, texts=tuple(_drop_idle_trimming(text, declared) for text in made))


def _drop_idle_trimming(text: TextFile, declared: Iterable[str]) -> TextFile:
    """Return a file whose values have no blanks around them with the option not to trim them."""
    options = text.options
    if not options.trim:
        return text
    header = read_header(text.path, options, declared)
    if may_need_trimming(text.path, header.delimiter, options.quote):
        return text
    return replace(text, options=options.model_copy(update={"trim": False}))


@contextmanager
def refuse_unreadable_file(described: str) -> Iterator[None]:
    """Raise a request error where a file, as described, is damaged or in another format than its name says.

    The driver's own message may quote what the file contains.
    """
    failed = False
    try:
        yield
    except (duckdb.Error, OSError, UnicodeError, pa.ArrowInvalid):
        failed = True
    # Raised outside of the handler, so that the driver's error does not become its context.
    if failed:
        raise RequestError(
            f"{described} cannot be read in the format of its suffix.",
            hint="Check that it is complete, in UTF-8 if it is text, and not open elsewhere.",
        )


def read_source_schema(source: Source, connection: duckdb.DuckDBPyConnection) -> SourceRelation:
    """Read a source's schema, and no row; return the SQL relation that reads its rows."""
    if source.is_text:
        return _read_csv(source)
    if source.frame is not None:
        return _read_typed_source(source, connection)
    with refuse_unreadable_file(f"prepare: {source.files[0].name}, the source of table {source.name},"):
        return _read_typed_source(source, connection)


def _read_typed_source(source: Source, connection: duckdb.DuckDBPyConnection) -> SourceRelation:
    """Return the relation of a source whose columns have types: a frame, or a file that is no text."""
    wanted = source.table.source_names
    if source.frame is not None:  # its columns are named as they are declared
        wanted = {name: name for name in wanted}
    frames = f"{FRAME} {source.name}"
    if source.frame is not None or source.format is FileFormat.ARROW:
        frame = source.frame if source.frame is not None else read_arrow_files(source.files)
        connection.register(frames, convert_frame(frame))
        relation = quote_identifier(frames)
    elif source.format is FileFormat.PARQUET and has_millisecond_columns(source.files, connection):
        relation = register_parquet_files(source.files, wanted.values(), connection, frames)
    elif source.format is FileFormat.PARQUET:
        relation = write_parquet_reader(source.files)
    else:
        relation = _attach_database(source, connection)
    types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()}
    require_columns(source.name, wanted, types, source.files[0].name if source.files else "the frame")
    is_database = source.format is FileFormat.DATABASE
    collated = _find_collations(relation, list(types), connection) if is_database else {}
    replaced = {name: f'{quote_identifier(name)} COLLATE "C"' for name in collated}
    times = select_microseconds(types)
    if replaced or times:
        listed = ", ".join(f"{text} AS {quote_identifier(name)}" for name, text in (replaced | times).items())
        relation = f"(SELECT * REPLACE ({listed}) FROM {relation})"
        types |= dict.fromkeys(times, "TIMESTAMP")
    own = {name.lower(): name for name in types}
    declared = {name: own[origin.lower()] for name, origin in wanted.items()}
    if any(column.source_name for column in source.table.columns.values()):
        listed = ", ".join(
            f"{quote_identifier(there)} AS {quote_identifier(name)}" for name, there in declared.items()
        )
        relation = f"(SELECT {listed} FROM {relation})"
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


@dataclass(frozen=True, kw_only=True)
class UnreadRows:
    """The rows of a text source that are not read, with the first of their lines, for the custodian alone.

    `overlong_count` of them are longer than a row may be; the others have too few or too many fields.
    `undecodable` are lines with bytes that the encoding does not have; their rows are read. `quoted_lines`
    are those within a value that began in an earlier line, and `quoted_rows` those of them that look like
    rows: a stray quote mark has taken them in.
    """

    count: int = 0
    lines: tuple[tuple[str, int], ...] = ()
    overlong_count: int = 0
    undecodable_count: int = 0
    undecodable: tuple[tuple[str, int], ...] = ()
    quoted_lines: int = 0
    quoted_rows: int = 0

    @property
    def fault(self) -> str:
        """The fault of the rows that are not read: what they have too much or too little of."""
        uneven, overlong = "too few or too many fields", "more than 2 MB"
        if not self.overlong_count:
            return uneven
        return overlong if self.overlong_count == self.count else f"{uneven}, or {overlong}"

    def __str__(self) -> str:
        """Return a sentence about them; empty if there are none."""
        parts = []
        for count, lines, fault in (
            (self.count, self.lines, f"not read: they have {self.fault}"),
            (self.undecodable_count, self.undecodable, "in another encoding than declared"),
        ):
            if count:
                shown = [f"{line:,}" for _, line in lines[:MAX_SHOWN_LINES]]
                more = ["…"] if count > len(shown) else []
                parts.append(f"{count:,} rows are {fault} (lines {', '.join(shown + more)})")
        return "; ".join(parts)


def require_closed_quotes(source: Source) -> None:
    """Raise RequestError if a quoted value of a text source may hold rows of others."""
    _inspect_texts(source, only_quoted=True)


def inspect_texts(
    source: Source, connection: duckdb.DuckDBPyConnection, *, read: int | None = None
) -> UnreadRows:
    """Return the rows of a text source that cannot be read; refuse quotes that may hold rows of others.

    `read` is the number of rows that are, if it is known: of a file with as many lines none is left out, and
    none goes on to another line. DuckDB counts rows much faster than their lines can be found; so these are
    looked for only if need be.
    """
    is_whole = read is not None and read == _count_row_lines(source)
    quoted = replace(_inspect_texts(source, only_quoted=True, only_last=is_whole), count=0, lines=())
    if is_whole or not source.texts:
        return quoted
    csv = write_csv_relation(source.name, source.table, source.texts)
    _drop_rejects(connection)
    ((count,),) = connection.execute(f"SELECT count(*) FROM {csv.texts} WHERE {UNREAD}").fetchall()
    rejected = _count_rejected_rows(connection)
    _drop_rejects(connection)
    overlong = [
        (text.original.name, text.find_original_line(line))
        for text in source.texts
        for line in find_overlong_lines(text.path)
    ]
    overlong_count = max(len(overlong), rejected)
    found = _inspect_texts(source, only_quoted=False) if count else quoted
    return replace(
        found,
        count=count + overlong_count,
        lines=tuple(sorted({*found.lines, *overlong[:MAX_LISTED_LINES]})),
        overlong_count=overlong_count,
    )


def _count_row_lines(source: Source) -> int:
    """Return the number of lines of a source's texts, without those of their headers."""
    return sum(count_lines(text.path) - text.options.header for text in source.texts)


def _count_rejected_rows(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many rows the driver left out since its tables of them were dropped."""
    known = "SELECT count(*) FROM duckdb_tables() WHERE temporary AND table_name = 'reject_errors'"
    if connection.execute(known).fetchall() == [(0,)]:
        return 0
    lines = "SELECT count(*) FROM (SELECT DISTINCT scan_id, file_id, line FROM reject_errors)"
    ((count,),) = connection.execute(lines).fetchall()
    return int(count)


def _drop_rejects(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop the driver's tables of rows that it left out, which quote them."""
    for table in ("reject_errors", "reject_scans"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def _inspect_texts(source: Source, *, only_quoted: bool, only_last: bool = False) -> UnreadRows:
    found = UnreadRows()
    for text in source.texts:
        header = read_header(text.path, text.options, source.table.source_names.values())
        shown = text.original.name
        seen = inspect_rows(
            source.name,
            text.path,
            shown,
            header.delimiter,
            text.options.quote,
            len(header.names),
            only_quoted=only_quoted,
            only_last=only_last,
        )
        found = UnreadRows(
            count=found.count + seen.uneven_count,
            lines=(*found.lines, *((shown, text.find_original_line(line)) for line in seen.uneven)),
            undecodable_count=found.undecodable_count + text.undecodable_count,
            undecodable=(*found.undecodable, *((shown, line) for line in text.undecodable)),
            quoted_lines=found.quoted_lines + seen.quoted_lines,
            quoted_rows=found.quoted_rows + seen.quoted_rows,
        )
    return found


def release_source(connection: duckdb.DuckDBPyConnection) -> None:
    """Detach the sources of `read_source_schema`, and drop the driver's rejects tables, which quote rows."""
    connection.execute(f"DETACH DATABASE IF EXISTS {ATTACHED}")
    known = f"SELECT view_name FROM duckdb_views() WHERE starts_with(view_name, {quote_literal(FRAME)})"
    for (name,) in connection.execute(known).fetchall():
        connection.unregister(name)
    _drop_rejects(connection)


def read_arrow_files(files: Sequence[Path]) -> pa.Table:
    """Return the rows of Arrow files, in the file or the stream format, mapped into memory if possible."""
    return pa.concat_tables([_read_arrow_file(path) for path in files], promote_options="permissive")


def _read_arrow_file(path: Path) -> pa.Table:
    mapped = pa.memory_map(str(path))
    try:
        return pa.ipc.open_file(mapped).read_all()
    except pa.ArrowInvalid:
        # a stream has no footer, by which the file format is recognized
        mapped.seek(0)
        return pa.ipc.open_stream(mapped).read_all()


def read_csv_header(path: Path, declared: Iterable[str]) -> list[str]:
    """Return the column names in the first line of a CSV file, split by the detected separator."""
    return list(read_header(path, CsvOptions(), declared).names)


def _attach_database(source: Source, connection: duckdb.DuckDBPyConnection) -> str:
    attach_database(connection, source.files[0], ATTACHED)
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
    csv = write_csv_relation(source.name, source.table, source.texts)
    return SourceRelation(
        relation=csv.relation,
        types=csv.types,
        identifier_types={name: _make_identifier_type(kind, "") for name, kind in csv.types.items()},
        csv=csv,
    )
