"""Releases meet their attackers before they are written: what is refused, what is marked, what is told."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Anonymizer
from discreet.anonymity.models import (
    BetaLikeness,
    DistinctDiversity,
    EqualCloseness,
    KAnonymity,
    MeasuredModel,
    ProbabilisticDiversity,
    RecursiveDiversity,
)
from discreet.core.errors import ModelNotMetError
from discreet.services.anonymize.release_evaluation import evaluate_release
from discreet.services.policies import load_policy
from tests.services.test_anonymize import HEAD, POLICY, ROWS, write_people
from tests.services.test_promise import discreet

PROMISE = "promise: {prior: 1%, posterior: 5%}\n"
WRITTEN = ("mine", "theirs")
LISTED = ["--l-diversity", "disease:2:probabilistic", "--suppress", "30%"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_people(tmp_path, ROWS)
    (tmp_path / "privacy.yaml").write_text(POLICY)
    return tmp_path


def publish(folder: Path, *options: str, name: str = "release.csv") -> int:
    policy, output = str(folder / "privacy.yaml"), str(folder / name)
    return discreet("anonymize", "people", "--policy", policy, *options, "-o", output)


def certificate(folder: Path, name: str = "release") -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / f"{name}.certificate.json").read_text())
    return content


def test_a_bound_that_an_attack_breaks_refuses_the_release_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "privacy.yaml").write_text(PROMISE + POLICY)
    before = sorted(each.name for each in folder.iterdir())
    assert publish(folder, "-k", "3", "--suppress", "20%", "--at-most", "20%") == 4
    told = " ".join(capsys.readouterr().err.split())
    assert "comes to believe" in told
    assert "--at-most allows at most 20%" in told
    assert "--force" in told
    assert sorted(each.name for each in folder.iterdir()) == before


def test_force_writes_anyway_and_marks_the_certificate(folder: Path) -> None:
    options = ("-k", "3", "--suppress", "20%", "--at-most", "20%")
    assert publish(folder, *options, "--force") == 0
    forced = certificate(folder)
    assert forced["forced"] is True
    assert "broken" not in forced
    assert [each["most"] for each in forced["bounds"] if each["by"] == "--at-most"] == [0.2]  # type: ignore[attr-defined]
    assert "BROKEN" in (folder / "release.report.html").read_text()


def test_a_certificate_does_not_say_whether_a_bound_was_broken(folder: Path) -> None:
    """It says what was asked for; what attacks found of real people is the custodian's."""
    for most in ("20%", "100%"):
        assert publish(folder, "-k", "3", "--suppress", "20%", "--at-most", most, "--force") == 0
        assert certificate(folder)["forced"] is True
    assert publish(folder, "-k", "3", "--suppress", "20%", "--at-most", "100%") == 0
    assert certificate(folder)["forced"] is False


def test_the_certificate_names_the_attacks_and_tells_no_result(folder: Path) -> None:
    assert publish(folder, "-k", "3", *LISTED) == 0
    public = certificate(folder)
    assert set(public["attacks_run"]) >= {"linkage", "homogeneity", "class inference", "skewness"}  # type: ignore[call-overload]
    assert [(each["attack"], each["most"]) for each in public["bounds"]] == [  # type: ignore[attr-defined]
        ("linkage", pytest.approx(1 / 3)),
        ("class inference", 0.5),
    ]
    text = json.dumps(public)
    assert not any(word in text for word in ("success", "victim", "posterior", "baseline", "highest"))


def test_the_report_has_the_attacks_with_charts(folder: Path) -> None:
    assert publish(folder, "-k", "3", *LISTED) == 0
    page = (folder / "release.report.html").read_text()
    for words in ("Linkage", "Homogeneity of disease", "three criteria", "by 3-anonymity: held"):
        assert words in page
    assert page.count("<svg") >= 7


