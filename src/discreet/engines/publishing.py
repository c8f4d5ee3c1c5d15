"""DuckDB publisher: counts a custodian's tables in place and writes releases of them.

Nothing is loaded: a source is a view over its files, so that ten million rows need little memory. The
statements are the package's own and run for the custodian alone; an analyst never reaches this connection.

Written     under a temporary name first, and renamed once complete, so that an interrupted run leaves neither
            half a file nor the loss of an older one. Parquet, CSV or a table of a DuckDB file, which is
            created in one transaction and leaves the file's other tables unchanged.
CSV         Text that a spreadsheet would read as a formula is marked (`csv_cells`). The certificate beside a
            file records this, and if it does the marks are removed again when the file is read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.core.closing import Closing
from discreet.core.csv_cells import mark_cell, mark_sql, unmark_sql
from discreet.core.engine import State
from discreet.core.errors import RequestError
from discreet.core.output_files import (
    make_spill_folder,
    name_draft,
    remove_leftovers,
    replace_output,
    require_output,
)
from discreet.core.policy import Table
from discreet.core.values import Exact
from discreet.engines import sources
from discreet.engines.connection import connect, literal, path_literal, quoted
from discreet.engines.faults import guard_writing, guarded
from discreet.engines.identities import require_identities

PARQUET = "FORMAT parquet, COMPRESSION zstd"
FORMATS = {".parquet": PARQUET, ".pq": PARQUET, ".csv": "FORMAT csv, HEADER"}
DATABASES = sources.DATABASE
FLOATS = ("FLOAT", "DOUBLE")
TEXTS = ("VARCHAR", "ENUM", "JSON", "INTERVAL")
FORMULA_CELLS = "formula_cells"
"""The certificate's entry about the marking of formula cells in a CSV file."""
ARRIVING, MOST_WORDS = "_discreet_arriving", 10_000


COMPANIONS = ("certificate.json", "report.html")
"""Suffixes of the files that are written beside a release."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The output of a release: a file, a table of a DuckDB file (`shop.duckdb#visits`), or one of an engine.

    `engine_name` is the engine's table or folder; its companion files are written here, under that name.

    >>> Target.of("shop.duckdb#visits").beside("certificate.json").name
    'shop.visits.certificate.json'
    """

    file: Path
    table: str = ""
    kept: str = ""

    @staticmethod
    def of(text: str | Path, *, elsewhere: bool = False) -> Target:
        """Return the target that a text names; without a file's suffix it may be a name in an engine."""
        file, inner = sources.split(str(text))
        path = Path(file)
        known = path.suffix.lower() in (*FORMATS, *DATABASES)
        if elsewhere and not known:
            return Target(file=Path(path.name) if "://" in file else path, kept=str(text))
        if not known:
            raise RequestError(
                f"{path.name} is not in a supported output format.",
                hint=f"Name a file that ends in {', '.join((*FORMATS, *DATABASES))}.",
            )
        if not path.absolute().parent.is_dir():
            raise RequestError(f"There is no folder {path.parent}.", hint="Create it, or name another file.")
        return Target(file=path, table=(inner or path.stem) if path.suffix.lower() in DATABASES else "")

    @staticmethod
    def recorded(entry: Mapping[str, object]) -> Target | None:
        """Return the file that a release's ledger entry names, or None."""
        path = entry.get("path")
        return Target(file=Path(path), table=str(entry.get("inner") or "")) if isinstance(path, str) else None

    @property
    def record(self) -> dict[str, object]:
        """The ledger's record of the output, so that later releases can be attacked together with it."""
        return (
            {"kept_as": self.kept} if self.kept else {"path": str(self.file.absolute()), "inner": self.table}
        )

    @property
    def source(self) -> str:
        """The output as a policy's `source`."""
        return f"{self.file}#{self.table}" if self.table else str(self.file)

    @property
    def name(self) -> str:
        """The output's name in a ledger."""
        if self.kept:
            return self.kept
        return self.file.name if self.table in ("", self.file.stem) else f"{self.file.name}#{self.table}"

    @property
    def described(self) -> dict[str, object]:
        """The certificate's fields that name the output."""
        if self.kept:
            return {"kept_as": self.kept}
        named: dict[str, object] = {"file": self.file.name}
        return named | ({"table_of_file": self.table} if self.table else {})

    def require_output(self) -> None:
        """Refuse a path that cannot be written, or that holds another kind of file."""
        if not self.kept:
            require_output(self.file)
            remove_leftovers(self.file.absolute().parent, self.file.name)
        for ending in COMPANIONS:
            require_output(self.beside(ending))

    def beside(self, ending: str) -> Path:
        """Return the path of a companion file."""
        if self.kept:
            return self.file.with_name(f"{self.file.name}.{ending}")
        stem = self.file.stem if self.table in ("", self.file.stem) else f"{self.file.stem}.{self.table}"
        return self.file.with_name(f"{stem}.{ending}")


