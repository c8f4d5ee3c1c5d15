"""The HTTP server on a bound socket, beside the other listeners of the process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from discreet.app.http.application import application
from discreet.app.http.door import HttpDoor
from discreet.app.http.lines import Line
from discreet.app.tls import Certificate

PATIENCE = 30


class _Server(uvicorn.Server):
    """A server that leaves signal handling to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_http(
    door: HttpDoor,
    bound: socket.socket,
    *,
    certificate: Certificate | None = None,
    ready: Callable[[], None] = lambda: None,
    stopped: asyncio.Event,
) -> None:
    """Serve on a bound socket until the stop event is set, without an access log."""
    server = _Server(
        uvicorn.Config(
            application(door),
            http=Line,
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            ssl_certfile=None if certificate is None else certificate.certificate,
            ssl_keyfile=None if certificate is None else certificate.key,
            timeout_graceful_shutdown=PATIENCE,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    ready()
    await asyncio.wait((serving, asyncio.create_task(stopped.wait())), return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