def test_json_carries_the_trial(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(folder / "privacy.yaml")
    assert discreet("anonymize", "people", "-p", policy, "-k", "4", "--suppress", "20%", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {"levels", "loss", "risk", "trial"} <= set(told)
    (linkage,) = [each for each in told["trial"]["attacks"] if each["name"] == "linkage"]
    assert linkage["highest"] <= 1 / 4
    assert told["trial"]["bounds_held"] is True


def test_an_earlier_release_whose_file_is_gone_is_named_as_not_tried(folder: Path) -> None:
    (folder / "privacy.yaml").write_text(PROMISE + POLICY)
    assert publish(folder, "-k", "3", "--suppress", "20%", name="first.csv") == 0
    (folder / "first.csv").unlink()
    assert publish(folder, "-k", "3", "--suppress", "20%", name="second.csv") == 0
    page = (folder / "second.report.html").read_text()
    assert "What the release first.csv tells besides was not tried" in page


def test_an_earlier_release_of_the_ledger_is_laid_over_the_new_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "privacy.yaml").write_text(PROMISE + POLICY)
    assert publish(folder, "-k", "3", "--suppress", "20%", name="first.csv") == 0
    capsys.readouterr()
    assert publish(folder, "-k", "5", "--suppress", "20%", "--json", name="second.csv") == 0
    told = json.loads(capsys.readouterr().out)["trial"]
    ran = {each["name"]: each for each in told["attacks"]}
    assert ran["intersection"]["success"] >= ran["intersection"]["baseline"]
    assert any("first.csv" in each for each in told["assumed"])
    (folder / "first.csv").unlink()
    (folder / "second.csv").unlink()
    assert publish(folder, "-k", "5", "--suppress", "20%", "--json", name="third.csv") == 0
    alone = json.loads(capsys.readouterr().out)["trial"]
    assert "intersection" not in {each["name"] for each in alone["attacks"]}


def test_an_earlier_release_may_be_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(folder, "-k", "3", "--suppress", "20%", name="first.csv") == 0
    capsys.readouterr()
    earlier = ("--with", str(folder / "first.csv"))
    assert publish(folder, "-k", "5", "--suppress", "20%", *earlier, "--json", name="second.csv") == 0
    names = {each["name"] for each in json.loads(capsys.readouterr().out)["trial"]["attacks"]}
    assert {"intersection", "birthday"} <= names
    (folder / "other.csv").write_text("height\n3\n")
    assert publish(folder, "-k", "5", "--with", str(folder / "other.csv"), name="third.csv") == 2
    assert "other.csv has no column age" in capsys.readouterr().err


def test_what_people_with_several_values_give_away_breaks_a_bound_that_rows_keep(folder: Path) -> None:
    """Everybody has the flu and something else: half of the values, and all of the people."""
    visits = [
        (f"person {i}", 20, "13000", disease, "n") for i in range(8) for disease in ("flu", f"x{i % 4}")
    ]
    write_people(folder, visits)
    (folder / "privacy.yaml").write_text(
        POLICY.replace("    columns:", "    person: name\n    rows_per_person: 2\n    columns:")
    )
    assert publish(folder, "-k", "4", "--l-diversity", "disease:2:probabilistic") == 4
    assert not (folder / "release.csv").exists()


def test_hierarchies_of_sensitive_columns_say_what_is_similar(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = "  disease: {tree: {common: [flu], grave: [cancer, HIV]}}\n"
    (folder / "privacy.yaml").write_text(POLICY + tree)
    assert publish(folder, "-k", "3", "--suppress", "20%", "--json") == 0
    told = json.loads(capsys.readouterr().out)["trial"]
    assert "similarity" in {each["name"] for each in told["attacks"]}


MODELS: tuple[MeasuredModel, ...] = (
    KAnonymity(k=3),
    DistinctDiversity(column="disease", l=2),
    ProbabilisticDiversity(column="disease", l=Fraction(2)),
    RecursiveDiversity(column="disease", c=Fraction(2), l=2),
    RecursiveDiversity(column="disease", c=Fraction(3), l=3),
    EqualCloseness(column="disease", t=Fraction(2, 5)),
    BetaLikeness(column="disease", beta=Fraction(2)),
)
PEOPLE = st.lists(
    st.tuples(st.integers(20, 60), st.sampled_from(["13001", "13002", "14001"]), st.sampled_from("abcde")),
    min_size=8,
    max_size=60,
)


@settings(max_examples=40)
@given(
    rows=PEOPLE, model=st.sampled_from(MODELS), method=st.sampled_from(["generalize", "local", "mondrian"])
)
def test_what_meets_its_models_breaks_no_bound_that_follows_from_them(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, str, str]],
    model: MeasuredModel,
    method: str,
) -> None:
    folder = tmp_path_factory.mktemp("trial")
    lines = [HEAD, *(f"p{i},{age},{code},{value},n" for i, (age, code, value) in enumerate(rows))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "privacy.yaml").write_text(POLICY)
    policy = load_policy(folder / "privacy.yaml")
    try:
        anonymizer = Anonymizer(policy, models=[KAnonymity(k=2), model], suppress="0.4", method=method)
        release = anonymizer.fit("people").release
    except ModelNotMetError:
        return
    trial = evaluate_release(release, policy)
    assert any(tried.bounds for tried in trial.runs)
    assert trial.broken_bounds == ()
    bare = replace(
        release, recoding=replace(release.recoding, labels=_bare(release), codes=release.tuples.codes)
    )
    if len({row[:2] for row in rows}) == len(rows):  # without protection everybody is alone
        assert {tried.findings.attack for tried, _ in evaluate_release(bare, policy).broken_bounds} >= {
            "linkage"
        }


