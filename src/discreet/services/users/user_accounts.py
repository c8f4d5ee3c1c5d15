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
Analyst     as whom a user asks: custodians ask as nobody unless an analyst is given, auditors never. A new
            analyst is by default the one of the policy that has the user's name.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field

from discreet.accounting.ledger import SOLE_ANALYST
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.services.policies import resolve_analyst
from discreet.services.request_fields import CommandLine
from discreet.services.users.scram_verifier import ITERATIONS, Verifier
from discreet.services.users.user_storage import UserStorage, get_timestamp

if TYPE_CHECKING:
    from argon2 import PasswordHasher


PASSWORD_BYTES = 15
MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 200
USER_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")
FIRST_CUSTODIAN = "custodian"
ONE_TIME_PREFIX = "once:"
"""The prefix of the verifier of a one-time password. A user without verifier has a one-time password too."""
USER_COLUMNS = "name, role, analyst, verifier, password"
INSERT_USER = 'INSERT INTO "user" VALUES (:name, :role, :analyst, :password, :verifier, :made)'
UPDATE_PASSWORD = 'UPDATE "user" SET password = :password, verifier = :verifier WHERE name = :name'
UPDATE_VERIFIER = 'UPDATE "user" SET verifier = :verifier WHERE name = :name AND password = :stamp'
HASH_SLOTS = threading.BoundedSemaphore(2)
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
    must_change_password: bool
    stamp: str = ""


class UserLookup(Protocol):
    """Look-up of users for logins."""

    @property
    def secret(self) -> bytes:
        """The secret key stored with the users."""

    def find(self, name: str) -> User | None:
        """Return the user of that name, or None."""

    def list_iteration_counts(self) -> tuple[int, ...]:
        """Return the iteration counts of all users' verifiers."""


class UserAccounts:
    """The user accounts of a ledger."""

    def __init__(self, storage: UserStorage) -> None:
        self.storage = storage

    @property
    def secret(self) -> bytes:
        return self.storage.secret

    def find(self, name: str) -> User | None:
        if not USER_NAME_PATTERN.fullmatch(name):
            return None
        with self.storage.read_transaction() as rows:
            row = rows.execute(
                f'SELECT {USER_COLUMNS} FROM "user" WHERE name = :name', {"name": name}
            ).fetchone()
        return None if row is None else _user_from_row(row)

    def list_all(self) -> list[User]:
        with self.storage.read_transaction() as rows:
            return [
                _user_from_row(row)
                for row in rows.execute(f'SELECT {USER_COLUMNS} FROM "user" ORDER BY name')
            ]

    def list_iteration_counts(self) -> tuple[int, ...]:
        """Return the iteration counts of all users' verifiers."""
        return tuple(each.verifier.iterations for each in self.list_all() if each.verifier is not None)

    def add(
        self,
        name: str,
        role: Role,
        analyst: str | None,
        password: str | None = None,
        *,
        must_change_password: bool = False,
    ) -> str:
        """Add a user and return the password, which is drawn if none is given and shown this one time."""
        if not USER_NAME_PATTERN.fullmatch(name):
            raise RequestError("user: a name is letters, digits and . _ @ -, at most 63 of them.")
        told = draw_password() if password is None else check_password_length(password)
        row = _make_user_row(name, role, analyst, told, must_change_password=must_change_password)
        with self.storage.write_transaction() as rows:
            if rows.execute('SELECT 1 FROM "user" WHERE name = :name', {"name": name}).fetchone():
                raise RequestError(
                    f"user: {name} already exists.",
                    hint=f"Choose another name, or run discreet user remove {name} first.",
                )
            rows.execute(INSERT_USER, row)
        return told

    def remove(self, name: str) -> None:
        """Remove a user with tokens and sessions; charges stay in the ledger."""
        with self.storage.write_transaction() as rows:
            if not rows.execute('DELETE FROM "user" WHERE name = :name', {"name": name}).rowcount:
                raise RequestError(f"user: there is no user {name}.", hint="discreet user list shows all.")

    def authenticate(self, name: str, password: str) -> User | None:
        """Return the user if the password is right, else None."""
        user = self.find(name)
        # Unknown names are verified too, against a hash that nothing matches, to take the same time.
        right = _verify_password(_get_unmatched_hash() if user is None else user.stamp, password)
        if user is None or not right:
            return None
        if user.verifier is not None and user.verifier.iterations < ITERATIONS:
            self._renew_verifier(user, password)
        return user

    def change_password(self, name: str, password: str) -> None:
        """Change the password; sessions of the old one end, and all tokens are revoked."""
        verifier = str(Verifier.from_password(password))
        values = {
            "password": hash_password(check_password_length(password)),
            "verifier": verifier,
            "name": name,
        }
        with self.storage.write_transaction() as rows:
            rows.execute(UPDATE_PASSWORD, values)
            rows.execute('DELETE FROM token WHERE "user" = :name', {"name": name})

    def _renew_verifier(self, user: User, password: str) -> None:
        """Store a verifier with the current iteration count, unless the password has changed."""
        verifier = (ONE_TIME_PREFIX if user.must_change_password else "") + str(
            Verifier.from_password(password)
        )
        with self.storage.write_transaction() as rows:
            rows.execute(UPDATE_VERIFIER, {"verifier": verifier, "name": user.name, "stamp": user.stamp})

    def create_first_users(self, policy: Policy) -> Mapping[str, str]:
        """Create the custodian and the policy's analysts if there are no users; return their passwords."""
        if self.list_all():
            return {}
        analysts = [each for each in policy.analysts or (SOLE_ANALYST,) if USER_NAME_PATTERN.fullmatch(each)]
        told = {name: draw_password() for name in (FIRST_CUSTODIAN, *analysts)}
        first = _make_user_row(
            FIRST_CUSTODIAN,
            Role.CUSTODIAN,
            get_sole_analyst(policy),
            told[FIRST_CUSTODIAN],
            must_change_password=True,
        )
        others = [
            _make_user_row(name, Role.ANALYST, name, told[name])
            for name in analysts
            if name != FIRST_CUSTODIAN
        ]
        with self.storage.write_transaction() as rows:
            if rows.execute('SELECT 1 FROM "user"').fetchone():
                return {}  # another server, started at the same time, has created them
            for row in (first, *others):
                rows.execute(INSERT_USER, row)
        return told


