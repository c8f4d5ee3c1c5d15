"""Who calls: by the cookie of a session or by a token, and what that user's role allows.

Cookie      HttpOnly, SameSite=Strict, Secure under TLS. A request that changes something and comes by cookie
            brings the session's proof in X-CSRF-Token.
Token       as `Authorization: Bearer …`. It acts as its user, but neither makes tokens nor passwords.
Once        Who has a drawn password may do nothing but choose another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from discreet.app.http.door import HttpDoor
from discreet.app.http.errors import ForbiddenError, LoginError, PasswordError
from discreet.app.users import Role, User
from discreet.app.users.sessions import Session

COOKIE = "discreet_session"
PROOF = "X-CSRF-Token"
READS = ("GET", "HEAD", "OPTIONS")
COOKIES = APIKeyCookie(name=COOKIE, auto_error=False)
BEARERS = HTTPBearer(auto_error=False)
PROOFS = APIKeyHeader(name=PROOF, auto_error=False)


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A user, and the session by which the request came, if not by a token."""

    user: User
    session: Session | None

    @property
    def asks_as(self) -> str:
        """In whose name questions are asked."""
        if self.user.analyst is None:
            raise ForbiddenError(
                f"{self.user.name} asks in no analyst's name.",
                hint=f"The custodian gives one: discreet user add … --role {self.user.role.value} --analyst.",
            )
        return self.user.analyst

    @property
    def own(self) -> Session:
        """The session, for what a token may not do."""
        if self.session is None:
            raise ForbiddenError("This is not done with a token.", hint="Log in with the password.")
        return self.session


def door_of(request: Request) -> HttpDoor:
    return cast("HttpDoor", request.app.state.door)


Door = Annotated[HttpDoor, Depends(door_of)]


def known(
    request: Request,
    door: Door,
    cookie: Annotated[str | None, Depends(COOKIES)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARERS)],
    proof: Annotated[str | None, Depends(PROOFS)],
) -> Caller:
    """Whoever calls, even with a password that has to be changed."""
    if bearer is not None:
        owner = door.tokens.owner(bearer.credentials)
        user = None if owner is None else door.users.find(owner)
        if user is None:
            raise LoginError("That token is not known.", hint="Make one: POST /api/tokens.")
        return Caller(user=user, session=None)
    session = None if cookie is None else door.sessions.recognized(cookie)
    if session is None:
        raise LoginError("Nobody is logged in.", hint="POST /api/login, or send a token as Bearer.")
    if request.method not in READS and not door.sessions.proves(session, proof or ""):
        raise ForbiddenError(f"{PROOF} is missing or wrong.", hint="GET /api/session tells it.")
    return Caller(user=session.user, session=session)


def entered(caller: Annotated[Caller, Depends(known)]) -> Caller:
    """Whoever calls and may do what the role allows."""
    if caller.user.once:
        raise PasswordError("This password is for one login.", hint="Choose another: POST /api/password.")
    return caller


def allowed(*roles: Role) -> Callable[[Caller], Caller]:
    """Only users of these roles."""

    def require(caller: Annotated[Caller, Depends(entered)]) -> Caller:
        if caller.user.role not in roles:
            names = " or ".join(role.value for role in roles)
            raise ForbiddenError(f"This is for {names}; {caller.user.name} is {caller.user.role.value}.")
        return caller

    return require


Known = Annotated[Caller, Depends(known)]
Entered = Annotated[Caller, Depends(entered)]
Asking = Annotated[Caller, Depends(allowed(Role.ANALYST, Role.CUSTODIAN))]
Overseeing = Annotated[Caller, Depends(allowed(Role.AUDITOR, Role.CUSTODIAN))]
Deciding = Annotated[Caller, Depends(allowed(Role.CUSTODIAN))]
