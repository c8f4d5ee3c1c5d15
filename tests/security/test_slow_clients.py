"""Who holds connections of the HTTP listener open, and says or takes nothing."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from discreet.http import connections
from discreet.http.middleware import SECURITY_HEADERS
from tests.http.served import COUNT, Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import slowed, write_data

HEAD = b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
SHORT = 1.0


@pytest.fixture
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that waits for nobody for long, and has few places."""
    monkeypatch.setattr(connections, "TIMEOUT_SECONDS", SHORT)
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 8)
    write_data(tmp_path, 300)
    with both_listeners(tmp_path) as running:
        yield running


def _connected(server: Server, sent: bytes) -> socket.socket:
    port = int(server.url.rsplit(":", 1)[1])
    line = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    line.sendall(sent)
    return line


def _rest(line: socket.socket) -> bytes:
    """All that is said until the server hangs up."""
    said = b""
    try:
        while part := line.recv(65_536):
            said += part
    except ConnectionError:
        pass
    return said


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
        HEAD + b"Content-Length: 100\r\n\r\n{",
        CHUNKED + b"1\r\n{\r\n",
        WHOLE + b"GET / HTTP/1.1\r\nX: ",
    ],
)
def test_what_does_not_arrive_is_not_waited_for(impatient: Server, sent: bytes) -> None:
    with _connected(impatient, sent) as line:
        assert b'"openapi"' in _rest(line) or WHOLE not in sent


def test_what_arrives_in_single_bytes_is_not_waited_for_longer(impatient: Server) -> None:
    """Each byte is there in time; the request as a whole is not."""
    with _connected(impatient, b"GET / HTTP/1.1\r\nX: ") as line, pytest.raises(ConnectionError):
        _drip(line)


def _drip(line: socket.socket) -> None:
    for _ in range(int(PATIENCE / SHORT)):
        line.send(b"a")
        time.sleep(SHORT / 3)


def test_those_who_say_nothing_keep_nobody_out(impatient: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "TIMEOUT_SECONDS", 10 * PATIENCE)
    with ExitStack() as stack:
        silent = [
            stack.enter_context(_connected(impatient, b"")) for _ in range(3 * connections.MAX_CONNECTIONS)
        ]
        for _ in range(3):
            with impatient.client(None) as client:
                assert client.get("/login").status_code == 200
        assert all(_rest(each) == b"" for each in silent[: connections.MAX_CONNECTIONS])


def test_an_answer_takes_as_long_as_it_takes(impatient: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "TIMEOUT_SECONDS", 2 * SHORT)
    slowed(impatient.curators, "alice", lambda: time.sleep(3 * SHORT))
    with impatient.client("alice") as client:
        assert client.post("/api/ask", json={"sql": COUNT}).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"a" * 100_000,
        CHUNKED + b"ZZ\r\n",
        CHUNKED + (b"ffff\r\n" + b"a" * 0xFFFF + b"\r\n") * 5 + b"ZZ\r\n",
    ],
)
def test_what_cannot_be_read_is_refused_with_every_header_and_no_traceback(
    fuzzed: Server, sent: bytes, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with _connected(fuzzed, sent) as line:
        head = _rest(line).partition(b"\r\n\r\n")[0].decode().lower()
    assert head.startswith("http/1.1 4")
    assert all(f"{name}: {value}".lower() in head for name, value in SECURITY_HEADERS.items())
    assert "Traceback" not in caplog.text + "".join(capfd.readouterr())
