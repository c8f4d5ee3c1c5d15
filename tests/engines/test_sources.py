"""Sources: files are read as their schema and the policy say, whatever their rows hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.errors import EngineFault, RequestError
from discreet.engines.prepared_store import prepare_store
from tests.engines.stores import VISITS, policy_of, rows_of, visits_of


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "^", ", ", "~", " "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_csv_file_has_any_separator(tmp_path: Path, separator: str, newline: str) -> None:
    path = tmp_path / "x.csv"
    lines = [["extra", "Age", "city"], ["a", "5", "Ulm"], ["b", "500", '"Bonn"']]
    path.write_text(newline.join(map(separator.join, lines)), encoding="utf-8-sig", newline="")
    columns = {"city": VISITS["city"], "age": VISITS["age"]}
    assert sorted(rows_of(prepare_store(policy_of(path, columns), None))) == [("Bonn", 120), ("Ulm", 5)]


def test_no_row_of_a_csv_file_changes_how_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    honest = "age;city\n1;Ulm\n2;Bonn\n"
    path.write_text(honest)
    columns = {"city": {"type": "text"}, "age": VISITS["age"]}
    before = set(rows_of(prepare_store(policy_of(path, columns), None)))
    path.write_text(honest + "a,b,c,d\n" * 50 + "x\n" + "007;Ulm,Bonn;;;\n" + '"3;\n";"Je""na"\n')
    after = rows_of(prepare_store(policy_of(path, columns), None))
    assert before == {("Ulm", 1), ("Bonn", 2)}
    assert before <= set(after)


@pytest.mark.parametrize("header", ["user,city,age,note\n", "user,city,age,note"])
def test_a_table_may_be_empty(tmp_path: Path, header: str) -> None:
    (tmp_path / "x.csv").write_text(header)
    assert rows_of(prepare_store(visits_of(tmp_path / "x.csv"), None)) == []
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in VISITS}), tmp_path / "x.parquet")
    assert rows_of(prepare_store(visits_of(tmp_path / "x.parquet"), None)) == []


def test_rows_without_a_stored_column_still_count(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": ["a", "b"]}), tmp_path / "x.parquet")
    store = prepare_store(policy_of(tmp_path / "x.parquet", {"user": VISITS["user"]}), None)
    assert rows_of(store, "SELECT count(*) FROM t") == [(2,)]


def test_names_may_be_reserved_words_and_hold_blanks(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("select;group by;a-b.c\n1;2;3\n")
    columns = {name: {"type": "integer"} for name in ("a-b.c", "select", "group by")}
    policy = policy_of(tmp_path / "x.csv", columns, name="order")
    assert rows_of(prepare_store(policy, None), 'SELECT "select", "group by", "a-b.c" FROM "order"') == [
        (1, 2, 3)
    ]


def _files(folder: Path) -> None:
    pq.write_table(
        pa.table({"user": ["a"], "city": ["Ulm"], "age": [1], "note": ["n"]}), folder / "x.parquet"
    )
    (folder / "x.csv").write_text("user,city,age\na,Ulm,1\n")
    (folder / "empty.csv").write_text("")
    (folder / "x.xlsx").write_text("")
    with duckdb.connect(str(folder / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE y AS SELECT 1 AS age")


@pytest.mark.parametrize(
    ("source", "columns", "complaint"),
    [
        ("x.parquet", {"weight": {}}, "table t declares the column weight; x.parquet does not have it"),
        ("x.csv", {"age": {}, "note": {}}, "table t declares the column note; x.csv does not have it"),
        ("empty.csv", {"age": {}}, "table t declares the column age; empty.csv does not have it"),
        ("x.duckdb#y", {"note": {}}, "table t declares the column note; x.duckdb does not have it"),
        ("x.duckdb#z", {"age": {}}, "is z in x.duckdb, and there is no such table"),
        ("x.duckdb", {"age": {}}, "is t in x.duckdb, and there is no such table"),
        ("none.parquet", {"age": {}}, "there is no such file"),
        ("none*.csv", {"age": {}}, "there is no such file"),
        ("x.xlsx", {"age": {}}, "not a CSV, Parquet or DuckDB file"),
        ("x.*", {"age": {}}, "not a CSV, Parquet or DuckDB file"),
        ("x.csv", {"age": {}, "Age": {}}, "table t declares age and Age, which differ in case alone"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    tmp_path: Path, source: str, columns: dict[str, Any], complaint: str
) -> None:
    _files(tmp_path)
    for folder in (None, tmp_path / "store"):
        with pytest.raises(RequestError, match=complaint):
            prepare_store(policy_of(tmp_path / source, columns), folder)


def test_a_broken_file_is_a_fault_that_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("Ada, 30")
    with pytest.raises(EngineFault) as caught:
        prepare_store(visits_of(tmp_path / "x.parquet"), tmp_path / "store")
    assert "Ada" not in str(caught.value)
    assert {path.name for path in (tmp_path / "store").iterdir()} == {"key", "lock"}
