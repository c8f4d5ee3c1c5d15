"""`discreet audit` as a user meets it: claim, bound, confidence, verdict; the real data stays untouched."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.amounts import Cost
from discreet.accounting.ledger import Ledger
from discreet.attacks.neighbor_pairs import PAIR_BUILDERS, NeighborPair
from discreet.attacks.privacy_audit import EpsilonAudit
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import Guarantee, PureDP
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.services.audit.question_audit import audit_question, audit_session
from discreet.services.policies import load_policy
from tests.conftest import seeded
from tests.services.test_promise import discreet

POLICY = """
promise: {prior: 1%, posterior: 5%, secret: value}
tables:
  people:
    source: secret.parquet
    person: row
    links: {ward: wards.id}
    columns:
      age: {type: integer, low: 18, high: 90}
      sex: {type: category, values: [Male, Female, Other]}
      town: {type: text}
      ward: {type: integer, low: 1, high: 3}
  visits:
    source: visits.parquet
    person: patient
    rows_per_person: 3
    columns:
      patient: {type: text, role: identifier}
      cost: {type: decimal, low: 0, high: 10, resolution: 0.5}
      seen: {type: date, low: 2020-01-01, high: 2020-12-31}
      paid: {type: boolean, nulls: true}
  wards:
    source: wards.parquet
    person: none
    columns:
      id: {type: integer, low: 1, high: 3}
      name: {type: category, values: [North, South]}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy whose sources do not exist: an audit must not want them."""
    path = tmp_path / "privacy.yaml"
    path.write_text(POLICY)
    return path


def test_a_mechanism_is_audited_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("audit", "DiscreteLaplace", "--epsilon", "1", "--confidence", "99.9999999%") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Epsilon is at least 0.9" in told
    assert "confidence; 1 is claimed, and the runs do not contradict it." in told


def test_json_has_the_keys_that_machines_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        discreet("audit", "randomized-response", "--epsilon", "2", "--confidence", "0.999999999", "--json")
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["claimed"] == 2
    assert told["confidence"] == 0.999999999
    assert 1.8 < told["lower_bound"] <= 2


class HalfTheNoise:
    """Says epsilon 1 and has 2."""

    guarantee = PureDP(epsilon=1)

    def release(self, value: Exact[int], random: Randomness) -> Released[int]:
        return DiscreteLaplace(epsilon=Fraction(2), sensitivity=1).release(value, random)


def test_a_broken_claim_is_exit_code_4(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = NeighborPair(mechanism=HalfTheNoise(), value=0, neighbor_value=1)
    monkeypatch.setitem(PAIR_BUILDERS, DiscreteLaplace, lambda *_: twin)
    assert discreet("audit", "discrete-laplace", "--epsilon", "1", "--runs", "4000") == 4
    told = " ".join(capsys.readouterr().out.split())
    assert "The claim is broken: epsilon is at least " in told
    assert "Of sound mechanisms up to 5% would be told the same at this confidence" in told


def test_a_bound_just_above_the_claim_does_not_read_like_the_claim() -> None:
    found = EpsilonAudit(claimed=1.0, lower_bound=1.0004, confidence=0.95, runs=1_000, event_hits=(9, 1))
    assert "epsilon is at least 1.0004 with 95% confidence, and 1 is claimed" in found.verdict


@pytest.mark.parametrize(
    ("sql", "least"),
    [
        ("SELECT sex, COUNT(*) AS n FROM people WHERE town = 'Ulm' GROUP BY sex", 1.2),
        ("SELECT SUM(cost) FROM visits WHERE seen > DATE '2020-06-01'", 1.2),
        ("SELECT AVG(age), COUNT(*) FROM people JOIN wards ON ward = id WHERE name = 'North'", 0.8),
        ("SELECT MEDIAN(age) FROM people", 0.4),
    ],
)
def test_a_question_is_audited_on_made_up_tables(sql: str, least: float, policy: Path) -> None:
    asked = {"epsilon": 2, "runs": 4_000, "confidence": 1 - 1e-9, "random": seeded(4)}
    found = audit_question(load_policy(policy), sql, **asked)  # type: ignore[arg-type]
    assert least <= found.epsilon_audit.lower_bound <= 2
    assert found.posterior_audit is not None
    assert found.posterior_audit.fraction == 0
    assert sorted(path.name for path in policy.parent.iterdir()) == ["privacy.yaml"]


def test_the_command_audits_a_question_and_leaves_no_ledger(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("audit", "SELECT COUNT(*) FROM people", "--policy", str(policy), "--runs", "200", "--json")
    assert discreet(*words, "--confidence", "99.9999999%") == 0
    assert json.loads(capsys.readouterr().out)["claimed"] == 1
    assert sorted(path.name for path in policy.parent.iterdir()) == ["privacy.yaml"]


def test_beliefs_are_audited_at_all_that_the_promise_allows(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("audit", "SELECT SUM(age) FROM people", "-p", str(policy), "--posterior", "--runs", "500")
    assert discreet(*words, "--confidence", "99.9999999%") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "ended above 5% in 0% of the runs; allowed is none." in told
    assert "0 of 1,000 attackers ended above 5%; the highest belief was " in told
    assert discreet(*words, "--confidence", "99.9999999%", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["claimed"] == pytest.approx(1.6507, abs=1e-4)
    assert {"lower_bound", "confidence"} <= set(found)
    beliefs = found["posterior"]
    assert (beliefs["prior"], beliefs["tail"], beliefs["fraction"]) == (0.01, 0, 0)
    assert beliefs["cap"] == pytest.approx(0.05)
    assert 0.03 < beliefs["highest"] <= 0.05 * (1 + 1e-9)


def test_under_a_tail_no_more_attackers_than_that_pass_the_promised_belief(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.write_text(POLICY.replace("secret: value", "secret: value, tail: 1%"))
    question = "SELECT town, COUNT(*) FROM people GROUP BY town"
    words = ("audit", question, "-p", str(policy), "--posterior", "--confidence", "99.9999999%")
    assert discreet(*words, "--epsilon", "0.25", "--runs", "2000", "--json") == 0
    beliefs = json.loads(capsys.readouterr().out)["posterior"]
    assert beliefs["tail"] == 0.01
    assert beliefs["holds"]
    assert beliefs["fraction"] < 0.03
    assert discreet(*words, "--epsilon", "9") == 2
    assert "the promise does not allow a question of epsilon 9." in " ".join(capsys.readouterr().err.split())


def test_an_epsilon_of_0_is_not_taken_for_none(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("audit", "SELECT COUNT(*) FROM people", "-p", str(policy), "--epsilon", "0") == 2
    assert "epsilon must be a finite number above 0" in " ".join(capsys.readouterr().err.split())


def test_a_question_that_is_refused_is_refused_here_too(policy: Path) -> None:
    with pytest.raises(RequestError, match="would show rows"):
        audit_question(load_policy(policy), "SELECT patient FROM visits", epsilon=1, runs=200)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gauss"], "audit: there is no mechanism gauss. There are discrete-laplace, "),
        (["laplace", "--epsilon", "0"], "audit: --epsilon must be a finite number above 0; got 0.0."),
        (["laplace", "--posterior"], "audit: --posterior needs a promise, and a mechanism has none."),
        (["laplace", "--runs", "7"], "audit: --runs must be an integer of at least 100; got 7."),
        (["gaussian", "--delta", "2"], "audit: --delta must be a number above 0 and at most 1/2; got 2.0."),
    ],
)
def test_bad_input_gets_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("audit", *words) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_question_without_a_policy_is_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert discreet("audit", "SELECT COUNT(*) FROM people") == 2
    assert "there is no privacy.yaml. Name one with --policy." in capsys.readouterr().err


def test_a_question_is_audited_under_the_policy_that_is_here(
    policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(policy.parent)
    assert discreet("audit", "SELECT COUNT(*) FROM people", "--runs", "200") == 0
    assert "1 is claimed" in capsys.readouterr().out


# -- a whole curator -----------------------------------------------------------------------------------------


class Uncharged(Ledger):
    """A ledger that charges next to nothing, whatever a question costs."""

    def price_guarantee(self, guarantee: Guarantee) -> tuple[str, Cost]:
        return super().price_guarantee(PureDP(epsilon=Fraction(1, 10**6)))


def test_a_curator_whose_budget_is_not_charged_is_caught(policy: Path) -> None:
    """With little confidence, and seeded: that the twin breaks its promise is known."""
    policy.write_text(POLICY.replace("prior: 1%, posterior: 5%", "prior: 50%, posterior: 70%"))
    found = audit_session(
        load_policy(policy),
        "SELECT COUNT(*) AS n FROM people WHERE sex = 'Male'",
        epsilon=3,
        runs=100,
        max_answers=2,
        confidence=0.999,
        random=seeded(8),
        ledger_class=Uncharged,
    )
    assert found.lower_bound > found.claimed
    assert not found.holds


def test_the_command_audits_a_session_and_leaves_no_ledger(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "audit",
        "SELECT COUNT(*) FROM people",
        "-p",
        str(policy),
        "--session",
        "--runs",
        "100",
        "--json",
    )
    assert discreet(*words, "--confidence", "99.9999999%") == 0
    assert json.loads(capsys.readouterr().out)["claimed"] == pytest.approx(1.6507, abs=1e-4)
    assert sorted(path.name for path in policy.parent.iterdir()) == ["privacy.yaml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("laplace", "--session"), "--session needs a promise, and a mechanism has none."),
        (("SELECT 1", "--session", "--posterior"), "--session and --posterior exclude each other."),
        (("SELECT COUNT(*) FROM people", "--session", "--epsilon", "2"), "does not allow a first question"),
    ],
)
def test_sessions_that_cannot_be_audited_get_one_sentence(
    words: tuple[str, ...], said: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = () if words[0] == "laplace" else ("-p", str(policy))
    assert discreet("audit", *words, *named) == 2
    assert said in " ".join(capsys.readouterr().err.split())
