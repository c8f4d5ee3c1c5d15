"""`discreet attack` as a privacy officer meets it: the lectures' conclusions, reports, bounds, refusals."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from discreet.belief import Promise
from discreet.papers import lecture_tables as tables
from discreet.services.sample import write_policy, write_samples
from tests.attacks import answerers
from tests.papers import test_attack_papers as lectures
from tests.services import patients
from tests.services.test_promise import discreet

TABLES = {
    "four.csv": tables.FOUR_ANONYMOUS,
    "three.csv": tables.THREE_DIVERSE,
    "people.csv": tables.PEOPLE,
    "similar.csv": tables.SIMILAR,
    "before.csv": lectures.BEFORE,
    "after.csv": lectures.AFTER,
    "births.csv": lectures.BIRTHDAYS,
    "micro.csv": tables.MICRODATA.drop_columns(["name"]),
    "voters.csv": tables.VOTERS,
    "salaries.csv": pa.table({"salary": [1, 2]}),
    "nobody.csv": tables.PEOPLE.slice(0, 0),
}
ILLNESS = ("--quasi", "zip,age,nationality", "--sensitive", "disease")
OF_JOE = ("--quasi", "age,sex,zip", "--sensitive", "disease")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, table in TABLES.items():
        pacsv.write_csv(table, tmp_path / name)
    rows = [f"{disease};{organ};*" for organ, group in tables.ORGANS.items() for disease in group]
    (tmp_path / "organs.csv").write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def attacks(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    """What `--json` says of each attack and column, and the rest of it under the empty name."""
    capsys.readouterr()
    assert discreet("attack", *words, "--json") == code
    told = json.loads(capsys.readouterr().out)
    named = {" of ".join(filter(None, (each["name"], each["column"]))): each for each in told["attacks"]}
    return named | {"": told}


def claims(attack: dict[str, Any]) -> list[tuple[str, str, float]]:
    return [(each["victim"], each["claim"], each["posterior"]) for each in attack["victims"]]


def test_bob_has_cancer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = attacks(capsys, "four.csv", *ILLNESS, "--knows", "people.csv", "--victim", "name=Bob")
    homogeneity = found["homogeneity of disease"]
    assert claims(homogeneity) == [("Bob", "disease is Cancer", 1.0)]
    assert homogeneity["success"] == 1
    assert homogeneity["baseline"] == pytest.approx(5 / 12)
    assert homogeneity["victims"][0]["prior"] == pytest.approx(5 / 12)


def test_umeko_has_a_viral_infection(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_umeko = ("four.csv", *ILLNESS, "--knows", "people.csv", "--victim", "name=Umeko")
    assert claims(attacks(capsys, *of_umeko)["homogeneity of disease"]) == []
    found = attacks(capsys, *of_umeko, "--rules-out", "Heart Disease if nationality=Japanese")
    assert claims(found["background knowledge of disease"]) == [("Umeko", "disease is Viral Infection", 1.0)]
    rarely = attacks(capsys, *of_umeko, "--base-rate", "disease=Heart Disease:0.1 if nationality=Japanese")
    assert claims(rarely["background knowledge of disease"])[0][2] == pytest.approx(2 / 2.2)


def test_nothing_is_certain_after_three_diversity(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    japanese = ("--rules-out", "Heart Disease if nationality=Japanese")
    found = attacks(capsys, "three.csv", *ILLNESS, "--knows", "people.csv", *japanese)
    assert max(each["highest"] for name, each in found.items() if name) == pytest.approx(2 / 3)


def test_a_victim_may_be_values_without_a_register(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = attacks(capsys, "four.csv", *ILLNESS, "--victim", "zip=13053,age=31")
    assert claims(found["homogeneity of disease"]) == [("zip 13053, age 31", "disease is Cancer", 1.0)]


def test_a_victim_whom_no_row_fits_is_told_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("attack", "four.csv", *ILLNESS, "--victim", "zip=99999") == 0
    assert "No row of the release fits anybody who is known." in capsys.readouterr().out


def test_other_labels_than_the_victims_own_value_are_taken_as_other_values(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = {"zip": ["13053", "13053", "14850"], "sex": ["F", "F", "M"], "disease": ["flu", "gout", "flu"]}
    pacsv.write_csv(pa.table(people), folder / "plain.csv")
    columns = ("--quasi", "zip,sex", "--sensitive", "disease")
    told = attacks(capsys, "plain.csv", *columns, "--victim", "zip=13053,sex=F")[""]
    assert told["unread"] == []
    assert (
        "Labels of sex other than F are taken to be other values, not groups that hold it." in told["assumed"]
    )


GROUPED = pa.table(
    {
        "school": ["Higher", "Higher", "Lower", "Lower"],
        "age": ["[20, 29]", "[30, 39]", "[20, 29]", "[30, 39]"],
        "disease": ["flu", "flu", "gout", "flu"],
    }
)
PUPILS = pa.table({"name": ["Ann", "Ben"], "school": ["Bachelors", "11th"], "age": [25, 35]})
SCHOOLS = "Bachelors;Higher;*\nMasters;Higher;*\n11th;Lower;*\n"
OF_PUPILS = ("grouped.csv", "--quasi", "school,age", "--sensitive", "disease")


@pytest.fixture
def pupils(folder: Path) -> Path:
    pacsv.write_csv(GROUPED, folder / "grouped.csv")
    pacsv.write_csv(PUPILS, folder / "pupils.csv")
    (folder / "schools.csv").write_text(SCHOOLS)
    return folder


@pytest.mark.parametrize("knowledge", [("--knows", "pupils.csv"), ("--victim", "school=Bachelors,age=25")])
def test_labels_that_nothing_explains_are_refused_and_no_all_clear(
    pupils: Path, capsys: pytest.CaptureFixture[str], knowledge: tuple[str, ...]
) -> None:
    assert discreet("attack", *OF_PUPILS, *knowledge) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "the labels of school in grouped.csv" in told
    assert "--hierarchy school=FILE" in told
    found = attacks(capsys, *OF_PUPILS, *knowledge, "--hierarchy", "school=schools.csv")
    assert found["linkage"]["highest"] == 1
    assert found[""]["unread"] == []


def test_labels_that_are_read_only_in_part_are_told_of(
    pupils: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = GROUPED.set_column(0, "school", pa.array(["Bachelors", "Higher", "11th", "Lower"]))
    pacsv.write_csv(mixed, "grouped.csv")
    assert discreet("attack", *OF_PUPILS, "--knows", "pupils.csv") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "2 of the 4 labels of school in grouped.csv could not be read" in told
    strangers = ("--victim", "school=11th,age=35")
    assert discreet("attack", *OF_PUPILS, *strangers) == 2


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("age", "old", "the known values of age have none"),
        ("zip", "x", "four.csv has digits in zip, and the known values of zip have none"),
    ],
)
def test_a_register_of_another_type_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], column: str, value: str, told: str
) -> None:
    place = tables.PEOPLE.column_names.index(column)
    wrong = pa.array([value] * len(tables.PEOPLE))
    pacsv.write_csv(tables.PEOPLE.set_column(place, column, wrong), "wrong.csv")
    assert discreet("attack", "four.csv", *ILLNESS, "--knows", "wrong.csv") == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_bobs_salary_is_low_and_his_disease_is_of_the_stomach(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--quasi", "zip,age", "--sensitive", "salary,disease", "--hierarchy", "disease=organs.csv")
    found = attacks(capsys, "similar.csv", *options, "--victim", "zip=47678,age=27")
    whom = "zip 47678, age 27"
    assert claims(found["similarity of salary"]) == [(whom, "salary is between 20000 and 40000", 1.0)]
    assert claims(found["similarity of disease"]) == [(whom, "disease is Stomach", 1.0)]
    assert claims(found["homogeneity of disease"]) == []


def test_joes_disease_is_known_on_his_birthday(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ("after.csv", "--with", "before.csv", *OF_JOE)
    found = attacks(capsys, *both, "--knows", "births.csv", "--column", "age=age_after")
    birthday = found["birthday of disease"]
    assert claims(birthday) == [("Joe", "disease is gastritis", 1.0)]
    assert birthday["attempts"] == 1
    assert birthday["victims"][0]["truth"] is True
    assert found["intersection of disease"]["attempts"] == 5


def test_the_voter_list_names_everybody_of_a_table_without_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attacks(capsys, "micro.csv", *OF_JOE, "--knows", "voters.csv")
    assert (found["linkage"]["success"], found["linkage"]["baseline"]) == (1, 0.1)
    assert found["linkage"]["figures"]["unique"] == pytest.approx(10 / 11)
    assert {name for name, _, after in claims(found["linkage"]) if after == 1} >= {"Andy", "Mary", "Joe"}
    assert found[""]["criteria"]["singling_out"]["share"] == pytest.approx(10 / 11)
    assert found[""]["criteria"]["risk"]["prosecutor_highest"] == 1
    assert found["uniqueness"]["success"] == 1


def test_a_table_of_a_database_is_attacked_by_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    duckdb.connect("shop.duckdb").execute("CREATE TABLE four AS SELECT * FROM read_csv('four.csv')").close()
    found = attacks(capsys, "shop.duckdb#four", *ILLNESS, "--knows", "people.csv", "--victim", "name=Bob")
    assert claims(found["homogeneity of disease"]) == [("Bob", "disease is Cancer", 1.0)]
    assert found[""]["sha256"] == hashlib.sha256((folder / "shop.duckdb").read_bytes()).hexdigest()


def test_every_attack_is_run_or_named_with_the_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attacks(capsys, "four.csv", *ILLNESS)[""]
    skipped = {each["name"]: each["why"] for each in found["not_run"]}
    assert {each["name"] for each in found["attacks"]} | set(skipped) >= {
        "linkage",
        "homogeneity",
        "background knowledge",
        "similarity",
        "skewness",
        "class inference",
        "intersection",
        "birthday",
        "differencing",
        "averaging",
        "tracker",
        "reconstruction",
        "informed adversary",
        "floating point",
        "uniqueness",
        "sparse ratings",
        "genome membership",
    }
    assert "name an earlier one" in skipped["intersection"]
    assert "hierarchy" in skipped["similarity"]
    assert "policy.yaml" in skipped["tracker"]


def test_a_bound_that_is_broken_ends_with_code_4_and_still_tells_everything(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bob = ("four.csv", *ILLNESS, "--knows", "people.csv", "--victim", "name=Bob")
    found = attacks(capsys, *bob, "--at-most", "30%", code=4)
    assert found[""]["bounds_held"] is False
    assert [each["held"] for each in found["linkage"]["bounds"]] == [True]
    assert [each["held"] for each in found["homogeneity of disease"]["bounds"]] == [False]
    assert discreet("attack", *bob, "--posterior", "99.9%") == 4
    assert "broken" in capsys.readouterr().out
    assert discreet("attack", "three.csv", *ILLNESS, "--knows", "people.csv", "--at-most", "70%") == 0


def test_the_report_is_one_page_that_says_whose_it_is(folder: Path) -> None:
    bob = ("four.csv", *ILLNESS, "--knows", "people.csv", "--victim", "name=Bob", "--at-most", "50%")
    for name in ("out.html", "out.md", "out.json"):
        assert discreet("attack", *bob, "--report", name) == 4
    page = (folder / "out.html").read_text()
    assert re.search(r"<body>\s*<p[^>]*>For the custodian only: this report is computed on real data", page)
    assert not re.search(r'(src|href)="|@import|url\((?!#)', page)
    assert page.count("<svg") >= 6
    for words in ("singling out", "prosecutor", "Homogeneity of disease", "stopped", "What was assumed"):
        assert words in page
    assert "disease is Cancer" in page
    assert "BROKEN" in page
    text = (folder / "out.md").read_text()
    assert text.startswith("> For the custodian only: this report is computed on real data")
    assert "| homogeneity of disease | 100% | 41.7% |" in text
    kept = json.loads((folder / "out.json").read_text())
    assert next(iter(kept)) == "notice"
    assert {each["name"] for each in kept["attacks"]} >= {"linkage", "homogeneity"}


def test_the_report_says_which_file_was_attacked_and_when(folder: Path) -> None:
    for name in ("out.md", "out.json"):
        assert discreet("attack", "four.csv", *ILLNESS, "--report", name) == 0
    digest = hashlib.sha256((folder / "four.csv").read_bytes()).hexdigest()
    text, kept = (folder / "out.md").read_text(), json.loads((folder / "out.json").read_text())
    assert f"| SHA-256 | {digest} |" in text
    assert re.search(r"\| on \| 20\d\d-\d\d-\d\d \(UTC\) \|", text)
    assert kept["sha256"] == digest
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", kept["date"])


def test_what_is_certain_of_some_is_not_blurred_by_guesses_of_the_others(folder: Path) -> None:
    assert discreet("attack", "four.csv", *ILLNESS, "--report", "out.md") == 0
    text = (folder / "out.md").read_text()
    assert "| homogeneity of disease | 100% of 33.3% | 41.7% |" in text  # 4 of 12 people
    assert "| inference of disease | 66.7% | 41.7% |" in text


def test_nobody_takes_uniqueness_for_a_success_against_the_release(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("attack", "micro.csv", *OF_JOE, "--knows", "voters.csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith("uniqueness") for line in lines)
    told = " ".join(" ".join(lines).split())
    assert "100% of people are unique by the values that are known, whatever is released" in told


def test_a_value_of_the_data_cannot_become_markup_of_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "<script>alert(1)</script>"
    pacsv.write_csv(pa.table({"zip": ["1", "1"], "disease": [evil, evil], "note": [1, 2]}), "evil.csv")
    pacsv.write_csv(pa.table({"zip": ["1", "2"], "disease": [evil, "flu"]}), "mixed.csv")
    options = ("--quasi", "zip", "--sensitive", "disease")
    assert discreet("attack", "mixed.csv", *options, "--report", "out.html") == 0
    assert "<script" not in (folder / "out.html").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("four.csv",), "no column of four.csv is known to be a quasi-identifier"),
        (("four.csv", "--quasi", "zip,height"), "four.csv has no column height. It has zip"),
        (
            ("four.csv", "--quasi", "zip", "--sensitive", "zip"),
            "zip is both a quasi-identifier and sensitive",
        ),
        (("four.csv", *ILLNESS, "--knows", "organs.csv"), "no column of the release's quasi-identifiers"),
        (("four.csv", *ILLNESS, "--knows", "nobody.csv"), "attack: the register nobody.csv is empty"),
        (("four.csv", *ILLNESS, "--knows", "people.csv", "--victim", "name=Zoe"), "nobody in the register"),
        (("four.csv", *ILLNESS, "--knows", "people.csv", "--victim", "Zoe"), "--victim must be COLUMN=VALUE"),
        (("four.csv", *ILLNESS, "--knows", "people.csv", "--victim", "title=Dr"), "no column title"),
        (("four.csv", *ILLNESS, "--victim", "height=3"), "no column of the release's quasi-identifiers"),
        (("four.csv", *ILLNESS, "--knows", "absent.csv"), "absent.csv does not exist"),
        (("absent.csv", *ILLNESS), "absent.csv does not exist"),
        (
            ("four.csv", *ILLNESS, "--with", "three.csv"),
            "combining two releases needs knowledge of who is in both",
        ),
        (("four.csv", *ILLNESS, "--rules-out", "Gout"), "the release has no disease Gout"),
        (("four.csv", *ILLNESS, "--rules-out", "age=3"), "age, which is not sensitive"),
        (("four.csv", *ILLNESS, "--base-rate", "Cancer"), "--base-rate must be VALUE:TIMES"),
        (("four.csv", *ILLNESS, "--at-most", "120%"), "--at-most must be a probability"),
        (("four.csv", *ILLNESS, "--report", "out.pdf"), "an .html, .md or .json file"),
        (("four.csv", *ILLNESS, "--report", "absent/out.md"), "There is no folder"),
        (("four.csv", *ILLNESS, "--hierarchy", "height=organs.csv"), "neither known nor sensitive"),
        (("four.csv", *ILLNESS, "--table", "people"), "the policy has no table people"),
        (("four.csv", *ILLNESS, "--column", "zip"), "--column must be COLUMN=VALUE"),
        (
            ("four.csv", *ILLNESS, "--column", "zip=postcode"),
            "--column maps a column to a register",
        ),
        (("four.csv", *ILLNESS, "--knows", "salaries.csv"), "no column of the release's quasi-identifiers"),
        (
            ("four.csv", *ILLNESS, "--knows", "people.csv", "--column", "zip=postcode"),
            "the register people.csv has no column postcode",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    assert discreet("attack", *words) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_columns_hierarchies_and_bounds_come_from_certificate_and_policy(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_samples(folder / "sample")
    policy = str(write_policy(folder / "sample"))
    assert (
        discreet("anonymize", "census", "-p", policy, "-k", "20", "--suppress", "5%", "-o", "r.parquet") == 0
    )
    found = attacks(capsys, "r.parquet", "--policy", policy)
    assert found["linkage"]["figures"]["smallest match set"] >= 20
    assert [(each["by"], each["held"]) for each in found["linkage"]["bounds"]] == [("20-anonymity", True)]
    assert found["class inference of income"]["attempts"] > 40_000
    assert found[""]["promise"]["held"] is False  # no k-anonymous table keeps a promise of odds
    table = pq.read_table("r.parquet")
    pq.write_table(table.slice(0, 30), "r.parquet")
    cut = attacks(capsys, "r.parquet", code=4)
    assert [each["held"] for each in cut["linkage"]["bounds"]] == [False]
    assert any("other content" in each for each in cut[""]["assumed"])


def test_a_curator_is_attacked_with_its_whole_budget_and_nothing_is_charged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = answerers.write_policy(folder / "people")
    path.write_text(path.read_text().replace('ledger: ":memory:"\n', "").replace('store: ":memory:"\n', ""))
    found = attacks(capsys, str(path), "--claim", answerers.CLAIM, "--victims", "6", "--report", "out.html")
    assert set(found) >= {"differencing", "averaging", "tracker", "reconstruction", "informed adversary"}
    cap = Promise(0.5, 0.7).posterior
    for name in ("differencing", "averaging", "tracker", "informed adversary"):
        assert all(after <= cap * (1 + 1e-9) for _, _, after in claims(found[name]))
        assert [each["held"] for each in found[name]["bounds"]] == [True]
    assert max(after for _, _, after in claims(found["informed adversary"])) > 0.6
    assert sorted(each.name for each in path.parent.iterdir()) == ["people.parquet", "privacy.yaml"]
    low, high = found["informed adversary"]["interval"]
    assert discreet("attack", str(path), "--claim", answerers.CLAIM, "--victims", "6") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert low < found["informed adversary"]["success"] < high or high == 1
    assert "then its 95% confidence interval" in told
    assert re.search(r"\d–\d+(\.\d+)?%", told)
    page = (folder / "out.html").read_text()
    for words in ("NIST SP 800-226", "replace-one", "unit of privacy", "side channel", "epsilon", "trust"):
        assert words in page


def test_answers_about_rows_that_weigh_are_believed_as_much_as_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An attacker who took parts of a row for rows would take all of an answer for noise."""
    path = answerers.write_policy(folder / "people")
    table = answerers.rows()
    pq.write_table(table.append_column("who", table["id"]), path.parent / "people.parquet")
    named = path.read_text().replace("person: row", "person: who")
    path.write_text(f"bounding: weights\n{named}      who: {{type: integer, role: identifier}}\n")
    found = attacks(capsys, str(path), "--claim", answerers.CLAIM, "--victims", "6")
    for name in ("differencing", "averaging", "tracker", "informed adversary"):
        assert [each["held"] for each in found[name]["bounds"]] == [True]
    assert max(after for _, _, after in claims(found["informed adversary"])) > 0.6


