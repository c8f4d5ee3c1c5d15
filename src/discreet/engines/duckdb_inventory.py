"""Inventory of a DuckDB file: its tables and views, under the names that `file.duckdb#name` uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.core.closing import Closing
from discreet.core.errors import RequestError
from discreet.engines.inventory import Held
from discreet.engines.patterns import matching
from discreet.engines.schema import schemas
from discreet.engines.sources import DATABASE

MAIN = "main"


class DuckDBInventory(Closing):
    """An `Inventory` of a file, which is read once and then closed."""

    engine = "DuckDB"

    def __init__(self, file: Path) -> None:
        if file.suffix.lower() not in DATABASE:
            raise RequestError(
                f"DuckDB: {file} is not a DuckDB file.", hint=f"Name one that ends in {', '.join(DATABASE)}."
            )
        self._tables = {schema.table: schema for schema in schemas(file) if schema.table}

    def names(self) -> list[str]:
        return list(self._tables)

    def held(self, word: str) -> Held | None:
        """Return the table of that name; DuckDB ignores case."""
        wanted = word.removeprefix(f"{MAIN}.").lower()
        return next(
            (
                Held(source=name, columns=schema.columns)
                for name, schema in self._tables.items()
                if name.lower() == wanted
            ),
            None,
        )

    def matching(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        return matching(self._tables[source], columns, patterns)

    def close(self) -> None:
        """Do nothing: no file is kept open."""
