"""An epsilon so small that only noise would be released is refused before anything is charged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.services.request_fields import MIN_EPSILON
from tests.services import patients
from tests.services.test_promise import discreet

ANSWERS = """
promise: {prior: 1%, posterior: 5%}
tables:
  answers: {source: answers.csv, columns: {a: {type: boolean}, b: {type: boolean}}}
"""
COUNT = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
CHARGING = {
    "ask": ("ask", COUNT),
    "combinations": ("tabulate", "patients", "--columns", "sex,stays", "-o", "out.csv"),
    "marginals": ("tabulate", "patients", "--marginal", "sex", "--marginal", "sex,zipcode"),
    "ranges": ("tabulate", "patients", "--ranges", "age", "--columns", "sex"),
    "itemsets": ("itemsets", "answers", "-p", "answers.yaml"),
    "stream": ("stream", "patients", "questions.sql"),
    "lean": ("synthesize", "patients", "--columns", "sex,stays", "-o", "out.csv"),
    "best": ("synthesize", "patients", "--columns", "sex,stays", "--quality", "best", "-o", "out.csv"),
    "tree": ("train", "tree", "patients", "--target", "disease", "-o", "out.json"),
    "forest": ("train", "forest", "patients", "--target", "disease", "-o", "out.json"),
    "bayes": ("train", "bayes", "patients", "--target", "disease", "-o", "out.json"),
    "regression": ("train", "regression", "patients", "--target", "stays", "-o", "out.json"),
}


def count_charges(folder: Path) -> int:
    ledger = folder / "ledger.db"
    if not ledger.exists():
        return 0
    with closing(sqlite3.connect(ledger)) as connection:
        return int(connection.execute("SELECT count(*) FROM entry").fetchone()[0])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    patients.write(tmp_path)
    (tmp_path / "answers.csv").write_text("a,b\n" + "true,false\n" * 20)
    (tmp_path / "answers.yaml").write_text(ANSWERS)
    (tmp_path / "questions.sql").write_text("SELECT COUNT(*) FROM patients WHERE sex = 'f'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", CHARGING)
def test_an_epsilon_that_leaves_only_noise_is_refused_and_costs_nothing(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet(*CHARGING[kind], "--epsilon", "1e-300") == 2
    said = capsys.readouterr().err
    assert "epsilon" in said
    assert len(said.splitlines()) == 1
    assert count_charges(folder) == 0


@pytest.mark.parametrize("kind", sorted({*CHARGING} - {"ask", "lean", "best", "regression"}))
def test_the_least_epsilon_is_answered(folder: Path, kind: str) -> None:
    assert discreet(*CHARGING[kind], "--epsilon", f"{MIN_EPSILON}") == 0
    assert count_charges(folder) == 1


def test_an_epsilon_of_the_policy_that_leaves_only_noise_is_refused(folder: Path) -> None:
    policy = folder / "privacy.yaml"
    policy.write_text(policy.read_text().replace("epsilon: 0.1", "epsilon: 1.0e-300"))
    assert discreet(*CHARGING["tree"]) == 2
    assert count_charges(folder) == 0
