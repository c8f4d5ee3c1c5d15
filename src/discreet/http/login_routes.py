"""Routes of logins, sessions, passwords and tokens."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from discreet.core.errors import RequestError
from discreet.http.app_context import AppContext
from discreet.http.authentication import SESSION_COOKIE, AuthenticatedCaller, Caller, Context, CurrentCaller
from discreet.http.http_errors import AuthenticationError, ThrottledLoginError
from discreet.http.request_bodies import LoginBody, PasswordChangeBody, TokenBody
from discreet.services.users import User
from discreet.services.users.sessions import SESSION_SECONDS, Session

router = APIRouter(prefix="/api", tags=["users"])


def authenticate_user(context: AppContext, name: str, password: str, client_address: str) -> User:
    """Return the user of a name and password; raise if they do not match or logins are throttled."""
    with context.throttle.track_login(name, client_address) as seconds:
        if seconds > 0:
            context.metrics.increment("discreet_logins_total", outcome="throttled")
            raise ThrottledLoginError(seconds)
        user = context.users.authenticate(name, password)
        if user is None:
            context.throttle.record_failure(name, client_address)
            context.metrics.increment("discreet_logins_total", outcome="refused")
            raise AuthenticationError("Name or password is wrong.")
        context.throttle.record_success(name, client_address)
    context.metrics.increment("discreet_logins_total", outcome="admitted")
    return user


def get_client_address(request: Request) -> str:
    """Return the client's network address; X-Forwarded-For is ignored, as any client can set it."""
    return request.client.host if request.client is not None else ""


def set_session_cookie(response: Response, context: AppContext, session_token: str) -> None:
    response.set_cookie(
        SESSION_COOKIE,
        session_token,
        max_age=SESSION_SECONDS,
        path="/",
        secure=context.uses_tls,
        httponly=True,
        samesite="strict",
    )


@router.post("/login")
def log_in(body: LoginBody, request: Request, response: Response, context: Context) -> dict[str, object]:
    """Log in: set the session cookie and return the CSRF token."""
    session, text = context.sessions.open(
        authenticate_user(context, body.name, body.password, get_client_address(request))
    )
    set_session_cookie(response, context, text)
    return _session_to_json(context, session)


@router.get("/session")
def get_session(caller: AuthenticatedCaller, context: Context) -> dict[str, object]:
    """Return the user who is logged in, and the session's CSRF token."""
    return _user_to_json(caller.user) if caller.session is None else _session_to_json(context, caller.session)


@router.post("/logout")
def log_out(caller: AuthenticatedCaller, response: Response, context: Context) -> dict[str, object]:
    """Log out: end the session."""
    context.sessions.end(caller.required_session)
    response.delete_cookie(
        SESSION_COOKIE, path="/", secure=context.uses_tls, httponly=True, samesite="strict"
    )
    return {"ended": True}


@router.post("/password")
def change_password(
    body: PasswordChangeBody,
    caller: AuthenticatedCaller,
    request: Request,
    response: Response,
    context: Context,
) -> dict[str, object]:
    """Change the password; every other session and every token of the user ends."""
    session, text = change_user_password(context, caller, body.old, body.new, get_client_address(request))
    set_session_cookie(response, context, text)
    return _session_to_json(context, session)


def change_user_password(
    context: AppContext, caller: Caller, old: str, new: str, client_address: str
) -> tuple[Session, str]:
    """Change the password, and return a new session with its cookie value."""
    name = caller.required_session.user.name
    authenticate_user(context, name, old, client_address)
    if old == new:
        raise RequestError("The new password is the old one.", hint="Choose another.")
    context.users.change_password(name, new)
    user = context.users.find(name)
    if user is None:
        raise AuthenticationError("That user was removed.")
    return context.sessions.open(user)


@router.get("/tokens")
def list_tokens(caller: CurrentCaller, context: Context) -> dict[str, object]:
    """Return the user's tokens, without their secret values."""
    return {"tokens": [asdict(each) for each in context.tokens.list_for_user(caller.user.name)]}


@router.post("/tokens", status_code=201)
def issue_token(body: TokenBody, caller: CurrentCaller, context: Context) -> dict[str, object]:
    """Create a token. Its value is shown only in this response."""
    user = caller.required_session.user
    made, text = context.tokens.issue(user.name, body.label, days=body.days, stamp=user.stamp)
    return asdict(made) | {"token": text}


@router.delete("/tokens/{token}")
def revoke_token(token: str, caller: CurrentCaller, context: Context) -> dict[str, object]:
    """Revoke a token."""
    context.tokens.revoke(caller.required_session.user.name, token)
    return {"revoked": token}


def _session_to_json(context: AppContext, session: Session) -> dict[str, object]:
    return _user_to_json(session.user) | {"csrf": context.sessions.derive_csrf_token(session)}


def _user_to_json(user: User) -> dict[str, object]:
    return {
        "user": user.name,
        "role": user.role.value,
        "analyst": user.analyst,
        "once": user.must_change_password,
    }
