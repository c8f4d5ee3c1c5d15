"""Verbs on frames: no file and no policy file, the same answers, and refusals that name Python arguments."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet import Curator, Policy, Promise
from discreet.services import session_ledger
from tests.conftest import seeded

SQL = "SELECT workclass, AVG(hours) AS hours FROM df GROUP BY workclass"
COLUMNS: dict[str, Any] = {"hours": (1, 99), "workclass": ["Private", "State"]}
COUNT = "SELECT COUNT(*) AS n FROM df"
POLICY: dict[str, Any] = {"promise": ("1%", "5%"), "tables": {"df": {"columns": COLUMNS}}}
FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda rows: rows,
    "batches": lambda rows: rows.to_reader(),
    "pandas": lambda rows: rows.to_pandas(),
    "polars": pl.from_arrow,
    "lazy": lambda rows: pl.DataFrame(pl.from_arrow(rows)).lazy(),
    "duckdb": duckdb.from_arrow,
}


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Give each test a session of its own."""
    monkeypatch.chdir(tmp_path)
    session_ledger.make_session_ledger.cache_clear()
    yield
    session_ledger.make_session_ledger.cache_clear()


@pytest.fixture
def rows() -> pa.Table:
    random = np.random.default_rng(7)
    return pa.table(
        {
            "hours": random.integers(1, 99, 5_000),
            "workclass": random.choice(["Private", "State"], 5_000),
            "smoker": random.random(5_000) < 0.3,
            "drinker": random.random(5_000) < 0.5,
            "patient": random.integers(0, 900, 5_000),
        }
    )


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_has_the_same_answer(rows: pa.Table, kind: str) -> None:
    found = []
    for frame in (rows, FRAMES[kind](rows)):
        with Curator(POLICY, tables={"df": frame}, ledger=":memory:", random=seeded(3)) as curator:
            found.append(curator.ask(SQL, epsilon=0.5).to_arrow())
    assert found[0].equals(found[1])
    answer = discreet.ask(FRAMES[kind](rows), SQL, columns=COLUMNS, epsilon=0.5)
    assert answer.to_pandas().shape == answer.to_polars().shape == (2, 2)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) AS n FROM df",
        "SELECT COUNT(*) AS n FROM People",
        "SELECT COUNT(*) AS n FROM adult AS a WHERE a.hours > 40",
        "WITH long AS (SELECT * FROM adult WHERE hours > 40) SELECT COUNT(*) AS n FROM long",
    ],
)
def test_a_frame_stands_for_the_table_after_from(rows: pa.Table, question: str) -> None:
    assert discreet.ask(rows, question, columns=COLUMNS, epsilon=1).table.num_rows == 1


def test_columns_have_short_forms(rows: pa.Table) -> None:
    columns = {
        "hours": (np.int64(1), np.int64(99)),
        "workclass": {"type": "category", "values": ["Private", "State"], "nulls": True},
        "smoker": bool,
        "drinker": [True, False],
        "patient": "integer",
    }
    sql = "SELECT workclass, smoker, drinker, SUM(hours) AS h FROM df GROUP BY workclass, smoker, drinker"
    answer = discreet.ask(rows, sql, columns=columns, person="patient", rows_per_person=9, epsilon=1)
    # a boolean without `nulls` has no group of missing values, which workclass has
    assert answer.table.num_rows == 3 * 2 * 2


@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_of_any_header_is_declared_by_another_name(kind: str) -> None:
    rows = pa.table({"Gewicht/kg": [60.5, 80.0, 71.2], "Time spent (minutes)": [1, 2, 3]})
    columns = {"weight": {"from": "Gewicht/kg", "type": "decimal", "low": 20, "high": 300, "resolution": 0.1}}
    answer = discreet.ask(FRAMES[kind](rows), "SELECT SUM(weight) AS w FROM df", columns=columns, epsilon=1)
    assert answer.table.num_rows == 1
    release = discreet.anonymize(
        FRAMES[kind](rows), quasi=["weight"], columns={"weight": columns["weight"] | {"role": "quasi"}}, k=2
    )
    assert release.to_arrow().column_names == ["weight"]
    assert "Gewicht/kg" in {column.source_name for column in Policy.draft(rows).tables["df"].columns.values()}


