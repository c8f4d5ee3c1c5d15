"""Whether anybody is at an address, asked before a driver is: some try for minutes, and end in a trace.

What is said names hosts and nothing else of the address, which may hold a password or a token.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from discreet.core.errors import RequestError

SECONDS = 10.0


def require_reached(engine: str, place: str, port: int) -> None:
    """Refuse `host:port`, or several with commas between them, of which none takes a connection."""
    if not is_reached(place, port):
        raise RequestError(
            f"{engine}: no connection to {named(place)}.",
            hint="Check the address, and that the server takes connections.",
        )


def is_reached(place: str, port: int) -> bool:
    """Whether one of the hosts takes a connection."""
    return any(_answers(host, port) for host in _hosts(place))


def named(place: str) -> str:
    """The hosts, as they are told."""
    return ", ".join(host.hostname or "the server" for host in _hosts(place))


def _hosts(place: str) -> list[SplitResult]:
    return [urlsplit(f"//{each}") for each in place.partition("/")[0].split(",")]


def _answers(host: SplitResult, usual: int) -> bool:
    with suppress(OSError, ValueError):  # ValueError: what stands for a port is none
        socket.create_connection((host.hostname or "", host.port or usual), SECONDS).close()
        return True
    return False
