"""Trusted host names of the web server, against DNS rebinding and cross-origin requests.

Another site can point its own name at this machine. The browser then treats this server's responses as that
site's, and lets its pages read them. Such requests still name the other site in `Host`, and in `Origin` if
present: both must be a name of this server.

Names       Loopback names, the local address of the connection, and the names given with `--name`. A numeric
            address cannot be another site's name; ports are not compared.
Missing     A request without `Host` (HTTP/1.0) comes from no browser, and is accepted. `Origin: null` comes
            from a page that hides its origin, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from discreet.core.errors import RequestError
from discreet.services.network_addresses import is_loopback, parse_address

AUTHORITY_PATTERN = re.compile(r"(?P<name>\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")
HOST_NAME_PATTERN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
Headers = Iterable[tuple[bytes, bytes]]


class MisdirectedRequestError(RequestError):
    """The request is for a host that is not this server."""

    code = "misdirected"


class CrossOriginError(RequestError):
    """The request comes from a page of another site."""

    code = "forbidden"


def normalize_host_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the host names in lower case; raise if one is not a host name."""
    for name in names:
        if HOST_NAME_PATTERN.fullmatch(name) is None and parse_address(name) is None:
            raise RequestError(
                "serve: `names=` takes a host name, without scheme, port and path.",
                hint="Write `names=data.example.org`.",
            )
    return tuple(name.lower().rstrip(".") for name in names)


def require_own_host(headers: Headers, host_names: Sequence[str], local_address: str) -> None:
    """Raise if the Host or Origin of a request is not a name of this server.

    `local_address` is the server's address of the connection.
    """
    found = [(name.lower(), value.decode("latin-1").strip()) for name, value in headers]
    hosts = [value for name, value in found if name == b"host"]
    if len(hosts) > 1 or not all(_is_own_authority(host, host_names, local_address) for host in hosts):
        raise MisdirectedRequestError(
            "This server does not answer to the host name of the request.",
            hint="Use its address, or start it with --name NAME.",
        )
    for origin in (value for name, value in found if name == b"origin"):
        scheme, _, authority = origin.partition("://")
        if scheme not in ("http", "https") or not _is_own_authority(authority, host_names, local_address):
            raise CrossOriginError(
                "The request comes from a page of another site.", hint="Send it from a page of this server."
            )


def _is_own_authority(authority: str, host_names: Sequence[str], local_address: str) -> bool:
    found = AUTHORITY_PATTERN.fullmatch(authority)
    if found is None:
        return False
    name = found["name"].lower().rstrip(".")
    address = parse_address(name)
    if address is not None:
        own = (parse_address(each) for each in (local_address, *host_names))
        return address.is_loopback or address in own
    return is_loopback(name) or name in host_names
