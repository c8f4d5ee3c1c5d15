"""Web sessions: a signed token in a cookie, and the CSRF token that forms send back.

Token       User name, session id, expiry and password stamp, with an HMAC that only this server can compute.
Stamp       Derived from the user's password hash: a changed password or a removed user ends the session.
Logout      Ended sessions are stored until they would have expired.
CSRF        Another site can make a browser send the cookie, but cannot read the page: requests that change
            something must carry the CSRF token, an HMAC of the session id.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass

from discreet.app.users.storage import UserStorage
from discreet.app.users.users import User, UserBook
from discreet.core.randomness import Randomness

SECONDS = 12 * 3600
LONGEST = 1_000


@dataclass(frozen=True, kw_only=True)
class Session:
    """A logged-in user, the session id and its expiry."""

    user: User
    number: str
    expires: float


class Sessions:
    """The sessions of a ledger's users."""

    def __init__(self, file: UserStorage) -> None:
        self._file, self._users, self._secret = file, UserBook(file), file.secret

    def open(self, user: User) -> tuple[Session, str]:
        """Open a session; return it with its token."""
        number, expires = Randomness().source(16).hex(), time.time() + SECONDS
        said = json.dumps([user.name, number, expires, self._stamp(user)]).encode()
        content = base64.urlsafe_b64encode(said).decode()
        return (
            Session(user=user, number=number, expires=expires),
            f"{content}.{self._keyed('session', content)}",
        )

    def recognized(self, text: str) -> Session | None:
        """Return the live session for this token, or None."""
        content, _, signature = text.partition(".")
        if len(text) > LONGEST or not text.isascii():
            return None
        if not hmac.compare_digest(signature, self._keyed("session", content)):
            return None
        name, number, expires, stamp = json.loads(base64.urlsafe_b64decode(content))
        user = self._users.find(name)
        if user is None or time.time() > expires or not hmac.compare_digest(stamp, self._stamp(user)):
            return None
        with self._file.reading() as rows:
            ended = rows.execute("SELECT 1 FROM ended WHERE session = :number", {"number": number}).fetchone()
        return None if ended else Session(user=user, number=number, expires=expires)

    def end(self, session: Session) -> None:
        with self._file.writing() as rows:
            rows.execute("DELETE FROM ended WHERE expires < :now", {"now": time.time()})
            ended = {"number": session.number, "expires": session.expires}
            rows.execute("INSERT INTO ended VALUES (:number, :expires) ON CONFLICT DO NOTHING", ended)

    def proof(self, session: Session) -> str:
        """Return the CSRF token that requests of this session must carry to change something."""
        return self._keyed("proof", session.number)

    def proves(self, session: Session, given: str) -> bool:
        """Return True if this is the CSRF token of the session."""
        return given.isascii() and hmac.compare_digest(given, self.proof(session))

    def _stamp(self, user: User) -> str:
        return self._keyed("stamp", user.stamp)[:32]

    def _keyed(self, use: str, text: str) -> str:
        return hmac.new(self._secret, f"{use}:{text}".encode(), hashlib.sha256).hexdigest()
