"""The time at which an answer leaves tells nothing: the one place where a test looks at a clock.

An engine that is slower stands for data that take longer. A two-sample test (Kolmogorov–Smirnov, false-alarm
rate 1e-9) finds no difference between two such servers, and finds it at once where answers do not wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import httpx
import psycopg
import pytest
from scipy.stats import ks_2samp

from discreet.accounting.entries import State
from discreet.app.serve.deadlines import Deadlines
from discreet.sql.plan import Plan
from tests.http.served import both_doors
from tests.wire.served import PASSWORD, Served, Slow, served, slowed, write_data

RUNS = 40
FALSE_ALARM = 1e-9
SLOWER = 0.08
T = TypeVar("T")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_data(tmp_path)
    return tmp_path


def _times(connection: psycopg.Connection) -> Iterator[float]:
    for run in range(RUNS):
        connection.execute(f"SET discreet.epsilon = {0.001 + run / 10**6}")
        began = time.monotonic()
        connection.execute("SELECT COUNT(*) FROM people")
        yield time.monotonic() - began


def _told_apart(server: Served) -> bool:
    slowed(server, SLOWER)
    users = [server.address, server.address.replace("alice", "bob")]
    with (
        psycopg.connect(users[0], autocommit=True) as slow,
        psycopg.connect(users[1], autocommit=True) as quick,
    ):
        pairs = list(zip(_times(slow), _times(quick), strict=True))
    found = ks_2samp([first for first, _ in pairs], [second for _, second in pairs])
    return bool(found.pvalue < FALSE_ALARM)


def test_answers_leave_at_a_time_that_does_not_depend_on_the_engine(folder: Path) -> None:
    with served(folder, slack=2) as server:
        assert not _told_apart(server)


def test_answers_that_do_not_wait_are_told_apart(folder: Path) -> None:
    with served(folder) as server:
        assert _told_apart(server)


def test_an_overrun_is_a_fault_that_keeps_the_charge_and_withholds_the_answer(folder: Path) -> None:
    with served(folder, slack=0.01) as server:
        slowed(server, SLOWER)
        with psycopg.connect(server.address, autocommit=True) as connection:
            for state in ("58000", "0A000"):
                with pytest.raises(psycopg.Error) as refusal:
                    connection.execute("SELECT COUNT(*) FROM people")
                assert refusal.value.sqlstate == state
        (entry,) = server.curators.ledger.entries("alice")
        assert entry.state is State.FAULTED


def _asked_over_http(client: httpx.Client) -> Iterator[float]:
    for run in range(RUNS):
        body = {"sql": "SELECT COUNT(*) FROM people", "epsilon": 0.001 + run / 10**6}
        began = time.monotonic()
        assert client.post("/api/ask", json=body).status_code == 200
        yield time.monotonic() - began


@pytest.mark.parametrize("padded", [True, False])
def test_over_http_the_same_holds(folder: Path, padded: bool) -> None:
    with both_doors(folder, slack=2 if padded else None) as server:
        alice = server.curators.of("alice")
        alice._engine = Slow(alice._engine, SLOWER)
        with server.client("alice") as slow, server.client("bob") as quick:
            pairs = list(zip(_asked_over_http(slow), _asked_over_http(quick), strict=True))
    found = ks_2samp([first for first, _ in pairs], [second for _, second in pairs])
    assert (found.pvalue < FALSE_ALARM) == (not padded)


class Lenient(Deadlines):
    """Deadlines by which answers wait, and which a slow machine may overrun."""

    def timely(self, plan: Plan, work: Callable[[], T]) -> T:
        return work()


@pytest.mark.parametrize("door", ["http", "postgresql"])
def test_a_question_that_another_has_asked_takes_as_long_as_any(folder: Path, door: str) -> None:
    """Alice's answer is stored. Were it, or that it is, given to Bob, Bob's would leave before its time."""
    sql = "SELECT COUNT(*) FROM people"
    with both_doors(folder) as server:
        server.curators.deadlines = Lenient(policy=server.curators.policy, slack=2)
        least = server.curators.deadlines.seconds(server.curators.of("bob").plan(sql).plan)
        with server.client("alice") as alice:
            told = alice.post("/api/ask", json={"sql": sql}).json()
        began = time.monotonic()
        if door == "http":
            with server.client("bob") as bob:
                planned = bob.post("/api/plan", json={"sql": sql}).json()
                answer = bob.post("/api/ask", json={"sql": sql}).json()
            assert (planned["repeated"], answer["repeated"], answer["entry"]) == (False, False, 1)
            assert told["entry"] == 1
        else:
            address = f"host=127.0.0.1 port={server.postgres} user=bob password='{PASSWORD}' dbname=discreet"
            said: list[str | None] = []
            with psycopg.connect(address, autocommit=True) as connection:
                plan = connection.execute(f"EXPLAIN {sql}".encode()).fetchall()
                connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
                connection.execute(sql)
            assert plan[0] == ("cost: epsilon 0.1 of 1.65",)
            assert said[0] == "cost: epsilon 0.1 (entry 1)"
        assert time.monotonic() - began >= least
        assert server.charges("bob") == 1


def test_a_stored_answer_does_not_wait(folder: Path) -> None:
    with served(folder, slack=40) as server, psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("SELECT COUNT(*) FROM people")
        began = time.monotonic()
        connection.execute("SELECT COUNT(*) FROM people")
        assert time.monotonic() - began < 10
