"""The target of a release: a file, a table of a DuckDB file, or a name in an engine; and its companion files.

Only names and paths: nothing here opens a file, so command line, console and reports need no engine for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.core.errors import RequestError
from discreet.core.output_files import (
    lock_folder,
    remove_leftovers,
    require_output,
)

FILE_SUFFIXES = (".parquet", ".pq", ".csv")
DATABASE_SUFFIXES = (".duckdb", ".db", ".ddb")
COMPANIONS = ("certificate.json", "report.html")
"""Suffixes of the files that are written beside a release."""


def split_source(source: str) -> tuple[str, str]:
    """Return the file and the table inside it that a source such as `file.duckdb#table` names."""
    file, _, inner = source.rpartition("#")
    return (file, inner) if Path(file).suffix.lower() in DATABASE_SUFFIXES else (source, "")


@dataclass(frozen=True, kw_only=True)
class ReleaseTarget:
    """The output of a release: a file, a table of a DuckDB file (`shop.duckdb#visits`), or one of an engine.

    `engine_name` is the engine's table or folder; its companion files are written here, under that name.

    >>> ReleaseTarget.parse("shop.duckdb#visits").make_companion_path("certificate.json").name
    'shop.visits.certificate.json'
    """

    file: Path
    table: str = ""
    engine_name: str = ""

    @staticmethod
    def parse(text: str | Path, *, allows_engine_names: bool = False) -> ReleaseTarget:
        """Return the target that a text names; without a file's suffix it may be a name in an engine."""
        file, inner = split_source(str(text))
        path = Path(file)
        known = path.suffix.lower() in (*FILE_SUFFIXES, *DATABASE_SUFFIXES)
        if allows_engine_names and not known:
            return ReleaseTarget(file=Path(path.name) if "://" in file else path, engine_name=str(text))
        if not known:
            raise RequestError(
                f"{path.name} is not in a supported output format.",
                hint=f"Name a file that ends in {', '.join((*FILE_SUFFIXES, *DATABASE_SUFFIXES))}.",
            )
        if not path.absolute().parent.is_dir():
            raise RequestError(f"There is no folder {path.parent}.", hint="Create it, or name another file.")
        return ReleaseTarget(
            file=path, table=(inner or path.stem) if path.suffix.lower() in DATABASE_SUFFIXES else ""
        )

    @staticmethod
    def from_ledger_entry(entry: Mapping[str, object]) -> ReleaseTarget | None:
        """Return the file that a release's ledger entry names, or None."""
        path = entry.get("path")
        return (
            ReleaseTarget(file=Path(path), table=str(entry.get("inner") or ""))
            if isinstance(path, str)
            else None
        )

    @property
    def ledger_record(self) -> dict[str, object]:
        """The ledger's record of the output, so that later releases can be attacked together with it."""
        return (
            {"kept_as": self.engine_name}
            if self.engine_name
            else {"path": str(self.file.absolute()), "inner": self.table}
        )

    @property
    def source(self) -> str:
        """The output as a policy's `source`."""
        return f"{self.file}#{self.table}" if self.table else str(self.file)

    @property
    def name(self) -> str:
        """The output's name in a ledger."""
        if self.engine_name:
            return self.engine_name
        return self.file.name if self.table in ("", self.file.stem) else f"{self.file.name}#{self.table}"

    @property
    def certificate_fields(self) -> dict[str, object]:
        """The certificate's fields that name the output."""
        if self.engine_name:
            return {"kept_as": self.engine_name}
        named: dict[str, object] = {"file": self.file.name}
        return named | ({"table_of_file": self.table} if self.table else {})

    def require_output(self) -> None:
        """Refuse a path that cannot be written, or that holds another kind of file."""
        if not self.engine_name:
            require_output(self.file)
            remove_leftovers(self.file.absolute().parent, self.file.name)
        for ending in COMPANIONS:
            require_output(self.make_companion_path(ending))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep others from writing an output or its companion files here in the meantime."""
        with lock_folder(self.file.absolute().parent):
            yield

    def make_companion_path(self, ending: str) -> Path:
        """Return the path of a companion file."""
        if self.engine_name:
            return self.file.with_name(f"{self.file.name}.{ending}")
        stem = self.file.stem if self.table in ("", self.file.stem) else f"{self.file.stem}.{self.table}"
        return self.file.with_name(f"{stem}.{ending}")
