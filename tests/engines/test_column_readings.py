"""Column readings: what `discreet check` compares, the value in the source and the value as its type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.engine import Publisher
from discreet.core.errors import RequestError
from discreet.core.policy import Policy, Table
from discreet.engines.column_readings import list_column_readings
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.services.publishers import open_publisher
from tests.engines.servers import Server
from tests.engines.test_asking import address

COLUMNS = {
    "n": {"type": "integer", "low": 0, "high": 9},
    "kg": {"type": "decimal", "low": 0, "high": 9, "resolution": "0.1"},
    "day": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
    "at": {"type": "timestamp"},
    "well": {"type": "boolean"},
    "town": {"type": "category", "values": ["Ulm"]},
}
CSV = """\
n;kg;day;at;well;town
1; 2,5 ;05.06.2024;05.06.2024 13:14;yes;Ulm
x;2.5;2024-06-05;5.6.24 13:14;maybe;Bonn
?;;?;;;
70;-3,5;31.12.2030;01.01.0001 00:00;no;ulm
1;2;3
4;5;6;7;8;9;10
"""


def measure(table: Table, publisher: Publisher, *, is_text: bool) -> dict[str, tuple[int, ...]]:
    """Return the lines that are no rows, the rows, and for each column its values and unreadable ones."""
    readings = list_column_readings("t", table, publisher.column_types("t"), is_text=is_text)
    counts = [
        f"count(*) FILTER (WHERE {readings.unread})",
        f"count(*) FILTER (WHERE NOT {readings.unread})",
    ]
    for column in readings.columns:
        present = f"NOT {readings.unread} AND {column.raw} IS NOT NULL"
        counts.append(f"count(*) FILTER (WHERE {present})")
        counts.append(f"count(*) FILTER (WHERE {present} AND {column.typed} IS NULL)")
    sql = ", ".join(f"{each} AS c{place}" for place, each in enumerate(counts))
    (row,) = publisher.count(f"SELECT {sql} FROM {readings.relation}").secret.to_pylist()
    unread, rows, *pairs = row.values()
    found: dict[str, tuple[int, ...]] = {"unread": (unread,), "rows": (rows,)}
    for place, column in enumerate(readings.columns):
        found[column.name] = tuple(pairs[2 * place : 2 * place + 2])
    return found


def test_unreadable_values_and_lines_of_a_csv_file_are_counted_in_one_select(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    options = {
        **{"decimal": ",", "nulls": ["?"], "dates": "%d.%m.%Y", "timestamps": "%d.%m.%Y %H:%M"},
    }
    table = Table.model_validate({"source": str(tmp_path / "t.csv"), "columns": COLUMNS, "csv": options})
    with DuckDBPublisher({"t": table}) as publisher:
        assert measure(table, publisher, is_text=True) == {
            **{"unread": (2,), "rows": (4,), "n": (3, 1), "kg": (3, 1), "day": (3, 1), "at": (3, 1)},
            **{"well": (3, 1), "town": (3, 0)},
        }
        unread = publisher.unread_rows("t")
        assert (unread.count, unread.lines) == (2, (("t.csv", 6), ("t.csv", 7)))
        # values are neither rounded nor clamped, so that those beyond a bound can be counted
        readings = list_column_readings("t", table, publisher.column_types("t"), is_text=True)
        typed = {column.name: column.typed for column in readings.columns}
        sql = f"SELECT max({typed['n']}) AS n, min({typed['kg']}) AS kg, max({typed['day']}) AS day "
        (row,) = publisher.count(
            f"{sql} FROM {readings.relation} WHERE NOT {readings.unread}"
        ).secret.to_pylist()
        assert (row["n"], row["kg"], str(row["day"])) == (70.0, -3.5, "2030-12-31")


def test_values_of_a_parquet_file_are_their_own_raw_values(tmp_path: Path) -> None:
    texts = {
        "n": ["1", "x", None],
        "kg": [1.5, float("nan"), float("inf")],
        "day": ["2024-06-05", "5.6.24", None],
    }
    pq.write_table(pa.table(texts), tmp_path / "t.parquet")
    columns = {name: COLUMNS[name] for name in texts}
    table = Table.model_validate({"source": str(tmp_path / "t.parquet"), "columns": columns})
    with DuckDBPublisher({"t": table}) as publisher:
        found = measure(table, publisher, is_text=False)
    assert found == {"unread": (0,), "rows": (3,), "n": (2, 1), "kg": (3, 1), "day": (2, 1)}


def test_every_engine_counts_readings_of_its_own_tables(server: Server) -> None:
    rows = {"n": ["1", "x", None], "kg": [1.5, float("nan"), 2.5], "Amt/€": ["Ulm", "Bonn", None]}
    source = server.put({"readings": pa.table(rows)})["readings"]
    columns: dict[str, Any] = {
        "n": COLUMNS["n"],
        "kg": COLUMNS["kg"],
        "town": {"type": "text", "from": "Amt/€"},
    }
    table = Table.model_validate({"source": source, "columns": columns})
    with open_publisher(address(server), {"t": table}) as publisher:
        found = measure(table, publisher, is_text=False)
    assert found == {"unread": (0,), "rows": (3,), "n": (2, 1), "kg": (3, 1), "town": (2, 0)}


def test_every_engine_finds_a_column_by_its_own_name_and_refuses_reading_options(server: Server) -> None:
    source = server.put({"named": pa.table({"Gewicht/kg": [60.5, 70.0], "who": [1, 2]})})["named"]
    columns = {"weight": {"from": "gewicht/KG", "type": "decimal", "low": 0, "high": 99, "resolution": "0.1"}}
    entry: dict[str, Any] = {"source": source, "person": "row", "columns": columns}
    policy = Policy.model_validate({"engine": address(server), "tables": {"t": entry}})
    with server.open(policy) as engine:
        (row,) = engine.count("SELECT count(*) AS n, sum(weight) AS s FROM t").secret.to_pylist()
    assert (row["n"], row["s"]) == (2, 1305)
    with pytest.raises(RequestError, match=r"declares the column weight from Größe; .* does not have it"):
        server.open(
            Policy.model_validate(
                {"tables": {"t": {**entry, "columns": {"weight": {"from": "Größe", "type": "text"}}}}}
            )
        )
    with pytest.raises(RequestError, match=r"table t declares csv, and its source .* is a table"):
        server.open(Policy.model_validate({"tables": {"t": {**entry, "csv": {"decimal": ","}}}}))
