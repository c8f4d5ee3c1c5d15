"""Routes of logins, sessions, passwords and tokens."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from discreet.http.app_context import AppContext, Context
from discreet.http.authentication import (
    AuthenticatedCaller,
    CurrentCaller,
    delete_session_cookie,
    get_client_address,
    set_session_cookie,
)
from discreet.http.request_bodies import LoginBody, PasswordChangeBody, TokenBody
from discreet.services.users import User
from discreet.services.users.sessions import Session

router = APIRouter(prefix="/api", tags=["users"])


@router.post("/login")
def log_in(body: LoginBody, request: Request, response: Response, context: Context) -> dict[str, object]:
    """Log in: set the session cookie and return the CSRF token."""
    user = context.logins.authenticate_user(body.name, body.password, get_client_address(request))
    session, text = context.sessions.open(user)
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
    delete_session_cookie(response, context)
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
    session, text = context.logins.change_password(
        caller.required_session, body.old, body.new, get_client_address(request)
    )
    set_session_cookie(response, context, text)
    return _session_to_json(context, session)


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
