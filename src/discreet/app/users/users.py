"""User accounts: name, role, password hashes, and the analyst whose share the user spends.

Role        A custodian decides and sees the whole ledger, an analyst asks within a share, an auditor reads
            ledger and certificates.
Password    Stored as an argon2id hash for web logins and as a SCRAM verifier for the PostgreSQL listener.
            Changing it revokes the user's tokens and sessions.
Iterations  A verifier has as many as drivers accept. One with fewer is replaced when its user logs in on the
            web; until then unknown names are given the same iteration counts as users have.
One-time    The password drawn for the first custodian allows only choosing another. Its verifier is marked,
            so that the PostgreSQL listener can say so to a client that has proven to know the password.
Unknown     An unknown name takes as long to refuse as a wrong password.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Protocol

from discreet.accounting.ledger import SOLE_ANALYST
from discreet.app.users.scram_verifier import ITERATIONS, Verifier
from discreet.app.users.storage import UserStorage, now
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness

if TYPE_CHECKING:
    from argon2 import PasswordHasher

PASSWORD_BYTES = 15
SHORTEST = 10
LONGEST = 200
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")
FIRST_CUSTODIAN = "custodian"
ONCE = "once:"
"""The prefix of the verifier of a one-time password. A user without verifier has a one-time password too."""
FIELDS = "name, role, analyst, verifier, password"
INSERT = 'INSERT INTO "user" VALUES (:name, :role, :analyst, :password, :verifier, :made)'
CHANGE = 'UPDATE "user" SET password = :password, verifier = :verifier WHERE name = :name'
RENEW = 'UPDATE "user" SET verifier = :verifier WHERE name = :name AND password = :stamp'
HASHING = threading.BoundedSemaphore(2)
"""A hash takes 64 MB: many concurrent logins must not exhaust the memory."""


class Role(StrEnum):
    """The role of a user, from which all permissions follow."""

    CUSTODIAN = "custodian"
    ANALYST = "analyst"
    AUDITOR = "auditor"


ROLES = tuple(each.value for each in Role)


@dataclass(frozen=True, kw_only=True)
class User:
    """A user who may log in; with `must_change_password`, only to choose another password."""

    name: str
    role: Role
    analyst: str | None
    verifier: Verifier | None
    once: bool
    stamp: str = ""


class Users(Protocol):
    """Look-up of users for logins."""

    @property
    def secret(self) -> bytes:
        """The secret key stored with the users."""

    def find(self, name: str) -> User | None:
        """Return the user of that name, or None."""

    def iterations(self) -> tuple[int, ...]:
        """Return the iteration counts of all users' verifiers."""


