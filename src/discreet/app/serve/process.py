"""The server process: all listeners on the same curators and users."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from discreet.app.serve.catalog import Catalog
from discreet.app.serve.curators import Curators
from discreet.app.serve.doors import serve_postgres
from discreet.app.serve.jobs import Jobs
from discreet.app.tls import Certificate
from discreet.app.users import UserBook, UserStorage
from discreet.app.users.throttle import Throttle
from discreet.core.errors import RequestError


@dataclass(frozen=True, kw_only=True)
class Served:
    """The curators, users and catalog of a server, its certificate and its host names."""

    curators: Curators
    file: UserStorage
    catalog: Catalog
    certificate: Certificate | None = None
    names: tuple[str, ...] = ()
    policy_file: Path | None = None
    throttle: Throttle = field(default_factory=Throttle)

    async def doors(
        self,
        web: socket.socket,
        wire: socket.socket,
        stopped: asyncio.Event,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve HTTP on one socket and PostgreSQL on another until `stop_event`; if one fails, both end."""
        try:
            from discreet.app.http.door import HttpDoor
            from discreet.app.http.server import serve_http
        except ModuleNotFoundError as missing:
            raise RequestError(
                f"serve needs {missing.name}, which is not installed.",
                hint='Install it with pip install "discreet[server]".',
            ) from None
        opened = [asyncio.Event(), asyncio.Event()]
        door = HttpDoor(
            curators=self.curators,
            file=self.file,
            jobs=Jobs(self.file),
            secure=self.certificate is not None,
            names=self.names,
            policy_file=self.policy_file,
            throttle=self.throttle,
        )
        with closing(door):
            async with asyncio.TaskGroup() as group:
                group.create_task(
                    serve_http(door, web, certificate=self.certificate, ready=opened[0].set, stopped=stopped)
                )
                group.create_task(
                    serve_postgres(
                        self.curators,
                        UserBook(self.file),
                        self.catalog,
                        wire,
                        certificate=self.certificate,
                        throttle=self.throttle,
                        ready=opened[1].set,
                        stopped=stopped,
                    )
                )
                for each in opened:
                    await each.wait()
                ready()
