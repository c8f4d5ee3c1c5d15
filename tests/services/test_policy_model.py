"""Policies built in Python: short forms, drafts that never take bounds from the data, and files of them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import Curator, Policy, Promise, RequestError, anonymize, ask
from discreet.core.column_entry import Column, ColumnType, Role

ROWS = pa.table(
    {
        "patient_id": [1, 2, 3],
        "age": [34, 61, 19],
        "pay": [1.5, 2.5, 3.5],
        "seen": [datetime(2024, 1, 1)] * 3,
        "smoker": [True, False, True],
        "ward": ["a", "b", "a"],
        "contact": ["a@example.org", "b@example.org", "c@example.org"],
        "tags": [["x"], [], []],
    }
)
FRAMES = {
    "arrow": ROWS,
    "pandas": ROWS.to_pandas().drop(columns="tags"),
    "polars": pl.DataFrame(pl.from_arrow(ROWS)).lazy(),
    "duckdb": duckdb.from_arrow(ROWS),
}
FILLED: dict[str, Any] = {
    "age": (0, 120),
    "pay": (0, 100, 0.01),
    "seen": (datetime(2020, 1, 1), datetime(2030, 1, 1)),
    "ward": ["a", "b"],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_draft_has_names_types_and_roles_and_no_bounds(kind: str) -> None:
    draft = Policy.draft(FRAMES[kind])
    columns = draft.tables["df"].columns
    assert {name: column.type.value for name, column in columns.items()} == {
        "patient_id": "integer",
        "age": "integer",
        "pay": "decimal",
        "seen": "timestamp",
        "smoker": "boolean",
        "ward": "category",
        "contact": "text",
    }
    # the content of a column shows that it holds addresses, which its name does not
    assert [name for name, column in columns.items() if column.role is Role.IDENTIFIER] == [
        "patient_id",
        "contact",
    ]
    assert all((column.low, column.high, column.values) == (None, None, None) for column in columns.values())
    assert draft.blanks == (
        "df.person",
        "df.rows_per_person",
        "df.age (low, high)",
        "df.pay (low, high, resolution)",
        "df.seen (low, high)",
        "df.ward (values)",
    )


def test_a_draft_does_not_depend_on_extreme_values() -> None:
    other = ROWS.set_column(1, "age", pa.array([-5, 10**9, 3]))
    assert repr(Policy.draft(ROWS)) == repr(Policy.draft(other))


def test_an_open_draft_is_refused_by_what_it_lacks(tmp_path: Path) -> None:
    draft = Policy.draft(ROWS).fill(FILLED)
    assert repr(draft) == "<Policy draft: fill in df.person, df.rows_per_person>"
    for use in (
        lambda: Curator(draft, tables={"df": ROWS}),
        lambda: ask(draft, "SELECT COUNT(*) FROM df", epsilon=0.1),
        lambda: anonymize(draft, ROWS, k=2),
    ):
        with pytest.raises(RequestError, match=r"does not say df\.person, df\.rows_per_person"):
            use()
    path = Policy.draft(ROWS).save(tmp_path / "privacy.yaml")
    assert "age:        {type: integer, low: ?, high: ?" in path.read_text()
    with pytest.raises(RequestError, match="is not filled in"):
        Policy.load(path)


def test_a_draft_that_is_filled_in_is_a_policy(tmp_path: Path) -> None:
    draft = Policy.draft(ROWS)
    policy = draft.fill(
        {**FILLED, "contact": None}, person="patient_id", rows_per_person=2, promise=(0.01, 0.1)
    )
    assert policy.blanks == ()
    assert "contact" not in policy.tables["df"].columns
    assert policy.tables["df"].columns["ward"].role is draft.tables["df"].columns["ward"].role
    with Curator(policy, tables={"df": ROWS}, ledger=tmp_path / "study.db") as curator:
        curator.ask("SELECT AVG(age) AS age FROM df", epsilon=0.1)
    assert draft.fill(FILLED, person="row").tables["df"].rows_per_person == 1
    with pytest.raises(RequestError, match=r"has no column agee\. Did you mean age"):
        draft.fill({"agee": (1, 2)})
    with pytest.raises(RequestError, match=r"columns\.age\.low: must not be above high"):
        draft.fill({"age": (9, 2)})


def test_several_frames_and_files_are_drafted_at_once(tmp_path: Path) -> None:
    pd.DataFrame({"age": [34]}).to_csv(tmp_path / "people.csv", index=False)
    draft = Policy.draft({"visits": ROWS.select(["ward"]), "people": tmp_path / "people.csv"})
    assert list(draft.tables) == ["visits", "people"]
    filled = draft.fill({"ward": ["a", "b"]}, table="visits", person="row")
    assert filled.blanks == ("people.person", "people.rows_per_person", "people.age (low, high)")
    with pytest.raises(RequestError, match="`table=` must be one of visits, people"):
        draft.fill({"ward": ["a"]})


def test_a_saved_policy_is_the_same_when_it_is_loaded(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "age": (0, 120),
        "pay": (Decimal("-1.5"), 100, "0.01"),
        "seen": (date(2024, 1, 1), date(2024, 12, 31)),
        "at": (datetime(2024, 1, 1, 12), datetime(2024, 12, 31)),
        "answer": ["no", "yes", "007", "a: b", "größer"],
        "smoker": bool,
        "marital status": {"type": "category", "values": ["a"], "role": "quasi", "nulls": True},
        "note": Column(type=ColumnType.TEXT, role=Role.SENSITIVE),
    }
    policy = Policy(
        promise=Promise(0.01, 0.05, tail=1e-6),
        tables={
            "people": {"source": str(tmp_path / "people.csv"), "columns": columns},
            "visits": {
                "person": "age",
                "rows_per_person": 3,
                "columns": columns,
                "links": {"note": "people.note"},
            },
        },
        hierarchies={"age": {"low": 0, "high": 120, "widths": [5, 10]}, "answer": {"mask": "right"}},
        analysts={"ann": {"share": "50%"}},
        epsilon=0.1,
        ledger=str(tmp_path / "ledger.db"),
    )
    path = policy.save(tmp_path / "privacy.yaml")
    assert "source: people.csv" in path.read_text()
    assert Policy.load(path).model_dump() == policy.model_dump()
    with pytest.raises(RequestError, match="exists already"):
        policy.save(path)
    policy.save(path, force=True)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (
            {"tables": {"t": {"columns": {"x": {"typ": "text"}}}}},
            "tables.t.columns.x.typ: unknown; did you mean type",
        ),
        ({"tables": {"t": {"columns": {"x": (1, 5)}}}, "promise": ("5%", "1%")}, "promise.posterior"),
        ({"tables": {"t": {"columns": 3}}}, "`columns=` must be a dict"),
        (
            {"tables": {"t": {"columns": {"x": str}}}, "hierarchy": {}},
            "hierarchy: unknown here: it belongs to a column",
        ),
        ({"tables": {"t": {"person": "who", "columns": {"x": str}}}}, "person names the column who"),
    ],
)
def test_a_wrong_entry_is_named(entries: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        Policy(**entries)
    with pytest.raises(RequestError, match=words):
        Curator({"promise": ("1%", "5%"), **entries})


def test_a_policy_file_without_sources_needs_its_tables(tmp_path: Path) -> None:
    path = Policy(promise=("1%", "5%"), tables={"df": {"columns": {"age": (0, 120)}}}).save(
        tmp_path / "p.yaml"
    )
    with pytest.raises(RequestError, match=r"line 3: tables\.df: source is missing"):
        Curator.open(path)
    with pytest.raises(RequestError, match=r"no source for the rows of df.*`tables="):
        Curator(Policy.load(path))
    with Curator.open(path, tables={"df": ROWS}) as curator:
        assert curator.ask("SELECT AVG(age) AS age FROM df", epsilon=0.1).entry == 1
    assert (tmp_path / "ledger.db").exists()
