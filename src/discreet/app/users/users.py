"""Users: a name, a role, what a login is checked against, and in which analyst's name it asks.

Role        A custodian decides and sees the whole ledger, an analyst asks within a share, an auditor reads
            ledger and certificates.
Tokens      end when their user's password is changed.
Password    Kept as an argon2id hash for forms and as a SCRAM verifier for the PostgreSQL door; never itself.
Iterations  of a verifier are what drivers accept. One of fewer is written anew when its user logs in by
            form; until then names that nobody has are shown the same numbers as users have.
Once        A password that was drawn for the first custodian opens nothing but the place where another is
            chosen; its verifier is marked, so that the PostgreSQL door says so to who has it, and to nobody
            else.
Unknown     A name that nobody has takes as long to refuse as a wrong password.
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
SHORTEST, LONGEST = 10, 200
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")
FIRST_CUSTODIAN = "custodian"
ONCE = "once:"
"""Before a verifier: the password is for one time. Where there is no verifier it is as well."""
FIELDS = "name, role, analyst, verifier, password"
INSERT = 'INSERT INTO "user" VALUES (:name, :role, :analyst, :password, :verifier, :made)'
CHANGE = 'UPDATE "user" SET password = :password, verifier = :verifier WHERE name = :name'
RENEW = 'UPDATE "user" SET verifier = :verifier WHERE name = :name AND password = :stamp'
HASHING = threading.BoundedSemaphore(2)
"""A hash takes 64 MB: strangers who send many logins must not take all memory."""


class Role(StrEnum):
    """What a user is for."""

    CUSTODIAN = "custodian"
    ANALYST = "analyst"
    AUDITOR = "auditor"


ROLES = tuple(each.value for each in Role)


@dataclass(frozen=True, kw_only=True)
class User:
    """Somebody who may enter, or who has to choose another password first, where this one is for `once`."""

    name: str
    role: Role
    analyst: str | None
    verifier: Verifier | None
    once: bool
    stamp: str = ""


class Users(Protocol):
    """A store of users; it keeps no password."""

    @property
    def secret(self) -> bytes:
        """What is kept beside the users, and by nobody else."""

    def find(self, name: str) -> User | None:
        """The user of that name, if there is one."""

    def iterations(self) -> tuple[int, ...]:
        """Return how many iterations the users' verifiers have."""


class UserBook:
    """The users of a ledger."""

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
        """Return how many iterations the users' verifiers have."""
        return tuple(each.verifier.iterations for each in self.all() if each.verifier is not None)

    def add(
        self, name: str, role: Role, analyst: str | None, password: str | None = None, *, once: bool = False
    ) -> str:
        """Make a user; the password, drawn where none is given, is told this one time."""
        if not NAME.fullmatch(name):
            raise RequestError("user: a name is letters, digits and . _ @ -, at most 63 of them.")
        told = drawn() if password is None else required(password)
        row = _row(name, role, analyst, told, once=once)
        with self.file.writing() as rows:
            if rows.execute('SELECT 1 FROM "user" WHERE name = :name', {"name": name}).fetchone():
                raise RequestError(f"user: {name} is there already.", hint=f"discreet user remove {name}")
            rows.execute(INSERT, row)
        return told

    def remove(self, name: str) -> None:
        """Take a user away, with tokens and sessions; what was charged stays in the ledger."""
        with self.file.writing() as rows:
            if not rows.execute('DELETE FROM "user" WHERE name = :name', {"name": name}).rowcount:
                raise RequestError(f"user: there is no user {name}.", hint="discreet user list")

    def admitted(self, name: str, password: str) -> User | None:
        """The user, if the password is right."""
        user = self.find(name)
        right = _fits(_nobody() if user is None else user.stamp, password)
        if user is None or not right:
            return None
        if user.verifier is not None and user.verifier.iterations < ITERATIONS:
            self._renew_verifier(user, password)
        return user

    def change(self, name: str, password: str) -> None:
        """Another password: sessions that were opened with the old one end, and tokens."""
        verifier = str(Verifier.of(password))
        values = {"password": hashed(required(password)), "verifier": verifier, "name": name}
        with self.file.writing() as rows:
            rows.execute(CHANGE, values)
            rows.execute('DELETE FROM token WHERE "user" = :name', {"name": name})

    def _renew_verifier(self, user: User, password: str) -> None:
        """Write a verifier of as many iterations as are made today, unless the password has changed."""
        verifier = (ONCE if user.once else "") + str(Verifier.of(password))
        with self.file.writing() as rows:
            rows.execute(RENEW, {"verifier": verifier, "name": user.name, "stamp": user.stamp})

    def begin(self, policy: Policy) -> Mapping[str, str]:
        """The first users of a policy where there is none yet, and their passwords: a custodian, analysts."""
        if self.all():
            return {}
        analysts = [each for each in policy.analysts or (SOLE_ANALYST,) if NAME.fullmatch(each)]
        told = {name: drawn() for name in (FIRST_CUSTODIAN, *analysts)}
        first = _row(FIRST_CUSTODIAN, Role.CUSTODIAN, sole(policy), told[FIRST_CUSTODIAN], once=True)
        others = [_row(name, Role.ANALYST, name, told[name]) for name in analysts if name != FIRST_CUSTODIAN]
        with self.file.writing() as rows:
            if rows.execute('SELECT 1 FROM "user"').fetchone():
                return {}  # another server, begun at the same time, has made them
            for row in (first, *others):
                rows.execute(INSERT, row)
        return told


def sole(policy: Policy) -> str | None:
    """In whose name anybody asks where the policy does not divide its promise."""
    return None if policy.analysts else SOLE_ANALYST


def drawn() -> str:
    return base64.b32encode(Randomness().source(PASSWORD_BYTES)).decode().lower()


def required(password: str) -> str:
    """Refuse passwords that are guessed in no time."""
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
    """A hash that no password fits."""
    return hashed(drawn())


def _row(
    name: str, role: Role, analyst: str | None, password: str, *, once: bool = False
) -> dict[str, str | None]:
    """What is kept of a user."""
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
