"""Encryption: clients that ask for it get it, and nothing that was sent before it counts."""

from __future__ import annotations

import base64
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from discreet.core.errors import RequestError
from discreet.pgwire.scram_exchange import MECHANISM_PLUS, ScramExchange
from discreet.pgwire.wire_errors import WireError
from discreet.services.serving.serve_request import ServeRequest
from discreet.services.serving.tls import TlsCertificate
from discreet.services.users.scram_verifier import MECHANISM, Verifier
from tests.pgwire.raw_messages import Bytes, fields, startup
from tests.pgwire.served import Served, served

TLS = struct.pack(">ii", 8, 80877103)
CANCEL = 80877102


@pytest.fixture(scope="module")
def elsewhere() -> str:
    """An address of this machine that is not loopback: who connects to it seems to come from it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as routed:
        try:
            routed.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback's")
        return str(routed.getsockname()[0])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> TlsCertificate:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: apt-get install openssl")
    folder = tmp_path_factory.mktemp("tls")
    made = TlsCertificate(certificate_file=folder / "cert.pem", key_file=folder / "key.pem")
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    words += [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(made.key_file),
        "-out",
        str(made.certificate_file),
    ]
    subprocess.run(words, check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def encrypted(
    tmp_path_factory: pytest.TempPathFactory, data: Path, certificate: TlsCertificate
) -> Iterator[Served]:
    with served(data, certificate) as running:
        yield running


def test_a_client_that_checks_the_certificate_is_served(
    encrypted: Served, certificate: TlsCertificate
) -> None:
    address = f"{encrypted.address} sslmode=verify-full sslrootcert={certificate.certificate_file}"
    with psycopg.connect(address) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_client_may_insist_that_its_login_is_bound_to_the_certificate(encrypted: Served) -> None:
    with psycopg.connect(f"{encrypted.address} sslmode=require channel_binding=require") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_login_that_is_bound_to_another_certificate_fails() -> None:
    exchange = ScramExchange(Verifier.from_password("x"), channel_binding=b"this one")
    challenge = exchange.answer_first_message(MECHANISM_PLUS, b"p=tls-server-end-point,,n=,r=abc").split(
        b","
    )[0]
    other = base64.b64encode(b"p=tls-server-end-point,,that one")
    assert exchange.verify_final_message(b"c=" + other + b"," + challenge + b",p=AAAA") is None


@pytest.mark.parametrize(
    ("mechanism", "head"),
    [(MECHANISM, b"y"), (MECHANISM, b"p=tls-server-end-point"), (MECHANISM_PLUS, b"n"), ("OTHER", b"n")],
)
def test_a_login_from_which_the_binding_was_taken_is_refused(mechanism: str, head: bytes) -> None:
    with pytest.raises(WireError) as refusal:
        ScramExchange(Verifier.from_password("x"), channel_binding=b"this one").answer_first_message(
            mechanism, head + b",,n=,r=abc"
        )
    assert refusal.value.sqlstate == "28000"


def test_what_arrives_together_with_the_request_for_tls_is_not_taken_for_encrypted(encrypted: Served) -> None:
    with Bytes(encrypted.port) as line:
        line.send(TLS + startup())
        kind, content = line.message()
        assert (kind, fields(content)["C"]) == (b"E", "08P01")


def test_without_a_certificate_other_machines_are_not_served() -> None:
    with pytest.raises(RequestError, match="TLS is not configured"):
        ServeRequest(host="0.0.0.0")
    ServeRequest(host="127.0.0.1")
    ServeRequest(host="::1")


def test_plain_connections_from_other_machines_are_refused_before_a_password_is_asked_for(
    data: Path, certificate: TlsCertificate, elsewhere: str
) -> None:
    with served(data, certificate, host="0.0.0.0") as running:
        away = running.address.replace("127.0.0.1", elsewhere)
        with psycopg.connect(f"{away} sslmode=require") as connection:
            assert connection.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="other machines must use TLS"):
            psycopg.connect(f"{away} sslmode=disable")
        with psycopg.connect(f"{running.address} sslmode=disable") as connection:
            assert not connection.pgconn.ssl_in_use
        for sent in (startup(), startup("nobody"), struct.pack(">iiII", 16, CANCEL, 1, 2)):
            with Bytes(running.port, elsewhere) as line:
                line.send(sent)
                kind, content = line.message()
                assert (kind, fields(content)["S"], fields(content)["C"]) == (b"E", "FATAL", "28000")
                assert line.rest() == b""


@pytest.mark.parametrize("refused", [80877103, 80877104])
def test_without_a_certificate_a_plain_connection_from_elsewhere_is_refused_too(
    data: Path, elsewhere: str, refused: int
) -> None:
    with served(data, host="0.0.0.0") as running, Bytes(running.port, elsewhere) as line:
        line.send(struct.pack(">ii", 8, refused))
        assert line.take(1) == b"N"
        line.send(startup())
        assert fields(line.message()[1])["C"] == "28000"


def test_a_certificate_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot be read"):
        TlsCertificate(certificate_file=tmp_path / "none.pem", key_file=tmp_path / "none.pem").load_channel()
