"""Listening sockets, and the networks of their clients.

A client's network is its IPv4 address, or the /64 of its IPv6 address: the smallest block that is assigned to
one site, within which a machine can use another address for each connection. An IPv4-mapped IPv6 address
(`::ffff:192.0.2.1`) counts as the IPv4 address.
"""

from __future__ import annotations

import ipaddress
import socket

from discreet.core.errors import RequestError

SITE_PREFIX = 64
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_loopback(host: str) -> bool:
    """Return True if a host name or address is a loopback one.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::ffff:127.0.0.1", "localhost", "0.0.0.0")]
    [True, True, True, False]
    """
    address = parse_address(host)
    return host == "localhost" if address is None else address.is_loopback


def get_client_network(host: str) -> str:
    """Return the network of a client's address; failed logins are counted by it.

    >>> get_client_network("2001:db8::1") == get_client_network("2001:db8::ffff:1")
    True
    >>> get_client_network("::ffff:192.0.2.1")
    '192.0.2.1'
    """
    address = parse_address(host)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(address), SITE_PREFIX), strict=False))
    return host if address is None else str(address)


def parse_address(host: str) -> Address | None:
    """Return the parsed address, without zone and brackets, IPv4 if it is mapped; None if it is none."""
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the port; raise a `RequestError` if it cannot be opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or "the system refuses").partition(" (while")[0]
        raise RequestError(
            f"Port {port} of {host} cannot be opened: {reason}.", hint="Choose another port."
        ) from None
