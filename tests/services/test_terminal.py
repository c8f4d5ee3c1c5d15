"""Names and values are shown as they are, whatever they would mean as markup or as an emoji's name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.services.test_promise import discreet

POLICY = """\
promise: {prior: 1%, posterior: 50%}
tables:
  people:
    source: people.csv
    columns:
      sex:    {type: category, values: ["[/b]", ":key:", "[red]x"], role: quasi}
      income: {type: category, values: ["low[/i]", "high"], role: sensitive}
      age:    {type: integer, low: 18, high: 79}
"""
ASKED = """SELECT sex, COUNT(*) AS "n[/u]" FROM people GROUP BY sex"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    values = ("[/b]", ":key:", "[red]x")
    rows = [f"{values[n % 3]},{'high' if n % 3 else 'low[/i]'},{18 + n % 62}" for n in range(900)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,income,age", *rows]) + "\n")
    (tmp_path / "privacy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ask", ASKED, "--epsilon", "1"), ("n[/u]", "[/b]", ":key:", "[red]x")),
        (("train", "bayes", "people", "--target", "income", "--epsilon", "1"), ("[/b]", ":key:")),
        (("train", "forest", "people", "--target", "income", "--epsilon", "1"), ("[/b]", "[red]x")),
        (("train", "bayes", "people", "--target", "sex", "--epsilon", "1"), ("score for [red]x", "low[/i]")),
        (("train", "tree", "people", "--target", "income", "--epsilon", "2"), ("sex is", "low[/i]")),
        (("anonymize", "people", "-k", "3"), ("[/b]", ":key:")),
    ],
)
def test_what_others_named_is_shown_as_they_named_it(
    folder: Path, words: tuple[str, ...], told: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet(*words) == 0
    shown = capsys.readouterr().out
    assert not [each for each in told if each not in shown]


def test_what_was_collected_is_shown_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        discreet("collect", "randomize", "people", "--column", "sex", "--spend-all", "-o", "reports.parquet")
        == 0
    )
    assert discreet("collect", "estimate", "reports.parquet") == 0
    shown = capsys.readouterr().out
    assert not [each for each in ("[/b]", ":key:", "[red]x") if each not in shown]


def test_nothing_is_shown_on_another_console() -> None:
    """A console of rich's own would read markup in what others named."""
    source = Path(__file__).parents[2] / "src" / "discreet"
    found = []
    for path in sorted(source.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = {
            each.func.id
            for each in ast.walk(tree)
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        imports = [
            each.module
            for each in ast.walk(tree)
            if isinstance(each, ast.ImportFrom)
            if any(name.name == "Console" for name in each.names)
        ]
        if "Console" in calls and imports != ["discreet.rendering.terminal"]:
            found.append(path.name)
    assert found == []
