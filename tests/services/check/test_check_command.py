"""`discreet check` as the custodian types it: what it prints, what it accepts, and what that is bound to."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import discreet as package
from discreet import Curator, RequestError
from discreet.services.check.acceptance import find_table_states, list_unaccepted
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy
from tests.services.test_promise import discreet

POLICY = """
promise: {prior: 1%, posterior: 5%}
tables:
  people:
    source: people.csv
    columns:
      age: {type: integer, low: 0, high: 120}
      sex: {type: category, values: [Male, Female]}
      born: {type: date, low: 1900-01-01, high: 2025-12-31}
      weight: {type: decimal, low: 20, high: 300, resolution: 0.1}
"""
GOOD = ("40", "Male", "1984-05-06", "70.5")


def write_people(folder: Path, *wrong: tuple[str, ...], policy: str = POLICY, rows: int = 100) -> Path:
    """A file of good rows, of which the first are wrong ones."""
    lines = [";".join(row) for row in [*wrong, *[GOOD] * (rows - len(wrong))]]
    (folder / "people.csv").write_text("\n".join(["age;sex;born;weight", *lines]) + "\n")
    path = folder / "privacy.yaml"
    path.write_text(policy)
    return path


def check_json(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert discreet("check", "--policy", str(path), "--json", *words) == 0
    return dict(json.loads(capsys.readouterr().out))


def accepted(path: Path) -> bool:
    policy = load_policy(path)
    with open_ledger_readonly(policy) as ledger:
        return not list_unaccepted(ledger, find_table_states(policy))


def test_it_tells_shares_verdicts_and_fixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [
        *[("200", "Male", "1984-05-06", "70.5")] * 3,
        *[("-1", "Male", "1984-05-06", "70.5")] * 2,
        *[("40", "MALE", "1984-05-06", "70.5")] * 4,
        *[("40", "Male", "31.12.1984", "70.5")] * 5,
        *[("40", "Male", "1984-05-06", "70,5")] * 6,
        *[("", " Male", "1984-05-06", "70.5")] * 7,
    ]
    found = check_json(write_people(tmp_path, *wrong), capsys)
    (table,) = found["tables"]
    columns = {column["name"]: column for column in table["columns"]}
    assert (found["verdict"], table["name"], table["rows"], table["unread"]) == ("exceeds", "people", 100, 0)
    assert table["accepted"] is False
    age, sex, born, weight = (columns[name] for name in ("age", "sex", "born", "weight"))
    assert (age["clamped_low"], age["clamped_high"], age["missing"]) == (0.02, 0.03, 0.07)
    assert age["verdict"] == "differs"
    assert "discreet bounds people age --epsilon" in age["fix"]
    assert age["bias"]["mean"]["data"] > age["bias"]["mean"]["answered"]
    assert (sex["undeclared"], sex["padded"], sex["verdict"]) == (0.04, 0.07, "exceeds")
    assert sex["commonest"] == [{"text": "MALE", "rows": 4, "nearest": "Male"}]
    assert "'MALE' for 'Male'" in sex["fix"]
    assert (born["unreadable"], born["fix"]) == (
        0.05,
        'Add csv: {dates: ["%Y-%m-%d", "%d.%m.%Y"]} to the table.',
    )
    assert (weight["unreadable"], weight["fix"]) == (0.06, 'Add csv: {decimal: ","} to the table.')


def test_the_proposed_options_read_what_was_unreadable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [("40", "Male", "31.12.1984", "70.5")] * 5 + [("NA", "Male", "1984-05-06", "70.5")] * 5
    path = write_people(tmp_path, *wrong)
    (table,) = check_json(path, capsys)["tables"]
    fixes = {column["name"]: column["fix"] for column in table["columns"]}
    options = [
        fixes[name].removeprefix("Add csv: {").removesuffix("} to the table.") for name in ("born", "age")
    ]
    path.write_text(POLICY.replace("    columns:", f"    csv: {{{', '.join(options)}}}\n    columns:"))
    assert check_json(path, capsys)["verdict"] == "fits"


def test_it_prints_a_table_and_the_way_to_accept_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_people(tmp_path, ("500", "Male", "1984-05-06", "70.5"))
    assert discreet("check", "--policy", str(path)) == 0
    out, err = capsys.readouterr()
    assert ("people  100 rows" in out, err) == (True, "")
    assert "age: 1% are above the bounds." in out
    assert "mean 44.6 → 40.8" in out
    assert "discreet check --accept." in out


def test_what_is_past_at_most_is_accepted_only_despite_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_people(tmp_path, *[("x", "Male", "1984-05-06", "70.5")] * 2)
    assert discreet("check", "--policy", str(path), "--accept") == 2
    assert "--despite" in capsys.readouterr().err
    assert not accepted(path)
    assert discreet("check", "--policy", str(path), "--despite") == 2
    found = check_json(path, capsys, "--accept", "--despite")
    assert [table["accepted"] for table in found["tables"]] == [True]
    with open_ledger_readonly(load_policy(path)) as ledger:
        assert [each.despite for each in ledger.list_acceptances()] == [True]
        ledger.verify()
    assert "the custodian accepted data version 1" in (tmp_path / "ledger.faults.log").read_text()


def test_the_policy_says_how_much_is_too_much(tmp_path: Path) -> None:
    wrong = [("x", "Male", "1984-05-06", "70.5")] * 2
    path = write_people(tmp_path, *wrong, policy=f"at_most: {{unreadable: 2%}}\n{POLICY}")
    assert discreet("check", "--policy", str(path), "--accept") == 0
    path.write_text(f"at_most: {{unreadable: 1.9%}}\n{POLICY}")
    # what is accepted stays accepted, as the data and its reading are the same
    assert accepted(path)
    assert discreet("check", "--policy", str(path), "--accept") == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("promise:", "data_version: 2\npromise:"),
        ("high: 120", "high: 110"),
        ("values: [Male, Female]", "values: [Male, Female, Other]"),
        ("    columns:", '    csv: {nulls: ["", "?"]}\n    columns:'),
        ("type: date", "type: timestamp"),
        ("high: 120", "high: 120, nulls: false"),
    ],
)
def test_an_acceptance_is_bound_to_the_version_and_the_reading(
    tmp_path: Path, before: str, after: str
) -> None:
    path = write_people(tmp_path)
    assert discreet("check", "--policy", str(path), "--accept") == 0
    assert accepted(path)
    path.write_text(POLICY.replace(before, after))
    assert not accepted(path)
    path.write_text(POLICY)
    assert accepted(path)


def test_an_acceptance_is_bound_to_the_contents_of_the_files(tmp_path: Path) -> None:
    path = write_people(tmp_path)
    assert discreet("check", "--policy", str(path), "--accept") == 0
    write_people(tmp_path, ("41", "Male", "1984-05-06", "70.5"))
    assert not accepted(path)
    # the same version of other data is refused, as it is by every command that reads it
    assert discreet("check", "--policy", str(path), "--accept") == 2
    path.write_text(f"data_version: 2\n{POLICY}")
    assert discreet("check", "--policy", str(path), "--accept") == 0
    write_people(tmp_path)
    path.write_text(POLICY)
    assert accepted(path)


def test_what_does_not_change_the_reading_needs_no_other_acceptance(tmp_path: Path) -> None:
    path = write_people(tmp_path)
    assert discreet("check", "--policy", str(path), "--accept") == 0
    path.write_text(f"epsilon: 0.1\n{POLICY.replace('high: 120', 'high: 120, role: quasi')}")
    assert accepted(path)


def test_the_custodians_own_question_is_answered_with_a_notice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_people(tmp_path, ("500", "Male", "1984-05-06", "70.5"))
    words = ["ask", "SELECT COUNT(*) AS n FROM people", "--epsilon", "0.1", "--policy", str(path)]
    assert discreet(*words) == 0
    out, err = capsys.readouterr()
    assert ("±" in out, err.count("check: people:")) == (True, 1)
    assert "age (1% are above the bounds)" in err
    assert discreet("check", "--policy", str(path), "--accept") == 0
    capsys.readouterr()
    assert discreet(*words) == 0
    assert capsys.readouterr().err == ""


def test_the_custodians_own_question_is_refused_where_the_data_is_far_from_the_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_people(tmp_path, *[("x", "Male", "1984-05-06", "70.5")] * 2)
    words = ["ask", "SELECT COUNT(*) AS n FROM people", "--epsilon", "0.1", "--policy", str(path)]
    assert discreet(*words) == 2
    err = capsys.readouterr().err
    assert "nothing was charged" in err
    assert "age (2% cannot be read as an integer)" in err
    with Curator.open(path) as curator:
        assert curator.ledger.list_entries() == []
    assert discreet("check", "--policy", str(path), "--accept", "--despite") == 0
    capsys.readouterr()
    assert discreet(*words) == 0
    assert capsys.readouterr().err == ""


def test_what_fits_is_answered_without_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_people(tmp_path)
    assert discreet("ask", "SELECT COUNT(*) FROM people", "--epsilon", "0.1", "--policy", str(path)) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("reply", "code"), [(b"y\n", 0), (b"n\n", 2)])
def test_at_a_terminal_the_first_question_asks_for_acceptance(
    tmp_path: Path, reply: bytes, code: int
) -> None:
    path = write_people(tmp_path)
    ours, theirs = pty.openpty()
    words = ["ask", "SELECT COUNT(*) AS n FROM people", "--epsilon", "0.1", "--policy", str(path), "--json"]
    command = [sys.executable, "-m", "discreet", *words]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE) as running:
        os.close(theirs)
        shown = b""
        while b"Accept this version of the data?" not in shown:
            shown += os.read(ours, 1_000)
        os.write(ours, reply)
        assert running.stdout is not None
        told = json.loads(running.stdout.read())
        assert running.wait() == code
    os.close(ours)
    assert accepted(path) is (code == 0)
    assert ("rows" in told) is (code == 0)


def test_python_warns_of_data_that_is_far_from_the_policy_until_it_is_accepted(tmp_path: Path) -> None:
    path = write_people(tmp_path, *[("x", "Male", "1984-05-06", "70.5")] * 2)
    with pytest.warns(UserWarning, match=r"check: not as declared, and not accepted: .*age \(2%"):
        Curator.open(path).close()
    with pytest.warns(UserWarning, match="not accepted"), Curator.open(path) as curator:
        curator.check(accept=True, despite=True)
    with Curator.open(path) as curator:
        assert curator.check().tables[0].accepted


def test_python_checks_and_accepts_too(tmp_path: Path) -> None:
    path = write_people(tmp_path, ("500", "Male", "1984-05-06", "70.5"))
    assert package.check(path).verdict == "differs"
    with Curator.open(path) as curator:
        assert [table.accepted for table in curator.check(accept=True).tables] == [True]
        assert curator.check("people").tables[0].accepted
        with pytest.raises(RequestError, match="no table nowhere"):
            curator.check("nowhere")
    with pytest.raises(RequestError, match="`despite=` goes with `accept=`"):
        package.check(path, despite=True)


def test_a_policy_without_a_promise_is_checked_and_not_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_people(tmp_path, policy=POLICY.replace("promise: {prior: 1%, posterior: 5%}", ""))
    assert check_json(path, capsys)["verdict"] == "fits"
    assert discreet("check", "--policy", str(path), "--accept") == 2
    assert not (tmp_path / "ledger.db").exists()


def test_the_ledger_shows_what_was_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_people(tmp_path)
    assert discreet("check", "--policy", str(path), "--accept") == 0
    capsys.readouterr()
    assert discreet("ledger", "--policy", str(path)) == 0
    assert "Accepted for analysts on" in capsys.readouterr().out
    assert discreet("ledger", "--policy", str(path), "--json") == 0
    (accepted,) = json.loads(capsys.readouterr().out)["accepted"]
    assert (accepted["version"], accepted["table"]) == ("1", "people")


def test_checking_creates_no_ledger_and_charges_nothing(tmp_path: Path) -> None:
    path = write_people(tmp_path)
    assert discreet("check", "--policy", str(path)) == 0
    assert not (tmp_path / "ledger.db").exists()
    assert (tmp_path / "ledger.check.json").stat().st_mode & 0o077 == 0


def test_a_row_that_is_too_long_to_be_read_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_people(tmp_path, ("40", "Male" * 600_000, "1984-05-06", "70.5"))
    (table,) = check_json(path, capsys)["tables"]
    assert (table["rows"], table["unread"], [each["line"] for each in table["unread_lines"]]) == (99, 1, [2])
    assert discreet("check", "--policy", str(path)) == 0
    assert "1 row has more than 2 MB" in capsys.readouterr().out
