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

from discreet.app.users.storage import TOKEN_DAYS, UserStorage
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness

BEGINNING = "discreet_"
TOKEN_BYTES = 32
MOST = 20
LONGEST_LABEL = 100
MOST_DAYS = 366
COUNT = 'SELECT count(*) FROM token WHERE "user" = :user'
INSERT = (
    'INSERT INTO token (id, "user", label, digest, made, expires)'
    " VALUES (:id, :user, :label, :digest, :made, :expires)"
)
OWNER = 'SELECT "user" FROM token WHERE digest = :digest AND expires > :now'
PURGE = "DELETE FROM token WHERE expires <= :now"
REVOKE = 'DELETE FROM token WHERE id = :id AND "user" = :user'


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token as it is listed, without its text."""

    id: str
    label: str
    made: str
    expires: str


class Tokens:
    """The tokens of users. A fast hash is enough: 256 random bits cannot be guessed."""

    def __init__(self, file: UserStorage, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._file, self._clock = file, clock

    def issue(
        self, user: str, label: str, *, days: int = TOKEN_DAYS, stamp: str | None = None
    ) -> tuple[Token, str]:
        """Issue a token for some days; return its listing and its text. A user has at most 20.

        `stamp` is the password stamp of the user's session: if the password has changed since, the token is
        refused.
        """
        if not 0 < days <= MOST_DAYS:
            raise RequestError(
                f"tokens: a token lasts 1 to {MOST_DAYS} days.", hint="Choose a number of days in that range."
            )
        secret = Randomness().source(TOKEN_BYTES)
        text = BEGINNING + base64.urlsafe_b64encode(secret).decode().rstrip("=")
        until = (self._clock() + timedelta(days=days)).isoformat(timespec="seconds")
        made = Token(id=Randomness().source(6).hex(), label=label, made=self._now(), expires=until)
        with self._file.writing() as rows:
            kept = rows.execute('SELECT password FROM "user" WHERE name = :user', {"user": user}).fetchone()
            if kept is None or (stamp is not None and stamp != kept[0]):
                raise RequestError("tokens: the user was removed or changed.", hint="Log in again.")
            rows.execute(PURGE, {"now": self._now()})
            count = rows.execute(COUNT, {"user": user}).fetchone()[0]
            if count >= MOST:
                raise RequestError(f"tokens: you have {MOST} already.", hint="Revoke one that is not used.")
            rows.execute(INSERT, asdict(made) | {"user": user, "digest": _digest(text)})
        return made, text

    def of(self, user: str) -> list[Token]:
        query = 'SELECT id, label, made, expires FROM token WHERE "user" = :user ORDER BY made, id'
        with self._file.reading() as rows:
            found = rows.execute(query, {"user": user}).fetchall()
        return [Token(id=row[0], label=row[1], made=row[2], expires=row[3]) for row in found]

    def owner(self, text: str) -> str | None:
        """Return the user of a token; None if it is unknown or expired."""
        with self._file.reading() as rows:
            found = rows.execute(OWNER, {"digest": _digest(text), "now": self._now()}).fetchone()
        return None if found is None else str(found[0])

    def revoke(self, user: str, token: str) -> None:
        with self._file.writing() as rows:
            if not rows.execute(REVOKE, {"id": token, "user": user}).rowcount:
                raise RequestError("tokens: you have no token of that id.")

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
