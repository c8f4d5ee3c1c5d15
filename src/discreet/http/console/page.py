"""Pages: templates, forms with their CSRF check, the logged-in user, redirects to the login, the error page.

Script      only from this server's files, never inline: the Content-Security-Policy has no exception.
CSRF        Forms carry the session's CSRF token in a hidden field (`http.csrf`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from discreet.belief.wording import format_number, format_number_up, format_percent, format_percent_up
from discreet.core.errors import DiscreetError
from discreet.http.app_context import AppContext, get_app_context
from discreet.http.authentication import SESSION_COOKIE, Caller
from discreet.http.csrf import CSRF_FIELD, require_csrf_field
from discreet.http.http_errors import STATUS_BY_CODE, ForbiddenError
from discreet.http.responses import error_to_json
from discreet.services.serving.job import JobFailure
from discreet.services.users import Role

SCREENS = (("/promise", "Promise"), ("/tradeoff", "Trade-off"), ("/ask", "Ask"), ("/ledger", "Ledger"))
DATA_SCREEN = ("/data", "Data")
CUSTODIAN_SCREENS = (
    DATA_SCREEN,
    ("/check", "Check"),
    ("/bounds", "Bounds"),
    ("/attack", "Attack"),
    ("/publish", "Publish"),
)
"""Screens of the policy, and of results that are computed on real data: custodian only."""
CHART_WIDTH = 240
"""Width of charts, readable on a phone; a wider page scales them up."""
BAR_LENGTH = 180
"""Length of bars beside their names."""
COMMAND_PREFIX = re.compile(
    r"^(ask|plan|attack|bounds|check|publish|anonymize|budget|jobs|tokens|user|share): "
)
"""The prefix of command-line errors, which repeats what the page already says."""
STATIC_MEDIA_TYPES = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}
OPENAPI_PATH = "/api/openapi.json"
SCREENS_HINT = "Choose a screen above."


class RedirectError(Exception):
    """A redirect to another page, raised by a dependency."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


@cache
def load_templates() -> Environment:
    made = Environment(
        loader=PackageLoader("discreet.http.console"), autoescape=True, undefined=StrictUndefined
    )
    made.filters |= {
        "percent": format_percent,
        "at_most": format_percent_up,
        "number": format_number,
        "number_up": format_number_up,
    }
    return made


@cache
def read_static_file(name: str) -> bytes:
    return files("discreet.http.console").joinpath("static", name).read_bytes()


@dataclass(frozen=True, kw_only=True)
class Page:
    """A browser's request, with the shared state and the user who is logged in, if any."""

    request: Request
    context: AppContext
    caller: Caller | None

    @property
    def required_caller(self) -> Caller:
        """The user of a page that requires a login."""
        assert self.caller is not None
        return self.caller

    @property
    def user_name(self) -> str:
        """The name of the user who is logged in."""
        return self.required_caller.user.name

    @property
    def is_custodian(self) -> bool:
        return self.caller is not None and self.caller.user.role is Role.CUSTODIAN

    def render(
        self, template: str, template_context: Mapping[str, object] | None = None, *, status: int = 200
    ) -> HTMLResponse:
        """Render a template with the context that all pages share."""
        caller = self.caller
        session = None if caller is None else caller.session
        around = {
            "screens": self._list_screens(),
            "path": self.request.url.path,
            "user": None if caller is None else caller.user,
            "csrf": None if session is None else self.context.sessions.derive_csrf_token(session),
            "problem": None,
        }
        return HTMLResponse(
            load_templates().get_template(template).render(around | dict(template_context or {})), status
        )

    def _list_screens(self) -> tuple[tuple[str, str], ...]:
        """Return the screens that this user may open; without a policy, nothing but the way to make one."""
        if self.context.served.is_empty:
            return (DATA_SCREEN,) if self.is_custodian else ()
        return (*SCREENS, *(CUSTODIAN_SCREENS if self.is_custodian else ()))

    def render_error(
        self,
        template: str,
        error: DiscreetError | JobFailure,
        template_context: Mapping[str, object] | None = None,
    ) -> HTMLResponse:
        """Render a template with an error above its content."""
        # a page has no use for the backticks around names of fields
        sentence = {name: text.replace("`", "") for name, text in error_to_json(error).items()}
        problem = {"message": strip_command_prefix(sentence["error"]), "hint": sentence["hint"]}
        told = {**(template_context or {}), "problem": problem}
        return self.render(template, told, status=STATUS_BY_CODE.get(error.code, 400))

    async def read_form(self) -> Mapping[str, str]:
        """Return the fields of a form after the CSRF check, without the CSRF token."""
        # not request.form(), which needs another library; our forms have no files
        fields = dict(parse_qsl((await self.request.body()).decode(errors="replace"), keep_blank_values=True))
        token = fields.pop(CSRF_FIELD, "")
        session = None if self.caller is None else self.caller.session
        require_csrf_field(self.request, self.context.sessions, session, token)
        return fields


def strip_command_prefix(message: str) -> str:
    """Return a message without its command-line prefix, starting with a capital.

    >>> strip_command_prefix("ask: there is no table people.")
    'There is no table people.'
    """
    bare = COMMAND_PREFIX.sub("", message)
    return bare[:1].upper() + bare[1:]


def get_visitor_page(request: Request) -> Page:
    """Return the page of a visitor, logged in or not."""
    context, text = get_app_context(request), request.cookies.get(SESSION_COOKIE)
    session = None if text is None else context.sessions.find(text)
    caller = None if session is None else Caller(user=session.user, session=session)
    return Page(request=request, context=context, caller=caller)


def require_login(request: Request) -> Page:
    """Return the page of a logged-in user; redirect others to the login or the password change."""
    page = get_visitor_page(request)
    if page.caller is None:
        raise RedirectError("/login?ended=1" if SESSION_COOKIE in request.cookies else "/login")
    if page.caller.user.must_change_password:
        raise RedirectError("/password")
    return page


def require_custodian(request: Request) -> Page:
    """Return the page of a custodian; refuse everybody else."""
    page = require_login(request)
    if not page.is_custodian:
        raise ForbiddenError("This page is for custodians.", hint="Log in as one.")
    return page


VisitorPage = Annotated[Page, Depends(get_visitor_page)]
LoggedInPage = Annotated[Page, Depends(require_login)]
CustodianPage = Annotated[Page, Depends(require_custodian)]


def redirect_to(location: str) -> RedirectResponse:
    return RedirectResponse(location, 303)


def is_page_request(request: Request) -> bool:
    """Return True if the request is for a page, by a client that accepts HTML."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def render_anonymous_error_page(error: DiscreetError) -> HTMLResponse:
    """Return the error page without a user, for requests that were not authenticated."""
    problem = {"message": strip_command_prefix(error.message), "hint": error.hint}
    nobody = {"screens": (), "path": "", "user": None, "csrf": None, "problem": problem}
    return HTMLResponse(
        load_templates().get_template("error.html").render(nobody), STATUS_BY_CODE.get(error.code, 400)
    )


def render_error_page(request: Request, error: DiscreetError) -> HTMLResponse:
    """Return the error page for the user who is logged in."""
    said = JobFailure.from_error(error)
    shown = replace(said, hint=SCREENS_HINT) if OPENAPI_PATH in said.hint else said
    return get_visitor_page(request).render_error("error.html", shown)
