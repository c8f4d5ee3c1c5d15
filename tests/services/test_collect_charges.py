"""What `discreet collect randomize` decides before it reads: what is overwritten, charged, refused, told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.services.collect.report_files import read_description
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy
from tests.services.test_promise import discreet

POLICY = """
promise: {prior: 1%, posterior: 5%}
tables:
  people:
    source: answers.csv
    person: row
    columns:
      disease: {type: category, values: [none, flu, cancer]}
      group: {type: category, values: [a, b], nulls: false}
      age: {type: integer, low: 0, high: 3}
      pay: {type: decimal, low: 0, high: 10, resolution: 1, nulls: false}
  shop:
    source: shop.csv
    person: customer
    rows_per_person: 3
    columns:
      customer: {type: text, role: identifier}
      item: {type: category, values: [bread, milk, tea]}
  other:
    source: other.parquet
    columns:
      disease: {type: category, values: [none, flu]}
"""
ANSWERS = "disease,group,age,pay\nnone,a,1,4\nflu,b,2,5\ncancer,a,3,6\n"
STRANGE = "plague,c,99,unknown\n,,,\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.csv").write_text(ANSWERS)
    (tmp_path / "shop.csv").write_text("customer,item\nann,bread\nann,milk\nbob,tea\n")
    pq.write_table(pa.table({"disease": ["none", "flu"]}), tmp_path / "other.parquet")
    return tmp_path


def randomize(table: str, column: str, *more: str, out: str = "reports.parquet") -> int:
    return discreet("collect", "randomize", table, "--column", column, "-o", out, "--spend-all", *more)


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def states(here: Path) -> list[str]:
    """The states of the ledger's entries; no ledger is none."""
    with open_ledger_readonly(load_policy(here / "privacy.yaml")) as ledger:
        return [str(entry.state) for entry in ledger.list_entries()]


PLAIN = ("--values", "none,flu", "--promise", "1%:5%")


READ = "is the input. Write to another file."


@pytest.mark.parametrize(
    ("spelling", "told"),
    [
        ("other.parquet", READ),
        ("sub/../other.parquet", READ),
        ("link.parquet", "link.parquet is a symbolic link, not a file to replace. Name another."),
    ],
)
def test_what_is_read_is_not_overwritten(
    spelling: str, told: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "sub").mkdir()
    (here / "link.parquet").symlink_to("other.parquet")
    before = (here / "other.parquet").read_bytes()
    assert randomize("other.parquet", "disease", *PLAIN, out=spelling) == 2
    assert told in capsys.readouterr().err
    assert (here / "other.parquet").read_bytes() == before


