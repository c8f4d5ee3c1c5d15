"""The error page: the sentence of an API error, rendered as HTML for browsers."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request
from fastapi.responses import HTMLResponse

from discreet.app.console.rendering import opened, templates, visited
from discreet.app.http.replies import STATUS
from discreet.app.serve.job import Failure
from discreet.core.errors import DiscreetError

DESCRIBED = "/api/openapi.json"
HINT = "Choose a screen above."


def is_page(request: Request) -> bool:
    """Return True if the request is for a page, by a client that accepts HTML."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def bare_page(error: DiscreetError) -> HTMLResponse:
    """Return the error page without a user, for requests that were not authenticated."""
    problem = {"message": opened(error.message), "hint": error.hint}
    nobody = {"screens": (), "path": "", "user": None, "csrf": None, "problem": problem}
    return HTMLResponse(templates().get_template("error.html").render(nobody), STATUS.get(error.code, 400))


def refusal_page(request: Request, error: DiscreetError) -> HTMLResponse:
    """Return the error page for the user who is logged in."""
    said = Failure.of(error)
    shown = replace(said, hint=HINT) if DESCRIBED in said.hint else said
    return visited(request).refused("error.html", shown)
