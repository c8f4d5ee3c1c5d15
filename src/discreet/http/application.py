"""The FastAPI application (routers, middleware, exception handlers) and its server on a bound socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from discreet.core.errors import BusyError, DiscreetError, RequestError
from discreet.http import (
    ask_routes,
    check_routes,
    job_routes,
    ledger_routes,
    login_routes,
    release_routes,
)
from discreet.http.app_context import AppContext
from discreet.http.connections import Connection
from discreet.http.console import (
    account_pages,
    ask_page,
    attack_page,
    bounds_page,
    check_page,
    data_page,
    ledger_page,
    promise_pages,
    publish_page,
)
from discreet.http.console.page import (
    RedirectError,
    is_page_request,
    render_anonymous_error_page,
    render_error_page,
)
from discreet.http.http_errors import MethodNotAllowedError, NotFoundError, TooManyRequestsError
from discreet.http.middleware import SecurityMiddleware
from discreet.http.openapi import COMMON_ERROR_RESPONSES, name_described_fields, set_route_summaries
from discreet.http.responses import build_error_response, to_http_response
from discreet.services.request_fields import find_refusal
from discreet.services.serving.tls import TlsCertificate
from discreet.services.users.sessions import ThrottledLoginError

CONSOLE_ROUTERS = (
    account_pages.router,
    promise_pages.router,
    ask_page.router,
    ledger_page.router,
    bounds_page.router,
    attack_page.router,
    publish_page.router,
    check_page.router,
    data_page.router,
)
API_ROUTERS = (
    login_routes.router,
    ask_routes.router,
    check_routes.router,
    ledger_routes.router,
    release_routes.router,
    job_routes.router,
    job_routes.attack_router,
)


OPENAPI_HINT = "See /api/openapi.json."
PARAMETER_PLACES = ("body", "query", "path", "header", "cookie")
SHUTDOWN_TIMEOUT_SECONDS = 30


def create_app(context: AppContext) -> FastAPI:
    """Return the application that serves the API and the console's pages."""
    app = FastAPI(
        title="discreet",
        summary="Ask a table anything; learn about no one.",
        version="1",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load scripts of another site, which our Content-Security-Policy forbids
        redoc_url=None,
        redirect_slashes=False,  # a redirect would be built from the Host header
        responses=COMMON_ERROR_RESPONSES,
    )
    app.state.context = context
    for router in (*API_ROUTERS, *CONSOLE_ROUTERS):
        app.include_router(set_route_summaries(router))
    app.add_exception_handler(DiscreetError, _handle_discreet_error)
    app.add_exception_handler(RedirectError, _handle_redirect)
    name_described_fields(app)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_middleware(
        SecurityMiddleware,
        render_error=_render_unexpected_error,
        metrics=context.metrics,
        uses_tls=context.uses_tls,
        host_names=context.host_names,
    )
    return app


def _handle_discreet_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, DiscreetError)
    response = _render_error(request, error)
    _set_retry_after(response, error)
    return response


def _set_retry_after(response: Response, error: DiscreetError) -> None:
    if isinstance(error, ThrottledLoginError | BusyError):
        response.headers["Retry-After"] = str(error.seconds)
    elif isinstance(error, TooManyRequestsError):
        response.headers["Retry-After"] = "1"


def _handle_redirect(request: Request, error: Exception) -> Response:
    assert isinstance(error, RedirectError)
    return RedirectResponse(error.location, 303)


def _handle_validation_error(request: Request, error: Exception) -> Response:
    """Name the first invalid field. The value is not echoed: it may be a password."""
    assert isinstance(error, RequestValidationError)
    # in a body of several kinds, the location has its kind
    kind = error.body.get("kind") if isinstance(error.body, dict) else None
    refusal = find_refusal(
        error.errors(), skipped=(*PARAMETER_PLACES, kind), shows_value=False, hint=OPENAPI_HINT
    )
    return _render_error(request, refusal)


def _handle_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said: RequestError = RequestError("The request cannot be read.", hint=OPENAPI_HINT)
    if error.status_code == 404:
        said = NotFoundError("There is nothing at this address.", hint=OPENAPI_HINT)
    if error.status_code == 405:
        said = MethodNotAllowedError("This address does not accept this method.", hint=OPENAPI_HINT)
    return _render_error(request, said)


def _render_error(request: Request, error: DiscreetError) -> Response:
    """Return an error as a page to a browser, and as JSON to a program."""
    return (
        render_error_page(request, error)
        if is_page_request(request)
        else to_http_response(build_error_response(error))
    )


def _render_unexpected_error(request: Request, error: DiscreetError) -> Response:
    """Return an unexpected error without the user: the failure may have been in the user's own page."""
    if is_page_request(request):
        return render_anonymous_error_page(error)
    return to_http_response(build_error_response(error))


class _UvicornServer(uvicorn.Server):
    """A server that leaves signal handling to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_http(
    context: AppContext,
    bound_socket: socket.socket,
    *,
    certificate: TlsCertificate | None = None,
    on_ready: Callable[[], None] = lambda: None,
    stop_event: asyncio.Event,
) -> None:
    """Serve on a bound socket until the stop event is set, without an access log."""
    server = _UvicornServer(
        uvicorn.Config(
            create_app(context),
            http=Connection,
            access_log=False,  # it would record who asked when
            log_level="warning",
            log_config=None,  # uvicorn's own closes the handlers that others of this process log with
            server_header=False,
            proxy_headers=False,  # any client can set them, and the login throttle counts addresses
            ws="none",
            lifespan="off",
            ssl_certfile=None if certificate is None else certificate.certificate_file,
            ssl_keyfile=None if certificate is None else certificate.key_file,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[bound_socket]))
    while not server.started and not serving.done():  # uvicorn has no event for it
        await asyncio.sleep(0.01)
    on_ready()
    await asyncio.wait((serving, asyncio.create_task(stop_event.wait())), return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
