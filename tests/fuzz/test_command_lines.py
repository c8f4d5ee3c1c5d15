"""Command lines that are mutated are done, or refused in a sentence: none is an internal error."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import typer

from discreet.app.cli import command_line
from tests.app import patients
from tests.app.test_promise import discreet
from tests.fuzz.mutations import NOT_UTF8, Mutations

BY_DAY, BY_NIGHT = 30, 2_400
COUNT = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
RANDOMIZED = ("--column", "a", "--values", "no,yes", "--promise", "1%:5%")
ANSWERS = """
promise: {prior: 1%, posterior: 5%}
ledger: answers.db
tables:
  answers: {source: answers.csv, columns: {a: {type: boolean}, b: {type: boolean}}}
"""
VALID: tuple[tuple[str, ...], ...] = (
    ("ask", COUNT, "-p", "privacy.yaml", "--epsilon", "0.01"),
    ("ask", COUNT, "--share", "1%", "--json"),
    ("ask", "SELECT AVG(age) AS a FROM patients", "--within", "5", "--least-rows", "100", "--csv"),
    ("ask", COUNT, "--plot", "out.svg", "--split", "n=2", "--confidence", "99%"),
    ("plan", COUNT, "--epsilon", "0.1", "--analyst", "alice", "--raw"),
    ("plan", COUNT, "--ledger", "ledger.db", "--engine", "duckdb"),
    ("promise", "--prior", "1%", "--posterior", "5%", "--tail", "1e-6", "--group", "2"),
    ("promise", "--within", "10", "--confidence", "95%", "--json"),
    ("promise", "--risk-ratio", "2", "--membership", "5%", "--attribute", "10%"),
    ("ledger", "-p", "privacy.yaml", "--json"),
    ("hierarchy", "age", "-p", "privacy.yaml"),
    ("init", "patients.parquet", "-o", "draft.yaml", "--force"),
    ("tabulate", "patients", "--columns", "sex,stays", "--epsilon", "0.01", "-o", "table.csv"),
    ("itemsets", "answers", "-p", "answers.yaml", "--items", "a,b", "--basis", "2", "--epsilon", "0.01"),
    ("stream", "patients", "--columns", "sex", "--epsilon", "0.01", "questions.sql"),
    ("mine", "tree", "patients", "--target", "disease", "--epsilon", "0.01", "-o", "tree.json"),
    ("collect", "design", "--promise", "1%:5%", "--clients", "100", "--domain", "3"),
    ("collect", "randomize", "answers.csv", *RANDOMIZED, "-o", "reports.parquet"),
    ("collect", "estimate", "reports.parquet", "--json"),
    ("user", "list", "-p", "privacy.yaml"),
    ("user", "add", "dora", "-p", "privacy.yaml", "--role", "auditor"),
    ("anonymize", "patients", "-k", "2", "--seconds", "1", "--force", "-o", "rel.csv"),
    ("anonymize", "patients", "--check", "-k", "1", "--json"),
)
"""Each of the verbs that end by themselves in a moment; `serve` waits, and others take their time."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("commands")
    patients.write(place)
    write_beside(place)
    return place


def write_beside(place: Path) -> None:
    """What commands read beside the table of patients."""
    (place / "questions.sql").write_text("SELECT COUNT(*) FROM patients WHERE sex = 'f'\n")
    (place / "answers.csv").write_text("a,b\n" + "yes,no\nno,no\n" * 50)
    (place / "answers.yaml").write_text(ANSWERS)


@pytest.fixture
def fresh(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "here"
    shutil.copytree(folder, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "200")
    return place


def options_of(verb: str) -> list[str]:
    """The options of a verb, of all its own verbs where it has some."""
    group = typer.main.get_command(command_line([verb]))
    commands = [group.commands.get(verb)] if hasattr(group, "commands") else [group]
    inner = [each for command in commands for each in getattr(command, "commands", {}).values()]
    return [name for each in (*commands, *inner) if each for item in each.params for name in item.opts]


def check_command(draw: Mutations, capsys: pytest.CaptureFixture[str]) -> None:
    valid = draw.one(VALID)
    words = draw.mutate_words(valid, options_of(valid[0]))
    if words[:1] == ["serve"]:
        return
    code = discreet(*words)
    out, err = capsys.readouterr()
    assert code in (0, 2, 3, 4, 5), (words, code, err[-500:])
    assert "internal" not in out + err, (words, err[-500:])
    assert "Traceback" not in out + err, words


def test_a_sample_of_mutated_command_lines(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(BY_DAY):
        check_command(Mutations(seed), capsys)


@pytest.mark.night
def test_many_mutated_command_lines(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(BY_DAY, BY_DAY + BY_NIGHT):
        try:
            check_command(Mutations(seed), capsys)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("word", NOT_UTF8, ids=ascii)
def test_bytes_that_are_no_text_are_refused_in_a_sentence(
    fresh: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ("ask", word),
        ("ask", COUNT, "--analyst", word),
        ("ask", COUNT, "-p", word),
        ("plan", COUNT, "--ledger", word),
        ("plan", COUNT, "--split", f"{word}=1"),
        ("promise", "--prior", word),
        ("tabulate", word, "--columns", word),
        (word,),
    ):
        assert discreet(*words) == 2, words
        out, err = capsys.readouterr()
        assert "internal" not in out + err
        assert len(err.splitlines()) == 1
