"""Names that the web servers answer for: a name of another site that points here gets nothing."""

from __future__ import annotations

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from discreet.core.errors import RequestError
from discreet.http.host_names import (
    CrossOriginError,
    MisdirectedRequestError,
    normalize_host_names,
    require_own_host,
)
from tests.http.served import Server
from tests.patience import PATIENCE
from tests.services.surveys import TWO_ANSWERS, served, write_survey

OWN = [
    "localhost",
    "LOCALHOST:8000",
    "127.0.0.1:1",
    "127.9.9.9",
    "[::1]:80",
    "192.0.2.7",
    "data.example.",
    "localhost.",
]
OTHERS = [
    "evil.example",
    "localhost.evil.example",
    "data.example.evil.example",
    "192.0.2.8",
    "[2001:db8::1]",
    "2130706433",
    "0x7f000001",
    "0.0.0.0",
    "",
    "localhost@evil.example",
    "evil.example#localhost",
    "localhost:x",
    "data.example, evil.example",
]


@pytest.mark.parametrize("host", OWN)
def test_own_names_are_answered_for(host: str) -> None:
    headers = [(b"host", host.encode()), (b"origin", f"https://{host}".encode())]
    require_own_host(headers, ("data.example",), "192.0.2.7")


@pytest.mark.parametrize("host", OTHERS)
def test_other_names_and_origins_are_refused(host: str) -> None:
    with pytest.raises(MisdirectedRequestError):
        require_own_host([(b"host", host.encode())], ("data.example",), "192.0.2.7")
    for origin in (f"https://{host}", "null", "", host, "file://localhost"):
        with pytest.raises(CrossOriginError):
            require_own_host([(b"Origin", origin.encode())], ("data.example",), "192.0.2.7")
    with pytest.raises(MisdirectedRequestError):
        require_own_host([(b"host", b"localhost"), (b"host", b"localhost")], (), "")


@pytest.mark.parametrize("name", ["https://data.example", "data.example:80", "data.example/x", "", "*"])
def test_what_is_no_name_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(RequestError, match="takes a host name"):
        normalize_host_names([name])


def ask(url: str, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def test_both_web_servers_refuse_other_names_before_anything_else(server: Server, tmp_path: Path) -> None:
    with served(write_survey(tmp_path, TWO_ANSWERS)) as survey:
        for url, path in (
            (server.url, "/login"),
            (server.url, "/api/openapi.json"),
            (survey.url, "/survey.json"),
        ):
            here = urlsplit(url).netloc
            assert ask(url, "GET", path, {"Host": here})[0] == 200
            assert ask(url, "GET", path, {"Host": here, "Origin": f"http://{here}"})[0] == 200
            status, said = ask(url, "GET", path, {"Host": "evil.example"})
            assert status == 421
            assert "does not answer to the host name" in said
            assert "evil" not in said
            assert "--name NAME" in said  # an option of the server, and no field of the request
            for origin in ("https://evil.example", "null"):
                assert ask(url, "GET", path, {"Host": here, "Origin": origin})[0] == 403
