"""Login with name and password, throttled; and the change of a password, which is a login first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from discreet.core.errors import RequestError
from discreet.services.users.login_throttle import LoginThrottle
from discreet.services.users.sessions import Session, Sessions
from discreet.services.users.user_accounts import User, UserAccounts


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