def _bare(release: object) -> tuple[tuple[str, ...], ...]:
    return tuple(each.values for each in release.hierarchies)  # type: ignore[attr-defined]


def test_a_value_that_everybody_of_a_class_has_breaks_recursive_diversity(tmp_path: Path) -> None:
    visits = {1: "abc", 2: "ade", 3: "xyz", 4: "xwq"}
    lines = [f"{who},{13 if who < 3 else 14},{value}" for who, values in visits.items() for value in values]
    (tmp_path / "visits.csv").write_text("\n".join(["who,zipcode,disease", *lines]) + "\n")
    (tmp_path / "privacy.yaml").write_text(
        "tables:\n  visits:\n    source: visits.csv\n    person: who\n    rows_per_person: 3\n    columns:\n"
        "      who: {role: identifier}\n      zipcode: {role: quasi}\n      disease: {role: sensitive}\n"
    )
    words = (
        "anonymize",
        "visits",
        "-p",
        str(tmp_path / "privacy.yaml"),
        "--l-diversity",
        "disease:3:recursive:2",
    )
    assert discreet(*words, "-o", str(tmp_path / "release.csv"), "--level", "zipcode=0") == 4
    assert not (tmp_path / "release.csv").exists()


def test_releases_of_the_same_name_are_all_laid_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "privacy.yaml").write_text(PROMISE + POLICY)
    for each in ("one", "two"):
        (folder / each).mkdir()
        assert publish(folder, "-k", "3", "--suppress", "20%", name=f"{each}/release.csv") == 0
    capsys.readouterr()
    assert publish(folder, "-k", "3", "--suppress", "20%") == 0
    told = (folder / "release.report.html").read_text()
    assert all(
        f"They have the release {folder / each / 'release.csv'}, too." in told for each in ("one", "two")
    )


def test_what_is_the_custodians_is_for_its_owner_alone(folder: Path) -> None:
    (folder / "release.report.html").touch(mode=0o644)
    assert publish(folder, "-k", "3", "--suppress", "20%") == 0
    assert (folder / "release.report.html").stat().st_mode & 0o777 == 0o600
    filed = folder / "attack.json"
    words = ("--policy", str(folder / "privacy.yaml"), "--report", str(filed))
    assert discreet("attack", str(folder / "release.csv"), *words) == 0
    assert filed.stat().st_mode & 0o777 == 0o600


def test_a_class_that_only_its_people_can_be_in_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["20,HIV"] * 3 + [f"{30 + i},d{i}" for i in range(10)]
    (tmp_path / "t.csv").write_text("age,disease\n" + "\n".join(rows) + "\n")
    words = ("--quasi", "age", "--sensitive", "disease", "-k", "3", "--method", "cells", "--at-most", "35%")
    assert discreet("anonymize", str(tmp_path / "t.csv"), *words, "-o", str(tmp_path / "r.csv")) == 4
    assert "homogeneity of disease comes to believe 100%" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "r.csv").exists()


def test_the_library_writes_what_the_command_writes_and_refuses_what_it_refuses(folder: Path) -> None:
    policy = folder / "privacy.yaml"
    release = Anonymizer(policy, models=[KAnonymity(k=5)], suppress="10%").fit("people").release
    with pytest.raises(ModelNotMetError, match="comes to believe"):
        release.write(folder / "mine.csv", at_most=0.01)
    assert not list(folder.glob("mine*"))
    written = release.write(folder / "mine.csv", at_most=0.01, force=True)
    assert {Path(path).name for path in written} == {"mine.csv", "mine.certificate.json", "mine.report.html"}
    assert json.loads((folder / "mine.certificate.json").read_text())["forced"]
    assert publish(folder, "-k", "5", "--suppress", "10%", name="theirs.csv") == 0
    again = release.write(folder / "mine.csv")
    assert (folder / "mine.csv").read_text() == (folder / "theirs.csv").read_text()
    mine, theirs = (
        json.loads((folder / f"{name}.certificate.json").read_text()) for name in ("mine", "theirs")
    )
    assert mine | {"file": ""} == theirs | {"file": ""}
    assert all(Path(path).exists() for path in again)
