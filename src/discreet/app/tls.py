"""TLS certificates, and the channel binding of logins by the certificate's hash (tls-server-end-point).

A client binds its login to the certificate that it was shown. An attacker in the middle shows another
certificate, so the login that it relays is refused. The hash function is that of the certificate's signature
(RFC 5929); if the signature algorithm names none, logins are not bound.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from dataclasses import dataclass
from pathlib import Path

from discreet.core.errors import RequestError

PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
RSA, ECDSA = "2a864886f70d0101", "2a8648ce3d0403"
HASHES = {
    f"{RSA}04": "sha256",  # RFC 5929 replaces MD5 and SHA-1 by SHA-256
    f"{RSA}05": "sha256",
    f"{RSA}0b": "sha256",
    f"{RSA}0c": "sha384",
    f"{RSA}0d": "sha512",
    f"{ECDSA}02": "sha256",
    f"{ECDSA}03": "sha384",
    f"{ECDSA}04": "sha512",
}


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A TLS context and the channel binding data of logins, empty if they are not bound."""

    context: ssl.SSLContext
    binding: bytes


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The files of a certificate and its key."""

    certificate: Path
    key: Path

    def channel(self) -> Channel:
        try:
            return secure_channel(self.certificate, self.key)
        except (OSError, ValueError):
            raise RequestError(
                "serve: certificate and key cannot be read.", hint="Give PEM files: --tls-cert and --tls-key."
            ) from None


def secure_channel(certificate: Path, key: Path) -> Channel:
    """Return the channel of a certificate and its key, both PEM."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    first = PEM.search(certificate.read_text())
    return Channel(context=context, binding=b"" if first is None else _end_point(first[0]))


def _end_point(pem: str) -> bytes:
    content = ssl.PEM_cert_to_DER_cert(pem)
    name = HASHES.get(_signed_by(content).hex())
    return hashlib.new(name, content).digest() if name else b""


def _signed_by(certificate: bytes) -> bytes:
    """Return the OID of the signature algorithm: the first field of the certificate's second part."""
    start, _ = _part(certificate, 0)
    _, after = _part(certificate, start)
    start, _ = _part(certificate, after)
    start, end = _part(certificate, start)
    return certificate[start:end]


def _part(content: bytes, place: int) -> tuple[int, int]:
    """Return the start and end of the DER value at a position."""
    size, start = content[place + 1], place + 2
    if size & 0x80:
        longer = size & 0x7F
        size, start = int.from_bytes(content[start : start + longer], "big"), start + longer
    return start, start + size
