"""Authentication by session cookie or bearer token, and authorization by role.

Cookie      HttpOnly, SameSite=Strict, Secure under TLS. A request that changes something and is authenticated
            by cookie must carry the session's CSRF token (`csrf`).
Token       as `Authorization: Bearer …`. It acts as its user, but cannot create tokens or change passwords.
One-time    A user with a one-time password may do nothing but choose another password.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol, cast

from fastapi import Depends, Request, Response
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from discreet.http.csrf import CSRF_HEADER_SCHEME, require_csrf_header
from discreet.http.http_errors import ForbiddenError, PasswordChangeRequiredError
from discreet.services.users import Role, User, UserAccounts
from discreet.services.users.api_tokens import ApiTokens
from discreet.services.users.sessions import SESSION_SECONDS, AuthenticationError, Session, Sessions

SESSION_COOKIE = "discreet_session"
SESSION_COOKIE_SCHEME = APIKeyCookie(name=SESSION_COOKIE, auto_error=False)
BEARER_SCHEME = HTTPBearer(auto_error=False)


@dataclass(frozen=True, kw_only=True)
class Caller:
    """An authenticated user, with the session unless a token was used."""

    user: User
    session: Session | None

    @property
    def analyst(self) -> str:
        """The analyst whose share the user's queries are charged to."""
        if self.user.analyst is None:
            raise ForbiddenError(
                f"{self.user.name} is linked to no analyst.",
                hint=f"The custodian links one: discreet user add … --role {self.user.role.value} --analyst.",
            )
        return self.user.analyst

    @property
    def required_session(self) -> Session:
        """The session; a caller with a token is refused."""
        if self.session is None:
            raise ForbiddenError("A token does not allow this.", hint="Log in with the password.")
        return self.session


class AuthenticationContext(Protocol):
    """The part of the application's state that authentication uses."""

    @property
    def users(self) -> UserAccounts: ...
    @property
    def sessions(self) -> Sessions: ...
    @property
    def tokens(self) -> ApiTokens: ...
    @property
    def uses_tls(self) -> bool: ...


def authenticate(
    request: Request,
    cookie: Annotated[str | None, Depends(SESSION_COOKIE_SCHEME)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER_SCHEME)],
    csrf_token: Annotated[str | None, Depends(CSRF_HEADER_SCHEME)],
) -> Caller:
    """Return the caller of a valid token or session, even if the password must still be changed."""
    context = cast("AuthenticationContext", request.app.state.context)
    if bearer is not None:
        owner = context.tokens.find_owner(bearer.credentials)
        user = None if owner is None else context.users.find(owner)
        if user is None:
            raise AuthenticationError("This token is not valid.", hint="Create one: POST /api/tokens.")
        return Caller(user=user, session=None)  # other sites cannot send the header: no CSRF check
    session = None if cookie is None else context.sessions.find(cookie)
    if session is None:
        raise AuthenticationError("Not logged in.", hint="POST /api/login, or send a bearer token.")
    require_csrf_header(request, context.sessions, session, csrf_token)
    return Caller(user=session.user, session=session)


def require_permanent_password(caller: Annotated[Caller, Depends(authenticate)]) -> Caller:
    """Return the caller, unless a one-time password must be changed first."""
    if caller.user.must_change_password:
        raise PasswordChangeRequiredError(
            "This password is valid for one login only.", hint="Choose another: POST /api/password."
        )
    return caller


def require_role(*roles: Role) -> Callable[[Caller], Caller]:
    """Return a dependency that admits only users of these roles."""

    def check_role(caller: Annotated[Caller, Depends(require_permanent_password)]) -> Caller:
        if caller.user.role not in roles:
            names = " or ".join(role.value for role in roles)
            raise ForbiddenError(f"This is for {names}; {caller.user.name} is {caller.user.role.value}.")
        return caller

    return check_role


AuthenticatedCaller = Annotated[Caller, Depends(authenticate)]
CurrentCaller = Annotated[Caller, Depends(require_permanent_password)]
AskingCaller = Annotated[Caller, Depends(require_role(Role.ANALYST, Role.CUSTODIAN))]
AuditorCaller = Annotated[Caller, Depends(require_role(Role.AUDITOR, Role.CUSTODIAN))]
CustodianCaller = Annotated[Caller, Depends(require_role(Role.CUSTODIAN))]


def get_client_address(request: Request) -> str:
    """Return the client's network address; X-Forwarded-For is ignored, as any client can set it."""
    return request.client.host if request.client is not None else ""


def set_session_cookie(response: Response, context: AuthenticationContext, session_token: str) -> None:
    """Set the session cookie, which scripts cannot read and other sites cannot send."""
    response.set_cookie(
        SESSION_COOKIE,
        session_token,
        max_age=SESSION_SECONDS,
        path="/",
        secure=context.uses_tls,
        httponly=True,
        samesite="strict",
    )


def delete_session_cookie(response: Response, context: AuthenticationContext) -> None:
    """Let the browser forget the session cookie."""
    response.delete_cookie(
        SESSION_COOKIE, path="/", secure=context.uses_tls, httponly=True, samesite="strict"
    )
