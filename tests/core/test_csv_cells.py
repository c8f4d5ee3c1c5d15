"""Cells of CSV files that a spreadsheet would take for a formula: marked, and read back without loss."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.csv_escaping import escape_cell, escape_cell_sql, unescape_cell, unescape_cell_sql
from discreet.core.table_entry import Table
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.services.answers import Answer

DANGEROUS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "＋1",
    "－1",
    "＠x",
    "-",
    "--5",
    "+49 30",
]
HARMLESS = ["", "plain", "-5", "+5", "-0.5", ".5", "-1e-7", "1-2", "'tis", "[-5, 0)", "*", "é=1"]
TEXTS = st.text(st.sampled_from("='+-@\t\r\n＝＋－＠5.e a,;\"é"), max_size=7)


@pytest.mark.parametrize("text", DANGEROUS)
def test_what_a_spreadsheet_would_evaluate_is_marked(text: str) -> None:
    assert escape_cell(text) == "'" + text
    assert escape_cell("'" + text) == "''" + text


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_plain_texts_stay_as_they_are(text: str) -> None:
    assert escape_cell(text) == text


@given(texts=st.lists(TEXTS, min_size=1, max_size=30))
def test_marks_are_the_same_in_sql_and_are_taken_off_without_loss(texts: list[str]) -> None:
    lent = pa.table({"t": texts})
    with duckdb.connect() as connection:
        connection.register("lent", lent)
        marked = [row[0] for row in connection.execute(f"SELECT {escape_cell_sql('t')} FROM lent").fetchall()]
        connection.register("marked", pa.table({"t": marked}))
        plain = [
            row[0] for row in connection.execute(f"SELECT {unescape_cell_sql('t')} FROM marked").fetchall()
        ]
    assert marked == [escape_cell(text) for text in texts]
    assert plain == texts == [unescape_cell(text) for text in marked]
    assert not any(text[:1] in ("=", "@", "\t", "\r", "\n") for text in marked)


@pytest.mark.parametrize("encoded", [False, True])
def test_a_csv_release_is_marked_and_other_forms_are_exact(tmp_path: Path, encoded: bool) -> None:
    texts = pa.array([*DANGEROUS, *HARMLESS, None])
    numbers = pa.array(range(-5, len(texts) - 5))
    kept = texts.dictionary_encode() if encoded else texts
    rows = pa.table({"=cmd": kept, "n": numbers})
    with DuckDBPublisher({}, {"there": rows}) as engine:
        for name in ("release.csv", "release.parquet"):
            engine.write('SELECT * FROM "there"', tmp_path / name)
        engine.write('SELECT * FROM "lent"', tmp_path / "lent.csv", {"lent": rows})
        reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
        engine.write_batches(reader, tmp_path / "received.csv")
    for name in ("release.csv", "lent.csv", "received.csv"):
        with (tmp_path / name).open(newline="") as file:
            header, *found = csv.reader(file)
        assert header == ["'=cmd", "n"]
        assert [row[0] for row in found] == [escape_cell(text) for text in (*DANGEROUS, *HARMLESS, "")]
        assert [row[1] for row in found] == [str(number) for number in numbers.to_pylist()]
    with duckdb.connect() as connection:
        path = tmp_path / "release.parquet"
        exact = connection.execute(f"SELECT CAST(\"=cmd\" AS VARCHAR) FROM '{path}'").fetchall()
    assert [row[0] for row in exact] == texts.to_pylist()


def test_a_marked_release_is_read_back_as_it_was_and_other_files_as_they_are(tmp_path: Path) -> None:
    texts = [*DANGEROUS[:4], "'=1", "-5", "plain"]
    path = tmp_path / "release.csv"
    with DuckDBPublisher({}, {"there": pa.table({"a": texts})}) as engine:
        engine.write('SELECT * FROM "there"', path)
    table = Table.model_validate({"source": str(path), "columns": {"a": {"type": "text"}}})

    def read() -> list[str]:
        with DuckDBPublisher({"r": table}) as engine:
            found: list[str] = engine.count("SELECT a FROM r").secret["a"].to_pylist()
            return found

    assert read() == [escape_cell(text) for text in texts]
    (tmp_path / "release.certificate.json").write_text(
        json.dumps({"file": "release.csv", "formula_cells": "marked"})
    )
    assert read() == texts


def test_an_answer_as_csv_is_marked() -> None:
    table = pa.table({"@town": ["=1+1", None, "-5", "Bonn"], "n": [-1, 2, 3, 4]})
    found = list(csv.reader(io.StringIO(Answer.to_csv(_Shown(table)), newline="")))  # type: ignore[arg-type]
    assert found == [["'@town", "n"], ["'=1+1", "-1"], ["", "2"], ["-5", "3"], ["Bonn", "4"]]


class _Shown:
    """What `Answer.to_csv` needs of an answer."""

    def __init__(self, table: pa.Table) -> None:
        self.to_table_with_bounds = lambda: table
