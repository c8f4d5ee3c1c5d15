"""`discreet promise` as a user meets it: words, odds, a table, a picture, one sentence for what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from discreet.cli.main import main


def discreet(*words: str) -> int:
    """Run the command line in this process; its exit code."""
    saved, sys.argv = sys.argv, ["discreet", *words]
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    finally:
        sys.argv = saved
    raise AssertionError("main returned without an exit code")


def test_a_promise_is_told_in_words_odds_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("promise", "--prior", "1%", "--posterior", "5%") == 0
    told = " ".join(capsys.readouterr().out.split())
    for fact in ("at most 1% beforehand", "more than 5%", "1 to 99", "1 to 19", "5.21", "1.65", "21.6%"):
        assert fact in told


def test_json_has_the_keys_that_machines_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("promise", "--prior", "0.01", "--posterior", "1/20", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {key: told[key] for key in ("prior", "posterior", "secret", "group", "tail")} == {
        "prior": 0.01,
        "posterior": 0.05,
        "secret": "value",
        "group": 1,
        "tail": 0.0,
    }
    assert told["gamma"] == pytest.approx(5.2105263)
    assert told["epsilon"] == pytest.approx(1.6506809)
    assert told["beliefs"][2] == {
        "prior": 0.05,
        "highest": pytest.approx(0.2152174),
        "lowest": pytest.approx(0.01),
    }


def test_a_presence_promise_says_what_it_allows_about_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("promise", "--prior", "1%", "--posterior", "5%", "--secret", "presence") == 0
    assert "21.5%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("way", "epsilon"),
    [
        (["--epsilon", "1.6"], 1.6),
        (["--within", "10"], 0.2843),
        (["--identifiability", "50%", "--candidates", "74"], 4.29046),
        (
            ["--possible-worlds", "1/3", "--candidates", "4", "--sensitivity", "2.8333333", "--spread", "3"],
            0.38294,
        ),
        (["--relative-error", "10%", "--count", "100"], 0.29957),
        (["--risk-ratio", "2", "--membership", "5%", "--attribute", "10%"], 0.67),
        (["--egm", "--rows", "32561", "--columns", "15"], 0.69272),
    ],
)
def test_epsilon_may_be_found_in_other_ways(
    way: list[str], epsilon: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("promise", *way, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["epsilon"] == pytest.approx(epsilon, rel=0.02 if "--risk-ratio" in way else 2e-4)
    assert told["prior"] == 0.01
    assert told["chosen"]["by"]


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_written(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / f"promise.{ending}"
    assert discreet("promise", "--prior", "1%", "--posterior", "21.5%", "--plot", str(picture)) == 0
    content = picture.read_bytes()
    assert content.startswith(b"<svg" if ending == "svg" else b"\x89PNG")
    if ending == "svg":
        assert b"After, at most: 21.5%" in content
    assert "picture" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--prior", "5%", "--posterior", "1%"], "--posterior must be above the prior"),
        (["--prior", "1.5", "--posterior", "5%"], "--prior must be a probability such as 5%"),
        (["--prior", "nan", "--posterior", "5%"], "--prior must be a probability such as 5%"),
        (["--prior", "0", "--posterior", "5%"], "--prior must be a probability between 0 and 1"),
        (["--prior", "1%", "--posterior", "100%"], "--posterior must be a probability between 0 and 1"),
        (["--posterior", "5%"], "--posterior also needs --prior"),
        (
            ["--prior", "1%", "--posterior", "5%", "--group", "0"],
            "--group must be an integer of at least 1",
        ),
        (["--prior", "1%", "--posterior", "5%", "--secret", "name"], "--secret must be 'value'"),
        (["--prior", "1%", "--posterior", "5%", "--tail", "1"], "--tail must be"),
        (["--epsilon", "0"], "--epsilon must be a finite number above 0"),
        (["--epsilon", "inf"], "--epsilon must be a finite number"),
        (["--epsilon", "2000"], "Choose a smaller epsilon"),
        (["--epsilon", "1", "--group", "4"], "--group does not apply to --epsilon"),
        (["--within", "-3"], "--within must be"),
        (["--within", "3", "--confidence", "100%"], "--confidence must be a probability between 0 and 1"),
        (["--identifiability", "1%", "--candidates", "5"], "--identifiability must be"),
        (
            ["--identifiability", "50%", "--candidates", "5", "--secret", "presence"],
            "--secret does not apply to",
        ),
        (["--prior", "1%", "--posterior", "5%", "--sensitivity", "2"], "--sensitivity does not apply to"),
        (["--within", "10", "--sensitivity", "inf"], "--sensitivity must be a finite number"),
        (["--identifiability", "50%"], "needs --candidates"),
        (["--egm"], "needs --rows"),
        ([], "in exactly one way"),
        (["--epsilon", "1", "--prior", "1%", "--posterior", "5%"], "in exactly one way"),
        (["--prior", "1%", "--posterior", "5%", "--plot", "picture.gif"], ".svg or .png"),
        (
            ["--prior", "1%", "--posterior", "5%", "--plot", "no/such/folder.svg"],
            "There is no folder no/such",
        ),
        (["--group", "many"], "--group"),
        (["--nope"], "--nope"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_two(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("promise", *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.startswith("discreet: ")
    assert len(err.splitlines()) == 1
    assert discreet("promise", *words, "--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert sentence in f"{told['error']} {told['hint']}"
    assert set(told) == {"error", "code", "hint"}


def test_no_words_show_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet() == 0
    shown = capsys.readouterr().out
    assert "promise" in shown
    assert "demo" in shown


def test_an_unknown_verb_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("explode") == 2
    assert (
        "No such command 'explode'. Did you mean 'reproduce'? See discreet --help." in capsys.readouterr().err
    )
