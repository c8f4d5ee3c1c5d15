"""DuckDB as a publisher: a custodian's tables as they are, counted in place and written anew.

Nothing is loaded: a source is a view over its files, so that ten million rows need little memory. The
statements are the package's own and run for the custodian alone; an analyst never reaches this connection.

Written     under a name of its own first, and renamed once it is whole, so that an interrupted run leaves
            neither half a file nor the loss of an older one. Parquet, CSV or a table of a DuckDB file, which
            is put there in one transaction and leaves the file's other tables as they are.
CSV         Texts that a spreadsheet would take for a formula are marked (`csv_cells`). The certificate beside
            a file says so, and where it does the marks are taken off again when the file is read here.
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
"""The entry of a certificate that tells how formula cells of a CSV file are marked."""
ARRIVING, MOST_WORDS = "_discreet_arriving", 10_000


COMPANIONS = ("certificate.json", "report.html")
"""What is written beside a release."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a release goes: a file, a table of a DuckDB file, `shop.duckdb#visits`, or an engine elsewhere.

    That keeps it under the name `kept`, a table or a folder; files that go with it are here, under that name.

    >>> Target.of("shop.duckdb#visits").beside("certificate.json").name
    'shop.visits.certificate.json'
    """

    file: Path
    table: str = ""
    kept: str = ""

    @staticmethod
    def of(text: str | Path, *, elsewhere: bool = False) -> Target:
        """What a name means; `elsewhere`, what has no file's ending is what an engine keeps."""
        file, inner = sources.split(str(text))
        path = Path(file)
        known = path.suffix.lower() in (*FORMATS, *DATABASES)
        if elsewhere and not known:
            return Target(file=Path(path.name) if "://" in file else path, kept=str(text))
        if not known:
            raise RequestError(
                f"{path.name} is no kind of file that a table is written to.",
                hint=f"Name one that ends in {', '.join((*FORMATS, *DATABASES))}.",
            )
        if not path.absolute().parent.is_dir():
            raise RequestError(f"There is no folder {path.parent}.", hint="Make it, or name another file.")
        return Target(file=path, table=(inner or path.stem) if path.suffix.lower() in DATABASES else "")

    @staticmethod
    def recorded(entry: Mapping[str, object]) -> Target | None:
        """The file that a ledger's `entry` of a release tells the place of."""
        path = entry.get("path")
        return Target(file=Path(path), table=str(entry.get("inner") or "")) if isinstance(path, str) else None

    @property
    def record(self) -> dict[str, object]:
        """What a ledger is told, so that what is published later can be tried together with it."""
        return (
            {"kept_as": self.kept} if self.kept else {"path": str(self.file.absolute()), "inner": self.table}
        )

    @property
    def source(self) -> str:
        """What a policy would call the file, or its table."""
        return f"{self.file}#{self.table}" if self.table else str(self.file)

    @property
    def name(self) -> str:
        """What a ledger calls it."""
        if self.kept:
            return self.kept
        return self.file.name if self.table in ("", self.file.stem) else f"{self.file.name}#{self.table}"

    @property
    def described(self) -> dict[str, object]:
        """How a certificate names it."""
        if self.kept:
            return {"kept_as": self.kept}
        named: dict[str, object] = {"file": self.file.name}
        return named | ({"table_of_file": self.table} if self.table else {})

    def require_output(self) -> None:
        """Refuse a place that cannot be written, or where another kind of file is."""
        if not self.kept:
            require_output(self.file)
            remove_leftovers(self.file.absolute().parent, self.file.name)
        for ending in COMPANIONS:
            require_output(self.beside(ending))

    def beside(self, ending: str) -> Path:
        """A file that goes with it."""
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
        """Rows that come from elsewhere as a file, batch by batch."""
        self._connection.register(ARRIVING, rows)
        with replace_output(path) as draft:
            guard_writing(lambda: self._copy(f"SELECT * FROM {ARRIVING}", draft, path), path)

    def types(self, name: str) -> Mapping[str, str]:
        text = f"DESCRIBE {quoted(name)}"
        return {row[0]: row[1] for row in guarded(lambda: self._connection.execute(text).fetchall())}

    def has(self, name: str) -> bool:
        """Whether a table or frame is read under a name."""
        return name in self._names

    def is_read(self, file: Path, table: str = "") -> bool:
        """Whether writing there would overwrite what is read here."""
        return any(file.resolve() in source.files and table in ("", source.inner) for source in self._sources)

    @property
    def state(self) -> State:
        """What changes when a file does."""
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
        names = ", ".join(map(quoted, table.columns))  # as they are declared, whatever letters the file has
        # not a temporary view: those are found before the tables of a file that its own views name
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
        """The same rows, with texts and names of columns as they stand in a CSV file."""
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
        """Lent tables for the time of one statement; dictionaries become ENUMs.

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
    """Whether the certificate beside a CSV file says that its formula cells are marked."""
    beside = Target(file=path).beside("certificate.json")
    if path.suffix.lower() != ".csv" or not beside.is_file():
        return False
    with suppress(OSError, ValueError):
        told = json.loads(beside.read_text(encoding="utf-8"))
        return isinstance(told, dict) and (told.get("file"), FORMULA_CELLS in told) == (path.name, True)
    return False


@contextmanager
def arriving(target: Target) -> Iterator[Path]:
    """The file to write; what is there at the end becomes a table of the target, if that is a database.

    Its source may be another table of the same database, which a file that is written to cannot be open for.
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
    # Raised outside of the handler, so that the driver's error does not ride along as its context.
    if failed:
        raise RequestError(
            f"{target.file} cannot be written to.",
            hint="Check that it is a DuckDB file and not open elsewhere.",
        )


def with_one_zero(column: str, kind: str) -> str:
    """A column to select; floats without -0.0, which equals 0.0 but reads otherwise: one value, not two."""
    name = quoted(column)
    return f"CASE WHEN {name} = 0 THEN 0 ELSE {name} END AS {name}" if kind in FLOATS else name


def _with_one_zero(frame: pa.Table) -> pa.Table:
    """The same for a frame."""
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
