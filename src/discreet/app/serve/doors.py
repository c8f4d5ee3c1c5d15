"""The PostgreSQL listener on a socket, with curators, users and catalog, until it is stopped.

Loopback    Without TLS only this machine is served: SCRAM protects passwords in transit, but questions and
            answers would be readable.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from discreet.app.listening import bound_to, is_loopback
from discreet.app.serve.catalog import Catalog
from discreet.app.serve.curators import Curators
from discreet.app.serve.postgres import PostgresDoor
from discreet.app.tls import Certificate
from discreet.app.users import Users
from discreet.app.users.throttle import Throttle
from discreet.app.wire.server import Server
from discreet.core.errors import RequestError

__all__ = ["bound_to", "require_safe", "serve_postgres", "until_stopped"]


def require_safe(host: str, certificate: Certificate | None) -> None:
    """Raise if other machines could connect without TLS."""
    if certificate is None and not is_loopback(host):
        raise RequestError(
            f"serve: {host} is reachable from other machines, and TLS is not configured.",
            hint="Give --tls-cert and --tls-key, or leave out --host.",
        )


async def serve_postgres(
    curators: Curators,
    users: Users,
    catalog: Catalog,
    bound: socket.socket,
    *,
    certificate: Certificate | None = None,
    throttle: Throttle | None = None,
    ready: Callable[[], None] = lambda: None,
    stopped: asyncio.Event,
) -> None:
    """Serve PostgreSQL clients on a socket until `stop_event`; listeners may share a `throttle`."""
    door = PostgresDoor(curators=curators, users=users, catalog=catalog, throttle=throttle or Throttle())
    channel = None if certificate is None else certificate.channel()
    async with Server(door, channel).listening(bound):
        ready()
        await stopped.wait()


def until_stopped(serve: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run a server until the process receives SIGINT or SIGTERM."""

    async def main() -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stopped.set)
        await serve(stopped)

    with suppress(KeyboardInterrupt):
        asyncio.run(main())