class DuckDBPublisher(Closing):
    """A `Publisher` over policy tables and frames, each under its name."""

    def __init__(self, tables: Mapping[str, Table], frames: Mapping[str, pa.Table] | None = None) -> None:
        self._sources: list[sources.Source] = []
        self._names = {*tables, *(frames or {})}
        self._spill = make_spill_folder()
        self._connection = guarded(lambda: connect(spill=self._spill.name))
        try:
            for name, frame in (frames or {}).items():
                self._connection.register(name, _with_one_zero(frame))
            found = {name: self._view(name, table).identities for name, table in tables.items()}
            require_identities("DuckDB", tables, found)
        except BaseException:
            self.close()
            raise

    def count(self, sql: str, lent: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        def work() -> Exact[pa.Table]:
            with self._lending(lent or {}):
                return Exact(self._connection.sql(sql).to_arrow_table())

        return guarded(work)

    def write(self, sql: str, path: Path, lent: Mapping[str, pa.Table] | None = None) -> None:
        with self._lending(lent or {}), replace_output(path) as draft:
            guard_writing(lambda: self._copy(sql, draft, path), path)

    def receive(self, rows: pa.RecordBatchReader, path: Path) -> None:
        """Write rows from another engine to a file, batch by batch."""
        self._connection.register(ARRIVING, rows)
        with replace_output(path) as draft:
            guard_writing(lambda: self._copy(f"SELECT * FROM {ARRIVING}", draft, path), path)

    def types(self, name: str) -> Mapping[str, str]:
        text = f"DESCRIBE {quoted(name)}"
        return {row[0]: row[1] for row in guarded(lambda: self._connection.execute(text).fetchall())}

    def has(self, name: str) -> bool:
        """Return whether there is a table or frame of that name."""
        return name in self._names

    def is_read(self, file: Path, table: str = "") -> bool:
        """Return whether writing there would overwrite a source."""
        return any(file.resolve() in source.files and table in ("", source.inner) for source in self._sources)

    @property
    def state(self) -> State:
        """Path, size and modification time of each source file."""
        return [each for source in self._sources for each in source.state]

    def close(self) -> None:
        self._connection.close()
        self._spill.cleanup()

    def _view(self, name: str, table: Table) -> sources.Reading:
        source = sources.locate(name, table)
        self._sources.append(source)
        reading = guarded(lambda: sources.read(source, self._connection))
        is_marked = any(map(is_marked_csv, source.files))
        columns = ", ".join(
            f"{unmark_sql(quoted(each))} AS {quoted(each)}"
            if is_marked
            else with_one_zero(each, reading.types.get(each, ""))
            for each in table.columns
        )
        names = ", ".join(map(quoted, table.columns))  # as declared, whatever case the file has
        # not a temporary view: it would shadow tables of the file that the file's own views name
        text = f"CREATE VIEW {quoted(name)} ({names}) AS SELECT {columns} FROM {reading.relation}"
        guarded(lambda: self._connection.execute(text))
        return reading

    def _copy(self, sql: str, draft: Path, path: Path) -> None:
        if path.suffix.lower() in FORMATS:
            options, is_csv = FORMATS[path.suffix.lower()], path.suffix.lower() == ".csv"
            text = self._marked(sql) if is_csv else sql
            self._connection.execute(f"COPY ({text}) TO {path_literal(draft)} ({options})")
            return
        self._connection.execute(f"ATTACH {literal(str(draft))} AS _discreet_release")
        try:
            self._connection.execute(f"CREATE TABLE _discreet_release.{quoted(path.stem)} AS {sql}")
        finally:
            self._connection.execute("DETACH _discreet_release")

    def _marked(self, sql: str) -> str:
        """Return the SELECT with formula cells marked, in values and column names, for a CSV file."""
        described = self._connection.execute(f"DESCRIBE {sql}").fetchall()
        columns = [
            f"{self._marked_column(name, kind)} AS {quoted(mark_cell(name))}" for name, kind, *_ in described
        ]
        return f"SELECT {', '.join(columns)} FROM ({sql})"

    def _marked_column(self, name: str, kind: str) -> str:
        if kind.startswith("ENUM") and not self._has_formulas(kind):
            return quoted(name)  # an ENUM is written much faster than text
        return mark_sql(f"CAST({quoted(name)} AS VARCHAR)") if kind.startswith(TEXTS) else quoted(name)

    def _has_formulas(self, kind: str) -> bool:
        words = f"SELECT unnest(enum_range(CAST(NULL AS {kind})))"
        return any(mark_cell(word) != word for (word,) in self._connection.execute(words).fetchall())

    @contextmanager
    def _lending(self, lent: Mapping[str, pa.Table]) -> Iterator[None]:
        """Register lookup tables for one statement; dictionaries become ENUMs.

        Grouping and writing text costs several times as much as grouping and writing an ENUM.
        """
        for name, table in lent.items():
            self._connection.register(ARRIVING, table)
            columns = ", ".join(_encoded(field, table.column(field.name)) for field in table.schema)
            self._connection.execute(f"CREATE TEMP TABLE {quoted(name)} AS SELECT {columns} FROM {ARRIVING}")
            self._connection.unregister(ARRIVING)
        try:
            yield
        finally:
            for name in lent:
                self._connection.execute(f"DROP TABLE IF EXISTS {quoted(name)}")


def is_marked_csv(path: Path) -> bool:
    """Return whether the certificate beside a CSV file says that its formula cells are marked."""
    beside = Target(file=path).beside("certificate.json")
    if path.suffix.lower() != ".csv" or not beside.is_file():
        return False
    with suppress(OSError, ValueError):
        told = json.loads(beside.read_text(encoding="utf-8"))
        return isinstance(told, dict) and (told.get("file"), FORMULA_CELLS in told) == (path.name, True)
    return False


@contextmanager
def arriving(target: Target) -> Iterator[Path]:
    """Yield the file to write; if the target is a database, the file then becomes a table of it.

    The staging file is needed because the source may be another table of the same database, which cannot be
    open for reading and writing at once.
    """
    if not target.table:
        yield target.file
        return
    require_output(target.file)
    draft = name_draft(target.file, target.file.suffix)
    try:
        yield draft
        _put(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _put(draft: Path, target: Target) -> None:
    failed = False
    with closing(connect()) as connection:
        try:
            connection.execute(f"ATTACH {literal(str(target.file))} AS _discreet_target")
        except duckdb.Error:
            failed = True
        else:
            connection.execute(f"ATTACH {literal(str(draft))} AS _discreet_release (READ_ONLY)")
            place, made = f"_discreet_target.{quoted(target.table)}", quoted(draft.stem)
            text = f"CREATE OR REPLACE TABLE {place} AS FROM _discreet_release.{made}"
            guard_writing(lambda: connection.execute(text), target.file)
    # Raised outside of the handler, so that the driver's error does not become its context.
    if failed:
        raise RequestError(
            f"{target.file} cannot be written to.",
            hint="Check that it is a DuckDB file and not open elsewhere.",
        )


def with_one_zero(column: str, kind: str) -> str:
    """Return the SQL of a column, with -0.0 as 0.0: they are equal but differ as text."""
    name = quoted(column)
    return f"CASE WHEN {name} = 0 THEN 0 ELSE {name} END AS {name}" if kind in FLOATS else name


def _with_one_zero(frame: pa.Table) -> pa.Table:
    """Return a frame with -0.0 replaced by 0.0."""
    import pyarrow.compute as pc  # files do not need it, and it takes a while to load

    for place, field in enumerate(frame.schema):
        if field.type in (pa.float32(), pa.float64()):
            column = frame.column(place)
            zero = pa.scalar(0, field.type)
            frame = frame.set_column(place, field.name, pc.if_else(pc.equal(column, zero), zero, column))
    return frame


def _encoded(field: pa.Field, column: pa.ChunkedArray) -> str:
    if not pa.types.is_dictionary(field.type) or column.num_chunks != 1:
        return quoted(field.name)
    words = column.chunk(0).dictionary.to_pylist()
    if not words or len(words) > MOST_WORDS:
        return quoted(field.name)
    return f"CAST({quoted(field.name)} AS ENUM ({', '.join(map(literal, words))})) AS {quoted(field.name)}"
