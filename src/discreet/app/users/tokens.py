"""API tokens: what a program shows in place of a login. Kept by their hash; told once."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from discreet.app.users.storage import UserStorage, now
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness

BEGINNING = "discreet_"
TOKEN_BYTES = 32
MOST = 20
LONGEST_LABEL = 100
COUNT = 'SELECT count(*) FROM token WHERE "user" = :user'
OWNER = 'SELECT "user" FROM token WHERE digest = :digest'
REVOKE = 'DELETE FROM token WHERE id = :id AND "user" = :user'


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token as it is listed: everything but itself."""

    id: str
    label: str
    made: str


class Tokens:
    """The tokens of users. 256 random bits need no slow hash: there is nothing to guess."""

    def __init__(self, file: UserStorage) -> None:
        self._file = file

    def issue(self, user: str, label: str) -> tuple[Token, str]:
        """A new token and how it is listed; at most so many a user."""
        secret = Randomness().source(TOKEN_BYTES)
        text = BEGINNING + base64.urlsafe_b64encode(secret).decode().rstrip("=")
        made = Token(id=Randomness().source(6).hex(), label=label, made=now())
        with self._file.writing() as rows:
            count = rows.execute(COUNT, {"user": user}).fetchone()[0]
            if count >= MOST:
                raise RequestError(
                    f"tokens: you have {MOST} already.", hint="Take one back that is not used."
                )
            row = {"id": made.id, "user": user, "label": label, "digest": _digest(text), "made": made.made}
            rows.execute("INSERT INTO token VALUES (:id, :user, :label, :digest, :made)", row)
        return made, text

    def of(self, user: str) -> list[Token]:
        query = 'SELECT id, label, made FROM token WHERE "user" = :user ORDER BY made, id'
        with self._file.reading() as rows:
            found = rows.execute(query, {"user": user}).fetchall()
        return [Token(id=row[0], label=row[1], made=row[2]) for row in found]

    def owner(self, text: str) -> str | None:
        """Whose token that is."""
        with self._file.reading() as rows:
            found = rows.execute(OWNER, {"digest": _digest(text)}).fetchone()
        return None if found is None else str(found[0])

    def revoke(self, user: str, token: str) -> None:
        with self._file.writing() as rows:
            if not rows.execute(REVOKE, {"id": token, "user": user}).rowcount:
                raise RequestError("tokens: you have no token of that id.")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
