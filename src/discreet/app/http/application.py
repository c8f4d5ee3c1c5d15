"""The FastAPI application: its routers, middleware and exception handlers."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from discreet.app.console import accounts, asking, attacking, ledgers, promising, publishing, tradeoffs
from discreet.app.console import logins as pages
from discreet.app.console.refusing import is_page, refusal_page
from discreet.app.console.rendering import ElsewhereError
from discreet.app.http import attacks, budget, jobs, logins, questions, reading, releases
from discreet.app.http.describing import ANYWHERE, described
from discreet.app.http.door import HttpDoor
from discreet.app.http.errors import CrowdedError, MethodError, MissingError, ThrottledError
from discreet.app.http.guard import Guard
from discreet.app.http.replies import refusal, sent
from discreet.core.errors import BusyError, DiscreetError, InvalidParameterError, RequestError

PAGES = (
    pages.router,
    promising.router,
    tradeoffs.router,
    asking.router,
    ledgers.router,
    attacking.router,
    publishing.router,
    accounts.router,
)
ROUTERS = (
    logins.router,
    questions.router,
    reading.router,
    releases.router,
    budget.router,
    jobs.router,
    attacks.router,
)


DESCRIBED = "See /api/openapi.json."


def application(door: HttpDoor) -> FastAPI:
    """Return the application that serves the API and the console's pages."""
    app = FastAPI(
        title="discreet",
        summary="Ask a table anything; learn about no one.",
        version="1",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would be built from the Host header
        responses=ANYWHERE,
    )
    app.state.door = door
    for router in (*ROUTERS, *PAGES):
        app.include_router(described(router))
    app.add_exception_handler(DiscreetError, _refused)
    app.add_exception_handler(ElsewhereError, _sent_elsewhere)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _unmatched)
    app.add_middleware(Guard, metrics=door.metrics, secure=door.secure, names=door.names)
    return app


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, DiscreetError)
    response = _said(request, error)
    if isinstance(error, ThrottledError | BusyError):
        response.headers["Retry-After"] = str(error.seconds)
    elif isinstance(error, CrowdedError):
        response.headers["Retry-After"] = "1"
    return response


def _sent_elsewhere(request: Request, error: Exception) -> Response:
    assert isinstance(error, ElsewhereError)
    return RedirectResponse(error.location, 303)


def _invalid(request: Request, error: Exception) -> Response:
    """Name the first invalid field. The value is not echoed: it may be a password."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:] if str(part).isidentifier()) or str(
        first["loc"][0]
    )
    return _said(request, InvalidParameterError(f"{place}: {first['msg']}.", hint=DESCRIBED))


def _unmatched(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said: RequestError = RequestError("The request cannot be read.", hint=DESCRIBED)
    if error.status_code == 404:
        said = MissingError("There is nothing at this address.", hint=DESCRIBED)
    if error.status_code == 405:
        said = MethodError("This address does not accept this method.", hint=DESCRIBED)
    return _said(request, said)


def _said(request: Request, error: DiscreetError) -> Response:
    """Return an error as a page to a browser, and as JSON to a program."""
    return refusal_page(request, error) if is_page(request) else sent(refusal(error))
