"""SCRAM-SHA-256 verifiers (RFC 5802, 7677), stored in place of passwords.

Content     Salt, iterations, H(client key) and the server key. An attacker who reads a verifier cannot log in
            with it, and must guess the password.
Guessing    Each guess against a stolen verifier costs its iterations. 100,000 is the most that drivers accept
            (pgjdbc, node-postgres and rust-postgres refuse more by default): an eighth of the processor time
            of an argon2id hash, and far less on a GPU.
Unknown     An unknown name gets a salt too, always the same one, and fails at the end like a wrong password:
            a client cannot distinguish which names exist.
SASLprep    A password that it forbids (a control character, an emoji) is used as it is, as by PostgreSQL's
            clients; scramp (1.5.0) refuses such a password.
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
VERIFIER_PATTERN = re.compile(
    rf"{MECHANISM}\$(\d{{1,7}}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)"
)

PROHIBITED_TABLES = (
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
    """A SCRAM verifier; `str` writes it in PostgreSQL's format.

    >>> Verifier.parse(str(Verifier.from_password("open sesame", salt=b"salt"))).salt
    b'salt'
    """

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    @classmethod
    def from_password(cls, password: str, *, salt: bytes = b"", iterations: int = ITERATIONS) -> Verifier:
        """Return the verifier of a password, with a random salt if none is given."""
        salt = salt or Randomness().source(SALT_BYTES)
        salted = hashlib.pbkdf2_hmac("sha256", _apply_saslprep(password).encode(), salt, iterations)
        client_key = keyed_hash(salted, b"Client Key")
        return cls(
            salt=salt,
            iterations=iterations,
            stored_key=hashlib.sha256(client_key).digest(),
            server_key=keyed_hash(salted, b"Server Key"),
        )

    @classmethod
    def for_unknown_name(cls, name: str, secret: bytes, iteration_counts: Sequence[int] = ()) -> Verifier:
        """Return a verifier for an unknown name, which no password matches.

        Its iterations are one of the users' `iteration_counts`, always the same one for a name.
        """
        salt = keyed_hash(secret, b"salt:" + name.encode())[:SALT_BYTES]
        keys = [keyed_hash(secret, word + name.encode()) for word in (b"stored:", b"server:")]
        counts = sorted(iteration_counts) or [ITERATIONS]
        chosen = int.from_bytes(keyed_hash(secret, b"iterations:" + name.encode())) % len(counts)
        return cls(salt=salt, iterations=counts[chosen], stored_key=keys[0], server_key=keys[1])

    @classmethod
    def parse(cls, text: str) -> Verifier:
        found = VERIFIER_PATTERN.fullmatch(text)
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


def _apply_saslprep(password: str) -> str:
    """Return the password after SASLprep, as clients prepare it; unchanged if it cannot be prepared."""
    mapped = "".join(
        " " if stringprep.in_table_c12(each) else each
        for each in password
        if not stringprep.in_table_b1(each)
    )
    normal = unicodedata.normalize("NFKC", mapped)
    prohibited = any(table(each) for each in normal for table in PROHIBITED_TABLES)
    unassigned = any(stringprep.in_table_a1(each) for each in normal)
    return password if not normal or prohibited or unassigned or not _has_one_direction(normal) else normal


def _has_one_direction(text: str) -> bool:
    """Return True unless right-to-left text mixes directions (RFC 3454, section 6)."""
    rightward = [stringprep.in_table_d1(each) for each in text]
    if not any(rightward):
        return True
    return rightward[0] and rightward[-1] and not any(stringprep.in_table_d2(each) for each in text)
