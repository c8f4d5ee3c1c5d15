"""`discreet plan` and `discreet ask` on the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.services import patients
from tests.services.test_promise import discreet

SQL = "SELECT sex, AVG(age) AS age, COUNT(*) AS people FROM census GROUP BY sex"


def test_ask_prints_table_cost_and_belief(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("ask", SQL, "--policy", policy) == 0
    told = " ".join(capsys.readouterr().out.split())
    for fact in (
        "sex",
        "Female",
        "±",
        "± at 95%",
        "epsilon 0.1",
        "(entry 1)",
        "at most 1.11%",
        "promise: 5%",
    ):
        assert fact in told


def test_json_has_the_keys_that_machines_rely_on(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("ask", SQL, "--policy", policy, "--epsilon", "0.5", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {"columns", "rows", "intervals", "epsilon", "belief", "entry"} <= set(told)
    assert told["columns"] == ["sex", "age", "people"]
    assert told["epsilon"] == 0.5
    assert set(told["belief"]) >= {"prior", "posterior"}
    assert discreet("plan", SQL, "--policy", policy, "--epsilon", "0.5", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {"epsilon", "measures", "belief"} <= set(told)
    assert set(told["measures"][0]) >= {"name", "mechanism", "error95"}
    assert told["repeated"] is True


def test_csv_has_the_ends_of_the_intervals(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("ask", SQL, "--policy", policy, "--csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert set(rows[0]) == {"sex", "age", "age.low", "age.high", "people", "people.low", "people.high"}
    assert float(rows[0]["people.low"]) <= float(rows[0]["people"]) <= float(rows[0]["people.high"])


def test_beside_a_count_of_rows_that_weigh_stands_no_less_than_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its ends are broken numbers, which are not rounded down."""
    path = patients.write(tmp_path, posterior="50%")
    path.write_text(f"bounding: weights\n{path.read_text()}")
    monkeypatch.chdir(tmp_path)
    sql = "SELECT disease, COUNT(*) AS n FROM patients GROUP BY disease"
    assert discreet("ask", sql, "--epsilon", "0.37", "--json", "--analyst", "alice") == 0
    told = json.loads(capsys.readouterr().out)
    assert discreet("ask", sql, "--epsilon", "0.37", "--analyst", "alice") == 0
    shown = capsys.readouterr().out
    ends = [
        max(high - n, n - low)
        for (_, n), (low, high) in zip(told["rows"], told["intervals"]["n"], strict=True)
    ]
    beside = [int(line.split()[-1]) for line in shown.splitlines() if line.startswith(patients.DISEASES)]
    assert any(end % 1 for end in ends)
    assert all(end <= within < end + 1 for end, within in zip(ends, beside, strict=True))


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_of_the_answer_is_written(policy: str, tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"answer.{ending}"
    assert discreet("ask", SQL, "--policy", policy, "--plot", str(picture)) == 0
    assert picture.read_bytes().startswith(b"<svg" if ending == "svg" else b"\x89PNG")


def test_a_plan_says_what_it_would_cost_and_leaves_the_ledger_alone(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("plan", SQL, "--policy", policy, "--within", "30") == 2
    assert "depends on how many rows" in capsys.readouterr().err
    assert discreet("plan", SQL, "--policy", policy, "--share", "10%") == 0
    told = " ".join(capsys.readouterr().out.split())
    for fact in (
        "cost epsilon 0.165 of 1.65",
        "replace-one",
        "a person is one row",
        "2, as declared",
        "at most",
    ):
        assert fact in told
    assert discreet("ledger", "--policy", policy, "--json") == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


def test_a_plan_takes_an_error_for_so_many_rows_and_shows_shares(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--within", "±1", "--least-rows", "1000", "--split", "people=1", "--split", "age=3")
    assert discreet("plan", SQL, "--policy", policy, *words) == 0
    told = " ".join(capsys.readouterr().out.split())
    for fact in ("share", "assumed every group has at least 1,000 rows", "age DiscreteLaplace"):
        assert fact in told
    median = "SELECT MEDIAN(age) AS m FROM census"
    assert discreet("plan", median, "--policy", policy, "--within", "1%", "--least-rows", "1000") == 0
    assert "its rank is within 10 rows of the middle" in " ".join(capsys.readouterr().out.split())


def test_what_has_no_interval_says_so_and_what_cannot_be_told_too(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = (
        "SELECT age, AVG(hours_per_week) AS hours, MEDIAN(hours_per_week) AS middle FROM census GROUP BY age"
    )
    assert discreet("ask", sql, "--policy", policy) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "cannot be told" in told
    assert "At 95%, middle: its rank is within" in told
    assert "rows of the middle. How far that is in values depends on the data." in told


def test_what_is_said_to_fit_fits(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    count = "SELECT COUNT(*) AS n FROM census"
    assert discreet("ask", count, "--policy", policy, "--epsilon", "0.218701") == 0
    capsys.readouterr()
    assert discreet("ask", SQL, "--policy", policy, "--epsilon", "50") == 3
    told = " ".join(capsys.readouterr().err.split())
    assert "this costs epsilon 50 for" in told
    fitting = told.partition("What would still fit: --epsilon ")[2].split()[0]
    assert float(fitting) == 1.4319
    assert discreet("ask", SQL, "--policy", policy, "--epsilon", fitting) == 0


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["SELECT * FROM census"], 2, "would show rows"),
        (["SELECT SUM(x) FROM census"], 2, "there is no column x"),
        (["not sql"], 2, "ask:"),
        ([SQL, "--epsilon", "9"], 3, "What would still fit"),
        ([SQL, "--epsilon", "0"], 2, "epsilon must be"),
        ([SQL, "--confidence", "100%"], 2, "confidence must be"),
        ([SQL, "--epsilon", "1", "--share", "5%"], 2, "Give one of them"),
        ([SQL, "--analyst", "eve"], 2, "eve"),
        ([SQL, "--within", "5"], 2, "--least-rows 100"),
        ([SQL, "--within", "5%"], 2, "has no rank"),
        ([SQL, "--within", "x%"], 2, "within must be"),
        ([SQL, "--within", "5", "--least-rows", "0"], 2, "--least-rows must be"),
        ([SQL, "--split", "sex=2"], 2, "no measure of the question"),
        ([SQL, "--split", "people"], 2, "such as n=2"),
        ([SQL, "--split", "people=x"], 2, "finite number"),
        ([SQL, "--split", "people=-1"], 2, "above 0"),
    ],
)
def test_what_cannot_be_answered_gets_one_sentence_and_the_right_exit_code(
    policy: str, words: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("ask", *words, "--policy", policy) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_a_missing_policy_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("ask", SQL, "--policy", "no-such.yaml") == 2
    assert "no-such.yaml" in capsys.readouterr().err


def test_a_plan_beyond_what_is_left_says_that_it_would_be_refused(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("plan", SQL, "--policy", policy, "--epsilon", "50") == 0
    assert "would be refused" in " ".join(capsys.readouterr().out.split())
    assert discreet("plan", SQL, "--policy", policy, "--epsilon", "50", "--json") == 0
    assert json.loads(capsys.readouterr().out)["fits"] is False


def test_a_group_without_a_value_is_called_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("ward,cost\n" + "ER,1\n,2\n" * 50)
    policy = tmp_path / "privacy.yaml"
    policy.write_text(
        "promise: {prior: 1%, posterior: 5%}\n"
        "tables: {t: {source: t.csv, columns: {ward: {type: category, values: [ER], nulls: true}}}}\n"
    )
    sql = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"
    picture = tmp_path / "n.svg"
    assert discreet("ask", sql, "--policy", str(policy), "--epsilon", "1", "--plot", str(picture)) == 0
    assert "NULL" in capsys.readouterr().out
    assert "NULL" in picture.read_text()
