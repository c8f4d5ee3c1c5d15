"""Links between tables that know people: whose a row is, and which rows a join brings together."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import PreparedStore, prepare_store
from tests.conftest import seeded
from tests.engines.stores import Row, rows_of

KEY = {"role": "identifier"}
NUMBER = {"type": "integer", "low": 0, "high": 9}
TABLES: dict[str, dict[str, Any]] = {
    "lines": {
        "person": {"through": "note"},
        "rows_per_person": 3,
        "links": {"note": "notes.id"},
        "columns": {"note": KEY, "words": NUMBER},
    },
    "notes": {
        "person": {"through": "visit"},
        "rows_per_person": 3,
        "links": {"visit": "visits.id"},
        "columns": {"id": KEY, "visit": KEY, "pages": NUMBER},
    },
    "visits": {
        "person": "patient",
        "rows_per_person": 2,
        "columns": {"id": KEY, "patient": KEY, "cost": NUMBER},
    },
}


def policy(folder: Path | str) -> Policy:
    tables = {name: {"source": f"{folder}/{name}.parquet", **table} for name, table in TABLES.items()}
    return Policy.model_validate({"tables": tables})


def prepared(folder: Path | str, **rows: list[Row]) -> PreparedStore:
    """The store of tables that are written as text, in the order of their columns above."""
    for name, table in TABLES.items():
        columns = list(zip(*rows[name], strict=True)) or [()] * len(table["columns"])
        arrays = [
            pa.array([None if each is None else str(each) for each in column], pa.string())
            for column in columns
        ]
        pq.write_table(pa.table(dict(zip(table["columns"], arrays, strict=True))), f"{folder}/{name}.parquet")
    return prepare_store(policy(folder), None, random=seeded(1))


def by_person(store: PreparedStore) -> dict[Any, Counter[Row]]:
    """All that the store holds of each person, in all tables."""
    found: dict[Any, Counter[Row]] = {}
    with DuckDB.open(store) as engine:
        for table in TABLES:
            for row in engine.count(f"SELECT * FROM {table}").secret.to_pylist():
                person = row.pop("_discreet_person")
                found.setdefault(person, Counter())[(table, *row.values())] += 1
    return found


KEYS = st.sampled_from(["1", "2", "3", None])
VALUES = st.integers(0, 2)
VISITS = st.lists(st.tuples(KEYS, st.sampled_from(["bo", "cyd"]), VALUES), max_size=6)
NOTES = st.lists(st.tuples(KEYS, KEYS, VALUES), max_size=6)
LINES = st.lists(st.tuples(KEYS, VALUES), max_size=6)


@given(VISITS, st.lists(st.tuples(KEYS, st.just("ada"), VALUES), max_size=6), NOTES, LINES)
@settings(max_examples=25)
def test_whoever_comes_with_the_keys_of_others_takes_nothing_from_them(
    visits: list[Row], hers: list[Row], notes: list[Row], lines: list[Row]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        without = by_person(prepared(folder, visits=visits, notes=notes, lines=lines))
        beside = by_person(prepared(folder, visits=hers + visits[::-1], notes=notes[::-1], lines=lines[::-1]))
    assert {person: beside[person] for person in without} == without
    assert len(beside) - len(without) == bool(hers)


def test_a_row_belongs_to_whoever_has_the_key_that_it_names(tmp_path: Path) -> None:
    store = prepared(
        tmp_path,
        visits=[("1", "ada", 5), ("2", "bo", 6), ("3", "ada", 7), ("3", "bo", 8)],
        notes=[("a", "1", 1), ("b", "2", 2), ("c", "3", 3), ("d", "9", 4), ("e", None, 5)],
        lines=[("a", 1), ("b", 2), ("c", 3), ("d", 4), (None, 5)],
    )
    people = "SELECT list(DISTINCT v.cost ORDER BY v.cost) FROM visits v WHERE v._discreet_person"
    found = rows_of(store, f"SELECT pages, ({people} = n._discreet_person) AS p FROM notes n ORDER BY ALL")
    assert found == [(1, [5, 7]), (2, [6, 8]), (3, [5, 7]), (3, [6, 8])]
    found = rows_of(store, f"SELECT words, ({people} = n._discreet_person) AS p FROM lines n ORDER BY ALL")
    assert found == [(1, [5, 7]), (2, [6, 8]), (3, [5, 7]), (3, [6, 8])]


def test_of_a_persons_rows_with_one_key_only_the_first_bears_it(tmp_path: Path) -> None:
    visits: list[Row] = [("1", "ada", cost) for cost in range(5)] + [("1", "bo", 7)]
    store = prepared(tmp_path, visits=visits, notes=[], lines=[])
    found = rows_of(store, 'SELECT _discreet_rank FROM visits WHERE "_discreet_key id" IS NOT NULL')
    assert found == [(1,), (1,)]


def test_rows_that_differ_in_their_keys_alone_do_not_tie(tmp_path: Path) -> None:
    """Were they to tie, the order of the file would decide which visit is kept and which note finds it."""
    visits: list[Row] = [(str(key), "ada", 5) for key in range(20)]
    notes: list[Row] = [(None, str(key), 5) for key in range(20)]
    first = by_person(prepared(tmp_path, visits=visits, notes=notes, lines=[]))
    assert first == by_person(prepared(tmp_path, visits=visits[::-1], notes=notes[::-1], lines=[]))


def test_neither_identifiers_nor_lists_of_owners_stay_in_the_store(tmp_path: Path) -> None:
    prepared(tmp_path, visits=[("visit-seven", "Ada Lovelace", 5)], notes=[("n", "visit-seven", 1)], lines=[])
    store = prepare_store(policy(tmp_path), tmp_path / "store")
    assert store.path is not None
    content = store.path.read_bytes()
    assert b"Lovelace" not in content
    assert b"visit-seven" not in content
    names = "SELECT table_name FROM duckdb_tables() ORDER BY ALL"
    assert rows_of(store, names) == [("lines",), ("notes",), ("visits",)]


def test_the_custodian_is_told_of_keys_that_are_not_one_persons(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    visits: list[Row] = [("1", "ada", 5), ("1", "bo", 5), ("2", "bo", 5), ("2", "bo", 6)]
    with caplog.at_level(logging.WARNING, "discreet.custodian"):
        prepared(tmp_path, visits=visits, notes=[], lines=[])
    assert [each.getMessage() for each in caplog.records] == [
        "visits.id: 1 keys belong to several people; a row that links to one counts for each of them"
    ]