@pytest.mark.parametrize("terms", ["tail: 1e-9", "secret: presence", "group: 2"])
def test_every_kind_of_promise_is_attacked_and_holds(
    folder: Path, capsys: pytest.CaptureFixture[str], terms: str
) -> None:
    path = answerers.write_policy(folder / "people")
    path.write_text(path.read_text().replace("posterior: 70%", f"posterior: 70%, {terms}"))
    found = attacks(capsys, str(path), "--claim", answerers.CLAIM, "--victims", "4")
    for name in ("differencing", "averaging", "tracker", "informed adversary", "floating point"):
        assert [each["held"] for each in found[name]["bounds"]] == [True]
    assert all(after != 0.5 for _, _, after in claims(found["informed adversary"]))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--claim", "ill ="), "--claim must be a condition on a row"),
        (("--claim", "age + 1"), "--claim must be a condition on a row; got age + 1"),
        (("--claim", "cured"), "--claim names cured, which people does not have"),
        (("--table", "visits"), "the policy has no table visits"),
        (("--victim", "id=9999"), "what --victim names is not exactly one row"),
        (("--victim", "name=Joe"), "--victim names name, which no query may use"),
        (("--knows", "people.csv"), "--knows applies to a published table"),
        ((), "people has no sensitive column to make a claim about"),
    ],
)
def test_what_a_curator_cannot_be_attacked_with_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    path = answerers.write_policy(folder / "people")
    text = path.read_text()
    if not words:
        path.write_text(text.replace("{type: category, values: ['yes', 'no']}", "{type: text}"))
    assert discreet("attack", str(path), *words) == 2
    assert told in " ".join(capsys.readouterr().err.split())


