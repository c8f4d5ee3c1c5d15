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

PEM_PATTERN = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
RSA_OID, ECDSA_OID = "2a864886f70d0101", "2a8648ce3d0403"
HASH_BY_SIGNATURE_OID = {
    f"{RSA_OID}04": "sha256",  # RFC 5929 replaces MD5 and SHA-1 by SHA-256
    f"{RSA_OID}05": "sha256",
    f"{RSA_OID}0b": "sha256",
    f"{RSA_OID}0c": "sha384",
    f"{RSA_OID}0d": "sha512",
    f"{ECDSA_OID}02": "sha256",
    f"{ECDSA_OID}03": "sha384",
    f"{ECDSA_OID}04": "sha512",
}


@dataclass(frozen=True, kw_only=True)
class TlsChannel:
    """A TLS context and the channel binding data of logins, empty if they are not bound."""

    context: ssl.SSLContext
    binding: bytes


@dataclass(frozen=True, kw_only=True)
class TlsCertificate:
    """The files of a certificate and its key."""

    certificate_file: Path
    key_file: Path

    def load_channel(self) -> TlsChannel:
        try:
            return load_secure_channel(self.certificate_file, self.key_file)
        except (OSError, ValueError):
            raise RequestError(
                "serve: certificate and key cannot be read.",
                hint="Give PEM files: `tls_cert=` and `tls_key=`.",
            ) from None


def load_secure_channel(certificate: Path, key: Path) -> TlsChannel:
    """Return the channel of a certificate and its key, both PEM."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    first = PEM_PATTERN.search(certificate.read_text())
    return TlsChannel(context=context, binding=b"" if first is None else _compute_channel_binding(first[0]))


def _compute_channel_binding(pem: str) -> bytes:
    content = ssl.PEM_cert_to_DER_cert(pem)
    name = HASH_BY_SIGNATURE_OID.get(_find_signature_algorithm(content).hex())
    return hashlib.new(name, content).digest() if name else b""


def _find_signature_algorithm(certificate: bytes) -> bytes:
    """Return the OID of the signature algorithm: the first field of the certificate's second part."""
    start, _ = _locate_der_value(certificate, 0)
    _, after = _locate_der_value(certificate, start)
    start, _ = _locate_der_value(certificate, after)
    start, end = _locate_der_value(certificate, start)
    return certificate[start:end]


def _locate_der_value(content: bytes, position: int) -> tuple[int, int]:
    size, start = content[position + 1], position + 2
    if size & 0x80:
        longer = size & 0x7F
        size, start = int.from_bytes(content[start : start + longer], "big"), start + longer
    return start, start + size
