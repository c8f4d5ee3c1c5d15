"""Users of several servers: what is done at one of them is done at all of them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from discreet.app.policies import load
from discreet.app.serve.job import JobState
from discreet.app.serve.jobs import Jobs
from discreet.app.users import Role, UserBook, UserStorage, users_of
from discreet.app.users.attempts import Attempts, Reply
from discreet.app.users.sessions import Sessions
from discreet.app.users.tokens import Tokens
from discreet.app.users.wishes import Wishes, shares_of
from discreet.core.errors import AlreadyRunningError, RequestError
from discreet.core.policy import Policy
from tests.engines.servers import PostgresServer
from tests.patience import PATIENCE
from tests.users.test_users import PASSWORD, POLICY

pytestmark = pytest.mark.xdist_group("postgres")

BEGUN = """
import sys
from discreet.accounting import process_identity
if sys.argv[2]:
    process_identity._identify_machine = lambda: sys.argv[2]
from discreet.app.users import users_of
from discreet.app.users.attempts import Attempts

def work():
    print("begun", flush=True)
    sys.stdin.readline()

Attempts(users_of(sys.argv[1])).once("alice", "key", "request", work)
"""
WORKING = """
import sys
from discreet.accounting import process_identity
if sys.argv[2]:
    process_identity._identify_machine = lambda: sys.argv[2]
from discreet.app.serve.job import Work
from discreet.app.serve.jobs import Jobs
from discreet.app.users import users_of

def do(tell, folder):
    tell("counting")
    print("begun", flush=True)
    sys.stdin.readline()

work = Work(kind="steps", name="steps", stages=("counting",), do=do)
Jobs(users_of(sys.argv[1])).start("carl", work)
"""


@pytest.fixture
def policies(postgres: PostgresServer, tmp_path: Path) -> tuple[Policy, Policy]:
    """Of two servers, each with a folder of its own."""
    ledger, found = postgres.schema(), []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "privacy.yaml").write_text(POLICY)
        found.append(load(tmp_path / name / "privacy.yaml", ledger=ledger))
    return found[0], found[1]


@pytest.fixture
def shared(policies: tuple[Policy, Policy]) -> Iterator[tuple[UserStorage, UserStorage]]:
    with users_of(policies[0].ledger) as one, users_of(policies[1].ledger) as two:
        UserBook(one).add("alice", Role.ANALYST, "alice", PASSWORD)
        yield one, two


Pair = tuple[UserStorage, UserStorage]


def test_a_login_at_one_server_is_one_at_the_other_until_it_ends_anywhere(shared: Pair) -> None:
    one, two = shared
    alice = UserBook(two).admitted("alice", PASSWORD)
    assert alice is not None
    session, text = Sessions(one).open(alice)
    assert Sessions(two).recognized(text) == session
    assert Sessions(two).proves(session, Sessions(one).proof(session))
    _, token = Tokens(one).issue("alice", "notebook")
    assert Tokens(two).owner(token) == "alice"
    Sessions(two).end(session)
    assert Sessions(one).recognized(text) is None
    UserBook(two).remove("alice")
    assert Tokens(one).owner(token) is None
    assert UserBook(one).find("alice") is None


def test_a_share_that_is_granted_at_one_server_is_kept_by_the_other(
    policies: tuple[Policy, Policy], shared: Pair
) -> None:
    made = Wishes(shared[0]).make("alice", Fraction(1, 10), "more groups")
    Wishes(shared[1]).grant(made.id, policies[1], lambda _: None)
    assert [each.state for each in Wishes(shared[0]).all()] == ["granted"]
    assert shares_of(policies[0]) == {"alice": Fraction(6, 10), "bob": Fraction(3, 10)}


def test_servers_that_start_at_once_tell_one_set_of_first_passwords(
    policies: tuple[Policy, Policy],
) -> None:
    start = threading.Barrier(2)

    def begin(policy: Policy) -> dict[str, str]:
        with users_of(policy.ledger) as file:
            start.wait()
            return dict(UserBook(file).begin(policy))

    with ThreadPoolExecutor(2) as pool:
        told = [each for each in pool.map(begin, policies) if each]
    assert [list(each) for each in told] == [["custodian", "alice", "bob"]]
    with users_of(policies[0].ledger) as file:
        assert all(UserBook(file).admitted(name, password) for name, password in told[0].items())


def test_a_key_that_is_under_way_at_one_server_is_answered_by_the_other_as_it_was(shared: Pair) -> None:
    begun, go = threading.Event(), threading.Event()

    def work() -> Reply:
        begun.set()
        assert go.wait(PATIENCE)
        return Reply(status=200, kind="text/plain", headers={"x": "y"}, body=b"48843")

    def again() -> Reply:
        raise AssertionError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(Attempts(shared[0]).once, "alice", "key", "request", work)
        assert begun.wait(PATIENCE)
        second = pool.submit(Attempts(shared[1]).once, "alice", "key", "request", again)
        assert not wait([second], timeout=0.3).done
        go.set()
        assert second.result() == first.result()
    with pytest.raises(RequestError, match="another request"):
        Attempts(shared[1]).once("alice", "key", "another", again)


@contextmanager
def begun(script: str, ledger: str, machine: str) -> Iterator[subprocess.Popen[str]]:
    """A server that is at work under a key, or at a job; on another machine, if one is named."""
    command, here = [sys.executable, "-c", script, ledger, machine], Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=here
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("machine", ["", "another-machine"])
def test_a_key_is_waited_for_while_its_server_runs_and_cut_short_when_that_is_gone(
    policies: tuple[Policy, Policy], shared: Pair, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> Reply:
        raise AssertionError

    with begun(BEGUN, policies[0].ledger, machine):
        monkeypatch.setattr("discreet.app.users.attempts.LONGEST_WAIT", 0)
        with pytest.raises(AlreadyRunningError, match="is still running"):
            Attempts(shared[1]).once("alice", "key", "request", never)
        monkeypatch.undo()
    with pytest.raises(RequestError, match="was interrupted"):  # as soon as its connections are gone
        Attempts(shared[1]).once("alice", "key", "request", never)


@pytest.mark.parametrize("machine", ["", "another-machine"])
def test_a_job_is_seen_while_its_server_runs_and_has_failed_when_that_is_gone(
    policies: tuple[Policy, Policy], shared: Pair, machine: str
) -> None:
    jobs = Jobs(shared[1])
    with begun(WORKING, policies[0].ledger, machine):
        assert [(each.state, each.stage) for each in jobs.all()] == [(JobState.RUNNING, "counting")]
    while not (job := jobs.all()[0]).over:
        time.sleep(0.01)
    assert job.failure is not None
    assert (job.state, job.failure.code) == (JobState.FAILED, "stopped")


def test_the_database_holds_no_password_and_no_token(
    postgres: PostgresServer, policies: tuple[Policy, Policy], shared: Pair
) -> None:
    _, token = Tokens(shared[0]).issue("alice", "notebook")
    with psycopg.connect(policies[0].ledger.partition("#")[0]) as connection:
        held = [connection.execute(f'SELECT * FROM "{table}"').fetchall() for table in ("user", "token")]
    assert "$argon2id$" in repr(held)
    assert not any(each in repr(held) for each in (PASSWORD, token))


def test_a_text_that_a_database_cannot_hold_is_refused_in_one_sentence(shared: Pair) -> None:
    with pytest.raises(RequestError, match="must not contain the character NUL"):
        Wishes(shared[0]).make("alice", Fraction(1, 10), "more\0groups")
    assert UserBook(shared[0]).find("al\0ice") is None
