"""A crowd of clients at once, over both listeners: the ledger holds, and nobody meets anything but a refusal.

By night it is 64 clients, by day 24.

Where answers leave at their time, who cannot begin in time is told when to ask again, for nothing; nobody
overruns, and nobody is suspended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import psycopg
import pytest

from discreet.services.serving.admission import Admission
from tests.http.served import Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import PASSWORD, write_data

QUESTIONS = 70
EPSILON = 0.05
SLACK = 32.0
"""Clients share the server's process here, and a busy machine with others: 8 s, in which nobody overruns."""
NIGHT = pytest.mark.night


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=[NIGHT, pytest.mark.xdist_group("postgres")])]
)
def crowded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    write_data(tmp_path)
    ledger = None if request.param == "sqlite" else request.getfixturevalue("postgres").schema()
    with both_listeners(tmp_path, ledger=ledger) as running:
        yield running


Ask = Callable[[str], str]


def over_http(server: Server, user: str, stack: ExitStack) -> Ask:
    client = stack.enter_context(server.client(user))
    return lambda sql: str(client.post("/api/ask", json={"sql": sql, "epsilon": EPSILON}).status_code)


def over_the_wire(server: Server, user: str, stack: ExitStack) -> Ask:
    address = f"host=127.0.0.1 port={server.postgres} user={user} password='{PASSWORD}' dbname=discreet"
    connection = stack.enter_context(psycopg.connect(address, autocommit=True))
    connection.execute(f"SET discreet.epsilon = {EPSILON}")

    def ask(sql: str) -> str:
        try:
            connection.execute(sql.encode())
        except psycopg.Error as error:
            return str(error.sqlstate)
        return "200"

    return ask


def _crowd(server: Server, seconds: float, clients: int) -> set[str]:
    """What everybody is told who asks at once, and goes on asking for so long."""
    told: set[str] = set()
    there, stop = threading.Barrier(clients), threading.Event()

    def ask_on(number: int) -> None:
        """At least once each, however slow the machine; then until the time is up."""
        user, listener = ("alice", "bob")[number % 2], (over_http, over_the_wire)[number // 2 % 2]
        try:
            with ExitStack() as stack:
                ask = listener(server, user, stack)
                there.wait(PATIENCE)
                for asked in count(number):
                    told.add(ask(f"SELECT COUNT(*) FROM people WHERE age > {18 + asked % QUESTIONS}"))
                    if stop.is_set():
                        return
        except Exception as error:
            told.add(type(error).__name__)

    threads = [threading.Thread(target=ask_on, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    return told


@pytest.mark.parametrize(("seconds", "clients"), [(3, 24), pytest.param(60, 64, marks=NIGHT)])
def test_a_crowd_meets_nothing_but_refusals_and_spends_no_more_than_the_promise(
    crowded: Server, seconds: int, clients: int
) -> None:
    told = _crowd(crowded, seconds, clients)
    book = crowded.curators.ledger
    book.verify()
    assert "200" in told
    assert told <= {"200", "402", "429", "53400"}
    assert book.compute_belief().highest <= 0.05
    for analyst in ("alice", "bob"):
        entries = book.list_entries(analyst)
        assert len(entries) == len({each.question_key for each in entries}) <= 16
        assert {each.state.value for each in entries} == {"settled"}
        assert [each.number for each in entries] == list(range(1, len(entries) + 1))


@pytest.mark.parametrize(("seconds", "clients"), [(1, 24), pytest.param(120, 64, marks=NIGHT)])
def test_a_crowd_is_answered_at_its_time_or_told_to_come_later_and_nobody_is_suspended(
    tmp_path: Path, seconds: int, clients: int
) -> None:
    write_data(tmp_path)
    with both_listeners(tmp_path, slack=SLACK, admission=Admission(slots=2, longest_wait=1)) as server:
        told = _crowd(server, seconds, clients)
        book = server.curators.ledger
        assert {"200", "429", "53300"} <= told <= {"200", "402", "429", "53300", "53400"}
        for analyst in ("alice", "bob"):
            assert book.get_account(analyst).incident is None
            assert {each.state.value for each in book.list_entries(analyst)} == {"settled"}


def test_who_is_told_to_come_later_learns_when_and_is_not_charged(tmp_path: Path) -> None:
    write_data(tmp_path)
    admission = Admission(slots=1, longest_wait=1)
    admission.book("somebody", 1_000)
    with both_listeners(tmp_path, slack=1, admission=admission) as server, server.client("alice") as client:
        refusal = client.post("/api/ask", json={"sql": "SELECT COUNT(*) FROM people", "epsilon": EPSILON})
        assert refusal.status_code == 429
        assert 900 < int(refusal.headers["Retry-After"]) <= 1_000
        assert refusal.json()["code"] == "busy"
        address = f"host=127.0.0.1 port={server.postgres} user=alice password='{PASSWORD}' dbname=discreet"
        with (
            psycopg.connect(address, autocommit=True) as connection,
            pytest.raises(psycopg.errors.TooManyConnections) as told,
        ):
            connection.execute("SELECT COUNT(*) FROM people")
        assert "Ask again in" in str(told.value.diag.message_hint)
        assert server.charges("alice") == 0
