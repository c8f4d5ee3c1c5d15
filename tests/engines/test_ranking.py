"""Ranking: a secret order of each person's rows that depends on nobody else."""

from __future__ import annotations

import tempfile
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from tests.conftest import seeded
from tests.engines.stores import VISITS, Row, policy_of, rows_of, visits_of
from tests.statistical import assert_probability, power

PEOPLE = st.sampled_from(["ada", "bo", "cyd"])
VALUES = st.tuples(
    st.sampled_from(["Ulm", "Bonn", None]), st.integers(0, 3), st.sampled_from(["", "a", None])
)
ROWS = st.lists(st.tuples(PEOPLE, VALUES).map(lambda row: (row[0], *row[1])), max_size=12)


def ranked(files: list[list[Row]], key: int = 1) -> dict[Any, Counter[Row]]:
    """The ranks and stored values of each person, by the hash that the store has for them."""
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate(files):
            columns = list(zip(*rows, strict=True)) or [()] * 4
            arrays = [pa.array(column, kind) for column, kind in zip(columns, SCHEMA, strict=True)]
            pq.write_table(pa.table(dict(zip(VISITS, arrays, strict=True))), f"{folder}/{number}.parquet")
        store = prepare_store(visits_of(f"{folder}/*.parquet"), None, random=seeded(key))
        found: dict[Any, Counter[Row]] = {}
        for person, *rest in rows_of(
            store, "SELECT _discreet_person, _discreet_rank, city, age, note FROM t"
        ):
            found.setdefault(person, Counter())[tuple(rest)] += 1
    return found


SCHEMA = (pa.string(), pa.string(), pa.int64(), pa.string())


@given(ROWS, st.randoms(use_true_random=False), st.integers(0, 12))
@settings(max_examples=25)
def test_ranks_depend_neither_on_the_order_of_rows_nor_on_the_files(
    rows: list[Row], shuffler: Any, cut: int
) -> None:
    shuffled = shuffler.sample(rows, len(rows))
    assert ranked([rows]) == ranked([shuffled[:cut], shuffled[cut:]])


@given(ROWS, ROWS)
@settings(max_examples=25)
def test_ranks_do_not_depend_on_other_peoples_rows(rows: list[Row], others: list[Row]) -> None:
    """Replacing all rows of one person changes what is stored of nobody else."""
    kept = [row for row in rows if row[0] != "ada"]
    before = ranked([kept + [row for row in rows if row[0] == "ada"]])
    after = ranked([[("ada", *row[1:]) for row in others] + kept])
    alone = ranked([kept])
    assert (
        {person: before[person] for person in alone} == alone == {person: after[person] for person in alone}
    )


@given(ROWS)
@settings(max_examples=25)
def test_ranks_count_each_persons_rows_from_one(rows: list[Row]) -> None:
    found = ranked([rows])
    assert sorted(sum(rows.values()) for rows in found.values()) == sorted(
        Counter(r[0] for r in rows).values()
    )
    for person in found.values():
        assert sorted(row[0] for row in person.elements()) == list(range(1, sum(person.values()) + 1))


def test_null_and_empty_text_and_shifted_values_do_not_tie() -> None:
    """Were two of these rows to tie, some order of the file would swap them."""
    rows: list[Row] = [
        ("ada", city, age, note)
        for city in ("Ulm", None)
        for age in (1, 11, None)
        for note in ("", "1", "11", "\0", None)
    ]
    assert ranked([rows]) == ranked([rows[::-1]]) == ranked([[row] for row in rows])


def test_stores_with_different_keys_rank_and_name_people_differently() -> None:
    rows: list[Row] = [("ada", "Ulm", age, None) for age in range(100)]
    (one,), (other,) = ranked([rows], key=1).items(), ranked([rows], key=2).items()
    assert one[0] != other[0]
    assert one[1] != other[1]


PAIRS = 20_000


def test_which_row_comes_first_is_a_fair_coin(tmp_path: Path) -> None:
    users = [f"user {number}" for number in range(PAIRS)]
    table = pa.table({"user": users * 2, "city": ["Ulm"] * PAIRS + ["Bonn"] * PAIRS, "age": [1] * 2 * PAIRS})
    pq.write_table(table.append_column("note", pa.nulls(2 * PAIRS, pa.string())), tmp_path / "x.parquet")
    store = prepare_store(visits_of(tmp_path / "x.parquet"), None, random=seeded(3))
    ((first,),) = rows_of(store, "SELECT count(*) FROM t WHERE city = 'Ulm' AND _discreet_rank = 1")
    assert_probability(first, PAIRS, 0.5)
    assert power(0.5, 0.55, PAIRS) > 1 - 1e-4


