"""Costs and refusals are in units that a user can type, also where the ledger sums rho."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.core.errors import BudgetError
from discreet.services.curator import Curator
from tests.services import patients
from tests.services.test_promise import discreet

COUNT = "SELECT COUNT(*) AS n FROM patients"
TWO = "SELECT COUNT(*) AS n, AVG(age) AS age FROM patients"


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A promise with a tail, whose budget is a rho."""
    monkeypatch.chdir(tmp_path)
    path = patients.write(tmp_path)
    path.write_text(path.read_text().replace("posterior: 5%", "posterior: 5%, tail: 1e-6"))
    return path


@pytest.mark.parametrize("sql", [COUNT, TWO])
def test_shares_of_a_promise_with_a_tail_add_up_to_all_of_it(policy: Path, sql: str) -> None:
    with Curator.open(policy) as curator:
        for place in range(20):
            curator.ask(f"{sql} WHERE age > {20 + place}", share="5%")
        with pytest.raises(BudgetError):
            curator.ask(f"{sql} WHERE age > 50", share="1%")


def test_a_share_that_an_earlier_version_answered_stays_free(policy: Path) -> None:
    """It took the share of epsilon, where the promise has a tail, too."""
    with Curator.open(policy) as curator:
        paid = curator.ask(COUNT, epsilon=Fraction(curator.promise.epsilon) * Fraction(0.05))
        again = curator.ask(COUNT, share="5%")
    assert again.repeated
    assert again.entry == paid.entry


def test_a_plan_says_its_share_of_the_promise(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("plan", TWO, "--share", "5%") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert ", 5% of the promise" in told
    assert discreet("plan", TWO, "--share", "5%", "--json") == 0
    assert json.loads(capsys.readouterr().out)["share"] == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize(
    "words", [("ask", COUNT), ("tabulate", "patients", "--columns", "sex"), ("ask", TWO)]
)
def test_a_refusal_says_what_can_be_typed_and_that_fits(
    policy: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert discreet("ask", f"{COUNT} WHERE age > 30", "--share", "40%") == 0
    capsys.readouterr()
    assert discreet(*words, "--epsilon", "3") == 3
    told = " ".join(capsys.readouterr().err.split())
    assert told.startswith(f"discreet: {words[0]}: this costs ")
    assert "% of the promise; left to alice is 60%, of a share of 100%." in told
    assert "rho" not in told
    fitting = told.partition("What would still fit: --epsilon ")[2].split()[0].rstrip(".")
    assert discreet(*words, "--epsilon", str(float(fitting) * 1.01)) == 3
    assert discreet(*words, "--epsilon", fitting) == 0


def test_the_ledger_shows_the_share_that_a_rho_is_of_the_promise(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("ask", COUNT, "--share", "40%") == 0
    capsys.readouterr()
    assert discreet("ledger") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "(40%)" in told
    assert "(60%)" in told


def test_a_plan_of_a_stored_answer_is_free(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("ask", COUNT, "--epsilon", "0.1") == 0
    capsys.readouterr()
    assert discreet("plan", COUNT, "--epsilon", "0.1") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "cost nothing: everything that it needs was released before (entry 1)" in told


@pytest.mark.parametrize("words", [("tabulate", "patients", "--columns", "sex")])
def test_a_plan_of_a_stored_publication_is_free(
    policy: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    def plan() -> tuple[str, dict[str, object]]:
        assert discreet(*words, "--epsilon", "0.1", "--plan") == 0
        text = " ".join(capsys.readouterr().out.split())
        assert discreet(*words, "--epsilon", "0.1", "--plan", "--json") == 0
        return text, json.loads(capsys.readouterr().out)

    text, found = plan()
    assert "cost epsilon 0.1, " in text
    assert found["repeated"] is False
    assert discreet(*words, "--epsilon", "0.1") == 0
    capsys.readouterr()
    text, found = plan()
    assert "cost nothing: the same was released before (entry 1)" in text
    assert "as now" in text
    belief = found["belief"]
    assert isinstance(belief, dict)
    assert (found["repeated"], found["entry"], found["fits"]) == (True, 1, True)
    assert belief["before"] == belief["after"]
