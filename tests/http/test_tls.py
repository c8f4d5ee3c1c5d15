"""HTTP over TLS: a client that checks the certificate is served, and cookies travel no other way."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx

from discreet.services.serving.tls import TlsCertificate
from tests.http.served import both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import PASSWORD, write_data
from tests.pgwire.test_tls import certificate

__all__ = ["certificate"]


def test_a_client_that_checks_the_certificate_is_served(tmp_path: Path, certificate: TlsCertificate) -> None:
    write_data(tmp_path)
    trusted = ssl.create_default_context(cafile=str(certificate.certificate_file))
    with (
        both_listeners(tmp_path, certificate) as server,
        httpx.Client(base_url=server.url, verify=trusted, trust_env=False, timeout=PATIENCE) as client,
    ):
        told = client.post("/api/login", json={"name": "alice", "password": PASSWORD})
        assert told.status_code == 200
        assert "secure" in told.headers["set-cookie"].lower()
        assert told.headers["strict-transport-security"].startswith("max-age=")
        assert client.get("/api/session").json()["user"] == "alice"
