"""Who may enter: what is kept, what is told once, what ends when somebody is removed."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.app.policies import load
from discreet.app.users import Role, UserBook, UserFile, UserStorage, users_of
from discreet.app.users.attempts import Attempts, Reply
from discreet.app.users.scram_verifier import ITERATIONS, Verifier
from discreet.app.users.sessions import SECONDS, Sessions
from discreet.app.users.throttle import Throttle
from discreet.app.users.tokens import Tokens
from discreet.app.users.wishes import Wishes, shares_of
from discreet.core.errors import RequestError
from discreet.core.policy import Policy

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
    return load(tmp_path / "privacy.yaml", ledger=shared)


@pytest.fixture
def file(policy: Policy) -> Iterator[UserStorage]:
    with users_of(policy.ledger) as opened:
        yield opened


@pytest.fixture
def users(file: UserStorage) -> UserBook:
    book = UserBook(file)
    book.add("alice", Role.ANALYST, "alice", PASSWORD)
    return book


def test_the_file_is_its_owners_and_holds_no_password_and_no_token(tmp_path: Path) -> None:
    path = tmp_path / "ledger.users.db"
    with UserFile(str(path)) as file:
        users = UserBook(file)
        users.add("alice", Role.ANALYST, "alice", PASSWORD)
        drawn = users.add("bob", Role.ANALYST, "bob")
        _, token = Tokens(file).issue("bob", "notebook")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    assert not any(each.encode() in content for each in (PASSWORD, drawn, token))
    assert b"$argon2id$" in content
    assert b"SCRAM-SHA-256$" in content


def test_only_the_right_password_admits(users: UserBook) -> None:
    admitted = users.admitted("alice", PASSWORD)
    assert admitted is not None
    assert (admitted.name, admitted.role, admitted.analyst) == ("alice", Role.ANALYST, "alice")
    for name, password in (("alice", PASSWORD + " "), ("alice", ""), ("nobody", PASSWORD), ("", "")):
        assert users.admitted(name, password) is None


def test_the_first_start_makes_a_custodian_whose_password_opens_one_thing(
    file: UserStorage, policy: Policy
) -> None:
    book = UserBook(file)
    told = book.begin(policy)
    assert list(told) == ["custodian", "alice", "bob"]
    custodian = book.admitted("custodian", told["custodian"])
    assert custodian is not None
    assert custodian.once
    book.change("custodian", PASSWORD)
    assert book.admitted("custodian", told["custodian"]) is None
    changed = book.admitted("custodian", PASSWORD)
    assert changed is not None
    assert not changed.once
    assert book.begin(policy) == {}


@pytest.mark.parametrize("name", ["", "a b", "'; DROP TABLE user", "-x", "a" * 64, "x\0"])
def test_odd_names_are_refused(users: UserBook, name: str) -> None:
    with pytest.raises(RequestError, match="a name is letters"):
        users.add(name, Role.ANALYST, "alice")


def test_short_passwords_and_second_users_of_a_name_are_refused(users: UserBook) -> None:
    with pytest.raises(RequestError, match="10 to 200 characters"):
        users.add("bob", Role.ANALYST, "bob", "short")
    with pytest.raises(RequestError, match="already exists"):
        users.add("alice", Role.ANALYST, "alice", PASSWORD)


def test_a_session_is_recognized_until_it_ends(file: UserStorage, users: UserBook) -> None:
    sessions, alice = Sessions(file), users.admitted("alice", PASSWORD)
    assert alice is not None
    session, text = sessions.open(alice)
    assert sessions.recognized(text) == session
    assert sessions.proves(session, sessions.proof(session))
    assert not sessions.proves(session, "0" * 64)
    for forged in (text[:-1], "A" + text[1:], text.partition(".")[0] + ".", "", "é.é", "." * 5_000):
        assert sessions.recognized(forged) is None
    sessions.end(session)
    assert sessions.recognized(text) is None


def test_sessions_end_with_the_password_and_with_the_user(file: UserStorage, users: UserBook) -> None:
    sessions, alice = Sessions(file), users.find("alice")
    assert alice is not None
    _, text = sessions.open(alice)
    users.change("alice", "another password")
    assert sessions.recognized(text) is None
    changed = users.find("alice")
    assert changed is not None
    _, text = sessions.open(changed)
    users.remove("alice")
    assert sessions.recognized(text) is None


def test_sessions_end_by_themselves(
    file: UserStorage, users: UserBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions, alice = Sessions(file), users.find("alice")
    assert alice is not None
    session, text = sessions.open(alice)
    monkeypatch.setattr("time.time", lambda: session.expires + SECONDS)
    assert sessions.recognized(text) is None


def test_sessions_of_another_file_are_not_recognized(file: UserStorage, users: UserBook) -> None:
    with UserFile(":memory:") as other:
        UserBook(other).add("alice", Role.ANALYST, "alice", PASSWORD)
        alice = UserBook(other).find("alice")
        assert alice is not None
        assert Sessions(file).recognized(Sessions(other).open(alice)[1]) is None


def test_tokens_go_with_their_user(file: UserStorage, users: UserBook) -> None:
    tokens = Tokens(file)
    made, text = tokens.issue("alice", "notebook")
    assert tokens.owner(text) == "alice"
    assert tokens.of("alice") == [made]
    with pytest.raises(RequestError):
        tokens.revoke("bob", made.id)
    users.remove("alice")
    assert tokens.owner(text) is None


def test_tokens_end_with_a_password_change(file: UserStorage, users: UserBook) -> None:
    tokens = Tokens(file)
    before = users.find("alice")
    assert before is not None
    users.add("carol", Role.AUDITOR, None, PASSWORD)
    _, text = tokens.issue("alice", "notebook", stamp=before.stamp)
    _, others = tokens.issue("carol", "notebook")
    users.change("alice", "another good password")
    assert tokens.owner(text) is None
    assert tokens.of("alice") == []
    assert tokens.owner(others) == "carol"
    with pytest.raises(RequestError, match="removed or changed"):
        tokens.issue("alice", "notebook", stamp=before.stamp)
    with pytest.raises(RequestError, match="removed or changed"):
        tokens.issue("nobody", "notebook")


def test_a_token_that_has_expired_is_not_known(file: UserStorage, users: UserBook) -> None:
    moment = [datetime(2026, 1, 1, tzinfo=UTC)]
    tokens = Tokens(file, clock=lambda: moment[0])
    made, text = tokens.issue("alice", "notebook", days=2)
    assert made.expires == "2026-01-03T00:00:00+00:00"
    assert tokens.issue("alice", "other")[0].expires == "2026-04-01T00:00:00+00:00"
    moment[0] += timedelta(days=2, seconds=-1)
    assert tokens.owner(text) == "alice"
    moment[0] += timedelta(seconds=1)
    assert tokens.owner(text) is None
    assert made in tokens.of("alice")
    tokens.issue("alice", "a third")
    assert made not in tokens.of("alice")
    for days in (0, -1, 367):
        with pytest.raises(RequestError, match="1 to 366 days"):
            tokens.issue("alice", "notebook", days=days)


def test_tokens_of_a_store_without_expiry_last_ninety_days_more(policy: Policy) -> None:
    with users_of(policy.ledger) as file:
        UserBook(file).add("alice", Role.ANALYST, "alice", PASSWORD)
        _, text = Tokens(file).issue("alice", "notebook", days=1)
        with file.writing() as rows:
            rows.execute("ALTER TABLE token DROP COLUMN expires")
            in_file = isinstance(file, UserFile)
            rows.execute("PRAGMA user_version = 3" if in_file else "UPDATE secret SET format = 3")
    now = datetime.now(UTC)
    for _ in range(2):
        with users_of(policy.ledger) as file:
            assert Tokens(file).owner(text) == "alice"
            assert Tokens(file, clock=lambda: now + timedelta(days=89)).owner(text) == "alice"
            assert Tokens(file, clock=lambda: now + timedelta(days=91)).owner(text) is None


def test_a_verifier_of_few_iterations_is_written_anew_at_the_next_login(
    file: UserStorage, users: UserBook
) -> None:
    old = {"name": "alice", "verifier": str(Verifier.of(PASSWORD, iterations=4096))}
    with file.writing() as rows:
        rows.execute('UPDATE "user" SET verifier = :verifier WHERE name = :name', old)
    users.add("carol", Role.AUDITOR, None, PASSWORD)
    assert sorted(users.iterations()) == [4096, ITERATIONS]
    shown = {Verifier.nobody(f"n{i}", users.secret, users.iterations()).iterations for i in range(64)}
    assert shown == {4096, ITERATIONS}
    before = users.find("alice")
    assert before is not None
    assert users.admitted("alice", "a wrong password") is None
    assert 4096 in users.iterations()
    assert users.admitted("alice", PASSWORD) == before
    after = users.find("alice")
    assert after is not None
    assert (after.stamp, after.once) == (before.stamp, before.once)
    assert set(users.iterations()) == {ITERATIONS}


def test_iterations_are_as_many_as_drivers_accept() -> None:
    assert Verifier.of(PASSWORD).iterations == Verifier.nobody("x", b"secret").iterations == 100_000


def test_logins_that_fail_are_waited_for_longer_and_longer() -> None:
    seconds = [0.0]
    throttle, waits = Throttle(clock=lambda: seconds[0]), []
    for _ in range(9):
        waits.append(throttle.wait("alice", "here"))
        throttle.failed("alice", "here")
    assert waits == [0, 0, 0, 0, 0, 15, 30, 60, 120]
    assert throttle.wait("alice", "elsewhere") == 0
    assert throttle.wait("bob", "here") == 0
    seconds[0] += 240
    assert throttle.wait("alice", "here") == 0
    throttle.succeeded("alice", "here")
    throttle.failed("alice", "here")
    assert throttle.wait("alice", "here") == 0


def test_many_names_from_one_place_are_throttled_together() -> None:
    throttle = Throttle(clock=lambda: 0.0)
    for number in range(60):
        throttle.failed(f"user{number}", "here")
    assert throttle.wait("somebody", "here") > 0
    assert throttle.wait("somebody", "elsewhere") == 0


@pytest.mark.parametrize("tried", ["failing", "trying"])
def test_an_ipv6_site_is_one_place_and_a_mapped_address_is_that_of_ipv4(tried: str) -> None:
    throttle = Throttle(clock=lambda: 0.0)
    with ExitStack() as stack:
        for number in range(5):
            for place in (f"2001:db8:0:1::{number:x}", f"2001:db8:0:1:{number:x}:{number:x}:0:9%eth0"):
                if tried == "failing":
                    throttle.failed("alice", place)
                else:
                    stack.enter_context(throttle.trying("alice", place))
        assert throttle.wait("alice", "2001:db8:0:1:ffff:ffff:ffff:ffff") > 0
        assert throttle.wait("alice", "2001:db8:0:2::1") == 0
    for _ in range(3):
        throttle.failed("bob", "192.0.2.7")
        throttle.failed("bob", "::ffff:192.0.2.7")
    assert throttle.wait("bob", "::ffff:c000:207") > 0
    assert throttle.wait("bob", "::ffff:192.0.2.8") == 0


def test_granted_wishes_move_shares_and_never_make_more(file: UserStorage, policy: Policy) -> None:
    divided: list[dict[str, Fraction]] = []
    wishes = Wishes(file)
    for share, analyst in ((Fraction(1, 10), "alice"), (Fraction(1, 4), "alice"), (Fraction(1, 4), "bob")):
        wishes.make(analyst, share, "more groups")
    wishes.grant(1, policy, divided.append)
    assert shares_of(policy) == divided[-1] == {"alice": Fraction(6, 10), "bob": Fraction(3, 10)}
    with pytest.raises(RequestError, match="add up to 115%"):
        wishes.grant(2, policy, divided.append)
    wishes.grant(2, policy, divided.append, taken_from="bob")
    assert shares_of(policy) == {"alice": Fraction(17, 20), "bob": Fraction(1, 20)}
    wishes.deny(3, "later")
    for number in (1, 3, 4):
        with pytest.raises(RequestError, match=r"already decided|does not exist"):
            wishes.deny(number, "again")
    assert [each.state for each in wishes.all("bob")] == ["denied"]
    assert len(divided) == 2


def test_a_grant_that_the_ledger_refuses_is_not_kept(file: UserStorage, policy: Policy) -> None:
    def refuse(_: object) -> None:
        raise RequestError("no room")

    wishes = Wishes(file)
    wishes.make("alice", Fraction(1, 10), "")
    with pytest.raises(RequestError, match="no room"):
        wishes.grant(1, policy, refuse)
    assert wishes.all()[0].state == "open"
    assert shares_of(policy)["alice"] == Fraction(1, 2)


def test_what_was_done_under_a_key_is_not_done_again(file: UserStorage, users: UserBook) -> None:
    attempts, done = Attempts(file), []

    def work() -> Reply:
        done.append(1)
        return Reply(status=200, kind="text/plain", headers={"x": "y"}, body=b"%d" % len(done))

    first = attempts.once("alice", "k", {"sql": "a"}, work)
    assert Attempts(file).once("alice", "k", {"sql": "a"}, work) == first
    assert len(done) == 1
    with pytest.raises(RequestError, match="another request"):
        attempts.once("alice", "k", {"sql": "b"}, work)
    assert attempts.once("alice", None, {"sql": "a"}, work).body == b"2"


def test_what_was_refused_may_be_tried_again_and_what_was_cut_short_may_not(
    file: UserStorage, users: UserBook
) -> None:
    attempts = Attempts(file)

    def refuse() -> Reply:
        raise RequestError("no")

    def die() -> Reply:
        raise KeyboardInterrupt

    with pytest.raises(RequestError, match="no"):
        attempts.once("alice", "k", 1, refuse)
    with pytest.raises(KeyboardInterrupt):
        attempts.once("alice", "k", 1, die)
    with pytest.raises(RequestError, match="was interrupted"):
        attempts.once("alice", "k", 1, refuse)


def test_another_file_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "ledger.users.db"
    content = b"not a database at all, but long enough to be taken for one" * 20
    path.write_bytes(content)
    with pytest.raises(RequestError, match="was not written by discreet"):
        UserFile(str(path))
    assert path.read_bytes() == content
