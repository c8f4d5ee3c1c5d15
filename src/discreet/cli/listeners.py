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

from discreet.core.errors import RequestError
from discreet.pgwire.catalog import Catalog
from discreet.pgwire.curator_backend import CuratorBackend
from discreet.pgwire.listener import PostgresListener
from discreet.services.network_addresses import is_loopback, open_listening_socket
from discreet.services.serving.curators import Curators
from discreet.services.serving.tls import TlsCertificate
from discreet.services.users import UserLookup
from discreet.services.users.login_throttle import LoginThrottle

__all__ = ["open_listening_socket", "require_tls_or_loopback", "run_until_signal", "serve_postgres"]


def require_tls_or_loopback(host: str, certificate: TlsCertificate | None) -> None:
    """Raise if other machines could connect without TLS."""
    if certificate is None and not is_loopback(host):
        raise RequestError(
            f"serve: {host} is reachable from other machines, and TLS is not configured.",
            hint="Give --tls-cert and --tls-key, or leave out --host.",
        )


async def serve_postgres(
    curators: Curators,
    users: UserLookup,
    catalog: Catalog,
    bound_socket: socket.socket,
    *,
    certificate: TlsCertificate | None = None,
    throttle: LoginThrottle | None = None,
    on_ready: Callable[[], None] = lambda: None,
    stop_event: asyncio.Event,
) -> None:
    """Serve PostgreSQL clients on a socket until `stop_event`; listeners may share a `throttle`."""
    door = CuratorBackend(
        curators=curators, users=users, catalog=catalog, throttle=throttle or LoginThrottle()
    )
    channel = None if certificate is None else certificate.load_channel()
    async with PostgresListener(door, channel).listen(bound_socket):
        on_ready()
        await stop_event.wait()


def run_until_signal(run_server: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run a server until the process receives SIGINT or SIGTERM."""

    async def main() -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stopped.set)
        await run_server(stopped)

    with suppress(KeyboardInterrupt):
        asyncio.run(main())
