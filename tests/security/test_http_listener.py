"""What an untrusted analyst tries at the HTTP listener, and what comes of it."""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.exact_values import Exact
from discreet.http.csrf import CSRF_HEADER
from tests.http.served import COUNT, Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import CANARY, Slow, write_data
from tests.security.canary import canary
from tests.security.test_postgres_listener import FORBIDDEN, NEIGHBOURS, TRAPS

PATHS = ("/api/plan", "/api/ask", "/api/dummy")


def test_everything_that_reaches_beyond_a_question_is_refused_before_data_is_read(
    web: Server, tmp_path: Path
) -> None:
    file, made = tmp_path / "canary.csv", tmp_path / "made.csv"
    with canary(file, f"secret\n{CANARY}\n") as touched, web.client() as client:
        for template in FORBIDDEN:
            sql = template.format(canary=file, made=made)
            for path in PATHS:
                told = client.post(path, json={"sql": sql})
                assert told.status_code in (400, 422), (path, sql)
                assert set(told.json()) == {"error", "code", "hint"}
                assert CANARY not in told.text
        assert not touched()
    assert web.charges() == 0
    assert not made.exists()


def test_neighbouring_databases_cannot_be_told_apart_but_by_noise(tmp_path: Path) -> None:
    with ExitStack() as stack:
        clients = [_asked(stack, tmp_path / name, odd) for name, odd in NEIGHBOURS]
        answered = 0
        for sql in TRAPS:
            for path, form in [*((each, "json") for each in PATHS), ("/api/ask", "csv")]:
                body = {"sql": sql, "epsilon": 0.05}
                left, right = (client.post(path, params={"format": form}, json=body) for client in clients)
                assert _without_noise(left, form) == _without_noise(right, form), sql
                answered += left.status_code == 200 and path == "/api/ask"
        for path in ("/api/ledger", "/api/belief", "/api/policy", "/api/budget-requests"):
            assert len({_settled(client.get(path).json()) for client in clients}) == 1
    assert answered >= 10


def _asked(stack: ExitStack, folder: Path, odd: tuple[int, str]) -> httpx.Client:
    """A server over people of whom one is as said; everybody else is the same."""
    folder.mkdir()
    write_data(folder)
    people = pq.read_table(folder / "people.parquet").to_pydict()
    people["age"] = [odd[0], *(40 for _ in people["age"][1:])]
    people["town"] = [odd[1], *("1" for _ in people["town"][1:])]
    pq.write_table(pa.table(people), folder / "people.parquet")
    return stack.enter_context(stack.enter_context(both_listeners(folder)).client())


def _without_noise(told: httpx.Response, form: str) -> object:
    """Status, headers and all that is said, without noisy values and the intervals around them."""
    headers = {name: value for name, value in told.headers.items() if name not in ("date", "content-length")}
    if told.status_code != 200:
        return told.status_code, headers, told.content
    if form == "csv":
        lines = told.text.splitlines()
        return headers, lines[0], [line.split(",")[0] for line in lines[1:] if line.startswith('"')]
    said = told.json()
    said["rows"] = [[cell if isinstance(cell, str) else None for cell in row] for row in said.get("rows", [])]
    said["intervals"] = {name: len(ends) for name, ends in (said.get("intervals") or {}).items()}
    return headers, json.dumps(said)


def test_pages_of_neighbouring_databases_cannot_be_told_apart_but_by_noise(tmp_path: Path) -> None:
    """Tables, charts and all that is written beside them, on the console's own pages."""
    with ExitStack() as stack:
        clients = [_asked(stack, tmp_path / name, odd) for name, odd in NEIGHBOURS]
        drawn = 0
        for sql in TRAPS:
            for do in ("plan", "ask", "ask"):
                form = {"sql": sql, "way": "epsilon", "amount": "0.05", "do": do}
                left, right = (_page(client.post("/ask", data=form | _proof(client))) for client in clients)
                assert left == right, (sql, do)
                drawn += bool(left[-1])
        assert len({_page(client.get("/ledger")) for client in clients}) == 1
    assert drawn >= 4


