"""`discreet ledger` as a custodian meets it: entries, what is left, the sentence, the staircase."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.ledger import Ledger
from discreet.belief import Promise
from discreet.core.guarantees import GaussianDP, PureDP
from tests.engines.servers import PostgresServer
from tests.services.test_promise import discreet

POLICY = """
promise: {{prior: 1%, posterior: {posterior}, tail: {tail}}}
tables:
  adult:
    source: adult.parquet
    columns:
      age: {{type: integer, low: 17, high: 90}}
{analysts}
"""
ANALYSTS = "analysts: {alice: {share: 50%}, bob: {share: 30%}}"
SHARES = {"alice": 0.5, "bob": 0.3}
LONG = "SELECT workclass, AVG(hours_per_week)\nFROM adult\nGROUP BY workclass ORDER BY workclass LIMIT 1000"

Shown = pytest.CaptureFixture[str]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path, posterior: str = "5%", tail: str = "0", analysts: str = ANALYSTS) -> Path:
    path = folder / "privacy.yaml"
    path.write_text(POLICY.format(posterior=posterior, tail=tail, analysts=analysts))
    return path


def fill(folder: Path) -> None:
    with Ledger(folder / "ledger.db", Promise(0.01, 0.05), analysts=SHARES) as ledger:
        ledger.settle(ledger.reserve("alice", "1", LONG, PureDP(epsilon=Fraction(1, 2))), b"secret answer")
        ledger.reserve("alice", "2", "SELECT 2", PureDP(epsilon=Fraction(1, 4)))
        ledger.record_fault(
            ledger.reserve("bob", "3", "SELECT 3", PureDP(epsilon=Fraction(1, 8))), "20240229-7f3a"
        )


def told(capsys: Shown) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_it_lists_entries_accounts_and_the_sentence(
    policy: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    fill(policy.parent)
    assert discreet("ledger", "--policy", str(policy)) == 0
    shown = told(capsys)
    for fact in (
        "alice SELECT workclass, AVG(h… 0.5 settled",
        "alice SELECT 2 0.25 orphaned",
        "bob SELECT 3 0.125 faulted",
        "alice 50% epsilon 0.75 epsilon 0.0753404",
        "bob 30% epsilon 0.125 epsilon 0.370204",
        "in all 100% epsilon 0.875 epsilon 0.77568",
        "bob is suspended since incident 20240229-7f3a",
        "of a claim about one person can now be at most 2.37% sure (promise: 5%).",
    ):
        assert fact in shown
    assert "secret answer" not in shown


def test_json_has_the_keys_that_machines_rely_on(policy: Path, capsys: Shown) -> None:
    fill(policy.parent)
    assert discreet("ledger", "--policy", str(policy), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["id"], each["analyst"], each["epsilon"], each["state"]) for each in found["entries"]] == [
        (1, "alice", 0.5, "settled"),
        (2, "alice", 0.25, "orphaned"),
        (3, "bob", 0.125, "faulted"),
    ]
    assert found["entries"][0]["question"] == LONG
    assert found["entries"][0]["guarantee"] == {"type": "PureDP", "epsilon": "1/2", "relation": "value"}
    assert (found["unit"], found["spent"]) == ("epsilon", 0.875)
    assert found["spent"] + found["left"] == pytest.approx(1.6506809)
    assert found["analysts"]["bob"]["left"] == pytest.approx(0.3 * 1.6506809 - 0.125)
    assert found["analysts"]["bob"]["incident"] == "20240229-7f3a"
    assert found["belief"] == {
        "prior": 0.01,
        "posterior": pytest.approx(0.0236578, abs=1e-7),
        "promised": 0.05,
        "tail": 0.0,
    }


def test_another_ledger_than_the_policys_is_shown_by_its_address(policy: Path, capsys: Shown) -> None:
    fill(policy.parent)
    (policy.parent / "ledger.db").rename(policy.parent / "other.db")
    counts = []
    for words in (
        [],
        ["--ledger", "sqlite:///other.db"],
        ["--ledger", f"sqlite:///{policy.parent}/other.db"],
    ):
        assert discreet("ledger", "--policy", str(policy), *words, "--json") == 0
        counts.append(len(json.loads(capsys.readouterr().out)["entries"]))
    assert counts == [0, 3, 3]
    assert discreet("ledger", "--policy", str(policy), "--ledger", "mysql://db/x") == 2
    assert "sqlite:///FILE or postgresql://" in capsys.readouterr().err


@pytest.mark.xdist_group("postgres")
def test_a_ledger_in_postgresql_is_shown_like_a_file(
    policy: Path, capsys: Shown, postgres: PostgresServer
) -> None:
    address = postgres.schema()
    policy.write_text(f"{policy.read_text()}ledger: {address}\n")
    assert discreet("ledger", "--policy", str(policy)) == 0
    assert "Nothing was asked yet." in capsys.readouterr().out
    with Ledger(address, Promise(0.01, 0.05), analysts=SHARES) as ledger:
        ledger.reserve("alice", "1", "SELECT 1", PureDP(epsilon=Fraction(1, 2)))
        assert discreet("ledger", "--policy", str(policy)) == 0
    assert "SELECT 1" in capsys.readouterr().out


def test_one_analyst_is_shown_alone(policy: Path, capsys: Shown) -> None:
    fill(policy.parent)
    assert discreet("ledger", "--policy", str(policy), "--analyst", "bob", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in found["entries"]] == [1]
    assert (found["spent"], list(found["analysts"])) == (0.125, ["bob"])
    assert discreet("ledger", "--policy", str(policy), "--analyst", "bob") == 0
    assert "alice" not in capsys.readouterr().out
    assert discreet("ledger", "--policy", str(policy), "--analyst", "carol") == 2
    assert "has no analyst carol" in capsys.readouterr().err


def test_with_a_tail_amounts_are_rho(tmp_path: Path, capsys: Shown) -> None:
    policy = written(tmp_path, tail="1e-6", analysts="")
    with Ledger(tmp_path / "ledger.db", Promise(0.01, 0.05, tail=1e-6)) as ledger:
        ledger.reserve("analyst", "1", LONG, GaussianDP(mu=0.1))
    assert discreet("ledger", "--policy", str(policy), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["unit"], found["spent"]) == ("rho", pytest.approx(0.005))
    assert found["delta"]["spent"] == 0
    assert found["entries"][0]["rho"] == pytest.approx(0.005)
    assert discreet("ledger", "--policy", str(policy)) == 0
    assert "rho 0.005" in told(capsys)


def test_before_the_first_question_it_is_empty_and_no_file_is_made(policy: Path, capsys: Shown) -> None:
    assert discreet("ledger", "--policy", str(policy)) == 0
    shown = told(capsys)
    assert "Nothing was asked yet." in shown
    assert "can now be at most 1% sure (promise: 5%)" in shown
    assert discreet("ledger", "--policy", str(policy), "--json") == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []
    assert list(policy.parent.iterdir()) == [policy]


def test_a_long_ledger_shows_its_end(policy: Path, capsys: Shown) -> None:
    with Ledger(policy.parent / "ledger.db", Promise(0.01, 0.05), analysts=SHARES) as ledger:
        for number in range(60):
            ledger.reserve("alice", str(number), f"SELECT {number}", PureDP(epsilon=Fraction(1, 100)))
    assert discreet("ledger", "--policy", str(policy)) == 0
    shown = told(capsys)
    assert "SELECT 59" in shown
    assert "SELECT 9 " not in shown
    assert "after 10 earlier ones, which --json lists" in shown


def test_the_custodian_clears_a_suspended_analyst(policy: Path, capsys: Shown) -> None:
    fill(policy.parent)
    assert discreet("ledger", "--policy", str(policy), "--clear", "bob") == 0
    out, err = capsys.readouterr()
    assert "suspended" not in out
    assert "bob may ask again." in err
    with Ledger(policy.parent / "ledger.db", Promise(0.01, 0.05)) as ledger:
        assert ledger.reserve("bob", "4", "SELECT 4", PureDP(epsilon=Fraction(1, 8))).id == 4


@pytest.mark.parametrize("ending", ["svg", "png"])
@pytest.mark.parametrize("asked", [False, True])
def test_the_staircase_is_drawn(ending: str, asked: bool, policy: Path, capsys: Shown) -> None:
    if asked:
        fill(policy.parent)
        with Ledger(policy.parent / "ledger.db", Promise(0.01, 0.05)) as ledger:
            ledger.record_release("adult-k5", "a 5-anonymous table")
    picture = policy.parent / f"ledger.{ending}"
    assert discreet("ledger", "--policy", str(policy), "--plot", str(picture)) == 0
    content = picture.read_bytes()
    assert content.startswith(b"<svg" if ending == "svg" else b"\x89PNG")
    if ending == "svg":
        assert b"promise: 5%" in content
        assert (b"now 2.37%" if asked else b"now 1%") in content
        assert (b"adult-k5: not in this bound" in content) is asked
    assert "picture" in capsys.readouterr().err


def test_what_is_wrong_is_one_sentence(policy: Path, capsys: Shown) -> None:
    fill(policy.parent)
    for sentence, change in (
        ("was made for another promise", {"posterior": "10%"}),
        ("grant again what is already spent", {"analysts": "analysts: {bob: {share: 90%}}"}),
    ):
        written(policy.parent, **change)
        assert discreet("ledger", "--policy", str(policy)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert sentence in err
        assert len(err.splitlines()) == 1
    written(policy.parent)
    (policy.parent / "ledger.db").write_bytes(b"something else")
    assert discreet("ledger", "--policy", str(policy), "--json") == 2
    assert "is not a ledger of discreet" in json.loads(capsys.readouterr().out)["error"]
    assert discreet("ledger", "--policy", str(policy.parent / "none.yaml")) == 2
