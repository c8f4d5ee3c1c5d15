"""SCRAM-SHA-256 verifiers (RFC 5802, 7677): what the user store keeps in place of a password.

Kept        Salt, iterations, H(client key) and the server key. Somebody who reads a verifier cannot log in
            with it, and must search to find the password.
Guessing    A stolen verifier is searched at the cost of its iterations. 100,000 is the most that drivers
            accept (pgjdbc, node-postgres and rust-postgres refuse more unless told otherwise): an eighth of
            the processor time that an argon2id hash takes, and on a GPU far less.
Unknown     A name that nobody has is given a salt too, always the same for the name, and fails at the end as
            a wrong password does: a client cannot tell which names exist.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import stringprep
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.core.randomness import Randomness

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 100_000
SALT_BYTES = 18
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
        client_key = keyed_hash(salted, b"Client Key")
        return cls(
            salt=salt,
            iterations=iterations,
            stored_key=hashlib.sha256(client_key).digest(),
            server_key=keyed_hash(salted, b"Server Key"),
        )

    @classmethod
    def nobody(cls, name: str, secret: bytes, among: Sequence[int] = ()) -> Verifier:
        """The verifier of a name that nobody has: no password fits it.

        Its iterations are one of those `among` which users have, always the same one for the name.
        """
        salt = keyed_hash(secret, b"salt:" + name.encode())[:SALT_BYTES]
        keys = [keyed_hash(secret, word + name.encode()) for word in (b"stored:", b"server:")]
        counts = sorted(among) or [ITERATIONS]
        chosen = int.from_bytes(keyed_hash(secret, b"iterations:" + name.encode())) % len(counts)
        return cls(salt=salt, iterations=counts[chosen], stored_key=keys[0], server_key=keys[1])

    @classmethod
    def read(cls, text: str) -> Verifier:
        found = WRITTEN.fullmatch(text)
        if found is None:
            raise ValueError("this is no SCRAM-SHA-256 verifier")
        salt, stored, server = (base64.b64decode(each) for each in found.groups()[1:])
        return cls(salt=salt, iterations=int(found[1]), stored_key=stored, server_key=server)

    def __str__(self) -> str:
        salt, stored, server = map(encode_base64, (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"

    def __repr__(self) -> str:
        return "Verifier()"


def keyed_hash(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def encode_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


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
