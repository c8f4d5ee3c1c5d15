"""What the tests of the prepared store share: policies of one table, and looking into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import PreparedStore

Row = tuple[Any, ...]

VISITS = {
    "user": {"type": "text", "role": "identifier"},
    "city": {"type": "category", "values": ["Ulm", "Bonn", "Jena"]},
    "age": {"type": "integer", "low": 0, "high": 120},
    "note": {"type": "text"},
}


def policy_of(source: Path | str, columns: dict[str, Any], *, person: str = "row", name: str = "t") -> Policy:
    return Policy.model_validate(
        {"tables": {name: {"source": str(source), "person": person, "columns": columns}}}
    )


def visits_of(source: Path | str) -> Policy:
    return policy_of(source, VISITS, person="user")


def rows_of(store: PreparedStore, sql: str = "SELECT * FROM t") -> list[Row]:
    with DuckDB.open(store) as engine:
        return [tuple(row.values()) for row in engine.count(sql).secret.to_pylist()]
