"""Who may enter: what is kept, what is told once, what ends when somebody is removed."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services.policies import load_policy
from discreet.services.users import Role, UserAccounts, UserFile, UserStorage, open_user_storage
from discreet.services.users.api_tokens import ApiTokens
from discreet.services.users.budget_requests import BudgetRequests, get_analyst_shares
from discreet.services.users.idempotency_keys import IdempotencyKeys, StoredResponse
from discreet.services.users.login_throttle import LoginThrottle
from discreet.services.users.scram_verifier import ITERATIONS, Verifier
from discreet.services.users.sessions import SESSION_SECONDS, Sessions

PASSWORD = "correct horse battery"
POLICY = """
promise: {prior: 1%, posterior: 5%}
tables: {people: {source: people.csv, columns: {age: {type: integer, low: 0, high: 100}}}}
analysts: {alice: {share: 50%}, bob: {share: 30%}}
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))])
def policy(request: pytest.FixtureRequest, tmp_path: Path) -> Policy:
    """With a ledger in a file, and with one in a database: what holds of users holds in both places."""
    (tmp_path / "privacy.yaml").write_text(POLICY)
    shared = request.getfixturevalue("postgres").schema() if request.param == "postgresql" else None
    return load_policy(tmp_path / "privacy.yaml", ledger=shared)


@pytest.fixture
def file(policy: Policy) -> Iterator[UserStorage]:
    with open_user_storage(policy.ledger) as opened:
        yield opened


@pytest.fixture
def users(file: UserStorage) -> UserAccounts:
    book = UserAccounts(file)
    book.add("alice", Role.ANALYST, "alice", PASSWORD)
    return book


def test_the_file_is_its_owners_and_holds_no_password_and_no_token(tmp_path: Path) -> None:
    path = tmp_path / "ledger.users.db"
    with UserFile(str(path)) as file:
        users = UserAccounts(file)
        users.add("alice", Role.ANALYST, "alice", PASSWORD)
        drawn = users.add("bob", Role.ANALYST, "bob")
        _, token = ApiTokens(file).issue("bob", "notebook")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    assert not any(each.encode() in content for each in (PASSWORD, drawn, token))
    assert b"$argon2id$" in content
    assert b"SCRAM-SHA-256$" in content


def test_only_the_right_password_admits(users: UserAccounts) -> None:
    admitted = users.authenticate("alice", PASSWORD)
    assert admitted is not None
    assert (admitted.name, admitted.role, admitted.analyst) == ("alice", Role.ANALYST, "alice")
    for name, password in (("alice", PASSWORD + " "), ("alice", ""), ("nobody", PASSWORD), ("", "")):
        assert users.authenticate(name, password) is None


def test_the_first_start_makes_a_custodian_whose_password_opens_one_thing(
    file: UserStorage, policy: Policy
) -> None:
    book = UserAccounts(file)
    told = book.create_first_users(policy)
    assert list(told) == ["custodian", "alice", "bob"]
    custodian = book.authenticate("custodian", told["custodian"])
    assert custodian is not None
    assert custodian.must_change_password
    book.change_password("custodian", PASSWORD)
    assert book.authenticate("custodian", told["custodian"]) is None
    changed = book.authenticate("custodian", PASSWORD)
    assert changed is not None
    assert not changed.must_change_password
    assert book.create_first_users(policy) == {}


@pytest.mark.parametrize("name", ["", "a b", "'; DROP TABLE user", "-x", "a" * 64, "x\0"])
def test_odd_names_are_refused(users: UserAccounts, name: str) -> None:
    with pytest.raises(RequestError, match="a name is letters"):
        users.add(name, Role.ANALYST, "alice")


def test_short_passwords_and_second_users_of_a_name_are_refused(users: UserAccounts) -> None:
    with pytest.raises(RequestError, match="10 to 200 characters"):
        users.add("bob", Role.ANALYST, "bob", "short")
    with pytest.raises(RequestError, match="already exists"):
        users.add("alice", Role.ANALYST, "alice", PASSWORD)


