"""The guide from a messy file to the first answer, as it is written: its commands, and its one edit."""

from __future__ import annotations

import re
import shlex
from datetime import date, timedelta
from pathlib import Path

import pytest
import yaml

from tests.services.test_promise import discreet
from tests.test_docs import DOCS, commands, words

GUIDE = (DOCS / "how-to" / "bring-your-own-table.md").read_text(encoding="utf-8")
ROWS = 20_000


def write_visits(path: Path) -> None:
    lines = ["Patient;Datum;Gewicht/kg;Geschlecht;Station"]
    for number in range(ROWS):
        day = date(2023, 1, 1) + timedelta(days=number * 11 % 730)
        written = day.strftime("%d.%m.%Y") if number % 3 else day.isoformat()
        kg = f"{45.5 + number * 17 % 62:.1f}".replace(".", ",") if number % 50 else "k.A."
        ward = ("Chirurgie", "Innere", "Pädiatrie")[number % 3]
        lines.append(f"P-{number % 8000:04};{written}; {kg};{'wm'[number % 2]};{ward}")
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode("cp1252"))


def test_the_guide_leads_from_the_file_to_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_visits(tmp_path / "visits.csv")
    (first, _), *others = commands(GUIDE)
    assert discreet(*shlex.split(first)[1:]) == 0
    draft = (tmp_path / "privacy.yaml").read_text(encoding="utf-8")
    (edited,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    quoted = re.sub(r"(?<=: )\?|(?<=\[)\?(?=\])", '"?"', draft)
    drafted, declared = (yaml.safe_load(text)["tables"]["visits"] for text in (quoted, edited))
    assert drafted["csv"] == declared["csv"]
    assert [*drafted["columns"]] == [*declared["columns"]]
    (tmp_path / "privacy.yaml").write_text(draft.partition("tables:")[0] + edited, encoding="utf-8")
    for line, shown in others:
        capsys.readouterr()
        assert discreet(*shlex.split(line)[1:]) == 0, line
        printed = words(capsys.readouterr().out)
        for each in shown:
            assert words(each) in printed, each


def test_the_first_lines_that_the_guide_shows_are_those_of_the_file(tmp_path: Path) -> None:
    write_visits(tmp_path / "visits.csv")
    (shown,) = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    lines = (tmp_path / "visits.csv").read_bytes().decode("cp1252").splitlines()
    assert lines[: len(shown.splitlines())] == shown.splitlines()
