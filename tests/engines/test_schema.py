"""What a file says of its columns: names and types, and no value, not even in an error."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.column_entry import ColumnType
from discreet.core.errors import RequestError
from discreet.engines.inventory import read_schemas


def test_a_parquet_file_has_its_own_schema(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": pa.array([1], pa.uint8()),
            "x": pa.array([1.5], pa.float32()),
            "money": pa.array(["1.50"]).cast(pa.decimal128(10, 2)),
            "whole": pa.array(["1"]).cast(pa.decimal128(10, 0)),
            "text": ["a"],
            "coded": pa.array(["a"]).dictionary_encode(),
            "day": [date(2024, 1, 31)],
            "moment": [datetime(2024, 1, 31)],
            "zoned": pa.array([0], pa.timestamp("us", "UTC")),
            "flag": [True],
            "many": [[1, 2]],
            "raw": [b"x"],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    (schema,) = read_schemas(tmp_path / "a.parquet")
    assert {name: kind and kind.value for name, kind in schema.columns} == {
        "n": "integer",
        "x": "decimal",
        "money": "decimal",
        "whole": "integer",
        "text": "text",
        "coded": "text",
        "day": "date",
        "moment": "timestamp",
        "zoned": "timestamp",
        "flag": "boolean",
        "many": None,
        "raw": None,
    }


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_csv_file_may_have_any_separator(tmp_path: Path, separator: str) -> None:
    rows = [
        ["who", "zip", "paid", "on"],
        ["Ada", "01234", "1.5", "2024-01-31"],
        ["Bo", "99999", "2", "2024-02-01"],
    ]
    path = tmp_path / "a.csv"
    path.write_text("".join(separator.join(row) + "\n" for row in rows))
    (schema,) = read_schemas(path)
    assert schema.columns == (
        ("who", ColumnType.TEXT),
        ("zip", ColumnType.TEXT),
        ("paid", ColumnType.DECIMAL),
        ("on", ColumnType.DATE),
    )
    assert schema.is_guessed


def test_a_csv_file_without_a_header_gets_names_that_are_no_values(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Ada;30\nBo;40\n")
    (schema,) = read_schemas(tmp_path / "a.csv")
    assert not schema.has_header
    assert schema.columns == (("column0", ColumnType.TEXT), ("column1", ColumnType.INTEGER))


def test_a_duckdb_file_has_all_its_tables_and_keeps_their_values(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute(
            "CREATE TABLE visits (who UUID, mood ENUM ('it''s fine', 'x)'), spent DECIMAL(9, 2))"
        )
        connection.execute("CREATE TABLE places (name VARCHAR)")
    before = (tmp_path / "shop.duckdb").read_bytes()
    places, visits = read_schemas(tmp_path / "shop.duckdb")
    assert (places.source, visits.source) == tuple(
        f"{tmp_path / 'shop.duckdb'}#{table}" for table in ("places", "visits")
    )
    assert visits.columns == (
        ("who", ColumnType.TEXT),
        ("mood", ColumnType.CATEGORY),
        ("spent", ColumnType.DECIMAL),
    )
    assert "fine" not in repr(visits)
    assert (tmp_path / "shop.duckdb").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["shop.duckdb"]


@pytest.mark.parametrize("name", ["it's.parquet", "a*b?[c].parquet", "two words.PARQUET", "Ümlaut#1.parquet"])
def test_a_path_is_taken_literally(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({"right": [1]}), tmp_path / name)
    pq.write_table(pa.table({"wrong": [1]}), tmp_path / "aXbYc.parquet")
    (schema,) = read_schemas(tmp_path / name)
    assert schema.columns == (("right", ColumnType.INTEGER),)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.pdf", b"Ada", "not a CSV, Excel, Parquet, Arrow or DuckDB file"),
        ("a.csv", None, "does not exist"),
        ("a.csv", b"", "is empty"),
        ("a.csv.gz", b"name,size\nAda,5\n", "cannot be decompressed"),
        ("a.arrow", b"name,size\nAda,5\n", "cannot be read in the format of its suffix"),
        ("a.parquet", b"Ada,30\n", "cannot be read in the format of its suffix"),
        ("a.duckdb", b"Ada,30\n" * 1000, "is not a DuckDB file"),
    ],
)
def test_a_file_that_cannot_be_described_is_refused_without_quoting_it(
    tmp_path: Path, name: str, content: bytes | None, told: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RequestError, match=told) as caught:
        read_schemas(tmp_path / name)
    assert "Ada" not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(RequestError, match="is a folder"):
        read_schemas(tmp_path / "a.csv")