def _proof(client: httpx.Client) -> dict[str, str]:
    return {"csrf": client.headers[CSRF_HEADER]}


def _page(told: httpx.Response) -> tuple[int, tuple[tuple[str, str], ...], str, tuple[str, ...]]:
    """Status, headers, text without noisy cells, and whatever a chart says that is no number."""
    headers = tuple(pair for pair in told.headers.items() if pair[0] not in ("date", "content-length"))
    charts = re.findall(r"<svg.*?</svg>", told.text, re.DOTALL)
    text = re.sub(r"<svg.*?</svg>", "<svg>", told.text, flags=re.DOTALL)
    for changing in (
        r'name="csrf" value="\w+"',
        r'<td class="number">[^<]*</td>',
        r'<td[^>]* class="time">[^<]*</td>',  # of two servers one may be a minute later
    ):
        text = re.sub(changing, "", text)
    said = tuple(each for chart in charts for each in re.findall(r">([^<>\d]+)<", chart) if each.strip(" −-"))
    return told.status_code, headers, text, said


def _settled(said: dict[str, Any]) -> str:
    return json.dumps(said | {"entries": [each | {"time": ""} for each in said.get("entries", [])]})


@pytest.mark.parametrize("repeats", [100, pytest.param(1_000, marks=pytest.mark.night)])
def test_many_repeats_are_one_value_and_one_charge(web: Server, repeats: int) -> None:
    with web.client() as client:
        told = [client.post("/api/ask", json={"sql": COUNT}).json()["rows"] for _ in range(repeats)]
    assert all(each == told[0] for each in told)
    assert web.charges() == 1


def test_many_clients_at_once_spend_no_more_than_the_promise(web: Server) -> None:
    codes: set[int] = set()

    def ask(number: int) -> None:
        with web.client("alice" if number % 2 else "bob") as client:
            for age in range(20, 30):
                sql = f"SELECT COUNT(*) FROM people WHERE age > {age + number}"
                codes.add(client.post("/api/ask", json={"sql": sql, "epsilon": 0.05}).status_code)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    web.curators.ledger.verify()
    assert codes == {200, 402}
    assert web.curators.ledger.compute_belief().highest <= 0.05
    assert web.charges("alice") == web.charges("bob") == 16


