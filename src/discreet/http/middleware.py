"""Middleware around every request: security headers, a limit on bodies, metrics, unexpected errors.

Version     HTTP/1.0 and 1.1 are supported; any other version is refused.
Host        A request whose Host or Origin is not a name of this server is refused (`host_names`).
Smuggling   A request with both Content-Length and Transfer-Encoding is refused and the connection closed: a
            proxy may have read it as two requests.
Unexpected  exceptions become a constant text and an incident id; the custodian's log has the details. Nothing
            of them reaches the server's own log, which others may read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.core.engine_faults import log_fault
from discreet.core.errors import DiscreetError
from discreet.http.host_names import CrossOriginError, MisdirectedRequestError, require_own_host
from discreet.http.http_errors import BodyTooLargeError, InternalError, MalformedRequestError
from discreet.http.metrics import Metrics
from discreet.http.responses import build_error_response, to_http_response
from discreet.http.streamed_bodies import MAX_BYTES_BY_PATH, limit_body

MAX_BODY_BYTES = 256 * 1024
HTTP_VERSIONS = ("1.0", "1.1")
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",  # without a referrer, forms of our own pages have an Origin of null
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TLS_HEADERS = {"Strict-Transport-Security": "max-age=31536000"}


class SecurityMiddleware:
    """The ASGI middleware; `render_error` returns an unexpected error as a page or as JSON."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        render_error: Callable[[Request, DiscreetError], Response],
        metrics: Metrics,
        uses_tls: bool,
        host_names: Sequence[str] = (),
    ) -> None:
        self._app, self._metrics, self._host_names = app, metrics, host_names
        self._render_error = render_error
        self._headers = [
            (name.lower().encode(), value.encode())
            for name, value in (SECURITY_HEADERS | (TLS_HEADERS if uses_tls else {})).items()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": [*message["headers"], *self._headers]}
                self._count_request(scope, message["status"])
            await send(message)

        try:
            _require_http_version(scope)
            _require_unambiguous_length(scope)
            require_own_host(scope["headers"], self._host_names, (scope.get("server") or ("",))[0])
            await self._app(scope, await _make_body_receiver(scope, receive), send_with_headers)
        except (BodyTooLargeError, MalformedRequestError, MisdirectedRequestError, CrossOriginError) as error:
            refused = to_http_response(build_error_response(error))
            refused.headers["Connection"] = "close"
            await refused(scope, receive, send_with_headers)
        except Exception as error:
            if not begun:
                reply = self._render_error(Request(scope), _log_internal_error(error))
                await reply(scope, receive, send_with_headers)

    def _count_request(self, scope: Scope, status: int) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in ("GET", "POST", "DELETE") else "other"
        self._metrics.increment("discreet_requests_total", route=route, method=method, status=str(status))


def _require_http_version(scope: Scope) -> None:
    if scope["http_version"] not in HTTP_VERSIONS:
        raise MalformedRequestError("This HTTP version is not supported.", hint="Send HTTP/1.1.")


def _require_unambiguous_length(scope: Scope) -> None:
    if {name for name, _ in scope["headers"]} >= {b"content-length", b"transfer-encoding"}:
        raise MalformedRequestError(
            "The request has both Content-Length and Transfer-Encoding.", hint="Send one of the two headers."
        )


async def _make_body_receiver(scope: Scope, receive: Receive) -> Receive:
    """Return the function by which the application receives the body: read already, or limited in size."""
    max_bytes = MAX_BYTES_BY_PATH.get(scope["path"])
    if max_bytes is not None and scope["method"] == "POST":
        return limit_body(receive, max_bytes)
    return _replay_message(await _read_body(receive), receive)


async def _read_body(receive: Receive) -> Message:
    """Return the whole body as one message, or the client's disconnect message."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLargeError(
                f"A request may have at most {MAX_BODY_BYTES // 1024} KB.", hint="Send less."
            )
        if not message.get("more_body", False):
            return {"type": "http.request", "body": body, "more_body": False}


def _replay_message(first: Message, receive: Receive) -> Receive:
    """Return a receive function that yields the message that was already read, then the rest."""
    waiting = [first]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next


def _log_internal_error(error: Exception) -> InternalError:
    """Log an unexpected exception, and return an error that names only its incident id."""
    incident = log_fault(error).incident
    hint = f"The custodian's log has the details under incident {incident}."
    return InternalError("An internal error.", hint=hint)
