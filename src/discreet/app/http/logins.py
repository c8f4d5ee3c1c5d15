"""Routes of logins, sessions, passwords and tokens."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from discreet.app.http.bodies import Label, Login, Passwords
from discreet.app.http.door import HttpDoor
from discreet.app.http.entering import COOKIE, Caller, Door, Entered, Known
from discreet.app.http.errors import LoginError, ThrottledError
from discreet.app.users import User
from discreet.app.users.sessions import SECONDS, Session
from discreet.core.errors import RequestError

router = APIRouter(prefix="/api", tags=["users"])


def admitted(door: HttpDoor, name: str, password: str, place: str) -> User:
    """Return the user of a name and password; raise if they do not match or logins are throttled."""
    with door.throttle.trying(name, place) as seconds:
        if seconds > 0:
            door.metrics.count("discreet_logins_total", outcome="throttled")
            raise ThrottledError(seconds)
        user = door.users.admitted(name, password)
        if user is None:
            door.throttle.failed(name, place)
            door.metrics.count("discreet_logins_total", outcome="refused")
            raise LoginError("Name or password is wrong.")
        door.throttle.succeeded(name, place)
    door.metrics.count("discreet_logins_total", outcome="admitted")
    return user


def place_of(request: Request) -> str:
    """Return the client's network address; X-Forwarded-For is ignored, as any client can set it."""
    return request.client.host if request.client is not None else ""


def set_cookie(response: Response, door: HttpDoor, text: str) -> None:
    response.set_cookie(
        COOKIE, text, max_age=SECONDS, path="/", secure=door.secure, httponly=True, samesite="strict"
    )


@router.post("/login")
def log_in(body: Login, request: Request, response: Response, door: Door) -> dict[str, object]:
    """Log in: set the session cookie and return the CSRF token."""
    session, text = door.sessions.open(admitted(door, body.name, body.password, place_of(request)))
    set_cookie(response, door, text)
    return _told(door, session)


@router.get("/session")
def who(caller: Known, door: Door) -> dict[str, object]:
    """Return the user who is logged in, and the session's CSRF token."""
    return _user(caller.user) if caller.session is None else _told(door, caller.session)


@router.post("/logout")
def log_out(caller: Known, response: Response, door: Door) -> dict[str, object]:
    """Log out: end the session."""
    door.sessions.end(caller.own)
    response.delete_cookie(COOKIE, path="/", secure=door.secure, httponly=True, samesite="strict")
    return {"ended": True}


@router.post("/password")
def change(
    body: Passwords, caller: Known, request: Request, response: Response, door: Door
) -> dict[str, object]:
    """Change the password; every other session and every token of the user ends."""
    session, text = changed(door, caller, body.old, body.new, place_of(request))
    set_cookie(response, door, text)
    return _told(door, session)


def changed(door: HttpDoor, caller: Caller, old: str, new: str, place: str) -> tuple[Session, str]:
    """Change the password, and return a new session with its cookie value."""
    name = caller.own.user.name
    admitted(door, name, old, place)
    if old == new:
        raise RequestError("The new password is the old one.", hint="Choose another.")
    door.users.change(name, new)
    user = door.users.find(name)
    if user is None:
        raise LoginError("That user was removed.")
    return door.sessions.open(user)


@router.get("/tokens")
def tokens(caller: Entered, door: Door) -> dict[str, object]:
    """Return the user's tokens, without their secret values."""
    return {"tokens": [asdict(each) for each in door.tokens.of(caller.user.name)]}


@router.post("/tokens", status_code=201)
def issue(body: Label, caller: Entered, door: Door) -> dict[str, object]:
    """Create a token. Its value is shown only in this response."""
    user = caller.own.user
    made, text = door.tokens.issue(user.name, body.label, days=body.days, stamp=user.stamp)
    return asdict(made) | {"token": text}


@router.delete("/tokens/{token}")
def revoke(token: str, caller: Entered, door: Door) -> dict[str, object]:
    """Revoke a token."""
    door.tokens.revoke(caller.own.user.name, token)
    return {"revoked": token}


def _told(door: HttpDoor, session: Session) -> dict[str, object]:
    return _user(session.user) | {"csrf": door.sessions.proof(session)}


def _user(user: User) -> dict[str, object]:
    return {"user": user.name, "role": user.role.value, "analyst": user.analyst, "once": user.once}
