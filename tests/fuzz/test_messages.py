"""Messages that no client sends, over HTTP and PostgreSQL's protocol: a refusal, and the server goes on."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from discreet.core.engine_faults import CUSTODIAN_LOG
from tests.fuzz.mutations import Mutations
from tests.http.served import COUNT, Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire import raw_messages
from tests.pgwire.served import PASSWORD, write_data

BY_DAY, BY_NIGHT = 40, 1_200
BODIES: dict[str, object] = {
    "/api/plan": {"sql": COUNT, "epsilon": 0.1, "least_rows": 10, "confidence": 0.9, "raw": True},
    "/api/ask": {"sql": COUNT, "epsilon": 0.001},
    "/api/dummy": {"sql": COUNT, "epsilon": 0.1},
    "/api/login": {"user": "alice", "password": "wrong"},
    "/api/jobs": {"kind": "anonymize", "table": "people", "k": 2, "columns": ["age"]},
    "/api/tokens": {"name": "mine"},
    "/api/budget-requests": {"share": 0.5, "reason": "more"},
}
SQL = (COUNT, "SELECT sex, AVG(age) AS a FROM people GROUP BY sex", "SHOW ALL", "BEGIN", "SELECT version()")


class Incidents(logging.Handler):
    """What went into the custodian's log: every error that nobody foresaw."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


@pytest.fixture(scope="module")
def incidents() -> Iterator[Incidents]:
    handler = Incidents()
    CUSTODIAN_LOG.addHandler(handler)
    yield handler
    CUSTODIAN_LOG.removeHandler(handler)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("messages")
    write_data(folder, 300)
    with both_listeners(folder) as running:
        yield running


def check_request(client: httpx.Client, draw: Mutations, incidents: Incidents) -> None:
    """Send one mutated body, as JSON or as bytes."""
    path = draw.one(list(BODIES))
    body = json.dumps(draw.mutate_tree(BODIES[path])).encode()
    request = client.build_request("POST", path, content=body, headers={"content-type": "application/json"})
    if draw.below(3) == 0:
        kind = draw.one(["application/json", "text/plain", "application/json; charset=utf-16", ""])
        content = draw.mutate_bytes(request.content)
        request = client.build_request("POST", path, content=content, headers={"content-type": kind})
    elif draw.below(4) == 0:
        name = draw.odd_text().encode(errors="replace")[:200].hex()
        request = client.build_request("POST", path, params={"format": name}, json=BODIES[path])
    told = client.send(request)
    assert told.status_code < 500, (draw.seed, path, request.content[:300], told.text)
    assert incidents.found == [], (draw.seed, path, request.content[:300])


def check_messages(served: Server, draw: Mutations, incidents: Incidents) -> None:
    """Log in or not, send messages of which some are mutated, and read until the server has enough."""
    sql = draw.one(SQL)
    sent = [
        raw_messages.query(sql),
        raw_messages.parse(sql, draw.one(["", "s"]), *draw.one([(), (23,), (0, 0), (4294967295,)])),
        raw_messages.bind("", draw.one(["", "s"]), draw.one([(), (0,), (1, 1), (7,)])),
        raw_messages.describe(draw.one(["S", "P", "X"]), draw.one(["", "s"])),
        raw_messages.execute("", draw.one([0, 1, -1, 2**31 - 1])),
        raw_messages.SYNC,
        raw_messages.FLUSH,
    ]
    first = raw_messages.startup("alice", draw.one([raw_messages.VERSION, 2 << 16, 80877103, 80877102, 0]))
    with suppress(OSError, EOFError):
        line = socket.create_connection(("127.0.0.1", served.postgres), timeout=PATIENCE)
        with line:
            line.sendall(draw.mutate_bytes(first) if draw.below(2) else first)
            for message in sent[: 1 + draw.below(len(sent))]:
                line.sendall(draw.mutate_bytes(message) if draw.below(2) else message)
            line.shutdown(socket.SHUT_WR)
            while line.recv(65536):
                pass
    assert incidents.found == [], (draw.seed, incidents.found)


def check_session(served: Server, draw: Mutations, incidents: Incidents) -> None:
    """The same of somebody who is logged in."""
    with suppress(OSError, EOFError):
        line = raw_messages.Bytes(served.postgres)
        with line.line:
            line.login(PASSWORD)
            for _ in range(1 + draw.below(5)):
                sql = draw.one(SQL)
                message = draw.one(
                    [raw_messages.query(sql), raw_messages.parse(sql), raw_messages.bind(), raw_messages.SYNC]
                )
                line.send(draw.mutate_bytes(message) if draw.below(3) else message)
            line.line.shutdown(socket.SHUT_WR)
            while line.line.recv(65536):
                pass
    assert incidents.found == [], (draw.seed, incidents.found)


def check_many(served: Server, incidents: Incidents, seeds: range) -> None:
    with served.client("alice") as alice, served.client("carl") as carl:
        for seed in seeds:
            draw = Mutations(seed)
            way = seed % 4
            if way < 2:
                check_request(alice if way else carl, draw, incidents)
            else:
                (check_messages if way == 2 else check_session)(served, draw, incidents)
        assert alice.post("/api/plan", json={"sql": COUNT}).status_code == 200


def test_a_sample_of_mutated_messages(served: Server, incidents: Incidents) -> None:
    check_many(served, incidents, range(BY_DAY))


@pytest.mark.night
def test_many_mutated_messages(served: Server, incidents: Incidents) -> None:
    check_many(served, incidents, range(BY_DAY, BY_DAY + BY_NIGHT))
