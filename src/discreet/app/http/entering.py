"""Authentication by session cookie or bearer token, CSRF protection, and authorization by role.

Cookie      HttpOnly, SameSite=Strict, Secure under TLS. A request that changes something and is authenticated
            by cookie must carry the session's CSRF token in X-CSRF-Token.
Token       as `Authorization: Bearer …`. It acts as its user, but cannot create tokens or change passwords.
One-time    A user with a one-time password may do nothing but choose another password.
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
    """An authenticated user, with the session unless a token was used."""

    user: User
    session: Session | None

    @property
    def asks_as(self) -> str:
        """The analyst whose share the user's queries are charged to."""
        if self.user.analyst is None:
            raise ForbiddenError(
                f"{self.user.name} is linked to no analyst.",
                hint=f"The custodian links one: discreet user add … --role {self.user.role.value} --analyst.",
            )
        return self.user.analyst

    @property
    def own(self) -> Session:
        """The session; a caller with a token is refused."""
        if self.session is None:
            raise ForbiddenError("A token does not allow this.", hint="Log in with the password.")
        return self.session


def door_of(request: Request) -> HttpDoor:
    """Return the state that the application was created with."""
    return cast("HttpDoor", request.app.state.door)


Door = Annotated[HttpDoor, Depends(door_of)]


def known(
    request: Request,
    door: Door,
    cookie: Annotated[str | None, Depends(COOKIES)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARERS)],
    proof: Annotated[str | None, Depends(PROOFS)],
) -> Caller:
    """Return the caller of a valid token or session, even if the password must still be changed."""
    if bearer is not None:
        owner = door.tokens.owner(bearer.credentials)
        user = None if owner is None else door.users.find(owner)
        if user is None:
            raise LoginError("This token is not valid.", hint="Create one: POST /api/tokens.")
        return Caller(user=user, session=None)  # other sites cannot send the header: no CSRF check
    session = None if cookie is None else door.sessions.recognized(cookie)
    if session is None:
        raise LoginError("Not logged in.", hint="POST /api/login, or send a bearer token.")
    if request.method not in READS and not door.sessions.proves(session, proof or ""):
        raise ForbiddenError(f"{PROOF} is missing or wrong.", hint="GET /api/session returns it.")
    return Caller(user=session.user, session=session)


def entered(caller: Annotated[Caller, Depends(known)]) -> Caller:
    """Return the caller, unless a one-time password must be changed first."""
    if caller.user.once:
        raise PasswordError(
            "This password is valid for one login only.", hint="Choose another: POST /api/password."
        )
    return caller


def allowed(*roles: Role) -> Callable[[Caller], Caller]:
    """Return a dependency that admits only users of these roles."""

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