def test_decimals_and_times_have_short_forms() -> None:
    rows = pl.DataFrame(
        {"pay": [1.25, 2.5, 99.99], "seen": ["2024-01-31", "2024-02-01", None], "code": [1.0, 2.0, None]}
    )
    columns = {"pay": (0, 100, 0.01), "seen": ("2024-01-01", "2024-12-31"), "code": [1, 2]}
    with Curator(
        {"promise": ("1%", "99.9%"), "tables": {"t": {"columns": columns}}}, {"t": rows}, ledger=":memory:"
    ) as curator:
        column = curator.policy.tables["t"].columns
        assert (column["pay"].type, column["seen"].type, column["code"].values) == (
            "decimal",
            "date",
            ("1", "2"),
        )
        found = curator.ask("SELECT code, COUNT(seen) AS n FROM t GROUP BY code", epsilon=10).to_arrow()
        assert found.column("code").to_pylist() == ["1", "2"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (None, "`columns=` must be a dict"),
        (["hours"], "`columns=` must be a dict"),
        ({}, "`columns=` must declare at least one column"),
        ({"hours": (1, 2, 3, 4)}, "two bounds"),
        ({"hours": (1.5, 99)}, r"hours needs the step .* \(1.5, 99, 0.01\)"),
        ({"hours": ("a", "b")}, "square brackets"),
        ({"hours": (99, 1)}, "columns.hours.low: must not be above high"),
        ({"hours": {"min": 1}}, "did you mean low"),
        ({"hours": np.array([1, 2])}, "reveal its rarest people"),
        ({"hours": 5}, r"hours must be \(low, high\)"),
        ({"hours": [None, 1]}, "values of hours must be texts or numbers"),
        ({"hours": "number"}, "columns.hours.type: must be"),
        ({"hour": (1, 99)}, "does not have it. Did you mean hours"),
    ],
)
def test_a_wrong_declaration_is_refused_in_words_of_python(rows: pa.Table, columns: Any, words: str) -> None:
    with pytest.raises(discreet.RequestError, match=words):
        discreet.ask(rows, "SELECT AVG(hours) AS h FROM df", columns=columns, epsilon=0.1)
    assert discreet.ask(rows, COUNT, columns=COLUMNS, epsilon=0.1).entry == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"person": "patient"}, "person names the column patient, which is not declared"),
        ({"rows_per_person": 3}, "rows_per_person is 1"),
        ({"promise": (0.5, 0.1)}, "promise.posterior"),
        ({"question": "SELECT COUNT(*) AS n FROM a JOIN b ON a.hours = b.hours"}, "names the tables a, b"),
        ({"question": "SELECT SUM(pay) AS p FROM df"}, "no column pay.* Declare it in `columns=`"),
        ({"source": [1, 2]}, "a frame is|or a frame"),
    ],
)
def test_other_wrong_arguments_are_refused(rows: pa.Table, arguments: dict[str, Any], words: str) -> None:
    given = {"source": rows, "question": COUNT, "columns": COLUMNS, "epsilon": 0.1, **arguments}
    with pytest.raises(discreet.RequestError, match=words):
        discreet.ask(given.pop("source"), given.pop("question"), **given)


def test_what_a_policy_declares_is_not_declared_again(rows: pa.Table) -> None:
    with Curator(POLICY, tables={"df": rows}) as curator:
        with pytest.raises(discreet.RequestError, match="`columns=` is for a frame"):
            discreet.ask(curator, COUNT, columns=COLUMNS, epsilon=0.1)
        with pytest.raises(
            discreet.RequestError, match="`ledger=` and `data_version=` are those of the curator"
        ):
            discreet.ask(curator, COUNT, ledger="other.db", epsilon=0.1)


def test_a_session_has_one_ledger_for_all_frames(rows: pa.Table) -> None:
    other = rows.slice(0, 100)
    first = discreet.ask(rows, COUNT, columns=COLUMNS, epsilon=0.5)
    assert first.sentence.startswith("From the answers in this session alone, an attacker who was at most 1%")
    discreet.ask(other, "SELECT COUNT(*) AS n FROM others", columns=COLUMNS, epsilon=0.5)
    with Curator(POLICY, tables={"df": rows}) as curator:
        assert repr(curator.budget) == "<Budget: epsilon 1 spent, epsilon 0.65068 left>"
        assert "in this session" in curator.budget.sentence
        assert "in this session" in curator.budget._repr_html_()
        assert "\n" not in repr(curator.budget)
    with pytest.raises(discreet.BudgetError):
        discreet.ask(other, SQL, columns=COLUMNS, epsilon=1)
    assert list(Path.cwd().iterdir()) == []


def test_an_unchanged_frame_is_asked_again_for_free(rows: pa.Table) -> None:
    frame = rows.to_pandas()
    first = discreet.ask(frame, COUNT, columns=COLUMNS, epsilon=0.2)
    again = discreet.ask(frame, COUNT, columns=COLUMNS, epsilon=0.2)
    assert again.repeated
    assert again.table.equals(first.table)
    # equal contents of another object are charged: that they are equal must not show
    assert not discreet.ask(frame.copy(), COUNT, columns=COLUMNS, epsilon=0.2).repeated
    frame.loc[0, "hours"] = 7
    assert not discreet.ask(frame, COUNT, columns=COLUMNS, epsilon=0.2).repeated


