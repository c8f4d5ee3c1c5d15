"""`discreet attack` on ratings, on allele frequencies and on synthetic tables, on made-up people."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from benchmarks.simulation.genome_study import Study
from benchmarks.simulation.rental_ratings import RentalService
from discreet.core.randomness import Randomness
from tests.services.test_attack_command import attacks
from tests.services.test_promise import discreet

EXAMPLE = Path(__file__).parents[2] / "benchmarks" / "worlds.py"
SERVICE = RentalService(people=3_000, titles=400, strangers=200)
STUDY = Study(people=300, snps=4_000, members=60, outsiders=60, panel=100)
FILMS = ("ratings.parquet", "--title", "title", "--knows", "known.csv")
GENOMES = ("frequencies.csv", "--genomes", "people.parquet", "--reference", "reference.csv")
OF_A_COPY = ("copied.csv", "--original", "people.csv", "--panel", "panel.csv")
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the example writes, of fewer people."""
    folder, example = tmp_path_factory.mktemp("worlds"), runpy.run_path(str(EXAMPLE))
    example["films"](folder, SERVICE, victims=60)
    example["genomes"](folder, STUDY)
    known_as(pa.table({"snp": ["rs1", "rs1"], "frequency": [0.5, 0.5]}), str(folder / "twice.csv"))
    (folder / "census").mkdir()
    example["census"](folder / "census", 600)
    return folder


