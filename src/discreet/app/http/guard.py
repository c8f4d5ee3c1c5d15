"""Middleware around every request: security headers, a limit on bodies, metrics, unexpected errors.

Version     HTTP/1.0 and 1.1 are supported; any other version is refused.
Host        A request whose Host or Origin is not a name of this server is refused (`host_names`).
Smuggling   A request with both Content-Length and Transfer-Encoding is refused and the connection closed: a
            proxy may have read it as two requests.
Unexpected  exceptions become a constant text and an incident id; the custodian's log has the details. Nothing
            of them reaches the server's own log, which others may read.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.app.console.refusing import bare_page, is_page
from discreet.app.host_names import OtherNameError, OtherOriginError, require_own_host
from discreet.app.http.errors import InternalError, TooLongError, UnclearError
from discreet.app.http.metrics import Metrics
from discreet.app.http.replies import refusal, sent
from discreet.engines.engine_faults import log_fault

LARGEST = 256 * 1024
VERSIONS = ("1.0", "1.1")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",  # without a referrer, forms of our own pages have an Origin of null
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TLS_ONLY = {"Strict-Transport-Security": "max-age=31536000"}


class Guard:
    """The ASGI middleware."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, secure: bool, names: Sequence[str] = ()) -> None:
        self._app, self._metrics, self._names = app, metrics, names
        self._headers = [
            (name.lower().encode(), value.encode())
            for name, value in (HEADERS | (TLS_ONLY if secure else {})).items()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": [*message["headers"], *self._headers]}
                self._count(scope, message["status"])
            await send(message)

        try:
            _require_version(scope)
            _require_one_end(scope)
            require_own_host(scope["headers"], self._names, (scope.get("server") or ("",))[0])
            await self._app(scope, _replayed(await _read(receive), receive), sending)
        except (TooLongError, UnclearError, OtherNameError, OtherOriginError) as error:
            refused = sent(refusal(error))
            refused.headers["Connection"] = "close"
            await refused(scope, receive, sending)
        except Exception as error:
            if not begun:
                unforeseen, page = _internal(error), is_page(Request(scope))
                reply = bare_page(unforeseen) if page else sent(refusal(unforeseen))
                await reply(scope, receive, sending)

    def _count(self, scope: Scope, status: int) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in ("GET", "POST", "DELETE") else "other"
        self._metrics.count("discreet_requests_total", route=route, method=method, status=str(status))


def _require_version(scope: Scope) -> None:
    if scope["http_version"] not in VERSIONS:
        raise UnclearError("This HTTP version is not supported.", hint="Send HTTP/1.1.")


def _require_one_end(scope: Scope) -> None:
    if {name for name, _ in scope["headers"]} >= {b"content-length", b"transfer-encoding"}:
        raise UnclearError(
            "The request has both Content-Length and Transfer-Encoding.", hint="Send one of the two headers."
        )


async def _read(receive: Receive) -> Message:
    """Return the whole body as one message, or the client's disconnect message."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if len(body) > LARGEST:
            raise TooLongError(f"A request may have at most {LARGEST // 1024} KB.", hint="Send less.")
        if not message.get("more_body", False):
            return {"type": "http.request", "body": body, "more_body": False}


def _replayed(first: Message, receive: Receive) -> Receive:
    """Return a receive function that yields the message that was already read, then the rest."""
    waiting = [first]

    async def receiving() -> Message:
        return waiting.pop() if waiting else await receive()

    return receiving


def _internal(error: Exception) -> InternalError:
    """Log an unexpected exception, and return an error that names only its incident id."""
    incident = log_fault(error).incident
    hint = f"The custodian's log has the details under incident {incident}."
    return InternalError("An internal error.", hint=hint)
