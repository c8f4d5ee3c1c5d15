"""SCRAM-SHA-256 (RFC 5802, 7677): a client proves that it knows a password that this server does not keep.

Kept        A verifier: salt, iterations, H(client key) and the server key. Whoever reads it cannot log in
            with it, and must search to find the password.
Guessing    A verifier that was stolen is searched at the cost of its iterations. 100,000 is the most that
            drivers accept (pgjdbc, node-postgres and rust-postgres refuse more unless told otherwise): an
            eighth of the processor time that an argon2id hash takes, and on a GPU far less.
Unknown     A name that nobody has is given a salt too, always the same for the name, and fails at the end as
            a wrong password does: a client cannot tell which names exist.
Binding     Over TLS to the server's certificate ("p", see `channel`), or to nothing ("n"). A client that
            could bind and was not offered it says so ("y"): if it was, somebody between has taken it away.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import stringprep
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.app.wire.faults import WireError
from discreet.core.randomness import Randomness

MECHANISM = "SCRAM-SHA-256"
BOUND = f"{MECHANISM}-PLUS"
ITERATIONS = 100_000
SALT_BYTES = NONCE_BYTES = 18
FIRST = re.compile(
    r"(?P<head>(?P<flag>n|y|p=tls-server-end-point),(?:a=[^,]*)?,)(?P<bare>n=[^,]*,r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+))(?:,.*)?"
)
FINAL = re.compile(
    r"(?P<without>c=(?P<head>[A-Za-z0-9+/=]+),r=(?P<nonce>[^,]+)),p=(?P<proof>[A-Za-z0-9+/=]+)"
)
WRITTEN = re.compile(rf"{MECHANISM}\$(\d{{1,7}}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")

PROHIBITED = (
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """What is kept in place of a password; `str` writes it as PostgreSQL does.

    >>> Verifier.read(str(Verifier.of("open sesame", salt=b"salt"))).salt
    b'salt'
    """

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(cls, password: str, *, salt: bytes = b"", iterations: int = ITERATIONS) -> Verifier:
        """The verifier of a password, under a salt of its own."""
        salt = salt or Randomness().source(SALT_BYTES)
        salted = hashlib.pbkdf2_hmac("sha256", _prepared(password).encode(), salt, iterations)
        client_key = _keyed(salted, b"Client Key")
        return cls(
            salt=salt,
            iterations=iterations,
            stored_key=hashlib.sha256(client_key).digest(),
            server_key=_keyed(salted, b"Server Key"),
        )

    @classmethod
    def nobody(cls, name: str, secret: bytes, among: Sequence[int] = ()) -> Verifier:
        """The verifier of a name that nobody has: no password fits it.

        Its iterations are one of those `among` which users have, always the same one for the name.
        """
        salt = _keyed(secret, b"salt:" + name.encode())[:SALT_BYTES]
        keys = [_keyed(secret, word + name.encode()) for word in (b"stored:", b"server:")]
        counts = sorted(among) or [ITERATIONS]
        chosen = int.from_bytes(_keyed(secret, b"iterations:" + name.encode())) % len(counts)
        return cls(salt=salt, iterations=counts[chosen], stored_key=keys[0], server_key=keys[1])

    @classmethod
    def read(cls, text: str) -> Verifier:
        found = WRITTEN.fullmatch(text)
        if found is None:
            raise ValueError("this is no SCRAM-SHA-256 verifier")
        salt, stored, server = (base64.b64decode(each) for each in found.groups()[1:])
        return cls(salt=salt, iterations=int(found[1]), stored_key=stored, server_key=server)

    def __str__(self) -> str:
        salt, stored, server = map(_base64, (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"

    def __repr__(self) -> str:
        return "Verifier()"


@dataclass
class Exchange:
    """One login: two messages of the client, each answered once."""

    verifier: Verifier
    binding: bytes = b""
    _bare: str = ""
    _bound: bytes = b""
    _challenge: str = ""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What the client may choose from, the better first."""
        return (BOUND, MECHANISM) if self.binding else (MECHANISM,)

    def first(self, mechanism: str, message: bytes) -> bytes:
        """The challenge to the client's first message."""
        found = FIRST.fullmatch(_decoded(message))
        if mechanism not in self.mechanisms or found is None:
            raise WireError("28000", f"Log in by {' or '.join(self.mechanisms)}.", fatal=True)
        binds, weakened = found["flag"].startswith("p="), found["flag"] == "y" and bool(self.binding)
        if binds != (mechanism == BOUND) or weakened:
            raise WireError("28000", "The login is not bound to this channel.", fatal=True)
        self._bare, self._bound = found["bare"], found["head"].encode() + (self.binding if binds else b"")
        nonce = found["nonce"] + _base64(Randomness().source(NONCE_BYTES))
        self._challenge = f"r={nonce},s={_base64(self.verifier.salt)},i={self.verifier.iterations}"
        return self._challenge.encode()

    def final(self, message: bytes) -> bytes | None:
        """The server's own proof, or None where the client's is wrong."""
        found = FINAL.fullmatch(_decoded(message))
        if found is None or found["head"] != _base64(self._bound):
            return None
        if not hmac.compare_digest(f"r={found['nonce']}".encode(), self._challenge.split(",")[0].encode()):
            return None
        signed = f"{self._bare},{self._challenge},{found['without']}".encode()
        signature = _keyed(self.verifier.stored_key, signed)
        try:
            proof = base64.b64decode(found["proof"], validate=True)
        except binascii.Error:
            return None
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        fits = hmac.compare_digest(hashlib.sha256(client_key).digest(), self.verifier.stored_key)
        return b"v=" + _base64(_keyed(self.verifier.server_key, signed)).encode() if fits else None


def _keyed(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _decoded(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        return ""


def _prepared(password: str) -> str:
    """The password as clients prepare it (SASLprep); one that cannot be prepared stays as it is."""
    mapped = "".join(
        " " if stringprep.in_table_c12(each) else each
        for each in password
        if not stringprep.in_table_b1(each)
    )
    normal = unicodedata.normalize("NFKC", mapped)
    prohibited = any(table(each) for each in normal for table in PROHIBITED)
    unassigned = any(stringprep.in_table_a1(each) for each in normal)
    return password if not normal or prohibited or unassigned or not _one_direction(normal) else normal


def _one_direction(text: str) -> bool:
    """Text from right to left begins and ends so, and has none from left to right in it."""
    rightward = [stringprep.in_table_d1(each) for each in text]
    if not any(rightward):
        return True
    return rightward[0] and rightward[-1] and not any(stringprep.in_table_d2(each) for each in text)
