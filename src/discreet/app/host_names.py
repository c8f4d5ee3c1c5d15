"""The names that a web server answers for, against DNS rebinding and requests of other sites.

A page of another site can let its own name point to this machine. The browser then takes what this server
says for that site's, and hands it over. Its requests still name the other site in `Host`, and in `Origin`
where they have one: both must be a name of this server.

Names       loopback's, the address that a connection came in at, and those that the custodian gives with
            `--name`. An address of digits is nobody else's name; ports are not compared.
Without     A request without `Host` comes from no browser (HTTP/1.0), and is taken. An `Origin` of `null` is
            that of a page which hides where it is from, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from discreet.app.listening import is_loopback, parse_address
from discreet.core.errors import RequestError

AUTHORITY = re.compile(r"(?P<name>\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
Headers = Iterable[tuple[bytes, bytes]]


class OtherNameError(RequestError):
    """The request is for a server of another name."""

    code = "misdirected"


class OtherOriginError(RequestError):
    """The request comes from a page of another site."""

    code = "forbidden"


def require_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in lower case, or refuse what is none."""
    for name in names:
        if NAME.fullmatch(name) is None and parse_address(name) is None:
            raise RequestError(
                "serve: --name takes a host name, without scheme, port and path.",
                hint="Write --name data.example.org.",
            )
    return tuple(name.lower().rstrip(".") for name in names)


def require_own_host(headers: Headers, names: Sequence[str], bound: str) -> None:
    """Refuse a request whose Host or Origin is none of this server's names.

    `bound` is the address at which the connection came in.
    """
    found = [(name.lower(), value.decode("latin-1").strip()) for name, value in headers]
    hosts = [value for name, value in found if name == b"host"]
    if len(hosts) > 1 or not all(_is_own(host, names, bound) for host in hosts):
        raise OtherNameError(
            "This server does not answer for the name that the request is for.",
            hint="Use its address, or have it started with --name NAME.",
        )
    for origin in (value for name, value in found if name == b"origin"):
        scheme, _, authority = origin.partition("://")
        if scheme not in ("http", "https") or not _is_own(authority, names, bound):
            raise OtherOriginError("The request comes from a page of another site.", hint="Open this one's.")


def _is_own(authority: str, names: Sequence[str], bound: str) -> bool:
    found = AUTHORITY.fullmatch(authority)
    if found is None:
        return False
    name = found["name"].lower().rstrip(".")
    address = parse_address(name)
    if address is not None:
        own = (parse_address(each) for each in (bound, *names))
        return address.is_loopback or address in own
    return is_loopback(name) or name in names