def test_a_session_is_recognized_until_it_ends(file: UserStorage, users: UserAccounts) -> None:
    sessions, alice = Sessions(file), users.authenticate("alice", PASSWORD)
    assert alice is not None
    session, text = sessions.open(alice)
    assert sessions.find(text) == session
    assert sessions.is_csrf_token(session, sessions.derive_csrf_token(session))
    assert not sessions.is_csrf_token(session, "0" * 64)
    for forged in (text[:-1], "A" + text[1:], text.partition(".")[0] + ".", "", "é.é", "." * 5_000):
        assert sessions.find(forged) is None
    sessions.end(session)
    assert sessions.find(text) is None


def test_sessions_end_with_the_password_and_with_the_user(file: UserStorage, users: UserAccounts) -> None:
    sessions, alice = Sessions(file), users.find("alice")
    assert alice is not None
    _, text = sessions.open(alice)
    users.change_password("alice", "another password")
    assert sessions.find(text) is None
    changed = users.find("alice")
    assert changed is not None
    _, text = sessions.open(changed)
    users.remove("alice")
    assert sessions.find(text) is None


def test_sessions_end_by_themselves(
    file: UserStorage, users: UserAccounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions, alice = Sessions(file), users.find("alice")
    assert alice is not None
    session, text = sessions.open(alice)
    monkeypatch.setattr("time.time", lambda: session.expires + SESSION_SECONDS)
    assert sessions.find(text) is None


def test_sessions_of_another_file_are_not_recognized(file: UserStorage, users: UserAccounts) -> None:
    with UserFile(":memory:") as other:
        UserAccounts(other).add("alice", Role.ANALYST, "alice", PASSWORD)
        alice = UserAccounts(other).find("alice")
        assert alice is not None
        assert Sessions(file).find(Sessions(other).open(alice)[1]) is None


def test_tokens_go_with_their_user(file: UserStorage, users: UserAccounts) -> None:
    tokens = ApiTokens(file)
    made, text = tokens.issue("alice", "notebook")
    assert tokens.find_owner(text) == "alice"
    assert tokens.list_for_user("alice") == [made]
    with pytest.raises(RequestError):
        tokens.revoke("bob", made.id)
    users.remove("alice")
    assert tokens.find_owner(text) is None


def test_tokens_end_with_a_password_change(file: UserStorage, users: UserAccounts) -> None:
    tokens = ApiTokens(file)
    before = users.find("alice")
    assert before is not None
    users.add("carol", Role.AUDITOR, None, PASSWORD)
    _, text = tokens.issue("alice", "notebook", stamp=before.stamp)
    _, others = tokens.issue("carol", "notebook")
    users.change_password("alice", "another good password")
    assert tokens.find_owner(text) is None
    assert tokens.list_for_user("alice") == []
    assert tokens.find_owner(others) == "carol"
    with pytest.raises(RequestError, match="its password was changed"):
        tokens.issue("alice", "notebook", stamp=before.stamp)
    with pytest.raises(RequestError, match="its password was changed"):
        tokens.issue("nobody", "notebook")


def test_a_token_that_has_expired_is_not_known(file: UserStorage, users: UserAccounts) -> None:
    moment = [datetime(2026, 1, 1, tzinfo=UTC)]
    tokens = ApiTokens(file, clock=lambda: moment[0])
    made, text = tokens.issue("alice", "notebook", days=2)
    assert made.expires == "2026-01-03T00:00:00+00:00"
    assert tokens.issue("alice", "other")[0].expires == "2026-04-01T00:00:00+00:00"
    moment[0] += timedelta(days=2, seconds=-1)
    assert tokens.find_owner(text) == "alice"
    moment[0] += timedelta(seconds=1)
    assert tokens.find_owner(text) is None
    assert made in tokens.list_for_user("alice")
    tokens.issue("alice", "a third")
    assert made not in tokens.list_for_user("alice")
    for days in (0, -1, 367):
        with pytest.raises(RequestError, match="1 to 366 days"):
            tokens.issue("alice", "notebook", days=days)


def test_tokens_of_a_store_without_expiry_last_ninety_days_more(policy: Policy) -> None:
    with open_user_storage(policy.ledger) as file:
        UserAccounts(file).add("alice", Role.ANALYST, "alice", PASSWORD)
        _, text = ApiTokens(file).issue("alice", "notebook", days=1)
        with file.write_transaction() as rows:
            rows.execute("ALTER TABLE token DROP COLUMN expires")
            in_file = isinstance(file, UserFile)
            rows.execute("PRAGMA user_version = 3" if in_file else "UPDATE secret SET format = 3")
    now = datetime.now(UTC)
    for _ in range(2):
        with open_user_storage(policy.ledger) as file:
            assert ApiTokens(file).find_owner(text) == "alice"
            assert ApiTokens(file, clock=lambda: now + timedelta(days=89)).find_owner(text) == "alice"
            assert ApiTokens(file, clock=lambda: now + timedelta(days=91)).find_owner(text) is None


def test_a_verifier_of_few_iterations_is_written_anew_at_the_next_login(
    file: UserStorage, users: UserAccounts
) -> None:
    old = {"name": "alice", "verifier": str(Verifier.from_password(PASSWORD, iterations=4096))}
    with file.write_transaction() as rows:
        rows.execute('UPDATE "user" SET verifier = :verifier WHERE name = :name', old)
    users.add("carol", Role.AUDITOR, None, PASSWORD)
    assert sorted(users.list_iteration_counts()) == [4096, ITERATIONS]
    shown = {
        Verifier.for_unknown_name(f"n{i}", users.secret, users.list_iteration_counts()).iterations
        for i in range(64)
    }
    assert shown == {4096, ITERATIONS}
    before = users.find("alice")
    assert before is not None
    assert users.authenticate("alice", "a wrong password") is None
    assert 4096 in users.list_iteration_counts()
    assert users.authenticate("alice", PASSWORD) == before
    after = users.find("alice")
    assert after is not None
    assert (after.stamp, after.must_change_password) == (before.stamp, before.must_change_password)
    assert set(users.list_iteration_counts()) == {ITERATIONS}


def test_iterations_are_as_many_as_drivers_accept() -> None:
    assert (
        Verifier.from_password(PASSWORD).iterations
        == Verifier.for_unknown_name("x", b"secret").iterations
        == 100_000
    )


def test_logins_that_fail_are_waited_for_longer_and_longer() -> None:
    seconds = [0.0]
    throttle, waits = LoginThrottle(clock=lambda: seconds[0]), []
    for _ in range(9):
        waits.append(throttle.get_wait_seconds("alice", "here"))
        throttle.record_failure("alice", "here")
    assert waits == [0, 0, 0, 0, 0, 15, 30, 60, 120]
    assert throttle.get_wait_seconds("alice", "elsewhere") == 0
    assert throttle.get_wait_seconds("bob", "here") == 0
    seconds[0] += 240
    assert throttle.get_wait_seconds("alice", "here") == 0
    throttle.record_success("alice", "here")
    throttle.record_failure("alice", "here")
    assert throttle.get_wait_seconds("alice", "here") == 0


def test_many_names_from_one_place_are_throttled_together() -> None:
    throttle = LoginThrottle(clock=lambda: 0.0)
    for number in range(60):
        throttle.record_failure(f"user{number}", "here")
    assert throttle.get_wait_seconds("somebody", "here") > 0
    assert throttle.get_wait_seconds("somebody", "elsewhere") == 0


@pytest.mark.parametrize("tried", ["failing", "trying"])
def test_an_ipv6_site_is_one_place_and_a_mapped_address_is_that_of_ipv4(tried: str) -> None:
    throttle = LoginThrottle(clock=lambda: 0.0)
    with ExitStack() as stack:
        for number in range(5):
            for place in (f"2001:db8:0:1::{number:x}", f"2001:db8:0:1:{number:x}:{number:x}:0:9%eth0"):
                if tried == "failing":
                    throttle.record_failure("alice", place)
                else:
                    stack.enter_context(throttle.track_login("alice", place))
        assert throttle.get_wait_seconds("alice", "2001:db8:0:1:ffff:ffff:ffff:ffff") > 0
        assert throttle.get_wait_seconds("alice", "2001:db8:0:2::1") == 0
    for _ in range(3):
        throttle.record_failure("bob", "192.0.2.7")
        throttle.record_failure("bob", "::ffff:192.0.2.7")
    assert throttle.get_wait_seconds("bob", "::ffff:c000:207") > 0
    assert throttle.get_wait_seconds("bob", "::ffff:192.0.2.8") == 0


def test_granted_requests_move_shares_and_never_make_more(file: UserStorage, policy: Policy) -> None:
    divided: list[dict[str, Fraction]] = []
    requests = BudgetRequests(file)
    for share, analyst in ((Fraction(1, 10), "alice"), (Fraction(1, 4), "alice"), (Fraction(1, 4), "bob")):
        requests.create(analyst, share, "more groups")
    requests.grant(1, policy, divided.append)
    assert get_analyst_shares(policy) == divided[-1] == {"alice": Fraction(6, 10), "bob": Fraction(3, 10)}
    with pytest.raises(RequestError, match="add up to 115%"):
        requests.grant(2, policy, divided.append)
    requests.grant(2, policy, divided.append, taken_from="bob")
    assert get_analyst_shares(policy) == {"alice": Fraction(17, 20), "bob": Fraction(1, 20)}
    requests.deny(3, "later")
    for number in (1, 3, 4):
        with pytest.raises(RequestError, match=r"already decided|does not exist"):
            requests.deny(number, "again")
    assert [each.state for each in requests.list_all("bob")] == ["denied"]
    assert len(divided) == 2


def test_a_grant_that_the_ledger_refuses_is_not_kept(file: UserStorage, policy: Policy) -> None:
    def refuse(_: object) -> None:
        raise RequestError("no room")

    requests = BudgetRequests(file)
    requests.create("alice", Fraction(1, 10), "")
    with pytest.raises(RequestError, match="no room"):
        requests.grant(1, policy, refuse)
    assert requests.list_all()[0].state == "open"
    assert get_analyst_shares(policy)["alice"] == Fraction(1, 2)


def test_what_was_done_under_a_key_is_not_done_again(file: UserStorage, users: UserAccounts) -> None:
    attempts, done = IdempotencyKeys(file), []

    def work() -> StoredResponse:
        done.append(1)
        return StoredResponse(status=200, media_type="text/plain", headers={"x": "y"}, body=b"%d" % len(done))

    first = attempts.run_or_replay("alice", "k", {"sql": "a"}, work)
    assert IdempotencyKeys(file).run_or_replay("alice", "k", {"sql": "a"}, work) == first
    assert len(done) == 1
    with pytest.raises(RequestError, match="another request"):
        attempts.run_or_replay("alice", "k", {"sql": "b"}, work)
    assert attempts.run_or_replay("alice", None, {"sql": "a"}, work).body == b"2"


def test_what_was_refused_may_be_tried_again_and_what_was_cut_short_may_not(
    file: UserStorage, users: UserAccounts
) -> None:
    attempts = IdempotencyKeys(file)

    def refuse() -> StoredResponse:
        raise RequestError("no")

    def die() -> StoredResponse:
        raise KeyboardInterrupt

    with pytest.raises(RequestError, match="no"):
        attempts.run_or_replay("alice", "k", 1, refuse)
    with pytest.raises(KeyboardInterrupt):
        attempts.run_or_replay("alice", "k", 1, die)
    with pytest.raises(RequestError, match="was interrupted"):
        attempts.run_or_replay("alice", "k", 1, refuse)


def test_another_file_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "ledger.users.db"
    content = b"not a database at all, but long enough to be taken for one" * 20
    path.write_bytes(content)
    with pytest.raises(RequestError, match="was not written by discreet"):
        UserFile(str(path))
    assert path.read_bytes() == content
