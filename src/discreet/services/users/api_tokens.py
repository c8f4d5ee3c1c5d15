"""API tokens for programs, in place of a login. Stored by their hash and shown once.

Expiry      Each token lasts a number of days; an expired one is refused like an unknown one.
Password    Changing the password revokes all tokens of the user; a token requested in a session of the old
            password is refused (`stamp`).
Migration   Tokens of storages without expiry got 90 days when the storage was first opened by this format.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.services.users.user_storage import DEFAULT_TOKEN_DAYS, UserStorage

TOKEN_PREFIX = "discreet_"
TOKEN_BYTES = 32
MAX_TOKENS_PER_USER = 20
MAX_LABEL_LENGTH = 100
MAX_TOKEN_DAYS = 366
COUNT_TOKENS = 'SELECT count(*) FROM token WHERE "user" = :user'
INSERT_TOKEN = (
    'INSERT INTO token (id, "user", label, digest, made, expires)'
    " VALUES (:id, :user, :label, :digest, :made, :expires)"
)
SELECT_OWNER = 'SELECT "user" FROM token WHERE digest = :digest AND expires > :now'
DELETE_EXPIRED = "DELETE FROM token WHERE expires <= :now"
DELETE_TOKEN = 'DELETE FROM token WHERE id = :id AND "user" = :user'


@dataclass(frozen=True, kw_only=True)
class ApiToken:
    """A token as it is listed, without its text."""

    id: str
    label: str
    made: str
    expires: str


class ApiTokens:
    """The tokens of users. A fast hash is enough: 256 random bits cannot be guessed."""

    def __init__(
        self, storage: UserStorage, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._storage, self._clock = storage, clock

    def issue(
        self, user: str, label: str, *, days: int = DEFAULT_TOKEN_DAYS, stamp: str | None = None
    ) -> tuple[ApiToken, str]:
        """Issue a token for some days; return its listing and its text. A user has at most 20.

        `stamp` is the password stamp of the user's session: if the password has changed since, the token is
        refused.
        """
        if not 0 < days <= MAX_TOKEN_DAYS:
            raise RequestError(
                f"tokens: a token lasts 1 to {MAX_TOKEN_DAYS} days.",
                hint="Choose a number of days in that range.",
            )
        secret = Randomness().source(TOKEN_BYTES)
        text = TOKEN_PREFIX + base64.urlsafe_b64encode(secret).decode().rstrip("=")
        until = (self._clock() + timedelta(days=days)).isoformat(timespec="seconds")
        made = ApiToken(
            id=Randomness().source(6).hex(), label=label, made=self._get_timestamp(), expires=until
        )
        with self._storage.write_transaction() as rows:
            kept = rows.execute('SELECT password FROM "user" WHERE name = :user', {"user": user}).fetchone()
            if kept is None or (stamp is not None and stamp != kept[0]):
                raise RequestError(
                    "tokens: the account was removed, or its password was changed.", hint="Log in again."
                )
            rows.execute(DELETE_EXPIRED, {"now": self._get_timestamp()})
            count = rows.execute(COUNT_TOKENS, {"user": user}).fetchone()[0]
            if count >= MAX_TOKENS_PER_USER:
                raise RequestError(
                    f"tokens: you have {MAX_TOKENS_PER_USER} already.", hint="Revoke one that is not used."
                )
            rows.execute(INSERT_TOKEN, asdict(made) | {"user": user, "digest": _hash_token(text)})
        return made, text

    def list_for_user(self, user: str) -> list[ApiToken]:
        query = 'SELECT id, label, made, expires FROM token WHERE "user" = :user ORDER BY made, id'
        with self._storage.read_transaction() as rows:
            found = rows.execute(query, {"user": user}).fetchall()
        return [ApiToken(id=row[0], label=row[1], made=row[2], expires=row[3]) for row in found]

    def find_owner(self, token: str) -> str | None:
        """Return the user of a token; None if it is unknown or expired."""
        with self._storage.read_transaction() as rows:
            found = rows.execute(
                SELECT_OWNER, {"digest": _hash_token(token), "now": self._get_timestamp()}
            ).fetchone()
        return None if found is None else str(found[0])

    def revoke(self, user: str, token_id: str) -> None:
        with self._storage.write_transaction() as rows:
            if not rows.execute(DELETE_TOKEN, {"id": token_id, "user": user}).rowcount:
                raise RequestError("tokens: you have no token of that id.")

    def _get_timestamp(self) -> str:
        return self._clock().isoformat(timespec="seconds")


def _hash_token(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