class UserBook:
    """The user accounts of a ledger."""

    def __init__(self, file: UserStorage) -> None:
        self.file = file

    @property
    def secret(self) -> bytes:
        return self.file.secret

    def find(self, name: str) -> User | None:
        if not NAME.fullmatch(name):
            return None
        with self.file.reading() as rows:
            row = rows.execute(f'SELECT {FIELDS} FROM "user" WHERE name = :name', {"name": name}).fetchone()
        return None if row is None else _user(row)

    def all(self) -> list[User]:
        with self.file.reading() as rows:
            return [_user(row) for row in rows.execute(f'SELECT {FIELDS} FROM "user" ORDER BY name')]

    def iterations(self) -> tuple[int, ...]:
        """Return the iteration counts of all users' verifiers."""
        return tuple(each.verifier.iterations for each in self.all() if each.verifier is not None)

    def add(
        self, name: str, role: Role, analyst: str | None, password: str | None = None, *, once: bool = False
    ) -> str:
        """Add a user and return the password, which is drawn if none is given and shown this one time."""
        if not NAME.fullmatch(name):
            raise RequestError("user: a name is letters, digits and . _ @ -, at most 63 of them.")
        told = drawn() if password is None else required(password)
        row = _row(name, role, analyst, told, once=once)
        with self.file.writing() as rows:
            if rows.execute('SELECT 1 FROM "user" WHERE name = :name', {"name": name}).fetchone():
                raise RequestError(f"user: {name} already exists.", hint=f"discreet user remove {name}")
            rows.execute(INSERT, row)
        return told

    def remove(self, name: str) -> None:
        """Remove a user with tokens and sessions; charges stay in the ledger."""
        with self.file.writing() as rows:
            if not rows.execute('DELETE FROM "user" WHERE name = :name', {"name": name}).rowcount:
                raise RequestError(f"user: there is no user {name}.", hint="discreet user list")

    def admitted(self, name: str, password: str) -> User | None:
        """Return the user if the password is right, else None."""
        user = self.find(name)
        # Unknown names are verified too, against a hash that nothing matches, to take the same time.
        right = _fits(_nobody() if user is None else user.stamp, password)
        if user is None or not right:
            return None
        if user.verifier is not None and user.verifier.iterations < ITERATIONS:
            self._renew_verifier(user, password)
        return user

    def change(self, name: str, password: str) -> None:
        """Change the password; sessions of the old one end, and all tokens are revoked."""
        verifier = str(Verifier.of(password))
        values = {"password": hashed(required(password)), "verifier": verifier, "name": name}
        with self.file.writing() as rows:
            rows.execute(CHANGE, values)
            rows.execute('DELETE FROM token WHERE "user" = :name', {"name": name})

    def _renew_verifier(self, user: User, password: str) -> None:
        """Store a verifier with the current iteration count, unless the password has changed."""
        verifier = (ONCE if user.once else "") + str(Verifier.of(password))
        with self.file.writing() as rows:
            rows.execute(RENEW, {"verifier": verifier, "name": user.name, "stamp": user.stamp})

    def begin(self, policy: Policy) -> Mapping[str, str]:
        """Create the custodian and the policy's analysts if there are no users; return their passwords."""
        if self.all():
            return {}
        analysts = [each for each in policy.analysts or (SOLE_ANALYST,) if NAME.fullmatch(each)]
        told = {name: drawn() for name in (FIRST_CUSTODIAN, *analysts)}
        first = _row(FIRST_CUSTODIAN, Role.CUSTODIAN, sole(policy), told[FIRST_CUSTODIAN], once=True)
        others = [_row(name, Role.ANALYST, name, told[name]) for name in analysts if name != FIRST_CUSTODIAN]
        with self.file.writing() as rows:
            if rows.execute('SELECT 1 FROM "user"').fetchone():
                return {}  # another server, started at the same time, has created them
            for row in (first, *others):
                rows.execute(INSERT, row)
        return told


def sole(policy: Policy) -> str | None:
    """Return the analyst that all users ask as if the policy divides its promise among none, else None."""
    return None if policy.analysts else SOLE_ANALYST


def drawn() -> str:
    return base64.b32encode(Randomness().source(PASSWORD_BYTES)).decode().lower()


def required(password: str) -> str:
    """Return the password; raise if it is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise RequestError(
            f"A password has {SHORTEST} to {LONGEST} characters.", hint="Several words are good ones."
        )
    return password


def hashed(password: str) -> str:
    with HASHING:
        return _hasher().hash(password)


def _fits(kept: str, password: str) -> bool:
    from argon2.exceptions import Argon2Error, InvalidHashError

    with HASHING:
        try:
            return _hasher().verify(kept, password)
        except (Argon2Error, InvalidHashError):
            return False


@cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ModuleNotFoundError:
        raise RequestError(
            "Users need argon2, which is not installed.",
            hint='Install it with pip install "discreet[server]".',
        ) from None
    return PasswordHasher()


@cache
def _nobody() -> str:
    """Return a hash that no password matches."""
    return hashed(drawn())


def _row(
    name: str, role: Role, analyst: str | None, password: str, *, once: bool = False
) -> dict[str, str | None]:
    """Return the row of a user in the storage."""
    return {
        "name": name,
        "role": role.value,
        "analyst": analyst,
        "password": hashed(password),
        "verifier": (ONCE if once else "") + str(Verifier.of(password)),
        "made": now(),
    }


def _user(row: tuple[str, str, str | None, str | None, str]) -> User:
    name, role, analyst, verifier, password = row
    return User(
        name=name,
        role=Role(role),
        analyst=analyst,
        verifier=None if verifier is None else Verifier.read(verifier.removeprefix(ONCE)),
        once=verifier is None or verifier.startswith(ONCE),
        stamp=password,
    )
