"""Several servers, one promise: a ledger in PostgreSQL that all of them charge."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.engines.servers import PostgresServer
from tests.http.served import COUNT, Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import CANARY, slowed, write_data

pytestmark = pytest.mark.xdist_group("postgres")


def servers(stack: ExitStack, folder: Path, ledger: str) -> list[Server]:
    """Two, each with its own copy of the data."""
    found = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        write_data(folder / name)
        found.append(stack.enter_context(both_listeners(folder / name, ledger=ledger)))
    return found


def test_a_login_and_a_request_at_one_server_hold_at_the_other(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        running = servers(stack, tmp_path, postgres.schema())
        client, (one, two) = stack.enter_context(running[0].client()), [each.url for each in running]
        request = {"share": 0.1, "reason": "more groups"}
        made = client.post(f"{two}/api/budget-requests", json=request)
        assert made.status_code == 201
        assert client.get(f"{one}/api/budget-requests").json()["budget_requests"] == [made.json()]
        client.post(f"{two}/api/logout")
        assert client.get(f"{one}/api/session").status_code == 401


def test_servers_that_share_a_ledger_share_its_answers_and_its_cap(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    ledger = postgres.schema()
    with ExitStack() as stack:
        running = servers(stack, tmp_path, ledger)
        clients = [[stack.enter_context(each.client(name)) for name in ("alice", "bob")] for each in running]
        told = [alice.post("/api/ask", json={"sql": COUNT, "epsilon": 0.05}).json() for alice, _ in clients]
        assert [each["repeated"] for each in told] == [False, True]
        assert told[0]["rows"] == told[1]["rows"]
        codes: list[int] = []

        def ask(server: int, who: int) -> None:
            for age in range(10):
                sql = f"SELECT COUNT(*) FROM people WHERE age > {20 + 10 * server + age}"
                body = {"sql": sql, "epsilon": 0.05}
                codes.append(clients[server][who].post("/api/ask", json=body).status_code)

        threads = [threading.Thread(target=ask, args=(server, who)) for server in (0, 1) for who in (0, 1)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        with running[0].client("carl") as custodian:
            assert "@" not in custodian.get("/api/policy").json()["ledger"]
        book = running[0].curators.ledger
        book.verify()
        assert set(codes) == {200, 402}
        assert [len(book.list_entries(name)) for name in ("alice", "bob")] == [16, 16]
        assert book.compute_belief().highest <= 0.05
    with psycopg.connect(ledger) as connection:
        held = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in ("entry", "account")]
    assert CANARY not in repr(held)


def test_the_same_question_at_two_servers_at_once_is_one_value_and_one_charge(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    begun, go, asked_twice = threading.Event(), threading.Event(), threading.Event()

    def held() -> None:
        begun.set()
        assert go.wait(PATIENCE)

    with ExitStack() as stack:
        running = servers(stack, tmp_path, postgres.schema())
        clients = [stack.enter_context(each.client()) for each in running]
        slowed(running[0].curators, "alice", held)
        slowed(running[1].curators, "alice", asked_twice.set)
        pool = stack.enter_context(ThreadPoolExecutor(2))
        body = {"sql": COUNT, "epsilon": 0.05}
        first = pool.submit(clients[0].post, "/api/ask", json=body)
        assert begun.wait(PATIENCE)
        second = pool.submit(clients[1].post, "/api/ask", json=body)
        wait([second], timeout=1)  # long enough for a second charge, were there one
        go.set()
        told = [each.result().json() for each in (first, second)]
        assert told[0]["rows"] == told[1]["rows"]
        assert [each["repeated"] for each in told] == [False, True]
        assert not asked_twice.is_set()
        assert running[0].charges() == 1


def test_a_request_that_is_sent_again_to_another_server_is_answered_with_the_same_bytes(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    begun, go = threading.Event(), threading.Event()

    def held() -> None:
        begun.set()
        assert go.wait(PATIENCE)

    with ExitStack() as stack:
        running = servers(stack, tmp_path, postgres.schema())
        clients = [stack.enter_context(each.client()) for each in running]
        slowed(running[0].curators, "alice", held)
        pool = stack.enter_context(ThreadPoolExecutor(2))
        key = {"Idempotency-Key": "7f3a"}
        sent: dict[str, Any] = {"json": {"sql": COUNT, "epsilon": 0.05}, "headers": key}
        first = pool.submit(clients[0].post, "/api/ask", **sent)
        assert begun.wait(PATIENCE)
        second = pool.submit(clients[1].post, "/api/ask", **sent)
        wait([second], timeout=1)  # long enough for another answer, were there one
        go.set()
        told = [first.result(), second.result(), clients[1].post("/api/ask", **sent)]
        assert {each.status_code for each in told} == {200}
        assert len({each.content for each in told}) == 1
        assert running[1].charges() == 1
        other = clients[1].post("/api/ask", json={"sql": COUNT}, headers=key)
        assert (other.status_code, "another request" in other.text) == (400, True)


@pytest.mark.night
def test_a_login_and_a_request_at_one_process_hold_at_another(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    ledger = postgres.schema()
    with ExitStack() as stack:
        told = [stack.enter_context(_process(tmp_path / name, ledger)) for name in ("one", "two")]
        assert [list(each["passwords"]) for each in told] == [["custodian", "alice", "bob"], []]
        urls = [f"http://127.0.0.1:{each['http']['port']}" for each in told]
        client = stack.enter_context(httpx.Client(trust_env=False, timeout=PATIENCE))
        login = {"name": "alice", "password": told[0]["passwords"]["alice"]}
        entered = client.post(f"{urls[0]}/api/login", json=login).json()
        client.headers["X-CSRF-Token"] = entered["csrf"]
        request = {"share": 0.1, "reason": "more groups"}
        assert client.post(f"{urls[1]}/api/budget-requests", json=request).status_code == 201
        assert len(client.get(f"{urls[0]}/api/budget-requests").json()["budget_requests"]) == 1
        client.post(f"{urls[1]}/api/logout")
        assert client.get(f"{urls[0]}/api/session").status_code == 401


@contextmanager
def _process(folder: Path, ledger: str) -> Iterator[dict[str, Any]]:
    """`discreet serve` with a shared ledger, and what it tells when it starts."""
    folder.mkdir()
    write_data(folder)
    places = ["--policy", str(folder / "privacy.yaml"), "--ledger", ledger, "--http", "0", "--postgres", "0"]
    command = [sys.executable, "-m", "discreet", "serve", *places, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE) == 0
