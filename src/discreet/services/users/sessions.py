"""Web sessions, and the logins that open them: a signed token in a cookie, and a CSRF token for forms.

Login       By name and password, throttled. Changing a password is a login first, and opens a new session.
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
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.services.users.login_throttle import LoginThrottle
from discreet.services.users.user_accounts import User, UserAccounts
from discreet.services.users.user_storage import UserStorage

SESSION_SECONDS = 12 * 3600
MAX_TOKEN_LENGTH = 1_000


@dataclass(frozen=True, kw_only=True)
class Session:
    """A logged-in user, the session id and its expiry."""

    user: User
    id: str
    expires: float


class Sessions:
    """The sessions of a ledger's users."""

    def __init__(self, storage: UserStorage) -> None:
        self._storage, self._users, self._secret = storage, UserAccounts(storage), storage.secret

    def open(self, user: User) -> tuple[Session, str]:
        """Open a session; return it with its token."""
        number, expires = Randomness().source(16).hex(), time.time() + SESSION_SECONDS
        said = json.dumps([user.name, number, expires, self._derive_stamp(user)]).encode()
        content = base64.urlsafe_b64encode(said).decode()
        return (
            Session(user=user, id=number, expires=expires),
            f"{content}.{self._sign('session', content)}",
        )

    def find(self, token: str) -> Session | None:
        """Return the live session for this token, or None."""
        content, _, signature = token.partition(".")
        if len(token) > MAX_TOKEN_LENGTH or not token.isascii():
            return None
        if not hmac.compare_digest(signature, self._sign("session", content)):
            return None
        name, number, expires, stamp = json.loads(base64.urlsafe_b64decode(content))
        user = self._users.find(name)
        if user is None or time.time() > expires or not hmac.compare_digest(stamp, self._derive_stamp(user)):
            return None
        with self._storage.read_transaction() as rows:
            ended = rows.execute("SELECT 1 FROM ended WHERE session = :number", {"number": number}).fetchone()
        return None if ended else Session(user=user, id=number, expires=expires)

    def end(self, session: Session) -> None:
        with self._storage.write_transaction() as rows:
            rows.execute("DELETE FROM ended WHERE expires < :now", {"now": time.time()})
            ended = {"number": session.id, "expires": session.expires}
            rows.execute("INSERT INTO ended VALUES (:number, :expires) ON CONFLICT DO NOTHING", ended)

    def derive_csrf_token(self, session: Session) -> str:
        """Return the CSRF token that requests of this session must carry to change something."""
        return self._sign("proof", session.id)

    def is_csrf_token(self, session: Session, token: str) -> bool:
        """Return True if this is the CSRF token of the session."""
        return token.isascii() and hmac.compare_digest(token, self.derive_csrf_token(session))

    def _derive_stamp(self, user: User) -> str:
        return self._sign("stamp", user.stamp)[:32]

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._secret, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


class AuthenticationError(RequestError):
    """Not logged in, or name and password do not match."""

    code = "login"


class ThrottledLoginError(RequestError):
    """Too many logins have failed; the next one is checked after `seconds`."""

    code = "crowded"

    def __init__(self, seconds: float) -> None:
        self.seconds = math.ceil(seconds)
        super().__init__("Too many logins have failed.", hint=f"Try again in {self.seconds} seconds.")


@dataclass(frozen=True, kw_only=True)
class Logins:
    """Logins of a ledger's users; `count_outcome` is told the outcome of each, for metrics."""

    users: UserAccounts
    sessions: Sessions
    throttle: LoginThrottle
    count_outcome: Callable[[str], None] = lambda outcome: None

    def authenticate_user(self, name: str, password: str, client_address: str) -> User:
        """Return the user of a name and password; raise if they do not match or logins are throttled."""
        with self.throttle.track_login(name, client_address) as seconds:
            if seconds > 0:
                self.count_outcome("throttled")
                raise ThrottledLoginError(seconds)
            user = self.users.authenticate(name, password)
            if user is None:
                self.throttle.record_failure(name, client_address)
                self.count_outcome("refused")
                raise AuthenticationError("Name or password is wrong.")
            self.throttle.record_success(name, client_address)
        self.count_outcome("admitted")
        return user

    def change_password(
        self, session: Session, old: str, new: str, client_address: str
    ) -> tuple[Session, str]:
        """Change the password of a session's user; return a new session with its token."""
        name = session.user.name
        self.authenticate_user(name, old, client_address)
        if old == new:
            raise RequestError("The new password is the old one.", hint="Choose another.")
        self.users.change_password(name, new)
        user = self.users.find(name)
        if user is None:
            raise AuthenticationError("That user was removed.")
        return self.sessions.open(user)
