"""Who may have a connection, and what it may still do once something has changed."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from discreet.http.app_context import MAX_PENDING_QUERIES
from discreet.pgwire import listener as wire
from tests.http.served import COUNT, Server, both_listeners
from tests.pgwire.raw_messages import (
    SYNC,
    Bytes,
    bind,
    execute,
    fields,
    kinds,
    packed,
    parse,
    query,
    startup,
    states,
)
from tests.pgwire.served import PASSWORD, Served, slowed, write_data


@pytest.mark.parametrize("change", ["removed", "another password"])
@pytest.mark.parametrize("next_", [query(COUNT), bind() + execute() + SYNC], ids=["simple", "extended"])
def test_who_was_removed_or_changed_is_out_at_once(web: Server, change: str, next_: bytes) -> None:
    with Bytes(web.postgres) as line:
        line.login(PASSWORD)
        line.send(parse(COUNT) + SYNC)
        assert kinds(line.until()) == "1Z"
        if change == "removed":
            web.users.remove("alice")
        else:
            web.users.change_password("alice", "another password")
        line.send(next_)
        told = line.until(b"E")
        assert fields(told[-1][1])["S"] == "FATAL"
        assert line.rest() == b""
    assert web.charges() == 0


def test_a_name_that_nobody_has_keeps_its_salt_over_restarts(tmp_path: Path) -> None:
    """Else who compares salts before and after a restart is told which names there are."""
    write_data(tmp_path, 300)
    told = []
    for _ in range(2):
        with both_listeners(tmp_path) as server:
            told.append([_salt(server.postgres, name) for name in ("alice", "nobody")])
    assert told[0] == told[1]


def _salt(port: int, user: str) -> str:
    first = b"n,,n=,r=nonce"
    with Bytes(port) as line:
        line.send(startup(user))
        line.message()
        line.send(packed(b"p", b"SCRAM-SHA-256\0" + struct.pack(">i", len(first)) + first))
        return line.message()[1][4:].decode().split(",")[1]


def test_strangers_who_say_nothing_keep_nobody_out(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_CONNECTIONS", 4)
    with ExitStack() as stack:
        silent = [stack.enter_context(Bytes(server.port)) for _ in range(12)]
        line = stack.enter_context(Bytes(server.port))
        assert kinds(line.login(PASSWORD))[-1] == "Z"
        assert all(each.rest() == b"" for each in silent[:8])


def test_one_user_does_not_take_every_connection(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_CONNECTIONS", 4)
    tried = [("alice", b"Z"), ("alice", b"Z"), ("alice", b"E"), ("bob", b"Z"), ("bob", b"Z"), ("bob", b"E")]
    with ExitStack() as stack:
        for user, last in tried:
            line = stack.enter_context(Bytes(server.port))
            assert kinds(line.login(PASSWORD, user, last=last))[-1] == last.decode()


def test_columns_that_were_told_are_those_that_come_or_nothing_is_charged(server: Served) -> None:
    with Bytes(server.port) as line:
        line.login(PASSWORD)
        line.send(query("BEGIN") + parse(COUNT) + bind() + SYNC + query("SET discreet.intervals = on"))
        for _ in range(3):
            line.until()
        line.send(execute() + SYNC)
        assert states(line.until()) == ["0A000"]
        assert server.charges() == 0
        line.send(query("ROLLBACK") + parse(COUNT) + bind() + execute() + SYNC)
        line.until()
        assert kinds(line.until()).endswith("DCZ")


@pytest.mark.parametrize("oid", [20, 701, 1700])
def test_numbers_that_no_question_can_hold_are_refused_as_parameters(fuzzed: Server, oid: int) -> None:
    before = fuzzed.charges()
    with Bytes(fuzzed.postgres) as line:
        line.login(PASSWORD)
        for value in ("1e999999999", "-1e999999999", "1e-999999999", "\u0661\u0662", "1_0", "NaN"):
            content = value.encode()
            bound = b"\0\0" + struct.pack(">HHi", 0, 1, len(content)) + content + struct.pack(">H", 0)
            line.send(parse(f"{COUNT} WHERE age > $1", "", oid) + packed(b"B", bound) + execute() + SYNC)
            assert states(line.until()) == ["22P02"], value
    assert fuzzed.charges() == before


def test_one_analyst_takes_no_more_places_by_pages_than_by_requests(web: Server) -> None:
    """Plans and dummies keep threads busy, too."""
    go = threading.Event()
    slowed(web.curators, "alice", go.wait)
    with web.client() as client, ThreadPoolExecutor(MAX_PENDING_QUERIES) as pool:
        try:
            for number in range(MAX_PENDING_QUERIES):
                pool.submit(_asks(web, number))
            while client.post("/api/plan", json={"sql": COUNT}).status_code != 429:
                pass
            form = {"csrf": client.headers["X-CSRF-Token"], "sql": COUNT, "amount": "0.01"}
            told = [
                client.post("/ask", data=form | {"do": do}).status_code for do in ("plan", "dummy", "ask")
            ]
        finally:
            go.set()
    assert told == [429, 429, 429]


def _asks(server: Server, number: int) -> Callable[[], None]:
    """Asks until there is a place: whoever looks whether all are taken takes one meanwhile."""

    def ask() -> None:
        body = {"sql": f"{COUNT} WHERE age > {number}", "epsilon": 0.001}
        with server.client() as client:
            while client.post("/api/ask", json=body).status_code == 429:
                pass

    return ask
