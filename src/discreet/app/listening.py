"""Where a server listens: a socket, or one sentence; and whether others can reach it."""

from __future__ import annotations

import ipaddress
import socket

from discreet.core.errors import RequestError


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bound_to(host: str, port: int) -> socket.socket:
    """A socket that listens there, or one sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or "the system refuses").partition(" (while")[0]
        raise RequestError(
            f"Port {port} of {host} cannot be served: {reason}.", hint="Choose another port."
        ) from None