@pytest.mark.parametrize("ledger", [None, "study.db"])
def test_columns_may_be_declared_differently_from_question_to_question(
    rows: pa.Table, ledger: str | None
) -> None:
    declared: list[dict[str, Any]] = [{"hours": (1, 99)}, {"hours": (1, 50)}, {"smoker": bool}]
    for repeated in (False, True):
        for columns in declared:
            answer = discreet.ask(rows, COUNT, columns=columns, epsilon=0.1, ledger=ledger)
            # the count reads no column, so it is the same measurement however columns are declared; without
            # a named ledger the version of a frame follows from the columns that are read
            is_known = columns is declared[1] or (columns is declared[2] and ledger is not None)
            assert answer.repeated is (repeated or is_known)


def test_a_new_frame_is_not_taken_for_one_that_is_gone(rows: pa.Table) -> None:
    for _ in range(5):
        frame = pa.table({"hours": rows.column("hours"), "workclass": rows.column("workclass")})
        assert not discreet.ask(frame, COUNT, columns=COLUMNS, epsilon=0.1).repeated
        del frame
        gc.collect()


def test_a_session_keeps_one_promise_and_one_unit(rows: pa.Table) -> None:
    discreet.ask(rows, COUNT, columns=COLUMNS, epsilon=0.1)
    with pytest.raises(
        discreet.RequestError, match=r"ledger of this session was made for another.*`ledger=`"
    ):
        discreet.ask(rows, COUNT, columns=COLUMNS, epsilon=0.1, promise=(0.01, 0.2))
    people = {**COLUMNS, "patient": "integer"}
    with pytest.raises(discreet.RequestError, match=r"ledger of this session is charged .*`ledger=`"):
        discreet.ask(rows, COUNT, columns=people, person="patient", rows_per_person=9, epsilon=0.1)
    wider = discreet.ask(
        rows, COUNT, columns=COLUMNS, epsilon=0.1, promise=Promise(0.01, 0.2), ledger="wide.db"
    )
    assert "(promise: 20%)" in wider.sentence
    assert "session" not in wider.sentence


def test_a_named_ledger_replays_the_same_rows_and_refuses_others(rows: pa.Table) -> None:
    ask: dict[str, Any] = {"columns": COLUMNS, "epsilon": 0.1, "ledger": "study.db"}
    assert not discreet.ask(rows, COUNT, **ask).repeated
    assert discreet.ask(rows.slice(0), COUNT, **ask).repeated
    with pytest.raises(discreet.RequestError, match=r"data of table df has changed.*another `data_version=`"):
        discreet.ask(rows.slice(1), COUNT, **ask)
    assert not discreet.ask(rows.slice(1), COUNT, data_version="2", **ask).repeated
    # another table is another version of its own
    assert not discreet.ask(rows.slice(1), "SELECT COUNT(*) AS n FROM later", **ask).repeated


def test_a_named_ledger_keeps_the_privacy_unit_of_a_frame(rows: pa.Table) -> None:
    discreet.ask(rows, COUNT, columns=COLUMNS, epsilon=0.1, ledger="study.db")
    people = {**COLUMNS, "patient": "integer"}
    with pytest.raises(discreet.RequestError, match="a person of df is a row; the policy here says"):
        discreet.ask(
            rows, COUNT, columns=people, person="patient", rows_per_person=9, epsilon=0.1, ledger="study.db"
        )


