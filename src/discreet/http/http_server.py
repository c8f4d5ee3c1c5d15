"""The HTTP server on a bound socket, beside the other listeners of the process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from discreet.http.app_context import AppContext
from discreet.http.application import create_app
from discreet.http.connections import Connection
from discreet.services.serving.tls import TlsCertificate

SHUTDOWN_TIMEOUT_SECONDS = 30


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
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            ssl_certfile=None if certificate is None else certificate.certificate_file,
            ssl_keyfile=None if certificate is None else certificate.key_file,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[bound_socket]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    on_ready()
    await asyncio.wait((serving, asyncio.create_task(stop_event.wait())), return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