def get_sole_analyst(policy: Policy) -> str | None:
    """Return the analyst that all users ask as if the policy divides its promise among none, else None."""
    return None if policy.analysts else SOLE_ANALYST


def draw_password() -> str:
    return base64.b32encode(Randomness().source(PASSWORD_BYTES)).decode().lower()


def check_password_length(password: str) -> str:
    """Return the password; raise if it is too short or too long."""
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise RequestError(
            f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters.",
            hint="Several words are good ones.",
        )
    return password


def hash_password(password: str) -> str:
    with HASH_SLOTS:
        return _get_hasher().hash(password)


def _verify_password(password_hash: str, password: str) -> bool:
    from argon2.exceptions import Argon2Error, InvalidHashError

    with HASH_SLOTS:
        try:
            return _get_hasher().verify(password_hash, password)
        except (Argon2Error, InvalidHashError):
            return False


@cache
def _get_hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ModuleNotFoundError:
        raise RequestError(
            "Users need argon2, which is not installed.",
            hint='Install it with pip install "discreet[server]".',
        ) from None
    return PasswordHasher()


@cache
def _get_unmatched_hash() -> str:
    """Return a hash that no password matches."""
    return hash_password(draw_password())


def _make_user_row(
    name: str, role: Role, analyst: str | None, password: str, *, must_change_password: bool = False
) -> dict[str, str | None]:
    return {
        "name": name,
        "role": role.value,
        "analyst": analyst,
        "password": hash_password(password),
        "verifier": (ONE_TIME_PREFIX if must_change_password else "") + str(Verifier.from_password(password)),
        "made": get_timestamp(),
    }


def _user_from_row(row: tuple[str, str, str | None, str | None, str]) -> User:
    name, role, analyst, verifier, password = row
    return User(
        name=name,
        role=Role(role),
        analyst=analyst,
        verifier=None if verifier is None else Verifier.parse(verifier.removeprefix(ONE_TIME_PREFIX)),
        must_change_password=verifier is None or verifier.startswith(ONE_TIME_PREFIX),
        stamp=password,
    )


class AddUserRequest(BaseModel):
    """A user to add: name and role, and the analyst whose share the user spends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(description="The user's name."), CommandLine(is_argument=True)]
    role: Annotated[Role, Field(description="The user's role.")] = Role.ANALYST
    analyst: Annotated[
        str | None,
        Field(description="The analyst as whom the user asks; by default, the one of the same name."),
    ] = None


def add_user(
    users: UserAccounts, policy: Policy, request: AddUserRequest, password: str | None
) -> tuple[str | None, str]:
    """Add a user; return the analyst to charge and the password, which is random if none is given."""
    analyst = _resolve_user_analyst(policy, request)
    return analyst, users.add(request.name, request.role, analyst, password)


def _resolve_user_analyst(policy: Policy, request: AddUserRequest) -> str | None:
    if request.role is Role.AUDITOR:
        if request.analyst is not None:
            raise RequestError("user: an auditor reads and does not ask.", hint="Leave out `analyst=`.")
        return None
    if request.role is Role.CUSTODIAN and request.analyst is None:
        return get_sole_analyst(policy)
    who = resolve_analyst(
        policy, request.analyst or (request.name if request.name in policy.analysts else None)
    )
    if not policy.analysts and who != get_sole_analyst(policy):
        raise RequestError(
            f"user: the policy gives {who} no share.",
            hint=f"Leave out `analyst=`, or write analysts: {{{who}: {{share: 50%}}}} into the policy.",
        )
    return who