OVERLAPPING = pa.table(
    {
        "age": ["[20, 29]"] * 3 + ["[20, 39]"] * 7 + ["[40, 49]"] * 2,
        "disease": ["HIV"] * 3 + ["flu"] * 4 + ["gout"] * 3 + ["flu", "gout"],
    }
)
YOUNG = pa.table(
    {"name": ["Ann", "Ben", "Cid"], "age": ["25", "35", ""], "country": ["Japan", "Chile", "Japan"]}
)
OF_AGE = ("overlapping.csv", "--quasi", "age", "--sensitive", "disease", "--knows", "young.csv")


@pytest.fixture
def overlapping(folder: Path) -> Path:
    pacsv.write_csv(OVERLAPPING, folder / "overlapping.csv")
    pacsv.write_csv(YOUNG, folder / "young.csv")
    return folder


def test_where_labels_overlap_the_class_that_tells_most_is_found_out(
    overlapping: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attacks(capsys, *OF_AGE, "--victim", "name=Ann")
    # three of the ten rows that fit Ann are in a class where everybody has HIV
    homogeneity, guessed = found["homogeneity of disease"], found["class inference of disease"]
    assert claims(homogeneity) == [("Ann", "disease is HIV", 1.0)]
    assert guessed["highest"] == 1
    assert guessed["success"] == pytest.approx(0.4)
    assert found["linkage"]["highest"] == pytest.approx(1 / 3)
    assert found["linkage"]["success"] == pytest.approx(1 / 10)
    assert any("by elimination" in each for each in found[""]["assumed"])


def test_who_fits_one_class_is_not_told_of_another(
    overlapping: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attacks(capsys, *OF_AGE, "--victim", "name=Ben")
    assert found["homogeneity of disease"]["highest"] == 0
    assert found["class inference of disease"]["highest"] == pytest.approx(4 / 7)
    assert found["linkage"]["highest"] == pytest.approx(1 / 7)


def test_what_is_not_known_rules_nothing_out(overlapping: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = attacks(capsys, *OF_AGE, "--victim", "name=Cid")
    assert found["homogeneity of disease"]["highest"] == 0
    assert found["linkage"]["highest"] == pytest.approx(1 / 12)


def test_facts_about_some_are_not_used_of_others_who_fit_the_same_class(
    overlapping: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attacks(capsys, *OF_AGE, "--rules-out", "flu if country=Chile")
    background = found["background knowledge of disease"]
    assert claims(background) == [("Ben", "disease is gout", 1.0)]


def test_classes_that_a_register_does_not_tell_apart_stay_together(
    overlapping: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = OVERLAPPING.append_column("zip", pa.array(["1"] * 2 + ["2"] + ["1"] * 9))
    pacsv.write_csv(shown, "overlapping.csv")
    found = attacks(capsys, *OF_AGE, "--quasi", "age,zip", "--victim", "name=Ann")
    assert found["linkage"]["highest"] == pytest.approx(1 / 3)


def test_the_help_tells_options_by_what_is_attacked(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("attack", "--help") == 0
    shown = capsys.readouterr().out
    headings = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
    assert headings == [
        "Arguments",
        "Options",
        "A published table",
        "Answers, for a policy.yaml",
        "Ratings, with --title",
        "Allele frequencies, with --genomes and --reference",
        "A synthetic table, with --panel",
        "Output",
    ]
    assert max(map(len, shown.splitlines())) <= 80


def test_what_was_not_run_takes_a_line_for_each_kind_of_release(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("attack", "four.csv", *ILLNESS, "--knows", "people.csv") == 0
    told = capsys.readouterr().out.partition("not run")[2]
    kinds = re.findall(r"^on (.+?): ", told, re.MULTILINE)
    assert kinds == ["answers", "ratings", "allele frequencies", "a synthetic table"]


def test_where_rows_are_counted_and_not_people_the_terminal_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "visits.csv").write_text("who,age,ill\na,1,flu\na,1,flu\nb,1,none\nc,2,flu\nd,2,none\n")
    (tmp_path / "privacy.yaml").write_text(
        "promise: {prior: 1%, posterior: 5%, secret: value}\ntables:\n  visits:\n    source: visits.csv\n"
        "    person: who\n    rows_per_person: 2\n    columns:\n      who: {role: identifier}\n"
        "      age: {type: integer, role: quasi, low: 1, high: 2}\n"
        "      ill: {type: category, role: sensitive, values: [flu, none]}\n"
    )
    (tmp_path / "release.csv").write_text("age,ill\n1,flu\n1,flu\n1,none\n2,flu\n2,none\n")
    words = ("attack", str(tmp_path / "release.csv"), "--policy", str(tmp_path / "privacy.yaml"))
    assert discreet(*words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.index("Rows are counted, although people may have several") < said.index("linkage")


def test_no_attack_is_right_of_more_people_than_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everybody has two values, and a claim that is true of both is right of one person."""
    rows = [f"{who},{who // 2},{2 * (who // 2) + value}" for who in range(8) for value in (1, 2)]
    (tmp_path / "visits.csv").write_text("\n".join(["who,age,stage", *rows, ""]))
    (tmp_path / "privacy.yaml").write_text(
        "promise: {prior: 1%, posterior: 5%, secret: value}\ntables:\n  visits:\n    source: visits.csv\n"
        "    person: who\n    rows_per_person: 2\n    columns:\n      who: {role: identifier}\n"
        "      age: {type: integer, role: quasi, low: 0, high: 3}\n"
        "      stage: {type: integer, role: sensitive, low: 0, high: 9}\n"
    )
    (tmp_path / "release.csv").write_text("\n".join(["age,stage", *(row[2:] for row in rows), ""]))
    words = ("attack", str(tmp_path / "release.csv"), "--policy", str(tmp_path / "privacy.yaml"))
    assert discreet(*words, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    right = {each["name"]: each["success"] for each in found["attacks"]}
    assert right["similarity"] == right["class inference"] == 1
    assert max(right.values()) == 1
    skipped = {each["name"]: each["why"] for each in found["not_run"]}
    assert skipped["background knowledge"].startswith("people have several values of stage")


def test_a_bound_on_shares_of_people_is_not_held_against_shares_of_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two people one has flu, on nine visits: half of the people, nine rows in ten."""
    rows = "a,1,flu\n" * 9 + "b,1,none\n"
    (tmp_path / "visits.csv").write_text("who,age,ill\n" + rows)
    (tmp_path / "privacy.yaml").write_text(
        "promise: {prior: 1%, posterior: 5%, secret: value}\ntables:\n  visits:\n    source: visits.csv\n"
        "    person: who\n    rows_per_person: 9\n    columns:\n      who: {role: identifier}\n"
        "      age: {type: integer, role: quasi, low: 1, high: 2}\n"
        "      ill: {type: category, role: sensitive, values: [flu, none]}\n"
    )
    policy, release = ("--policy", str(tmp_path / "privacy.yaml")), str(tmp_path / "release.csv")
    published = ("-k", "2", "--l-diversity", "ill:2:probabilistic", "-o", release)
    assert discreet("anonymize", "visits", *policy, *published) == 0
    assert discreet("attack", release, *policy) == 0
    assert "broken." in capsys.readouterr().out
    assert discreet("attack", release, *policy, "--at-most", "50%") == 4


def two_releases(folder: Path, later: str = "abcd") -> tuple[str, ...]:
    """Two tables, each of two pairs, that divide the same four people differently."""
    ill = ("flu", "cold", "cold", "flu")
    first = zip("abcd", ("[0, 9]", "[0, 9]", "[10, 19]", "[10, 19]"), ("*",) * 4, ill, strict=True)
    second = zip(later, ("*",) * 4, ("Male", "Female", "Male", "Female"), ill, strict=True)
    for name, rows in (("first.csv", first), ("second.csv", second)):
        lines = [",".join(f'"{cell}"' for cell in row) for row in rows]
        (folder / name).write_text("\n".join(["who,age,sex,disease", *lines]))
    (folder / "four_people.csv").write_text(
        "name,age,sex\nAnn,5,Male\nBob,6,Female\nCid,15,Male\nDan,16,Female\n"
    )
    known = ("--quasi", "age,sex", "--sensitive", "disease", "--knows", "four_people.csv")
    return ("second.csv", "--with", "first.csv", "--person", "who", *known)


def test_two_releases_under_the_same_pseudonyms_are_joined_by_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attacks(capsys, *two_releases(folder))
    assert found["linkage"]["highest"] == 0.5
    assert found["linkage by pseudonym"]["highest"] == 1
    assert ("Bob", "disease is cold", 1.0) in claims(found["class inference by pseudonym of disease"])


def test_two_releases_under_other_pseudonyms_are_not_joined(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attacks(capsys, *two_releases(folder, later="wxyz"))
    assert "linkage by pseudonym" not in found
    assert not any("pseudonym" in line for line in found[""]["assumed"])


def test_other_releases_of_the_ledger_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(patients.write(folder))
    for k, name in (("2", "one.csv"), ("4", "two.csv")):
        assert discreet("anonymize", "patients", "-p", policy, "-k", k, "-o", name) == 0
        found = attacks(capsys, name, "--policy", policy)[""]
        why = {each["name"]: each["why"] for each in found["not_run"]}["intersection"]
        assert ("the ledger has one.csv" in why) == (name == "two.csv")


@pytest.mark.parametrize(("low", "high"), [(0, 1_000_000), (-1_000_000, 50), (0, 60)])
def test_the_claim_that_is_chosen_is_true_of_some(
    folder: Path, capsys: pytest.CaptureFixture[str], low: int, high: int
) -> None:
    pay = [10 + i % 40 for i in range(200)]
    pq.write_table(pa.table({"age": range(200), "pay": pay}), folder / "staff.parquet")
    columns = f"{{age: {{type: integer, low: 0, high: 200, role: quasi}}, pay: {{type: integer, low: {low}, "
    (folder / "privacy.yaml").write_text(
        "promise: {prior: 1%, posterior: 5%}\n"
        f"tables: {{staff: {{source: staff.parquet, columns: {columns}high: {high}, role: sensitive}}}}}}}}\n"
    )
    found = attacks(capsys, "privacy.yaml", "--victims", "4")[""]
    threshold = int(re.findall(r'"pay" >= (-?\d+)', found["knowledge"])[0])
    assert 50 <= sum(each >= threshold for each in pay) <= 150
