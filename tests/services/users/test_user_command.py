"""`discreet user`, as a custodian meets it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from discreet.services.policies import load_policy
from discreet.services.users import UserAccounts, open_user_storage
from tests.engines.servers import PostgresServer
from tests.services import patients
from tests.services.test_promise import discreet
from tests.services.users.test_users import PASSWORD, POLICY

Shown = pytest.CaptureFixture[str]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "privacy.yaml"
    path.write_text(POLICY)
    return path


def run(policy: Path, *words: str) -> int:
    return discreet("user", *words, "--policy", str(policy))


def admitted(policy: Path, name: str, password: str) -> bool:
    with open_user_storage(load_policy(policy).ledger) as file:
        return UserAccounts(file).authenticate(name, password) is not None


def test_a_user_is_added_listed_and_removed(policy: Path, capsys: Shown) -> None:
    assert run(policy, "add", "alice", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert admitted(policy, "alice", told["password"])
    assert run(policy, "add", "eve", "--role", "auditor") == 0
    assert run(policy, "list", "--json") == 0
    listed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert listed["users"] == [
        {"name": "alice", "role": "analyst", "analyst": "alice"},
        {"name": "eve", "role": "auditor", "analyst": None},
    ]
    assert run(policy, "remove", "alice") == 0
    assert not admitted(policy, "alice", told["password"])


def test_a_password_is_read_from_stdin_and_not_shown(
    policy: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(PASSWORD + "\n"))
    assert run(policy, "add", "carol", "--analyst", "bob", "--password") == 0
    assert PASSWORD not in "".join(capsys.readouterr())
    assert admitted(policy, "carol", PASSWORD)


@pytest.mark.xdist_group("postgres")
def test_users_of_a_shared_ledger_are_where_it_is_whichever_policy_names_it(
    postgres: PostgresServer, policy: Path, tmp_path: Path, capsys: Shown
) -> None:
    ledger, other = postgres.schema(), tmp_path / "other"
    other.mkdir()
    (other / "privacy.yaml").write_text(POLICY)
    assert run(policy, "add", "alice", "--ledger", ledger) == 0
    capsys.readouterr()
    assert run(other / "privacy.yaml", "list", "--json", "--ledger", ledger) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["users"]] == ["alice"]
    assert run(other / "privacy.yaml", "remove", "alice", "--ledger", ledger) == 0
    assert run(policy, "remove", "alice", "--ledger", ledger) == 2
    assert list(tmp_path.rglob("*.db")) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "carol"], "declares the analysts alice, bob"),
        (["add", "carol", "--analyst", "dave"], "declares the analysts alice, bob"),
        (["add", "eve", "--role", "auditor", "--analyst", "bob"], "does not ask"),
        (["add", "two words", "--analyst", "bob"], "a name is letters"),
        (["remove", "nobody"], "there is no user nobody"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    policy: Path, capsys: Shown, words: list[str], said: str
) -> None:
    assert run(policy, *words) == 2
    assert said in capsys.readouterr().err


def test_nobody_asks_in_a_name_to_which_the_policy_gives_no_share(tmp_path: Path, capsys: Shown) -> None:
    path = patients.write(tmp_path)
    path.write_text(path.read_text().partition("analysts:")[0])
    assert run(path, "add", "dave", "--analyst", "dave") == 2
    assert "gives dave no share" in capsys.readouterr().err
    assert run(path, "add", "dave", "--json") == 0
    assert json.loads(capsys.readouterr().out)["analyst"] == "analyst"
