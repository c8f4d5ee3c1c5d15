"""Inventory of a DuckDB file: its tables and views, under the names that `file.duckdb#name` uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.core.closeable import Closeable
from discreet.core.errors import RequestError
from discreet.core.release_target import DATABASE_SUFFIXES
from discreet.engines.file_schema import read_schemas
from discreet.engines.inventory import InventoryTable
from discreet.engines.pattern_shares import compute_file_pattern_shares

MAIN = "main"


class DuckDBInventory(Closeable):
    """An `Inventory` of a file, which is read once and then closed."""

    engine = "DuckDB"

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
