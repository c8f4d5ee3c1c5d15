"""Ratings, allele frequencies and synthetic tables are attacked alike wherever they stand, to every digit."""

from __future__ import annotations

import json
import runpy
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import yaml

from benchmarks.simulation.rental_ratings import RentalService
from tests.engines.servers import PostgresServer, Server, spark_by_night
from tests.engines.support import shows
from tests.engines.test_asking import address
from tests.services.test_attack_kinds import EXAMPLE
from tests.services.test_promise import discreet

Output = pytest.CaptureFixture[str]
RATED = pa.table(
    {
        "person": [1, 1, 2, 2, 2, 3, 3, 4, None, 5],
        "film": ["a", "b", "a", "c", "b", "a", "c", "", "b", "d"],
        "rating": [4.5, 3.0, 4.0, 2.0, 3.0, None, 2.0, 1.0, 3.0, 5.0],
        "seen": [date(2005, 1, day) for day in range(1, 11)],
    }
)
KNOWN = pa.table(
    {
        "name": ["ann", "ann", "bob", "bob", "cid"],
        "film": ["a", "c", "a", "b", "z"],
        "rating": ["4", "2.0", "4.5", "3", "1"],
        "seen": ["2005-01-03", "2005-01-05 23:00:00-02", "2005-01-01", "12787", "2005-01-01"],
        "person": ["2", "2", "1", "1", ""],
    }
)
SNPS = [f"rs{number}" for number in range(40)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shares(of: int) -> pa.Table:
    frequency = [(place * of % 37 + 2) / 40 for place in range(len(SNPS))]
    return pa.table({"snp": SNPS, "frequency": frequency, "people": [50] * len(SNPS)})


def genotypes(turned: bool = False) -> pa.Table:
    """Three people; in another order of SNPs, with one that was not read, where they are turned."""
    people: dict[str, list[Any]] = {
        f"p{who}": [place * (who + 3) % 3 for place in range(len(SNPS))] for who in range(3)
    }
    if turned:
        people["p1"][7] = None
    table = pa.table({"snp": SNPS, **people})
    return table.take(list(reversed(range(len(SNPS))))) if turned else table


def at(server: Server) -> tuple[str, str]:
    return "--engine", address(server)


def found(capsys: Output, release: str, *words: str) -> Any:
    assert discreet("attack", release, *words, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    return [told[name] for name in ("attacks", "assumed")]


def by_name(told: Any, place: dict[str, str]) -> Any:
    """What was told, with each table under one name wherever it is."""
    text = json.dumps(told)
    for name, source in place.items():
        text = text.replace(Path(source).name, name)
    return json.loads(text)


def alike(server: Server, capsys: Output, tables: dict[str, pa.Table], *words: str) -> Any:
    """What is found of the first table, which is the same on a server and in a file; {} are the others."""
    there = server.put(tables)
    for name, table in tables.items():
        pq.write_table(table, f"{name}.parquet")
    told = []
    for place, engine in (
        (there, at(server)),
        ({name: f"{name}.parquet" for name in tables}, ()),
    ):
        release, *_ = place.values()
        said = found(capsys, release, *(word.format_map(place) for word in words), *engine)
        told.append(by_name(said, place))
    assert told[0] == told[1]
    return told[0]


@shows("`attack` of ratings and of allele frequencies")
def test_ratings_and_frequencies_are_attacked_where_they_stand(server: Server, capsys: Output) -> None:
    tables = {"rated": RATED, "known": KNOWN}
    (ratings,), assumed = alike(server, capsys, tables, "--title", "film", "--knows", "{known}")
    assert {each["victim"] for each in ratings["victims"]} <= {"ann", "bob"}
    assert ratings["attempts"] == 2
    assert ratings["baseline"] == 1 / 4
    assert any(each.startswith("3 rows of rated were left out") for each in assumed)
    assert any(each.startswith("1 rows of the register known were left out") for each in assumed)
    study = {"study": shares(11), "reference": shares(7), "genomes": genotypes(turned=True)}
    attacks, assumed = alike(server, capsys, study, "--genomes", "{genomes}", "--reference", "{reference}")
    assert len(attacks) == 2
    assert any(each.startswith("1 SNPs were left out") for each in assumed)


DAYS = {
    "moments": [datetime(2005, 1, day, 23, 59) for day in range(1, 11)],
    "numbers": [12_783 + day for day in range(1, 11)],
    "words": [
        *("2005-1-1", "2005-01-02T10:00", "2005-01-03 00:30:00+01", "12787", " 12788 ", "2005-01-06"),
        *("infinity", "2005-13-01", "1_000", "20050110"),
    ],
}


@pytest.mark.parametrize("column", DAYS)
@spark_by_night
def test_days_of_every_kind_are_read_alike(server: Server, column: str, capsys: Output) -> None:
    rated = RATED.set_column(3, "seen", pa.array(DAYS[column]))
    (ratings,), _ = alike(
        server, capsys, {"rated": rated, "known": KNOWN}, "--title", "film", "--knows", "{known}"
    )
    assert ratings["attempts"] == 2


@spark_by_night
def test_many_ratings_find_the_same_people_everywhere(server: Server, capsys: Output) -> None:
    made = runpy.run_path(str(EXAMPLE))
    made["films"](Path(), RentalService(people=400, titles=80, strangers=40), victims=30)
    tables = {"rated": pq.read_table("ratings.parquet"), "known": pacsv.read_csv("known.csv")}
    (ratings,), _ = alike(server, capsys, tables, "--title", "title", "--knows", "{known}")
    assert ratings["success"] > 0.9
    assert ratings["attempts"] == 30


@spark_by_night
def test_a_synthetic_table_is_attacked_where_it_stands(server: Server, capsys: Output) -> None:
    runpy.run_path(str(EXAMPLE))["census"](Path(), 150)
    tables = {name: pacsv.read_csv(f"{name}.csv") for name in ("copied", "people", "panel")}
    words = ("--original", "{people}", "--panel", "{panel}")
    attacks, _ = alike(server, capsys, tables, *words)
    assert {each["name"] for each in attacks} == {"singling out", "linkability", "attribute inference"}
    place = server.put(tables)
    beside = found(capsys, "copied.csv", "--original", place["people"], "--panel", "panel.csv", *at(server))
    assert [each["name"] for each in beside[0]] == [each["name"] for each in attacks]


def test_a_register_may_be_a_file_beside_ratings_of_an_engine(
    postgres: PostgresServer, capsys: Output
) -> None:
    place = postgres.put({"rated": RATED, "known": KNOWN})
    pacsv.write_csv(KNOWN, "known.csv")
    words = ("--title", "film", "--engine", postgres.url, "--knows")
    there = found(capsys, place["rated"], *words, place["known"])
    assert by_name(there, {"known.csv": place["known"]}) == found(capsys, place["rated"], *words, "known.csv")


def test_the_policy_may_say_where_frequencies_are(postgres: PostgresServer, capsys: Output) -> None:
    place = postgres.put({"study": shares(11), "reference": shares(7), "genomes": genotypes()})
    words = (place["study"], "--genomes", place["genomes"], "--reference", place["reference"])
    Path("privacy.yaml").write_text(yaml.safe_dump({"engine": postgres.url, "tables": {}}))
    told = found(capsys, *words)
    assert told == found(capsys, *words, "--engine", postgres.url, "--policy", "privacy.yaml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{study}", "--title", "snp", "--knows", "{known}"), "has no column snp"),
        (("{rated}", "--title", "film", "--knows", "{study}"), "has no column film"),
        (("{rated}", "--title", "film", "--knows", "nowhere"), "there is no such table"),
        (
            ("{study}", "--genomes", "{rated}", "--reference", "{study}"),
            "no SNP with a number in every column",
        ),
        (("{study}", "--genomes", "{study}", "--reference", "{known}"), "has no column frequency"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(
    words: tuple[str, ...], said: str, postgres: PostgresServer, capsys: Output
) -> None:
    place = postgres.put({"rated": RATED, "known": KNOWN, "study": shares(11)})
    words = tuple(word.format_map(place) for word in words)
    assert discreet("attack", *words, "--engine", postgres.url) == 2
    assert said in " ".join(capsys.readouterr().err.split())