def test_the_same_question_is_the_same_from_another_folder(
    rows: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "study.db"
    assert not discreet.ask(rows, COUNT, columns=COLUMNS, epsilon=0.1, ledger=ledger).repeated
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert discreet.ask(rows, COUNT, columns=COLUMNS, epsilon=0.1, ledger=ledger).repeated


def test_two_names_for_one_frame_have_one_unit(rows: pa.Table) -> None:
    tables = {
        "visits": {"columns": {"patient": "integer"}, "person": "patient", "rows_per_person": 9},
        "rows": {"columns": COLUMNS},
    }
    with pytest.raises(discreet.RequestError, match="visits and rows of the policy have rows in common"):
        Curator({"promise": ("1%", "5%"), "tables": tables}, tables={"visits": rows, "rows": rows})


def test_tables_may_be_frames_and_paths(rows: pa.Table, tmp_path: Path) -> None:
    pd.DataFrame({"patient": range(900), "sex": ["f", "m"] * 450}).to_csv(
        tmp_path / "people.csv", index=False
    )
    policy = {
        "promise": ("1%", "5%"),
        "tables": {
            "patients": {
                "person": "patient",
                "columns": {"patient": "integer", "sex": ["f", "m"]},
            },
            "visits": {
                "person": "patient",
                "rows_per_person": 9,
                "links": {"patient": "patients.patient"},
                "columns": {"patient": "integer", "hours": (1, 99)},
            },
        },
    }
    sql = (
        "SELECT sex, AVG(hours) AS h FROM visits JOIN patients ON visits.patient = patients.patient "
        "GROUP BY sex"
    )
    with Curator(policy, tables={"visits": rows, "patients": "people.csv"}) as curator:
        assert curator.ask(sql, epsilon=1).table.num_rows == 2
    with pytest.raises(
        discreet.RequestError, match=r'no source for the rows of patients.*`tables={"patients"'
    ):
        Curator(policy, tables={"visits": rows})
    with pytest.raises(discreet.RequestError, match="`tables=`: the policy has no table visit"):
        Curator(policy, tables={"visit": rows})
    with pytest.raises(discreet.RequestError, match="`tables=` must be a dict"):
        Curator(policy, tables=rows)
    assert not list(tmp_path.glob(".discreet.mark"))


def test_other_verbs_take_frames(rows: pa.Table) -> None:
    frame = rows.to_pandas()
    classes = {"workclass": ["Private", "State"], "smoker": bool}
    counts = discreet.tabulate(frame, columns=classes, epsilon=0.1)
    assert counts.to_arrow().column_names[:2] == ["workclass", "smoker"]
    assert (
        discreet.tabulate(frame, columns=classes, marginals=[["smoker"]], epsilon=0.1).to_arrow().num_rows
        == 3
    )
    sets = discreet.itemsets(frame, items=["smoker", "drinker"], epsilon=0.2, delta=0)
    assert "smoker" in sets.to_arrow().column("items").to_pylist()
    made = discreet.synthesize(frame, columns={**COLUMNS, "smoker": bool}, epsilon=0.3)
    assert made.to_arrow().column_names == ["hours", "workclass", "smoker"]
    model = discreet.train(frame, "tree", target="smoker", columns={**COLUMNS, "smoker": bool}, epsilon=0.3)
    assert model.epsilon == 0.3
    with pytest.raises(discreet.RequestError, match="`columns=` must be a dict that declares"):
        discreet.synthesize(frame, epsilon=0.1)
    with pytest.raises(discreet.RequestError, match="tabulate: no table is named"):
        discreet.tabulate(POLICY | {"tables": {}}, epsilon=0.1)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_published_by_the_columns_that_are_named(kind: str) -> None:
    random = np.random.default_rng(1)
    people = pa.table(
        {
            "name": [f"p{i}" for i in range(600)],
            "age": random.integers(18, 90, 600),
            "zip": random.choice(["13053", "13068", "14850"], 600),
            "disease": random.choice(["flu", "gout"], 600),
        }
    )
    release = discreet.anonymize(
        FRAMES[kind](people), quasi=["age", "zip"], sensitive="disease", columns={"age": (18, 90)}, k=5
    )
    published = release.to_pandas()
    assert list(published) == ["age", "zip", "disease"]
    assert published.groupby(["age", "zip"], observed=True).size().min() >= 5
    known = people.select(["name", "age", "zip"])
    found = discreet.attack(
        FRAMES[kind](pa.Table.from_pandas(published)),
        quasi=["age", "zip"],
        sensitive="disease",
        knows=FRAMES[kind](known),
    )
    assert "linkage" in repr(found)


def test_what_is_published_must_be_named() -> None:
    people = pa.table({"age": [1] * 9, "disease": ["flu"] * 9})
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "no column of the frame is named as a quasi-identifier"),
        ({"quasi": "ages"}, "has no column ages. Did you mean age"),
        ({"quasi": "age", "sensitive": "age"}, "both a quasi-identifier and sensitive"),
    ]
    for arguments, words in refused:
        with pytest.raises(discreet.RequestError, match=words):
            discreet.anonymize(people, k=2, **arguments)
    with pytest.raises(discreet.RequestError, match="`quasi=` is for a frame"):
        discreet.anonymize(
            {"tables": {"t": {"columns": {"age": {"role": "quasi"}}}}}, people, quasi="age", k=2
        )


def test_a_policy_of_any_form_answers_the_same(rows: pa.Table, tmp_path: Path) -> None:
    built = Policy(**POLICY)
    built.save(tmp_path / "p.yaml")
    path = tmp_path / "p.yaml"
    forms: tuple[Any, ...] = (POLICY, built, path, str(path), Policy.load(path))
    for number, form in enumerate(forms):
        with Curator(form, tables={"df": rows}, ledger=tmp_path / "study.db") as curator:
            assert curator.ask(SQL, epsilon=0.1).repeated == (number > 0)