def test_no_value_of_the_data_is_kept_logged_or_counted(
    web: Server, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with web.client() as client, web.client("carl") as carl:
        for sql in (*TRAPS, "SELECT town FROM people", "SELECT MODE(town) FROM people"):
            for path in PATHS:
                assert CANARY not in client.post(path, json={"sql": sql, "epsilon": 0.05}).text
        for path in ("/api/metrics", "/api/ledger", "/api/policy", "/api/openapi.json"):
            assert CANARY not in carl.get(path).text
    assert CANARY not in caplog.text + "".join(capfd.readouterr())
    files = [each for each in web.folder.iterdir() if each.name.startswith("ledger") and each.is_file()]
    assert {each.suffix for each in files} >= {".db"}
    assert not any(CANARY.encode() in each.read_bytes() for each in files)


def test_an_unforeseen_error_tells_a_number_and_the_custodians_log_the_rest(
    web: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"division of {CANARY}")

    monkeypatch.setattr(web.curators.for_analyst("alice"), "plan_question", fail)
    with web.client() as client:
        for path in PATHS[:2]:
            told = client.post(path, json={"sql": COUNT})
            assert (told.status_code, told.json()["code"]) == (500, "internal")
            incident = told.json()["hint"].removesuffix(".").split()[-1]
            assert CANARY not in told.text
            log = (web.folder / "ledger.faults.log").read_text()
            assert f"incident {incident}: ZeroDivisionError: division of {CANARY}" in log
    assert CANARY not in "".join(capfd.readouterr())


class Broken(Slow):
    """An engine that fails, and says something of the data."""

    def count(self, sql: str) -> Exact[pa.Table]:
        raise OSError(f"cannot read {CANARY}")


def test_a_fault_is_charged_once_under_a_key_and_suspends(web: Server) -> None:
    curator = web.curators.for_analyst("alice")
    curator._engine = Broken(curator._engine, lambda: None)
    key = {"Idempotency-Key": "k"}
    with web.client() as client, web.client("carl") as carl:
        told = [client.post("/api/ask", json={"sql": COUNT}, headers=key) for _ in range(2)]
        assert told[0].content == told[1].content
        assert (told[0].status_code, told[0].json()["code"]) == (500, "engine-fault")
        assert CANARY not in told[0].text
        other = client.post("/api/ask", json={"sql": COUNT})
        assert (other.status_code, "suspended" in other.json()["error"]) == (400, True)
        assert web.charges() == 1
        assert carl.post("/api/analysts/alice/clear").status_code == 200
        assert web.curators.ledger.get_account("alice").incident is None


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def _operations(described: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if path not in ("/api/login", "/api/password", "/api/logout")
    ]


def _body(draw: st.DrawFn, described: dict[str, Any], operation: dict[str, Any]) -> object:
    """A body of the described fields, each right or wrong, some missing, some that nobody knows."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
    fields = described["components"]["schemas"].get(name, {}).get("properties", {})
    right: dict[str, st.SearchStrategy[object]] = {
        "sql": st.sampled_from([COUNT, *TRAPS, *FORBIDDEN]),
        "epsilon": st.just(1e-6),
        "share": st.just(0.001),
    }
    body = {
        each: draw(st.one_of(right.get(each, st.none()), JSON_VALUES))
        for each in fields
        if draw(st.booleans())
    }
    return draw(st.one_of(st.just(body), st.just(body), JSON_VALUES))


@settings(max_examples=100)
@given(data=st.data())
def test_whatever_is_sent_is_answered_or_refused_as_described(
    fuzzed: Server, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    with fuzzed.client("alice") as client:
        described = client.get("/api/openapi.json").json()
        method, path, operation = data.draw(st.sampled_from(_operations(described)))
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                drawn = data.draw(st.integers() | st.text(st.characters(codec="utf-8"), max_size=10))
                path = path.replace("{" + parameter["name"] + "}", quote(str(drawn), safe=""))
        params = {} if data.draw(st.booleans()) else {"format": data.draw(st.text(max_size=8)), "prior": "x"}
        body = data.draw(st.composite(lambda draw: _body(draw, described, operation))())
        content = data.draw(st.one_of(st.just(json.dumps(body).encode()), st.binary(max_size=200)))
        told = client.request(
            method, path, params=params, content=content, headers={"content-type": "application/json"}
        )
    assert told.status_code < 500, (method, path, body, told.text)
    assert told.status_code in (404, 405) or str(told.status_code) in operation["responses"], told.text
    if told.status_code >= 400:
        assert set(told.json()) == {"error", "code", "hint"}
    assert "Traceback" not in told.text + caplog.text
    assert CANARY not in told.text + caplog.text


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x00" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/session HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"\xff" * 50 + b"\r\n\r\n",
        b"GET /api/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_malformed_bytes_leave_the_server_standing(
    fuzzed: Server, capfd: pytest.CaptureFixture[str], sent: bytes
) -> None:
    port = int(fuzzed.url.rsplit(":", 1)[1])
    said = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line,
        suppress(ConnectionError),  # whoever talks on when the server has hung up
    ):
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        while part := line.recv(65_536):
            said += part
    assert not said or said.split(b" ")[1].startswith(b"4")
    with fuzzed.client() as client:
        assert client.get("/api/session").status_code == 200
    assert "Traceback" not in "".join(capfd.readouterr())
