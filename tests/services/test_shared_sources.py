"""One policy that declares the same rows twice, with different persons: refused before any charge."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest

from discreet.accounting.privacy_unit import PrivacyUnit, can_overlap
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services.curator import Curator
from discreet.services.privacy_units import find_units
from tests.services.test_ledger_accidents import POLICY, Shown, ask, make_folder, refused

SECOND = """
  second:
    source: {source}
    person: {person}
    columns:
      patient: {{type: integer, low: 1, high: 100}}
      ward: {{type: category, values: [a, b]}}
"""
SQL = "SELECT COUNT(*) AS n FROM second"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def declare(folder: Path, source: str, person: str = "row", first: str = POLICY) -> None:
    (folder / "privacy.yaml").write_text(first + SECOND.format(source=source, person=person))


def link_file(folder: Path) -> str:
    os.symlink("visits.csv", folder / "data" / "other.csv")
    return "data/other.csv"


def link_folder(folder: Path) -> str:
    os.symlink("data", folder / "elsewhere")
    return "elsewhere/visits.csv"


def link_hard(folder: Path) -> str:
    os.link(folder / "data" / "visits.csv", folder / "data" / "other.csv")
    return "data/other.csv"


def link_under_pattern(folder: Path) -> str:
    (folder / "links").mkdir()
    os.symlink("../data/visits.csv", folder / "links" / "other.csv")
    return "'links/*.csv'"


@pytest.mark.parametrize(
    ("source", "person"),
    [
        ("data/visits.csv", "row"),
        ("data/visits.csv", "ward"),
        ("data/visits.csv", "none"),
        ("./data/../data//visits.csv", "row"),
        ("'data/vis*.csv'", "row"),
        ("'**/visits.csv'", "row"),
        ("'data/**/v?sits.csv'", "row"),
        ("'[d]ata/*.csv'", "row"),
        (link_file, "row"),
        (link_folder, "row"),
        (link_hard, "row"),
        (link_under_pattern, "row"),
    ],
)
def test_rows_that_are_declared_twice_have_one_kind_of_person(
    source: object, person: str, folder: Path, capsys: Shown
) -> None:
    declare(folder, source(folder) if callable(source) else str(source), person)
    said = {"row": "a row", "none": "nobody"}.get(person, f"the column {person}")
    for question in ("SELECT COUNT(*) AS n FROM visits", SQL):
        assert ask(folder, 0.1, sql=question) == 2
        refused(
            capsys, "visits and second", "is the column patient", f"is {said}", "Give both the same person"
        )
    assert not (folder / "ledger.db").exists()


def test_a_pattern_that_overlaps_another_is_refused_before_a_file_matches_both(folder: Path) -> None:
    shutil.copy(folder / "data" / "visits.csv", folder / "data" / "2024.csv")
    declare(folder, "'data/20*.csv'", first=POLICY.replace("data/visits.csv", "'data/*s.csv'"))
    with pytest.raises(RequestError, match="visits and second"):
        Curator.open(folder / "privacy.yaml")


@pytest.mark.parametrize(
    ("source", "person"),
    [("data/visits.csv", "patient"), ("data/copy.csv", "row"), ("'data/c*.csv'", "row")],
)
def test_the_same_person_or_other_files_are_no_contradiction(source: str, person: str, folder: Path) -> None:
    shutil.copy(folder / "data" / "visits.csv", folder / "data" / "copy.csv")
    declare(folder, source, person)
    assert ask(folder, 0.1, sql=SQL) == 0


def test_tables_of_one_duckdb_file_are_told_apart(folder: Path) -> None:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS patient, 'a' AS ward")
        connection.execute("CREATE TABLE second AS SELECT 1 AS patient, 'a' AS ward")
    first = POLICY.replace("data/visits.csv", "shop.duckdb")
    declare(folder, "shop.duckdb", first=first)
    for _ in range(2):
        assert ask(folder, 0.1, sql=SQL) == 0
    for source in ("shop.duckdb#visits", "shop.duckdb#main.Visits"):
        declare(folder, source, first=first)
        with pytest.raises(RequestError, match="visits and second"):
            Curator.open(folder / "privacy.yaml")


@pytest.mark.parametrize("engine", ["postgresql://db.example/clinic", "spark:local"])
@pytest.mark.parametrize("source", ["visits", "public.visits", "VISITS", '"visits"', 'public."visits"'])
def test_a_table_of_a_server_is_one_by_every_name(engine: str, source: str) -> None:
    tables = {
        "visits": {"source": "visits", "person": "patient", "columns": {"patient": {}}},
        "second": {"source": source, "person": "row", "columns": {"patient": {}}},
    }
    with pytest.raises(RequestError, match="visits and second") as error:
        find_units(Policy.model_validate({"engine": engine, "tables": tables}))
    assert "schema" in error.value.hint
    for other in ("orders", "visits_2024", '"Visits"'):
        tables["second"]["source"] = other
        find_units(Policy.model_validate({"engine": engine, "tables": tables}))


def test_a_frame_stands_for_its_table_and_not_for_the_source_that_the_policy_names(folder: Path) -> None:
    import pyarrow as pa

    declare(folder, "data/visits.csv")
    frame, other = (pa.table({"patient": [number], "ward": ["a"]}) for number in (1, 2))
    with pytest.raises(RequestError, match="visits and second"):
        Curator.open(folder / "privacy.yaml", tables={"visits": frame, "second": frame})
    with Curator.open(folder / "privacy.yaml", tables={"visits": frame, "second": other}) as curator:
        curator.ask(SQL, epsilon=0.1)


def test_a_link_to_the_rows_of_an_earlier_question_is_the_same_table(folder: Path, capsys: Shown) -> None:
    """The policy names the table anew, by a link, after the ledger was charged under its own name."""
    assert ask(folder, 0.5) == 0
    changed = POLICY.replace("visits:", "stays:").replace("data/visits.csv", link_file(folder))
    text = changed.replace("person: patient\n    rows_per_person: 50", "person: row")
    (folder / "privacy.yaml").write_text(text)
    capsys.readouterr()
    assert ask(folder, 0.1, sql="SELECT COUNT(*) FROM stays") == 2
    refused(capsys, "a person of stays is the column patient")


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("/data/a*.csv", "/data/*b.csv", True),
        ("/data/a*.csv", "/data/b*.csv", False),
        ("/data/**/x.csv", "/data/x.csv", True),
        ("/data/*/x.csv", "/data/x.csv", False),
        ("/data/[ab].csv", "/data/a.csv", True),
        ("/data/*.csv", "/data/sub/x.csv", False),
        ("/data/visits.csv", "/data/*/x.csv", False),
        ("/data/a?b.csv", "/data/a/b.csv", False),
        ("/data/**", "/data/a/b.csv", True),
        ("/data/**/b.csv", "/data/*/b.csv", True),
        ("/data/#1.csv", "/data/*.csv", True),
        ("/data/people", "/data/people/year=2024/*.parquet", True),
        ("/data/people", "/data/people2/1.parquet", False),
        ("/data/year=*", "/data/year=2024/1.parquet", True),
        ("#visits", "#clinic.visits", True),
        ("#one.visits", "#two.visits", False),
        ('#"Visits"', "#visits", False),
        ("#`a.b`", "#b", False),
        ("visits", "#public.visits", True),
    ],
)
def test_overlap_of_patterns_and_names(one: str, other: str, shared: bool) -> None:
    assert can_overlap(one, other) is can_overlap(other, one) is shared


def test_a_unit_without_links_is_recorded_as_before() -> None:
    assert PrivacyUnit(source="a.csv", person="a row").as_object() == {"source": "a.csv", "person": "a row"}
