"""The server process: all listeners on the same curators and users, until a signal stops it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.core.errors import RequestError
from discreet.pgwire.listener import serve_postgres
from discreet.services.serving.job_queue import JobQueue
from discreet.services.serving.tls import TlsCertificate
from discreet.services.users import UserAccounts, UserStorage
from discreet.services.users.login_throttle import LoginThrottle

if TYPE_CHECKING:
    from discreet.pgwire.catalog import Catalog
    from discreet.services.serving.served_policy import ServedPolicy


@dataclass(frozen=True, kw_only=True)
class ServerProcess:
    """The policy, users and catalog of a server, its certificate and its host names."""

    served: ServedPolicy
    user_storage: UserStorage
    catalog: Catalog
    certificate: TlsCertificate | None = None
    host_names: tuple[str, ...] = ()
    throttle: LoginThrottle = field(default_factory=LoginThrottle)

    async def run_listeners(
        self,
        http_socket: socket.socket,
        postgres_socket: socket.socket,
        stop_event: asyncio.Event,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve HTTP on one socket and PostgreSQL on another until `stop_event`; if one fails, both end."""
        try:
            from discreet.http.app_context import AppContext  # optional extra: server
            from discreet.http.application import serve_http
        except ModuleNotFoundError as missing:
            raise RequestError(
                f"serve needs {missing.name}, which is not installed.",
                hint='Install it with pip install "discreet[server]".',
            ) from None
        opened = [asyncio.Event(), asyncio.Event()]
        context = AppContext(
            served=self.served,
            user_storage=self.user_storage,
            jobs=JobQueue(self.user_storage),
            uses_tls=self.certificate is not None,
            host_names=self.host_names,
            throttle=self.throttle,
        )
        with closing(context):
            async with asyncio.TaskGroup() as group:
                group.create_task(
                    serve_http(
                        context,
                        http_socket,
                        certificate=self.certificate,
                        on_ready=opened[0].set,
                        stop_event=stop_event,
                    )
                )
                group.create_task(
                    serve_postgres(
                        self.served,
                        UserAccounts(self.user_storage),
                        self.catalog,
                        postgres_socket,
                        certificate=self.certificate,
                        throttle=self.throttle,
                        on_ready=opened[1].set,
                        stop_event=stop_event,
                    )
                )
                for each in opened:
                    await each.wait()
                on_ready()


def run_until_signal(run_server: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run a server until the process receives SIGINT or SIGTERM."""

    async def main() -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stopped.set)
        await run_server(stopped)

    with suppress(KeyboardInterrupt):
        asyncio.run(main())
