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

from discreet.core.errors import AlreadyRunningError, RequestError
from discreet.core.policy import Policy
from discreet.services.policies import load_policy
from discreet.services.serving.job import JobState
from discreet.services.serving.job_queue import JobQueue
from discreet.services.users import Role, UserAccounts, UserStorage, open_user_storage
from discreet.services.users.api_tokens import ApiTokens
from discreet.services.users.budget_requests import BudgetRequests, get_analyst_shares
from discreet.services.users.idempotency_keys import IdempotencyKeys, StoredResponse
from discreet.services.users.sessions import Sessions
from tests.engines.servers import PostgresServer
from tests.patience import PATIENCE
from tests.services.users.test_users import PASSWORD, POLICY

pytestmark = pytest.mark.xdist_group("postgres")

BEGUN = """
import sys
from discreet.accounting import process_identity
if sys.argv[2]:
    process_identity._identify_machine = lambda: sys.argv[2]
from discreet.services.users import open_user_storage
from discreet.services.users.idempotency_keys import IdempotencyKeys

def work():
    print("begun", flush=True)
    sys.stdin.readline()

IdempotencyKeys(open_user_storage(sys.argv[1])).run_or_replay("alice", "key", "request", work)
"""
WORKING = """
import sys
from discreet.accounting import process_identity
if sys.argv[2]:
    process_identity._identify_machine = lambda: sys.argv[2]
from discreet.services.serving.job import JobWork
from discreet.services.serving.job_queue import JobQueue
from discreet.services.users import open_user_storage

def do(tell, folder):
    tell("counting")
    print("begun", flush=True)
    sys.stdin.readline()

work = JobWork(kind="steps", name="steps", stages=("counting",), run=do)
JobQueue(open_user_storage(sys.argv[1])).submit("carl", work)
"""


@pytest.fixture
def policies(postgres: PostgresServer, tmp_path: Path) -> tuple[Policy, Policy]:
    """Of two servers, each with a folder of its own."""
    ledger, found = postgres.schema(), []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "privacy.yaml").write_text(POLICY)
        found.append(load_policy(tmp_path / name / "privacy.yaml", ledger=ledger))
    return found[0], found[1]


@pytest.fixture
def shared(policies: tuple[Policy, Policy]) -> Iterator[tuple[UserStorage, UserStorage]]:
    with open_user_storage(policies[0].ledger) as one, open_user_storage(policies[1].ledger) as two:
        UserAccounts(one).add("alice", Role.ANALYST, "alice", PASSWORD)
        yield one, two


Pair = tuple[UserStorage, UserStorage]


def test_a_login_at_one_server_is_one_at_the_other_until_it_ends_anywhere(shared: Pair) -> None:
    one, two = shared
    alice = UserAccounts(two).authenticate("alice", PASSWORD)
    assert alice is not None
    session, text = Sessions(one).open(alice)
    assert Sessions(two).find(text) == session
    assert Sessions(two).is_csrf_token(session, Sessions(one).derive_csrf_token(session))
    _, token = ApiTokens(one).issue("alice", "notebook")
    assert ApiTokens(two).find_owner(token) == "alice"
    Sessions(two).end(session)
    assert Sessions(one).find(text) is None
    UserAccounts(two).remove("alice")
    assert ApiTokens(one).find_owner(token) is None
    assert UserAccounts(one).find("alice") is None


def test_a_share_that_is_granted_at_one_server_is_kept_by_the_other(
    policies: tuple[Policy, Policy], shared: Pair
) -> None:
    made = BudgetRequests(shared[0]).create("alice", Fraction(1, 10), "more groups")
    BudgetRequests(shared[1]).grant(made.id, policies[1], lambda _: None)
    assert [each.state for each in BudgetRequests(shared[0]).list_all()] == ["granted"]
    assert get_analyst_shares(policies[0]) == {"alice": Fraction(6, 10), "bob": Fraction(3, 10)}


