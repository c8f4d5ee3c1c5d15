"""People with several values: what is promised is about people, not about their rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.test_promise import discreet

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
