"""SCRAM-SHA-256 (RFC 5802, 7677): a client proves that it knows a password that the server does not store.

Channel binding   Over TLS to the server's certificate ("p", see `tls`), or none ("n"). A client that supports
                  binding and was not offered it sends "y": if the server did offer it, somebody between them
                  has removed the offer, and the login is refused.

`users.scram_verifier` has the verifier that is stored in place of a password.

Not scramp: its server (1.5.0) refuses the empty user name that libpq sends, because the startup message
already has the name: neither psql nor psycopg could log in. Both sides sign the message, so the name cannot
be filled in.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass

from discreet.core.randomness import Randomness
from discreet.pgwire.wire_errors import WireError
from discreet.services.users.scram_verifier import MECHANISM, Verifier, encode_base64, keyed_hash

MECHANISM_PLUS = f"{MECHANISM}-PLUS"
NONCE_BYTES = 18
CLIENT_FIRST_MESSAGE = re.compile(
    r"(?P<head>(?P<flag>n|y|p=tls-server-end-point),(?:a=[^,]*)?,)(?P<bare>n=[^,]*,r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+))(?:,.*)?"
)
CLIENT_FINAL_MESSAGE = re.compile(
    r"(?P<without>c=(?P<head>[A-Za-z0-9+/=]+),r=(?P<nonce>[^,]+)),p=(?P<proof>[A-Za-z0-9+/=]+)"
)


@dataclass
class ScramExchange:
    """The server side of one login: two messages of the client, each answered once."""

    verifier: Verifier
    channel_binding: bytes = b""
    _client_first_bare: str = ""
    _channel_binding_input: bytes = b""
    _challenge: str = ""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms offered to the client, the stronger first."""
        return (MECHANISM_PLUS, MECHANISM) if self.channel_binding else (MECHANISM,)

    def answer_first_message(self, mechanism: str, message: bytes) -> bytes:
        """Return the challenge that answers the client's first message."""
        found = CLIENT_FIRST_MESSAGE.fullmatch(_decode_message(message))
        if mechanism not in self.mechanisms or found is None:
            raise WireError("28000", f"Log in with {' or '.join(self.mechanisms)}.", is_fatal=True)
        binds, weakened = found["flag"].startswith("p="), found["flag"] == "y" and bool(self.channel_binding)
        if binds != (mechanism == MECHANISM_PLUS) or weakened:
            raise WireError(
                "28000", "Channel binding failed: the login is not bound to this connection.", is_fatal=True
            )
        self._client_first_bare, self._channel_binding_input = (
            found["bare"],
            found["head"].encode() + (self.channel_binding if binds else b""),
        )
        nonce = found["nonce"] + encode_base64(Randomness().source(NONCE_BYTES))
        self._challenge = f"r={nonce},s={encode_base64(self.verifier.salt)},i={self.verifier.iterations}"
        return self._challenge.encode()

    def verify_final_message(self, message: bytes) -> bytes | None:
        """Return the server's signature, or None if the client's proof is wrong."""
        found = CLIENT_FINAL_MESSAGE.fullmatch(_decode_message(message))
        if found is None or found["head"] != encode_base64(self._channel_binding_input):
            return None
        if not hmac.compare_digest(f"r={found['nonce']}".encode(), self._challenge.split(",")[0].encode()):
            return None
        signed = f"{self._client_first_bare},{self._challenge},{found['without']}".encode()
        signature = keyed_hash(self.verifier.stored_key, signed)
        try:
            proof = base64.b64decode(found["proof"], validate=True)
        except binascii.Error:
            return None
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        fits = hmac.compare_digest(hashlib.sha256(client_key).digest(), self.verifier.stored_key)
        return b"v=" + encode_base64(keyed_hash(self.verifier.server_key, signed)).encode() if fits else None


def _decode_message(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        return ""
