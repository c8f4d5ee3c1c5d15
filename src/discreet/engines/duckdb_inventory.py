"""The tables and views of one DuckDB file, under the names that `file.duckdb#name` has them by."""

from __future__ import annotations

from pathlib import Path

from discreet.core.closing import Closing
from discreet.core.errors import RequestError
from discreet.engines.inventory import Held
from discreet.engines.schema import schemas
from discreet.engines.sources import DATABASE

MAIN = "main"


class DuckDBInventory(Closing):
    """An `Inventory` of a file, which is read once and let go of."""

    engine = "DuckDB"

    def __init__(self, file: Path) -> None:
        if file.suffix.lower() not in DATABASE:
            raise RequestError(
                f"DuckDB: {file} is no DuckDB file.", hint=f"Name one that ends in {', '.join(DATABASE)}."
            )
        self._tables = {
            schema.table: Held(source=schema.table, columns=schema.columns)
            for schema in schemas(file)
            if schema.table
        }

    def names(self) -> list[str]:
        return list(self._tables)

    def held(self, word: str) -> Held | None:
        """DuckDB takes a name in whatever letters."""
        wanted = word.removeprefix(f"{MAIN}.").lower()
        return next((held for name, held in self._tables.items() if name.lower() == wanted), None)

    def close(self) -> None:
        """Nothing is held open."""
