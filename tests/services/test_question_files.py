"""A file of statements on the command line: planned and asked together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.sql.query_parser import split_statements
from tests.services.test_promise import discreet

BY_SEX = "SELECT sex, COUNT(*) AS n FROM census GROUP BY sex"
DASHBOARD = f"""-- read every morning; by everybody
{BY_SEX};
SELECT sex, COUNT(*) AS many FROM census GROUP BY sex ORDER BY many;
SELECT COUNT(*) AS n FROM census WHERE age > (SELECT AVG(age) FROM census)
"""


@pytest.fixture
def dashboard(tmp_path: Path) -> str:
    path = tmp_path / "dashboard.sql"
    path.write_text(DASHBOARD)
    return str(path)


def test_a_file_is_planned_for_one_price_and_asked_for_it(
    policy: str, dashboard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("plan", dashboard, "-p", policy, "--epsilon", "0.3", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["epsilon"] == pytest.approx(0.3, abs=1e-5)
    assert [each["epsilon"] > 0 for each in plan["statements"]] == [True, False, True]
    assert discreet("ask", dashboard, "-p", policy, "--epsilon", "0.3", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["epsilon"] == pytest.approx(plan["epsilon"])
    assert told["belief"]["posterior"] == pytest.approx(plan["belief"]["after"])
    assert [each["columns"] for each in told["answers"]] == [["sex", "n"], ["sex", "many"], ["n"]]
    assert discreet("ask", dashboard, "-p", policy, "--epsilon", "0.3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == 0


def test_plan_and_answers_are_printed_with_their_questions(
    policy: str, dashboard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("plan", "ask"):
        assert discreet(verb, dashboard, "-p", policy, "--within", "300") == 0
        told = " ".join(capsys.readouterr().out.split())
        for fact in (f"1. {BY_SEX}", "3. SELECT COUNT(*)", "±", "epsilon", "promise: 5%"):
            assert fact in told


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        (f"{BY_SEX}; SELECT * FROM census", [], "statement 2: "),
        ("-- nothing; here", [], "no statement"),
        ("SELECT 'open", [], "read"),
        (BY_SEX, ["--csv"], "several answers"),
        (BY_SEX, ["--share", "5%"], "--share"),
        (BY_SEX, ["--fresh"], "--fresh"),
    ],
)
def test_what_is_refused_charges_nothing(
    content: str,
    options: list[str],
    told: str,
    policy: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "wrong.sql"
    path.write_text(content)
    given = [] if "--share" in options else ["--epsilon", "0.1"]
    assert discreet("ask", str(path), "-p", policy, *given, *options) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert discreet("ledger", "-p", policy, "--json") == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        ("SELECT 1", ["SELECT 1"]),
        (";; SELECT 1 ;; /* a; b */ SELECT ';' -- c\n;", ["SELECT 1", "SELECT ';'"]),
        ("SELECT é, '日本;'; SELECT \"ü;\" FROM t;", ["SELECT é, '日本;'", 'SELECT "ü;" FROM t']),
    ],
)
def test_statements_are_what_is_between_semicolons(text: str, statements: list[str]) -> None:
    assert split_statements(text) == statements


def test_a_file_that_is_missing_is_named(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("plan", "nowhere.sql", "-p", policy) == 2
    assert "no file nowhere.sql" in capsys.readouterr().err
