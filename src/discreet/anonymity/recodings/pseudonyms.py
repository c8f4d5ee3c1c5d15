"""Keyed pseudonyms: identifiers that must stay linkable are replaced by HMAC-SHA256 under a secret key.

Shows       The first 128 bits of HMAC-SHA256(key, column and value), in hexadecimal. Two values share a
            pseudonym with probability below n**2 / 2**129 among n.
Promise     Without the key, a value cannot be computed from its pseudonym, nor found by trying all values, as
            with a plain hash. Nothing more: the same value has the same pseudonym in every release under the
            same key, so rows of a person stay linked, and the holder of the key can try all values. The
            certificate declares it, and it does not protect quasi-identifiers.
Key         256 bits from the operating system, in a file that only its owner can read. Losing it ends
            linking; disclosing it undoes every pseudonym made with it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.core.errors import RequestError, require_parameter
from discreet.core.randomness import Randomness

KEY_BYTES = 32  # as long as the hash's output: HMAC gains nothing from more
SHOWN_DIGITS = 32  # 128 bits, so that pseudonyms of different people do not collide


@dataclass(frozen=True, kw_only=True)
class Pseudonyms:
    """The pseudonyms of one column under one key."""

    column: str
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        size = len(self.key)
        require_parameter(size == KEY_BYTES, self, "key", f"{size} bytes", f"{KEY_BYTES} bytes")

    def pseudonymize(self, values: Iterable[str | None]) -> list[str | None]:
        """Return the pseudonym of every value; a missing one stays missing."""
        name = self.column.encode()
        # the length prefix keeps column and value apart: no two pairs give the same input
        keyed = hmac.new(self.key, len(name).to_bytes(8, "big") + name, hashlib.sha256)
        return [None if value is None else _compute_digest(keyed, value) for value in values]

    @property
    def fingerprint(self) -> str:
        """An identifier of the key that does not disclose it."""
        return hmac.new(self.key, b"discreet: fingerprint of a key", hashlib.sha256).hexdigest()[:16]

    @property
    def declaration(self) -> dict[str, str]:
        """The certificate's declaration of the column."""
        return {
            "column": self.column,
            "method": "HMAC-SHA256, first 128 bits, keyed by column",
            "key": self.fingerprint,
            "meaning": (
                f"{self.column} holds keyed pseudonyms. Rows with the same pseudonym belong together, in "
                "this release and in every other under the same key; the holder of the key can find out "
                "whose they are."
            ),
        }


def _compute_digest(keyed: hmac.HMAC, value: str) -> str:
    one = keyed.copy()
    one.update(value.encode())
    return one.hexdigest()[:SHOWN_DIGITS]


def read_or_create_key(path: Path, random: Randomness) -> bytes:
    """Return the key in a private file, which is created with a new key if it does not exist."""
    try:
        # O_EXCL: of two runs that start together only one creates the key
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return _read_key(path)
    except OSError:
        raise RequestError(
            f"The key file {path} cannot be written.", hint="Name a file in a folder that you own."
        ) from None
    key = random.source(KEY_BYTES)
    with os.fdopen(handle, "wb") as file:
        file.write(key.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return key


def _read_key(path: Path) -> bytes:
    try:
        text, mode = path.read_text("ascii").strip(), path.stat().st_mode
    except (OSError, ValueError):
        raise RequestError(f"The key file {path} cannot be read.", hint="Name another file.") from None
    if mode & 0o077:
        raise RequestError(f"Other users can read the key file {path}.", hint=f"Run: chmod 600 {path}")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise RequestError(
            f"The file {path} does not hold a key of {KEY_BYTES} bytes in hexadecimal.",
            hint="Name another file; if it does not exist, it is created with a new key.",
        )
    return key
