"""CSRF protection: a request that changes something shows that a page of this server sent it.

Another site can make a browser send the session's cookie, but cannot read our pages. So requests that are
authenticated by cookie carry the session's CSRF token (`users.sessions`): programs in a header, forms
in a hidden field.

Bearer      Other sites cannot send the Authorization header: requests with a token need no CSRF token.
Login form  has no session yet. It is accepted from this server's own pages only, which browsers state in
            Sec-Fetch-Site; a client without that header is no browser.
"""

from __future__ import annotations

from fastapi import Request
from fastapi.security import APIKeyHeader

from discreet.http.http_errors import ForbiddenError
from discreet.services.users.sessions import Session, Sessions

CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
CSRF_HEADER_SCHEME = APIKeyHeader(name=CSRF_HEADER, auto_error=False)


def require_csrf_header(request: Request, sessions: Sessions, session: Session, token: str | None) -> None:
    """Raise if a request of a session changes something without the session's CSRF token in its header."""
    if request.method not in SAFE_METHODS and not sessions.is_csrf_token(session, token or ""):
        raise ForbiddenError(f"{CSRF_HEADER} is missing or wrong.", hint="GET /api/session returns it.")


def require_csrf_field(request: Request, sessions: Sessions, session: Session | None, token: str) -> None:
    """Raise if a form lacks the CSRF token of its session, or without a session comes from another site."""
    if session is not None:
        if not sessions.is_csrf_token(session, token):
            raise ForbiddenError("This form belongs to another session.", hint="Open the page again.")
    elif request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ForbiddenError("This form was sent by another site.", hint="Open the page itself.")