def test_servers_that_start_at_once_tell_one_set_of_first_passwords(
    policies: tuple[Policy, Policy],
) -> None:
    start = threading.Barrier(2)

    def begin(policy: Policy) -> dict[str, str]:
        with open_user_storage(policy.ledger) as file:
            start.wait()
            return dict(UserAccounts(file).create_first_users(policy))

    with ThreadPoolExecutor(2) as pool:
        told = [each for each in pool.map(begin, policies) if each]
    assert [list(each) for each in told] == [["custodian", "alice", "bob"]]
    with open_user_storage(policies[0].ledger) as file:
        assert all(UserAccounts(file).authenticate(name, password) for name, password in told[0].items())


def test_a_key_that_is_under_way_at_one_server_is_answered_by_the_other_as_it_was(shared: Pair) -> None:
    begun, go = threading.Event(), threading.Event()

    def work() -> StoredResponse:
        begun.set()
        assert go.wait(PATIENCE)
        return StoredResponse(status=200, media_type="text/plain", headers={"x": "y"}, body=b"48843")

    def again() -> StoredResponse:
        raise AssertionError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(IdempotencyKeys(shared[0]).run_or_replay, "alice", "key", "request", work)
        assert begun.wait(PATIENCE)
        second = pool.submit(IdempotencyKeys(shared[1]).run_or_replay, "alice", "key", "request", again)
        assert not wait([second], timeout=0.3).done
        go.set()
        assert second.result() == first.result()
    with pytest.raises(RequestError, match="another request"):
        IdempotencyKeys(shared[1]).run_or_replay("alice", "key", "another", again)


@contextmanager
def begun(script: str, ledger: str, machine: str) -> Iterator[subprocess.Popen[str]]:
    """A server that is at work under a key, or at a job; on another machine, if one is named."""
    command, here = [sys.executable, "-c", script, ledger, machine], Path(__file__).parents[3]
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
    def never() -> StoredResponse:
        raise AssertionError

    with begun(BEGUN, policies[0].ledger, machine):
        monkeypatch.setattr("discreet.services.users.idempotency_keys.LONGEST_WAIT", 0)
        with pytest.raises(AlreadyRunningError, match="is still running"):
            IdempotencyKeys(shared[1]).run_or_replay("alice", "key", "request", never)
        monkeypatch.undo()
    with pytest.raises(RequestError, match="was interrupted"):  # as soon as its connections are gone
        IdempotencyKeys(shared[1]).run_or_replay("alice", "key", "request", never)


@pytest.mark.parametrize("machine", ["", "another-machine"])
def test_a_job_is_seen_while_its_server_runs_and_has_failed_when_that_is_gone(
    policies: tuple[Policy, Policy], shared: Pair, machine: str
) -> None:
    jobs = JobQueue(shared[1])
    with begun(WORKING, policies[0].ledger, machine):
        assert [(each.state, each.stage) for each in jobs.list_jobs()] == [(JobState.RUNNING, "counting")]
    while not (job := jobs.list_jobs()[0]).is_over:
        time.sleep(0.01)
    assert job.failure is not None
    assert (job.state, job.failure.code) == (JobState.FAILED, "stopped")


def test_the_database_holds_no_password_and_no_token(
    postgres: PostgresServer, policies: tuple[Policy, Policy], shared: Pair
) -> None:
    _, token = ApiTokens(shared[0]).issue("alice", "notebook")
    with psycopg.connect(policies[0].ledger.partition("#")[0]) as connection:
        held = [connection.execute(f'SELECT * FROM "{table}"').fetchall() for table in ("user", "token")]
    assert "$argon2id$" in repr(held)
    assert not any(each in repr(held) for each in (PASSWORD, token))


def test_a_text_that_a_database_cannot_hold_is_refused_in_one_sentence(shared: Pair) -> None:
    with pytest.raises(RequestError, match="must not contain the character NUL"):
        BudgetRequests(shared[0]).create("alice", Fraction(1, 10), "more\0groups")
    assert UserAccounts(shared[0]).find("al\0ice") is None
