"""Pages: templates, forms with their CSRF check, the logged-in user, redirects to the login.

Script      only from this server's files, never inline: the Content-Security-Policy has no exception.
CSRF        Forms carry the session's CSRF token in a hidden field. The login form, which has no session yet,
            is accepted from this server's own pages only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from discreet.app.http.door import HttpDoor
from discreet.app.http.entering import COOKIE, Caller, door_of
from discreet.app.http.errors import ForbiddenError
from discreet.app.http.replies import STATUS, said
from discreet.app.serve.job import Failure
from discreet.app.users import Role
from discreet.belief.wording import format_number, format_number_up, format_percent, format_percent_up
from discreet.core.errors import DiscreetError

SCREENS = (("/promise", "Promise"), ("/tradeoff", "Trade-off"), ("/ask", "Ask"), ("/ledger", "Ledger"))
CUSTODIANS = (("/attack", "Attack"), ("/publish", "Publish"))
"""Screens of results that are computed on real data: custodian only."""
NARROW = 240
"""Width of charts, readable on a phone; a wider page scales them up."""
SHORT = 180
"""Length of bars beside their names."""
OPENING = re.compile(r"^(ask|attack|publish|anonymize|budget|jobs|tokens|user|share): ")
"""The prefix of command-line errors, which repeats what the page already says."""
STATIC = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}


class ElsewhereError(Exception):
    """A redirect to another page, raised by a dependency."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


@cache
def templates() -> Environment:
    made = Environment(
        loader=PackageLoader("discreet.app.console"), autoescape=True, undefined=StrictUndefined
    )
    made.filters |= {
        "percent": format_percent,
        "at_most": format_percent_up,
        "number": format_number,
        "number_up": format_number_up,
    }
    return made


@cache
def static(name: str) -> bytes:
    return files("discreet.app.console").joinpath("static", name).read_bytes()


@dataclass(frozen=True, kw_only=True)
class Page:
    """A browser's request, with the shared state and the user who is logged in, if any."""

    request: Request
    door: HttpDoor
    caller: Caller | None

    @property
    def user(self) -> str:
        """The name of the user who is logged in."""
        assert self.caller is not None
        return self.caller.user.name

    @property
    def is_custodians(self) -> bool:
        return self.caller is not None and self.caller.user.role is Role.CUSTODIAN

    def shown(
        self, template: str, facts: Mapping[str, object] | None = None, *, status: int = 200
    ) -> HTMLResponse:
        """Render a template with the context that all pages share."""
        caller = self.caller
        session = None if caller is None else caller.session
        around = {
            "screens": (*SCREENS, *(CUSTODIANS if self.is_custodians else ())),
            "path": self.request.url.path,
            "user": None if caller is None else caller.user,
            "csrf": None if session is None else self.door.sessions.proof(session),
            "problem": None,
        }
        return HTMLResponse(templates().get_template(template).render(around | dict(facts or {})), status)

    def refused(
        self,
        template: str,
        error: DiscreetError | Failure,
        facts: Mapping[str, object] | None = None,
    ) -> HTMLResponse:
        """Render a template with an error above its content."""
        sentence = said(error)
        problem = {"message": opened(sentence["error"]), "hint": sentence["hint"]}
        told = {**(facts or {}), "problem": problem}
        return self.shown(template, told, status=STATUS.get(error.code, 400))

    async def form(self) -> Mapping[str, str]:
        """Return the fields of a form after the CSRF check, without the CSRF token."""
        fields = dict(parse_qsl((await self.request.body()).decode(errors="replace"), keep_blank_values=True))
        proof = fields.pop("csrf", "")
        session = None if self.caller is None else self.caller.session
        if session is not None:
            if not self.door.sessions.proves(session, proof):
                raise ForbiddenError("This form belongs to another session.", hint="Open the page again.")
        elif self.request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise ForbiddenError("This form was sent by another site.", hint="Open the page itself.")
        return fields


def opened(message: str) -> str:
    """Return a message without its command-line prefix, starting with a capital.

    >>> opened("ask: there is no table people."), opened("Name or password is wrong.")
    ('There is no table people.', 'Name or password is wrong.')
    """
    bare = OPENING.sub("", message)
    return bare[:1].upper() + bare[1:]


def visited(request: Request) -> Page:
    """Return the page of a visitor, logged in or not."""
    door, text = door_of(request), request.cookies.get(COOKIE)
    session = None if text is None else door.sessions.recognized(text)
    caller = None if session is None else Caller(user=session.user, session=session)
    return Page(request=request, door=door, caller=caller)


def entered(request: Request) -> Page:
    """Return the page of a logged-in user; redirect others to the login or the password change."""
    page = visited(request)
    if page.caller is None:
        raise ElsewhereError("/login?ended=1" if COOKIE in request.cookies else "/login")
    if page.caller.user.once:
        raise ElsewhereError("/password")
    return page


def decided(request: Request) -> Page:
    """Return the page of a custodian; refuse everybody else."""
    page = entered(request)
    if not page.is_custodians:
        raise ForbiddenError("This page is for custodians.", hint="Log in as one.")
    return page
