"""`discreet reproduce` as it is typed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.services.test_promise import discreet

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_adult(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DISCREET_ADULT", raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_document_comes_as_tables_of_printed_recomputed_and_verdict(capsys: Captured) -> None:
    assert discreet("reproduce", "chapter", "--json") == 0
    tables = {each["name"]: each for each in json.loads(capsys.readouterr().out)["tables"]}
    assert len(tables) == 5
    table = tables["chapter-table-2.3"]
    assert table["printed"]["epsilon 0.1: Diabetes"] == "0.32"
    assert table["recomputed"]["epsilon 0.1: Diabetes"] == pytest.approx(0.327, abs=5e-4)
    assert table["verdict"] == "1 of 12 differ"


def test_what_differs_is_told_with_a_reason(capsys: Captured) -> None:
    assert discreet("reproduce", "lpb-table-1") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "3.401 3.041 differs" in said
    assert "computed from a noise of 3.401 where it is 3.041" in said


def test_figures_of_the_census_are_marked_as_such(capsys: Captured) -> None:
    assert discreet("reproduce", "egm-table-1") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "made-up census, not from Adult" in said
    assert "as printed" not in said


def test_the_report_is_one_page_with_every_table_and_nothing_to_fetch(tmp_path: Path) -> None:
    assert discreet("reproduce", "lpb", "--report", str(tmp_path / "papers")) == 0
    page = (tmp_path / "papers" / "reproduction.html").read_text()
    assert page.count("<svg") == 5
    assert "lpb-table-2" in page
    assert not re.search(r"(src|href)=.https?:", page)


def test_an_unknown_name_is_told_which_there_are(capsys: Captured) -> None:
    assert discreet("reproduce", "lbp") == 2
    assert "lpb-table-1" in capsys.readouterr().err


def test_a_folder_without_adult_is_refused_and_not_replaced_by_the_census(
    capsys: Captured, tmp_path: Path
) -> None:
    assert discreet("reproduce", "egm", "--adult", str(tmp_path)) == 2
    assert "adult.data and adult.test" in " ".join(capsys.readouterr().err.split())
