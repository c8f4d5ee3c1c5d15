"""Reachability: test whether a server accepts connections before its driver is started.

Some drivers retry for minutes and end in a stack trace. Messages name hosts and nothing else of the address,
which may contain a password or a token.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from discreet.core.errors import RequestError

CONNECT_SECONDS = 10.0


def require_reachable(engine: str, hosts: str, port: int) -> None:
    """Refuse `host:port`, or a comma-separated list of them, if none accepts a connection."""
    if not is_reachable(hosts, port):
        raise RequestError(
            f"{engine}: no connection to {format_hosts(hosts)}.",
            hint="Check the address, and that the server accepts connections.",
        )


def is_reachable(hosts: str, port: int) -> bool:
    """Return whether one of the hosts accepts a connection."""
    return any(_accepts_connection(host, port) for host in _split_hosts(hosts))


def format_hosts(hosts: str) -> str:
    """Return the host names for a message, without user, password or port."""
    return ", ".join(host.hostname or "the server" for host in _split_hosts(hosts))


def _split_hosts(hosts: str) -> list[SplitResult]:
    return [urlsplit(f"//{each}") for each in hosts.partition("/")[0].split(",")]


def _accepts_connection(host: SplitResult, default_port: int) -> bool:
    with suppress(OSError, ValueError):  # ValueError: the port is not a number
        socket.create_connection((host.hostname or "", host.port or default_port), CONNECT_SECONDS).close()
        return True
    return False
