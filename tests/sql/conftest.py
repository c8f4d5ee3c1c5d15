"""The example's tables, prepared once, and the same tables as plain SQL sees them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from discreet.core.engine import Engine
from discreet.engines.duckdb import DuckDB
from tests.sql import example


@pytest.fixture(scope="session")
def example_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("example")
    example.write(folder)
    with DuckDB(example.store(folder)) as engine:
        yield engine


@pytest.fixture(scope="session")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    """The rows with numbers and dates moved to the policy's bounds: what a private answer is about."""
    with duckdb.connect() as connection:
        for name, table in example.rows().items():
            connection.register("arriving", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * REPLACE ({CLAMPED[name]}) FROM arriving")
            connection.unregister("arriving")
        yield connection


def _within(name: str, low: str, high: str) -> str:
    inside = f"WHEN {name} < {low} THEN {low} WHEN {name} > {high} THEN {high} ELSE {name}"
    return f"CASE {inside} END AS {name}"


CLAMPED = {
    "people": ", ".join(
        [
            _within("age", "0", "120"),
            _within("height", "0e0", "2.5e0"),
            _within("born", "DATE '1900-01-01'", "DATE '2020-12-31'"),
            _within("seen", "TIMESTAMP '2020-01-01'", "TIMESTAMP '2021-12-31'"),
        ]
    ),
    "visits": _within("cost", "0", "1000"),
    "patients": _within("age", "0", "120"),
    "clinics": "id AS id",
    "orders": _within("price", "-5e0", "5e0"),
    "items": _within("pieces", "0", "20"),
    "odd": '"select" AS "select"',
}
