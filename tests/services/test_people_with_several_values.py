"""People with several values: what is promised is about people, not about their rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.services.test_promise import discreet

POLICY = """\
tables:
  visits:
    source: visits.csv
    person: name
    rows_per_person: 2
    columns:
      name:    {role: identifier}
      age:     {type: integer, low: 0, high: 99, role: quasi}
      disease: {role: sensitive}
hierarchies:
  age: {widths: [10]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everybody had the flu, and something else: half of the rows are flu, and all of the people."""
    lines = ["name,age,disease"]
    for place, (name, other) in enumerate(zip("abcd", ("acne", "gout", "rash", "cold"), strict=True)):
        lines += [f"{name},{20 + place},flu", f"{name},{20 + place},{other}"]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "privacy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_probabilistic_diversity_counts_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("anonymize", "visits", "-k", "2", "--l-diversity", "disease:2:probabilistic")
    assert discreet(*words, "-o", "release.csv") == 4
    assert not (folder / "release.csv").exists()
    capsys.readouterr()
    assert discreet(*words, "--unit", "row", "-o", "release.csv") == 0


def test_a_release_that_counts_rows_of_people_claims_nothing_of_a_person(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The two rows of one person are a class of two: whose they are is certain, and not at most 50%."""
    words = ("anonymize", "visits", "-k", "2", "--unit", "row", "-o", "release.csv", "--json")
    assert discreet(*words) == 0
    told = capsys.readouterr()
    assert "no model bounds what is believed of a person" in " ".join(told.err.split())
    certified = json.loads((folder / "release.certificate.json").read_text())["models"]
    for model in (*json.loads(told.out)["models"], *certified):
        assert "Rows were counted" in model["belief"]


def test_a_model_of_values_says_that_it_bounds_no_belief_about_people(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("anonymize", "visits", "-k", "2", "--t-closeness", "disease:0.9:equal", "-o", "release.csv")
    assert discreet(*words) == 0
    told = capsys.readouterr()
    assert "bounds no belief about a person" in " ".join(told.err.split())
    models = json.loads((folder / "release.certificate.json").read_text())["models"]
    assert "bounds no belief about the person" in models[1]["belief"]
    assert "bounds no belief" not in models[0]["belief"]


VISITS = "who,age,disease\n" + "".join(
    f"{who},{20 + who % 4},{disease}\n"
    for who in range(8)
    for disease in (["flu"] * 3 if who < 4 else ["gout"])
)
PEOPLE = "name,who,age\n" + "".join(f"p{who},{who},{20 + who % 4}\n" * (1 + who) for who in range(8))
OF_VISITS = ("pseudonyms.csv", "--quasi", "age", "--sensitive", "disease")


def attack(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert discreet("attack", *words, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    return {each["name"]: each for each in told["attacks"]} | {"": told}


def test_people_of_a_file_are_counted_by_their_pseudonyms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pseudonyms.csv").write_text(VISITS)
    Path("people.csv").write_text(PEOPLE)
    rows, people = attack(capsys, *OF_VISITS), attack(capsys, *OF_VISITS, "--person", "who")
    # each age has two people, of whom one has the flu three times
    assert rows["linkage"]["highest"] == pytest.approx(1 / 4)
    assert rows["class inference"]["highest"] == pytest.approx(3 / 4)
    assert people["linkage"]["highest"] == pytest.approx(1 / 2)
    assert people["class inference"]["highest"] == pytest.approx(1 / 2)
    assert any("rows with the same who are one person's" in each for each in people[""]["assumed"])
    known = attack(capsys, *OF_VISITS, "--person", "who", "--knows", "people.csv")
    assert known["linkage"]["attempts"] == 8
    assert discreet("attack", *OF_VISITS, "--person", "patient") == 2
    assert "has a column patient" in capsys.readouterr().err


def test_people_whose_rows_differ_in_what_is_known_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pseudonyms.csv").write_text(VISITS + "1,77,flu\n")
    assert discreet("attack", *OF_VISITS, "--person", "who") == 2
    assert "differ in columns that the attacker knows" in " ".join(capsys.readouterr().err.split())


ONE_VALUE = POLICY.replace("hierarchies:", "promise: {prior: 1%, posterior: 5%}\nhierarchies:").replace(
    "age: {widths: [10]}", "age: {widths: [2, 4, 8]}"
)


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight people of two rows each, with one disease a person."""
    lines = ["name,age,disease"]
    for place, disease in enumerate(["flu", "gout", "flu", "rash", "gout", "rash", "acne", "acne"]):
        lines += [f"person {place},{20 + place},{disease}"] * 2
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "privacy.yaml").write_text(ONE_VALUE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("pseudonyms", [(), ("--pseudonym", "name", "--key", "pseudonyms.key")])
def test_an_earlier_release_of_people_with_several_rows_is_laid_over_the_new_one(
    ward: Path, capsys: pytest.CaptureFixture[str], pseudonyms: tuple[str, ...]
) -> None:
    assert discreet("anonymize", "visits", "-k", "2", *pseudonyms, "-o", "first.csv") == 0
    capsys.readouterr()
    assert discreet("anonymize", "visits", "-k", "4", "-o", "second.csv", "--json") == 0
    trial = json.loads(capsys.readouterr().out)["trial"]
    found = {each["name"]: each for each in trial["attacks"]}
    assert found["intersection"]["success"] > found["class inference"]["success"]
    assert ("birthday" in found) is bool(pseudonyms)
    assert any(each.startswith("They have the release first.csv, too.") for each in trial["assumed"])
    assert not any("was not tried" in each for each in trial["assumed"])


def test_pseudonyms_of_a_policys_release_count_people_by_themselves(
    ward: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pseudonyms = ("--pseudonym", "name", "--key", "pseudonyms.key")
    assert discreet("anonymize", "visits", "-k", "2", *pseudonyms, "-o", "first.csv") == 0
    assert discreet("anonymize", "visits", "-k", "2", "-o", "second.csv") == 0
    people, rows = (attack(capsys, name, "-p", "privacy.yaml") for name in ("first.csv", "second.csv"))
    assert people["linkage"]["highest"] == pytest.approx(1 / 2)
    assert rows["linkage"]["highest"] == pytest.approx(1 / 4)
    assert any("nothing in the release says which rows" in each for each in rows[""]["assumed"])


def test_the_certificate_does_not_tell_whether_anybody_had_several_values(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The release shows rows alone; that ruling out was no attack here would tell that somebody has two."""
    once = "name,age,disease\n" + "".join(f"p{place},{20 + place},flu\n" for place in range(8))
    told = []
    for rows in ((folder / "visits.csv").read_text(), once):
        (folder / "visits.csv").write_text(rows)
        assert discreet("anonymize", "visits", "-k", "2", "-o", "release.csv") == 0
        told.append(json.loads((folder / "release.certificate.json").read_text())["attacks_run"])
    assert told[0] == told[1] != []


def test_a_number_that_names_a_person_is_one_person_however_it_is_written(folder: Path) -> None:
    """Person 7 of one file is person 7.0 of the next, in a release as in a question."""
    (folder / "visits-1.csv").write_text("name,age,disease\n7,20,flu\n")
    (folder / "visits-2.csv").write_text("name,age,disease\n7.0,20,gout\n")
    text = POLICY.replace("visits.csv", "visits-*.csv").replace("{role: ident", "{type: integer, role: ident")
    (folder / "privacy.yaml").write_text(text)
    words = ("anonymize", "visits", "-k", "2", "-o", "release.csv")
    assert discreet(*words) == 4
    (folder / "visits-2.csv").write_text("name,age,disease\n7.5,20,gout\n")
    assert discreet(*words) == 0
