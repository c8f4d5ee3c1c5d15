"""Sources: files are read as their schema and the policy say, whatever their rows hold."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.errors import EngineFault, RequestError
from discreet.core.policy import Policy
from discreet.engines import csv_quotes
from discreet.engines.duckdb_publisher import DuckDBPublisher
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
    (folder / "x.pdf").write_text("")
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
        ("x.pdf", {"age": {}}, "not a CSV, Excel, Parquet, Arrow or DuckDB file"),
        ("x.*", {"age": {}}, "not a CSV, Excel, Parquet, Arrow or DuckDB file"),
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


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.duckdb#t"])
def test_a_file_in_another_format_is_refused_and_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    (tmp_path / name.partition("#")[0]).write_text("Ada, 30")
    with pytest.raises(
        RequestError, match=r"cannot be read in the format of its suffix|is not a DuckDB file"
    ) as caught:
        prepare_store(visits_of(tmp_path / name), tmp_path / "store")
    assert "Ada" not in str(caught.value)
    assert {path.name for path in (tmp_path / "store").iterdir()} == {"key", "lock"}


def test_damaged_rows_are_a_fault_that_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({name: ["Ada"] * 1000 for name in VISITS}), path, compression="gzip")
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(range(64)) + whole[68:])
    with pytest.raises(EngineFault) as caught:
        prepare_store(visits_of(path), tmp_path / "store")
    assert "Ada" not in str(caught.value)
    assert {path.name for path in (tmp_path / "store").iterdir()} == {"key", "lock"}


def csv_columns(*names: str) -> dict[str, Any]:
    return {name: {"type": "text"} for name in names}


def test_a_text_that_looks_like_rows_is_read_wherever_it_is_in_a_large_csv_file(tmp_path: Path) -> None:
    """DuckDB reads 32,000,000 bytes at a time; a thread that begins there would take the text for rows."""
    path, row, count = tmp_path / "x.csv", "someone," + "x" * 390 + "\n", 90_000
    text = "who,note\n" + row * 80_198 + 'eve,"' + "ghost,x\n" * 250 + '"\n' + row * (count - 80_198)
    assert text.index('eve,"') < 32_000_000 < text.index('"\nsomeone')
    path.write_text(text)
    store = prepare_store(policy_of(path, csv_columns("who")), None)
    counts = "SELECT who, count(*) FROM t GROUP BY who ORDER BY who"
    assert rows_of(store, counts) == [("eve", 1), ("someone", count)]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize(
    ("own", "fault"),
    [
        ('"hi', "is never closed"),
        ('"hi"x"', "is never closed"),
        (' "hi', "is never closed"),
        ('"' + "x\n" * 1001 + '"', "spans 1,001 lines"),
    ],
)
def test_a_value_that_would_hold_rows_of_others_is_refused_by_its_line(
    tmp_path: Path, suffix: str, own: str, fault: str
) -> None:
    path, separator = tmp_path / f"x.{suffix}", {"csv": ",", "tsv": "\t"}[suffix]
    path.write_text(
        "".join(
            f"{who}{separator}{note}\n"
            for who, note in [("who", "note"), ("a", "b"), ("eve", own), ("c", "d")]
        )
    )
    policy = policy_of(path, csv_columns("who", "note"))
    for read in (lambda: prepare_store(policy, None), lambda: DuckDBPublisher(policy.tables)):
        with pytest.raises(RequestError, match=f"quote mark in line 3 {fault}"):
            read()


def test_rows_between_two_quote_marks_of_a_file_without_quotes_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('who\tnote\na\t"hi\nb\tok\nc\t5"\n')
    with pytest.raises(RequestError, match="line 2 spans several lines and columns"):
        prepare_store(policy_of(path, csv_columns("who", "note")), None)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "^", "]", ", ", " "])
def test_a_file_that_is_read_loses_no_row_to_the_line_before_it(
    tmp_path: Path, separator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_quotes, "MAX_QUOTED_LINES", 0)
    path, random, read = tmp_path / "x.csv", Random(separator), 0
    for _ in range(60):
        noise = [
            "".join(random.choices(["a", '"', separator, " ", '""'], k=random.randint(0, 8))) for _ in "abc"
        ]
        rows = [f"row{place}{separator}ok" for place in range(3)]
        lines = [line for pair in zip(noise, rows, strict=True) for line in pair]
        path.write_text("\n".join([f"who{separator}note", *lines, ""]))
        try:
            store = prepare_store(policy_of(path, csv_columns("who", "note")), None)
        except RequestError:
            continue
        read += 1
        found = rows_of(store, "SELECT who FROM t WHERE note = 'ok' AND who LIKE 'row%' ORDER BY who")
        assert found == [("row0",), ("row1",), ("row2",)], path.read_text()
    assert read >= 5


TIMES = [0, 10**16, -(10**16), 2**63 - 1, None, 253402300799999]


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_time_beyond_those_of_duckdb_is_null_and_stops_nothing(
    tmp_path: Path, unit: str, zone: str | None
) -> None:
    frame = pa.table({"seen": pa.array(TIMES, pa.timestamp(unit, zone)), "i": list(range(6))})
    policy = policy_of(tmp_path / "x.parquet", {"seen": {"type": "timestamp"}, "i": {"type": "integer"}})
    stores = [prepare_store(policy, None, frames={"t": frame})]
    if unit == "ms":
        pq.write_table(frame, tmp_path / "x.parquet")
        stores.append(prepare_store(policy, None))
        with DuckDBPublisher(policy.tables) as publisher:
            assert publisher.column_types("t")["seen"] == "TIMESTAMP" + (" WITH TIME ZONE" if zone else "")
            counted = publisher.count("SELECT count(*) AS n, count(seen) AS times FROM t").secret.to_pylist()
            assert counted == [{"n": 6, "times": 2}]
    if zone is None:
        with duckdb.connect(tmp_path / "x.duckdb") as connection:
            connection.execute("CREATE TABLE t AS FROM frame")
        stores.append(prepare_store(policy_of(tmp_path / "x.duckdb", policy_columns(policy)), None))
    known = {"s": [(0,)], "ms": [(0,), (5,)]}[unit]
    for store in stores:
        assert rows_of(store, "SELECT count(*) FROM t") == [(6,)]
        assert rows_of(store, "SELECT i FROM t WHERE seen IS NOT NULL ORDER BY i") == known


def policy_columns(policy: Policy) -> dict[str, Any]:
    return {
        name: column.model_dump(exclude_unset=True) for name, column in policy.tables["t"].columns.items()
    }


def test_folders_name_columns_of_files_with_times_in_milliseconds(tmp_path: Path) -> None:
    for year, unit in (("2020", "ms"), ("2021", "us")):
        (tmp_path / f"year={year}").mkdir()
        frame = pa.table({"Seen": pa.array([0], pa.timestamp(unit))})
        pq.write_table(frame, tmp_path / f"year={year}" / "x.parquet")
    columns = {"seen": {"type": "timestamp"}, "year": {"type": "text"}}
    store = prepare_store(policy_of(f"{tmp_path}/*/x.parquet", columns), None)
    assert rows_of(store, "SELECT year, year(seen) FROM t ORDER BY year") == [("2020", 1970), ("2021", 1970)]