@pytest.mark.parametrize("table", ["people", "plain.csv"])
def test_another_table_of_the_policy_is_not_overwritten(
    table: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    (here / "plain.csv").write_text(ANSWERS)
    before = (here / "other.parquet").read_bytes()
    more = () if table == "people" else ("--values", "none,flu,cancer", "--promise", "1%:5%")
    assert randomize(table, "disease", *more, out="other.parquet") == 2
    assert "is the table other of the policy" in capsys.readouterr().err
    assert (here / "other.parquet").read_bytes() == before
    assert states(here) == []


@pytest.mark.parametrize("spelling", ["answers.csv", "sub/../answers.csv", "link.csv", "hard.csv"])
def test_a_source_of_the_policy_is_charged_however_its_path_is_spelled(
    spelling: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    (here / "sub").mkdir()
    (here / "link.csv").symlink_to("answers.csv")
    os.link(here / "answers.csv", here / "hard.csv")
    assert randomize(spelling, "disease", "--json") == 0
    assert shown(capsys)["entry"] == 1
    assert states(here) == ["settled"]


@pytest.mark.parametrize(
    ("column", "more"),
    [
        ("disease", ()),
        ("disease", ("--other", "none")),
        ("group", ()),
        ("age", ()),
        ("age", ("--mean", "--other", "0")),
        ("pay", ("--mean",)),
    ],
)
def test_what_a_policy_does_not_declare_changes_neither_outcome_nor_words(
    column: str, more: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows with and without declared values, as many of both, and the only difference is in the coins."""
    (here / "privacy.yaml").write_text(POLICY)
    seen = []
    for rows in (ANSWERS + "none,a,1,4\n" * 2, ANSWERS + STRANGE):
        (here / "answers.csv").write_text(rows)
        ledger = Path(load_policy(here / "privacy.yaml").ledger)
        for each in (ledger, ledger.with_suffix(".mark"), here / ".discreet.mark"):  # another world
            each.unlink(missing_ok=True)
        seen.append((randomize("people", column, *more, "--json"), shown(capsys)))
    assert seen[0] == seen[1]
    assert (seen[0][0], seen[0][1]["clients"], seen[0][1]["entry"]) == (0, 5, 1)


def test_a_missing_answer_is_a_value_of_its_own_unless_the_policy_rules_it_out(here: Path) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("people", "disease", "--promise", "1%:1.5%", out="a.parquet") == 0
    assert read_description(here / "a.parquet").values == ("none", "flu", "cancer", "missing")
    assert randomize("people", "group", "--promise", "1%:1.5%", out="b.parquet") == 0
    assert read_description(here / "b.parquet").values == ("a", "b")
    assert randomize("people", "disease", "--promise", "1%:1.5%", "--other", "flu", out="c.parquet") == 0
    assert read_description(here / "c.parquet").values == ("none", "flu", "cancer")


def test_a_mean_of_the_policy_needs_a_number_for_what_is_missing_before_anything_is_charged(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("people", "age", "--mean") == 2
    assert "No number is given that stands for a missing one of people.age. Give --other NUMBER" in " ".join(
        capsys.readouterr().err.split()
    )
    assert states(here) == []


def test_items_that_a_policy_does_not_declare_are_none(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    (here / "shop.csv").write_text("customer,item\nann,bread\nann,soap\nbob,soap\n,milk\n")
    assert randomize("shop", "item", "--basket", "customer", "--size", "2", "--json") == 0
    found = shown(capsys)
    assert (found["clients"], found["entry"]) == (2, 1)


def test_a_refused_budget_tells_nothing_of_the_data(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("people", "disease", "--json") == 0
    capsys.readouterr()
    told = []
    for rows in (ANSWERS, ANSWERS + STRANGE):
        (here / "answers.csv").write_text(rows)
        assert randomize("people", "disease", out="again.parquet") == 3
        told.append(capsys.readouterr().err)
    assert told[0] == told[1]


def test_a_table_without_rows_sends_no_reports(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    (here / "answers.csv").write_text("disease,group,age,pay\n")
    for number, more in enumerate([("disease",), ("pay", "--mean")]):
        assert randomize("people", *more, "--promise", "1%:1.5%", "--json", out=f"{number}.parquet") == 0
        assert shown(capsys)["clients"] == 0
        assert discreet("collect", "estimate", f"{number}.parquet") == 2
        assert "There are no reports yet." in capsys.readouterr().err


@pytest.mark.parametrize("out", ["folder.parquet", "nowhere/reports.parquet", "reports.csv"])
def test_a_place_that_cannot_be_written_to_is_refused_before_the_charge(
    out: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    (here / "folder.parquet").mkdir()
    assert randomize("people", "disease", out=out) == 2
    assert capsys.readouterr().err.startswith("discreet: ")
    assert states(here) == []


@pytest.mark.parametrize("lost", ["answers.csv", "column"])
def test_a_table_that_cannot_be_read_is_refused_before_the_charge(lost: str, here: Path) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    (here / "answers.csv").write_text("group\na\n") if lost == "column" else (here / lost).unlink()
    assert randomize("people", "disease") == 2
    assert states(here) == []


def test_what_fails_after_the_charge_is_booked_as_a_fault(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    (here / "privacy.yaml").write_text(POLICY)
    monkeypatch.setattr(pq, "write_table", full)
    assert randomize("people", "disease") == 5
    assert "The custodian's log has the details" in " ".join(capsys.readouterr().err.split())
    assert states(here) == ["faulted"]
    assert not list(here.glob("*reports*"))
    monkeypatch.undo()


def test_a_full_disk_is_told_of_a_plain_file(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    assert randomize("other.parquet", "disease", *PLAIN) == 2
    assert (
        "reports.parquet cannot be written: its disk is full. Make room and run it again"
        in capsys.readouterr().err
    )


USELESS = {
    "matrix": "operator: matrix-operator\nrows: [[0.5, 0.5], [0.5, 0.5]]\n",
    "noise": "operator: modular-noise\nvalues: 6\nreach: 1\nshare: 20%\n",
    "baskets": "operator: select-a-size\nitems: 3\nsize: 2\nnoise: 1/2\nkept: [1/4, 1/2, 1/4]\n",
}


@pytest.mark.parametrize("kind", USELESS)
def test_an_operator_from_whose_reports_nothing_is_learned_is_refused_before_the_charge(
    kind: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wider = POLICY.replace("[a, b]", "[a, b, c, d, e, f]") if kind == "noise" else POLICY
    (here / "privacy.yaml").write_text(wider)
    (here / "useless.yaml").write_text(USELESS[kind])
    words = ("shop", "item", "--basket", "customer") if kind == "baskets" else ("people", "group")
    assert randomize(*words, "--operator", "useless.yaml") == 2
    told = capsys.readouterr().err
    assert "cannot be inverted" in told or "reveals nothing" in told
    assert states(here) == []


WORDS = {
    "operator: kary-response\nvalues: 1e9\ntruth: 0.5\n": "values must be at most 1,048,576",
    "operator: [a]\n": "bad.yaml, line 1: operator: must be a text.",
    "operator: select-a-size\nitems: 3\n": "Give items, size, noise, kept; or epsilon, items, size.",
}


@pytest.mark.parametrize("text", WORDS)
def test_a_wrong_operator_gets_a_true_sentence(
    text: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "bad.yaml").write_text(text)
    assert discreet("collect", "analyse", "bad.yaml") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert WORDS[text] in told
    assert told.count("line 1") == 1


def test_reports_that_would_spend_the_whole_promise_are_confirmed_first(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    words = ("collect", "randomize", "people", "--column", "disease", "-o", "reports.parquet")
    assert discreet(*words) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert told.startswith("discreet: collect randomize: this costs epsilon 1.65")
    assert "100% of the promise; nothing is left to analyst." in told
    assert "confirm it by --spend-all" in told
    assert states(here) == []
    assert not (here / "reports.parquet").exists()
    assert discreet(*words, "--spend-all") == 0
    assert "nothing is left to analyst (entry 1)" in " ".join(capsys.readouterr().out.split())
    assert states(here) == ["settled"]


def test_a_plan_shows_the_cost_of_reports_and_charges_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("people", "disease", "--promise", "1%:2%", "--plan") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "42.7% of the promise; 57.3% is left to analyst" in told
    assert randomize("people", "disease", "--promise", "1%:2%", "--plan", "--json") == 0
    found = shown(capsys)
    assert (round(found["share"], 3), round(found["left"], 3), found["fits"]) == (0.426, 0.574, True)
    assert states(here) == []
    assert not (here / "reports.parquet").exists()
    assert randomize("people", "disease", "--promise", "1%:2%") == 0
    assert "57.3% is left to analyst (entry 1)" in " ".join(capsys.readouterr().out.split())


def test_a_refusal_of_reports_begins_with_their_command(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("people", "disease") == 0
    capsys.readouterr()
    assert randomize("people", "group", out="more.parquet") == 3
    assert capsys.readouterr().err.startswith("discreet: collect randomize: this costs epsilon 1.65")
