"""The different values of one column, as text: for the custodian, who asks what a hierarchy leaves out."""

from __future__ import annotations

from contextlib import closing

from discreet.core.policy import Table
from discreet.engines.connection import connect, quoted
from discreet.engines.faults import guarded
from discreet.engines.sources import locate, read


def distinct(name: str, table: Table, column: str) -> list[str | None]:
    """In the order of their text; None where a value is missing."""
    facts = {column: table.columns[column]}
    source = locate(name, table.model_copy(update={"columns": facts}))

    def work() -> list[str | None]:
        with closing(connect()) as connection:
            relation = read(source, connection).relation
            text = f"CAST({quoted(column)} AS VARCHAR)"
            rows = connection.execute(f"SELECT DISTINCT {text} FROM {relation} ORDER BY 1").fetchall()
            return [value for (value,) in rows]

    return guarded(work)
