"""How pages are made: templates, forms, who is logged in, and where those are sent who are not.

Script      of this server alone, and never in a page: the Content-Security-Policy has no exception.
Forms       bring the session's proof in a hidden field. A login, which has no session yet, is taken from this
            server's own pages alone.
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
"""What is computed on real data is shown to the custodian alone."""
NARROW = 240
"""How wide charts are drawn, so that they can be read on a phone; a wider page shows them larger."""
SHORT = 180
"""How long bars are drawn beside their names."""
OPENING = re.compile(r"^(ask|attack|publish|anonymize|budget|jobs|tokens|user|share): ")
"""What a sentence begins with on a command line, and what the page around it says already."""
STATIC = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}


class ElsewhereError(Exception):
    """This page is not for now: another one is."""

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
    """A request of a browser: the door, and who is logged in."""

    request: Request
    door: HttpDoor
    caller: Caller | None

    @property
    def user(self) -> str:
        """Who is logged in."""
        assert self.caller is not None
        return self.caller.user.name

    @property
    def is_custodians(self) -> bool:
        return self.caller is not None and self.caller.user.role is Role.CUSTODIAN

    def shown(
        self, template: str, facts: Mapping[str, object] | None = None, *, status: int = 200
    ) -> HTMLResponse:
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
        """The same page with what is wrong above it."""
        sentence = said(error)
        problem = {"message": opened(sentence["error"]), "hint": sentence["hint"]}
        told = {**(facts or {}), "problem": problem}
        return self.shown(template, told, status=STATUS.get(error.code, 400))

    async def form(self) -> Mapping[str, str]:
        """What was sent, if this server's own page has sent it; without the proof of that."""
        fields = dict(parse_qsl((await self.request.body()).decode(errors="replace"), keep_blank_values=True))
        proof = fields.pop("csrf", "")
        session = None if self.caller is None else self.caller.session
        if session is not None:
            if not self.door.sessions.proves(session, proof):
                raise ForbiddenError("This form is not of this session.", hint="Open the page again.")
        elif self.request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise ForbiddenError("This form was sent by another site.", hint="Open the page itself.")
        return fields


def opened(message: str) -> str:
    """A sentence as a page says it.

    >>> opened("ask: there is no table people."), opened("Name or password is wrong.")
    ('There is no table people.', 'Name or password is wrong.')
    """
    bare = OPENING.sub("", message)
    return bare[:1].upper() + bare[1:]


def visited(request: Request) -> Page:
    """Whoever comes, logged in or not."""
    door, text = door_of(request), request.cookies.get(COOKIE)
    session = None if text is None else door.sessions.recognized(text)
    caller = None if session is None else Caller(user=session.user, session=session)
    return Page(request=request, door=door, caller=caller)


def entered(request: Request) -> Page:
    """Who is logged in with a password of their own; others are sent to where they become so."""
    page = visited(request)
    if page.caller is None:
        raise ElsewhereError("/login?ended=1" if COOKIE in request.cookies else "/login")
    if page.caller.user.once:
        raise ElsewhereError("/password")
    return page


def decided(request: Request) -> Page:
    """The custodian, who is logged in; nobody else."""
    page = entered(request)
    if not page.is_custodians:
        raise ForbiddenError("This page is the custodian's.", hint="Log in as one.")
    return page