def test_every_order_of_a_persons_rows_is_as_likely(tmp_path: Path) -> None:
    """Rows that differ in one value have few orders under a hash that only combines values."""
    notes = ("a", "b", None)
    rows = [(f"user {number}", "Ulm", 1, note) for number in range(PAIRS) for note in notes]
    arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
    pq.write_table(pa.table(dict(zip(VISITS, arrays, strict=True))), tmp_path / "x.parquet")
    store = prepare_store(visits_of(tmp_path / "x.parquet"), None, random=seeded(4))
    shown = "string_agg(coalesce(note, '-'), '' ORDER BY _discreet_rank)"
    orders = Counter(order for (order,) in rows_of(store, f"SELECT {shown} FROM t GROUP BY _discreet_person"))
    for order in permutations("ab-"):
        assert_probability(orders["".join(order)], PAIRS, 1 / 6)
    assert power(1 / 6, 0.2, PAIRS) > 1 - 1e-4


COLLIDING = -2930909409056394622  # has the hash that DuckDB gives to NULL


def test_rows_that_collide_are_ranked_by_what_they_hold(tmp_path: Path) -> None:
    ((same,),) = duckdb.execute(f"SELECT hash({COLLIDING}::BIGINT) = hash(NULL::BIGINT)").fetchall()
    assert same, "these are no longer rows that collide"
    columns = {"user": VISITS["user"], "n": {"type": "integer"}}
    found = []
    for numbers in ([COLLIDING, None], [None, COLLIDING]):
        users = [f"user {number}" for number in range(50)]
        table = pa.table({"user": [*users, *users], "n": [n for n in numbers for _ in users]})
        pq.write_table(table, tmp_path / "x.parquet")
        store = prepare_store(
            policy_of(tmp_path / "x.parquet", columns, person="user"), None, random=seeded(5)
        )
        found.append(sorted(rows_of(store, "SELECT _discreet_person, _discreet_rank, n IS NULL FROM t")))
    assert found[0] == found[1]


def test_a_person_is_the_same_in_every_table_however_it_is_typed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n7\n8\n\n")
    pq.write_table(pa.table({"id": pa.array([7, 7, 8], pa.int32())}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"id": pa.array([7.0, None, float("nan"), 8.0])}), tmp_path / "c.parquet")
    pq.write_table(pa.table({"id": ["7", "", None, "8"]}), tmp_path / "d.parquet")
    tables = {
        name: {"source": str(tmp_path / file), "person": "id", "columns": {"id": {"role": "identifier"}}}
        for name, file in {"a": "a.csv", "b": "b.parquet", "c": "c.parquet", "d": "d.parquet"}.items()
    }
    store = prepare_store(Policy.model_validate({"tables": tables}), None)
    people = [set(rows_of(store, f"SELECT _discreet_person FROM {name}")) for name in tables]
    assert len(people[0]) == 2
    assert people == [people[0]] * 4


def test_an_integer_identifier_is_a_number_in_text_too(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id\n7\n007\n7.0\nx7\n")
    policy = policy_of(tmp_path / "x.csv", {"id": {"type": "integer", "role": "identifier"}}, person="id")
    store = prepare_store(policy, None)
    assert sorted(rows_of(store, "SELECT count(*) FROM t GROUP BY _discreet_person")) == [(1,), (3,)]


def test_identifiers_are_not_in_the_store(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"user": ["Ada Lovelace"] * 3, "city": ["Ulm"] * 3, "age": [1, 2, 3], "note": ["seen"] * 3}),
        tmp_path / "x.parquet",
    )
    path = prepare_store(visits_of(tmp_path / "x.parquet"), tmp_path / "store").path
    assert path is not None
    content = path.read_bytes()
    assert b"Lovelace" not in content
    assert (tmp_path / "store" / "key").read_bytes() not in content
    assert b"seen" in content, "what is no identifier would be found"


def test_a_row_is_a_person_where_the_policy_says_so(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1, 1]}), tmp_path / "x.parquet")
    with DuckDB.open(
        prepare_store(policy_of(tmp_path / "x.parquet", {"age": VISITS["age"]}), None)
    ) as engine:
        assert engine.count("SELECT * FROM t").secret.column_names == ["age"]
