"""What is tried beside questions: other roles' routes, forged requests, floods, names that lead elsewhere."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from discreet.http.authentication import SESSION_COOKIE
from discreet.http.csrf import CSRF_HEADER
from discreet.services.users import UserFile
from discreet.services.users.idempotency_keys import MAX_KEYS_PER_USER, IdempotencyKeys, StoredResponse
from discreet.services.users.login_throttle import FREE_FAILURES, LoginThrottle
from tests.http.served import COUNT, Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import CANARY, write_data

OPEN = {("post", "/api/login")}
"""What needs no session."""
ODD = ("%ff", "%00", "..%2f..%2fetc%2fpasswd", "9" * 30, "-1", "'--")
SYNTHESIS = {"kind": "synthesize", "table": "people", "analyst": "alice"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("hostile")
    write_data(folder, 300)
    with both_listeners(folder) as running:
        yield running


def operations(server: Server) -> list[tuple[str, str]]:
    with server.client(None) as client:
        described: dict[str, Any] = client.get("/api/openapi.json").json()
    return [(method, path) for path, methods in described["paths"].items() for method in methods]


def test_no_route_is_open_to_a_stranger_and_none_changes_anything_without_its_proof(served: Server) -> None:
    with served.client(None) as stranger, served.client("carl") as carl:
        cookie = {"cookie": f"{SESSION_COOKIE}={carl.cookies[SESSION_COOKIE]}"}
        for method, path in operations(served):
            if (method, path) in OPEN:
                continue
            place = re.sub(r"{\w+}", "1", path)
            assert stranger.request(method, place, json={}).status_code == 401, path
            if method != "get":
                for proof in (
                    {},
                    {CSRF_HEADER: "0" * 64},
                    {CSRF_HEADER.lower(): carl.headers[CSRF_HEADER][:-1]},
                ):
                    told = stranger.request(method, place, json={}, headers=cookie | proof)
                    assert (told.status_code, told.json()["code"]) == (403, "forbidden"), path


def test_names_that_lead_elsewhere_lead_nowhere(served: Server) -> None:
    paths = [(method, path) for method, path in operations(served) if "{" in path]
    assert len(paths) >= 9
    for user in ("alice", "carl"):
        with served.client(user) as client:
            for method, path in paths:
                for name in ODD:
                    told = client.request(method, re.sub(r"{\w+}", name, path), json={})
                    assert 400 <= told.status_code < 500, (path, name, told.text)
                    assert set(told.json()) == {"error", "code", "hint"}
                    assert CANARY not in told.text
            for path in ("/static/..%2frendering.py", "/static/%2e%2e/%2e%2e/privacy.yaml", "//etc/passwd"):
                assert client.get(path).status_code == 404


def test_headers_that_proxies_believe_change_nobodys_role(served: Server) -> None:
    forged = {
        "X-Forwarded-User": "carl",
        "X-Remote-User": "carl",
        "X-Original-URL": "/api/jobs",
        "X-HTTP-Method-Override": "DELETE",
        "X-Forwarded-For": "127.0.0.1",
        "Forwarded": "for=127.0.0.1",
    }
    with served.client("alice") as alice:
        assert alice.get("/api/session", headers=forged).json()["user"] == "alice"
        for method, path in (("GET", "/api/jobs"), ("POST", "/api/jobs"), ("GET", "/api/metrics")):
            told = alice.request(method, path, json=SYNTHESIS if method == "POST" else None, headers=forged)
            assert told.status_code == 403
    assert served.charges() == 0


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        b"Transfer-Encoding: xchunked",
        b"Content-Length: +5",
        b"X: a\r\n folded: b",
    ],
)
def test_a_request_within_a_request_is_not_answered(served: Server, head: bytes) -> None:
    """Where a body ends is not left to be guessed: the connection is closed after the refusal."""
    hidden = b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sent = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n0\r\n\r\n" + hidden
    port = int(served.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(sent)
        said = b""
        while part := line.recv(65_536):
            said += part
    assert said.startswith(b"HTTP/1.1 4")
    assert b'"openapi"' not in said


def test_another_version_of_the_protocol_is_refused(served: Server) -> None:
    port = int(served.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(b"GET /api/openapi.json HTTP/9.9\r\nHost: localhost\r\n\r\n")
        said = b""
        while part := line.recv(65_536):
            said += part
    assert said.startswith(b"HTTP/1.1 4")
    assert b'"openapi"' not in said


def test_guesses_that_are_made_at_once_are_no_more_than_those_one_by_one() -> None:
    throttle = LoginThrottle(clock=lambda: 0.0)
    together, tried = threading.Barrier(3 * FREE_FAILURES), []

    def guess() -> None:
        together.wait()
        with throttle.track_login("alice", "here") as seconds:
            together.wait()  # all of them are within before one has failed
            if seconds == 0:
                tried.append(1)
                throttle.record_failure("alice", "here")

    threads = [threading.Thread(target=guess) for _ in range(3 * FREE_FAILURES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tried) == FREE_FAILURES
    assert throttle.get_wait_seconds("alice", "here") > 1
    assert throttle.get_wait_seconds("bob", "here") == 0


def test_keys_without_end_fill_no_disk_and_the_last_ones_hold(served: Server) -> None:
    with UserFile(str(served.folder / "ledger.users.db")) as file:
        attempts, done = IdempotencyKeys(file), []

        def reply(number: int) -> StoredResponse:
            done.append(number)
            return StoredResponse(status=200, media_type="text/plain", body=str(number).encode())

        def asked(number: int) -> bytes:
            return attempts.run_or_replay("bob", f"key {number}", "request", lambda: reply(number)).body

        with file.write_transaction() as rows:
            rows.executemany(
                "INSERT INTO attempt (user, key, digest, status, kind, headers, body)"
                " VALUES ('bob', ?, x'00', 200, 'text/plain', '{}', x'00')",
                [(f"old {number}",) for number in range(MAX_KEYS_PER_USER)],
            )
        for number in range(5):
            assert asked(number) == asked(number)
        with file.read_transaction() as rows:
            kept = rows.execute("SELECT count(*) FROM attempt WHERE user = 'bob'").fetchone()[0]
    assert done == list(range(5))
    assert kept <= MAX_KEYS_PER_USER + 1


def test_what_is_too_long_is_refused_at_every_route(served: Server) -> None:
    body = json.dumps({"sql": COUNT + " " * 300_000}).encode()
    with served.client("alice") as alice:
        for method, path in operations(served):
            if method == "post":
                sent = alice.post(re.sub(r"{\w+}", "1", path), content=body)
                assert (sent.status_code, sent.json()["code"]) == (413, "too-long"), path
    assert served.charges() == 0