@pytest.fixture
def films(worlds: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(worlds)
    return worlds


@pytest.fixture
def census(worlds: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(worlds / "census")
    return worlds / "census"


def known_as(table: pa.Table, name: str) -> pa.Table:
    pacsv.write_csv(table, name)
    return table


def test_eight_ratings_find_people_by_the_pseudonym_of_their_record(films: Path, capsys: Output) -> None:
    found = attacks(capsys, *FILMS)["sparse ratings"]
    assert found["success"] > 0.9
    assert found["attempts"] == 60
    assert found["figures"]["strangers matched"] < 0.2
    best = found["victims"][0]
    known = pacsv.read_csv("known.csv").to_pylist()
    record = next(row["customer"] for row in known if row["name"] == best["victim"])
    assert best["claim"] == f"record {record} is theirs"
    assert best["truth"] is True


def test_without_the_truth_a_record_is_right_as_often_as_it_is_believed(films: Path, capsys: Output) -> None:
    known_as(pacsv.read_csv("known.csv").drop_columns(["customer"]), "untold.csv")
    told, untold = attacks(capsys, *FILMS), attacks(capsys, *FILMS[:-1], "untold.csv")
    guessed = untold["sparse ratings"]
    assert {each["truth"] for each in guessed["victims"]} == {None}
    assert guessed["interval"] == [guessed["success"]] * 2
    # strangers are not told apart, so half of what was a share of members
    assert guessed["success"] == pytest.approx(told["sparse ratings"]["success"] / 2, abs=0.1)
    assert any("as often as it is believed" in each for each in untold[""]["assumed"])


def test_columns_may_be_called_otherwise_on_both_sides(films: Path, capsys: Output) -> None:
    shown = pq.read_table("ratings.parquet").rename_columns(["who", "film", "liked", "seen"])
    pq.write_table(shown, "others.parquet")
    known = pacsv.read_csv("known.csv")
    known_as(known.rename_columns(["name", "what", "how", "when", "who"]), "heard.csv")
    columns = ("--person", "who", "--title", "film", "--rating", "liked", "--date", "seen")
    called = [f"--column={pair}" for pair in ("film=what", "liked=how", "seen=when")]
    found = attacks(capsys, "others.parquet", *columns, "--knows", "heard.csv", *called)
    assert found["sparse ratings"]["victims"] == attacks(capsys, *FILMS)["sparse ratings"]["victims"]


def test_a_table_without_names_is_of_one_person(films: Path, capsys: Output) -> None:
    known = pacsv.read_csv("known.csv")
    known_as(known.slice(2, 6).drop_columns(["name", "customer"]), "one.csv")
    found = attacks(capsys, "ratings.parquet", "--title", "title", "--knows", "one.csv")
    assert found["sparse ratings"]["victims"][0]["victim"] == "the victim"
    assert found["sparse ratings"]["attempts"] == 1
    named = attacks(capsys, *FILMS, "--victim", "name=person 1")["sparse ratings"]
    assert [each["victim"] for each in named["victims"]] == ["person 1"]


HALVES = pa.table(
    {
        "user": [1, 1, 1, 2, 2, 2, 3, 3, 3, 3],
        "title": ["a", "b", "c", "a", "b", "d", "a", "b", "c", "d"],
        "rating": [4.5, 3.0, 2.5, 4.0, 3.0, 1.0, 1.0, 1.5, 5.0, 2.0],
    }
)


@pytest.mark.parametrize(("stars", "record"), [("0.5", "2"), ("0", None)])
def test_ratings_may_have_halves_and_be_off_by_so_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output, stars: str, record: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    known_as(HALVES, "halves.csv")
    known_as(pa.table({"title": ["a", "b", "d"], "rating": [3.5, 3.5, 1.5]}), "heard.csv")
    found = attacks(
        capsys, "halves.csv", "--title", "title", "--knows", "heard.csv", "--stars", stars, "--wrong", "0.01%"
    )["sparse ratings"]
    claimed = [each["claim"] for each in found["victims"]]
    assert claimed == ([] if record is None else [f"record {record} is theirs"])


def test_the_policy_says_whose_ratings_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    known_as(HALVES.rename_columns(["who", "title", "rating"]), "halves.csv")
    known_as(pa.table({"title": ["c", "d"], "rating": [5.0, 2.0]}), "heard.csv")
    words = ("halves.csv", "--title", "title", "--knows", "heard.csv")
    assert discreet("attack", *words) == 2
    assert "no column of halves.csv is known to identify people" in capsys.readouterr().err
    table = "{source: halves.csv, person: who, rows_per_person: 4, columns: {who: {role: identifier}}}"
    Path("policy.yaml").write_text(f"tables: {{ratings: {table}}}\n")
    found = attacks(capsys, *words, "-p", "policy.yaml")["sparse ratings"]
    assert [each["claim"] for each in found["victims"]] == ["record 3 is theirs"]


def test_rows_that_lack_something_are_left_out_and_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    known_as(HALVES.slice(1), "halves.csv")
    Path("halves.csv").write_text(Path("halves.csv").read_text() + '4,,2\n4,"a",\n')
    known_as(pa.table({"title": ["a", "z"], "rating": [4.0, 3.0]}), "heard.csv")
    assumed = attacks(capsys, "halves.csv", "--title", "title", "--knows", "heard.csv")[""]["assumed"]
    assert any(each.startswith("2 rows of halves.csv were left out") for each in assumed)
    assert any(each.startswith("1 rows of the register heard.csv were left out") for each in assumed)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (FILMS[:3], "no table of known ratings is given"),
        (("ratings.parquet", "--title", "film", *FILMS[3:]), "ratings.parquet has no column film"),
        ((*FILMS, "--rating", "liked"), "ratings.parquet has no column liked"),
        ((*FILMS, "--quasi", "title"), "--quasi applies to a published table, but the release is ratings"),
        ((*FILMS, "--victim", "name=Zoe"), "nobody in the register known.csv has name=Zoe"),
        ((*FILMS, "--column", "place=x"), "--column names place, which is not compared"),
        ((*FILMS, "--column", "title=x"), "the register known.csv has no column x"),
        ((*FILMS, "--wrong", "120%"), "--wrong must be a probability"),
        (("ratings.parquet", "--title", "title", "--knows", "reference.csv"), "has no column title"),
        (("known.csv", "--title", "title", "--knows", "ratings.parquet", "--person", "x"), "no column x"),
        (GENOMES[:3], "--reference is missing"),
        ((*GENOMES[:2], "ratings.parquet", *GENOMES[3:]), "no SNP with a number in every column"),
        ((*GENOMES[:3], "--reference", "twice.csv"), "the reference twice.csv has two rows for one SNP"),
        ((*GENOMES[:2], "reference.csv", *GENOMES[3:]), "has values other than 0, 1 and 2"),
        (("reference.csv", *GENOMES[1:]), "the number of people behind reference.csv is unknown"),
        (("people.parquet", *GENOMES[1:]), "people.parquet has no column frequency"),
        ((*GENOMES[:3], "--reference", "halves.csv"), "halves.csv does not exist"),
        ((*GENOMES, "--victim", "name=Zoe"), "has no column Zoe"),
        ((*GENOMES, "--epsilon", "x"), "--epsilon must be a finite number"),
        ((*GENOMES, "--knows", "known.csv"), "--knows applies to a published table or ratings"),
        (("frequencies.csv", "--panel", "panel.parquet"), "original table of frequencies.csv is not known"),
        (("frequencies.csv", "--original", "reference.csv"), "a synthetic table needs a panel"),
        (
            ("frequencies.csv", "--original", "known.csv", "--panel", "panel.parquet"),
            "share fewer than two columns",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(
    films: Path, capsys: Output, words: tuple[str, ...], told: str
) -> None:
    assert discreet("attack", *words) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert told in said
    assert "Traceback" not in said


def test_members_of_a_study_are_told_from_its_frequencies(films: Path, capsys: Output) -> None:
    found = attacks(capsys, *GENOMES, "--panel", "panel.parquet")
    ratio, homer = (found[f"genome membership ({name})"] for name in ("likelihood ratio", "homer"))
    assert ratio["success"] > 0.9
    assert homer["success"] > 0.8
    assert ratio["figures"]["false positives"] < 0.25
    assert ratio["victims"][0]["claim"] == "they were in the study"
    assert ratio["victims"][0]["truth"] is True
    one = attacks(capsys, *GENOMES, "--panel", "panel.parquet", "--victim", "name=people 7")
    assert "people 7" in {each["victim"] for each in one["genome membership (homer)"]["victims"]}


def test_without_a_panel_people_are_drawn_by_the_reference_and_that_is_said(
    films: Path, capsys: Output
) -> None:
    found = attacks(capsys, *GENOMES)
    assert found["genome membership (likelihood ratio)"]["success"] > 0.9
    assert any("were drawn by the reference" in each for each in found[""]["assumed"])


def test_snps_that_a_table_lacks_are_left_out_and_order_does_not_matter(films: Path, capsys: Output) -> None:
    people = pq.read_table("people.parquet")
    turned = people.take(list(range(people.num_rows - 1, 99, -1)))
    pq.write_table(turned, "turned.parquet")
    found = attacks(capsys, "frequencies.csv", "--genomes", "turned.parquet", *GENOMES[3:])
    assert found["genome membership (likelihood ratio)"]["success"] > 0.9
    assert any(each.startswith("100 SNPs were left out") for each in found[""]["assumed"])


def test_private_frequencies_keep_members_and_their_epsilon_is_the_bound(films: Path, capsys: Output) -> None:
    private = STUDY.sequence().publish_privately(1, Randomness())
    names = pq.read_table("people.parquet").column("snp")
    known_as(pa.table({"snp": names, "frequency": private.share}), "private.csv")
    options = ("--epsilon", "1", "--people", "300", "--panel", "panel.parquet")
    found = attacks(capsys, "private.csv", *GENOMES[1:], *options)
    ratio = found["genome membership (likelihood ratio)"]
    # of 60 members 5% are expected, by epsilon at most 13.6%: 30 would be one in 1e9
    assert ratio["success"] < 0.5
    assert [each["held"] for each in ratio["bounds"]] == [True]
    assert "epsilon 1 over all SNPs" in ratio["bounds"][0]["by"]


def test_an_epsilon_that_frequencies_do_not_have_is_told_as_broken(films: Path, capsys: Output) -> None:
    found = attacks(capsys, *GENOMES, "--epsilon", "1", "--people", "300", "--panel", "panel.parquet", code=4)
    assert [each["held"] for each in found["genome membership (likelihood ratio)"]["bounds"]] == [False]


def test_a_copy_gives_people_away_and_other_people_do_not(census: Path, capsys: Output) -> None:
    copied = attacks(capsys, *OF_A_COPY)
    honest = attacks(capsys, "honest.csv", *OF_A_COPY[1:])
    for name in ("singling out", "linkability", "attribute inference"):
        assert copied[name]["interval"][0] > copied[name]["baseline"] + 0.2
        assert honest[name]["success"] < copied[name]["success"] - 0.2
    criteria = copied[""]["criteria"]
    assert criteria["singling_out"]["share"] == copied["singling out"]["success"]
    assert criteria["risk"] is None
    only = attacks(capsys, *OF_A_COPY, "--sensitive", "income")["attribute inference"]
    assert "income" in only["victims"][0]["claim"]


def test_the_certificate_of_a_synthetic_table_and_the_policy_name_its_people(
    census: Path, capsys: Output
) -> None:
    policy = {
        "tables": {
            "people": {
                "source": str(census / "people.csv"),
                "person": "row",
                "columns": {
                    "age": {"type": "integer", "low": 17, "high": 95},
                    "zip": {"type": "category", "values": [f"zip {i}" for i in range(60)]},
                    "income": {"type": "integer", "low": 0, "high": 100_000},
                },
            }
        }
    }
    Path("privacy.yaml").write_text(json.dumps(policy))
    certificate = {"kind": "differentially private synthetic table", "table": "people"}
    Path("copied.certificate.json").write_text(json.dumps(certificate))
    try:
        assert discreet("attack", "copied.csv", "-p", "privacy.yaml") == 2
        assert "--panel" in capsys.readouterr().err
        found = attacks(capsys, "copied.csv", "-p", "privacy.yaml", "--panel", "panel.csv")
    finally:
        Path("copied.certificate.json").unlink()
        Path("privacy.yaml").unlink()
    assert any("compared are age, zip, income" in each for each in found[""]["assumed"])
    assert found["singling out"]["success"] > 0.3


@pytest.mark.parametrize(
    ("words", "folder", "heading"),
    [
        (FILMS, ".", "Sparse ratings"),
        ((*GENOMES, "--panel", "panel.parquet"), ".", "Genome membership (homer)"),
        (OF_A_COPY, "census", "Attribute inference"),
    ],
)
def test_every_kind_has_a_report_with_charts_and_a_bound(
    worlds: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], folder: str, heading: str
) -> None:
    monkeypatch.chdir(worlds / folder)
    for name in ("out.html", "out.md", "out.json"):
        assert discreet("attack", *words, "--at-most", "50%", "--report", name) == 4
    page, text = Path("out.html").read_text(), Path("out.md").read_text()
    assert page.count("<svg") >= 2
    assert f"<h2>{heading}</h2>" in page
    assert text.startswith("> For the custodian only")
    assert "BROKEN" in text
    kept: dict[str, Any] = json.loads(Path("out.json").read_text())
    assert kept["bounds_held"] is False
    assert len(kept["sha256"]) == 64
