"""The error page: the sentence of an API error, rendered as HTML for browsers."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request
from fastapi.responses import HTMLResponse

from discreet.core.errors import DiscreetError
from discreet.http.console.page import get_visitor_page, load_templates, strip_command_prefix
from discreet.http.responses import STATUS_BY_CODE
from discreet.services.serving.job import JobFailure

OPENAPI_PATH = "/api/openapi.json"
SCREENS_HINT = "Choose a screen above."


def is_page_request(request: Request) -> bool:
    """Return True if the request is for a page, by a client that accepts HTML."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def render_anonymous_error_page(error: DiscreetError) -> HTMLResponse:
    """Return the error page without a user, for requests that were not authenticated."""
    problem = {"message": strip_command_prefix(error.message), "hint": error.hint}
    nobody = {"screens": (), "path": "", "user": None, "csrf": None, "problem": problem}
    return HTMLResponse(
        load_templates().get_template("error.html").render(nobody), STATUS_BY_CODE.get(error.code, 400)
    )


def render_error_page(request: Request, error: DiscreetError) -> HTMLResponse:
    """Return the error page for the user who is logged in."""
    said = JobFailure.from_error(error)
    shown = replace(said, hint=SCREENS_HINT) if OPENAPI_PATH in said.hint else said
    return get_visitor_page(request).render_error("error.html", shown)
