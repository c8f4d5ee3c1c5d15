"""The pages of a user's account: login, password change, logout, and the Account screen with the tokens.

The login page needs no session, and neither do the static files of all pages.
"""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from discreet.core.errors import DiscreetError, RequestError
from discreet.http.authentication import (
    delete_session_cookie,
    get_client_address,
    set_session_cookie,
)
from discreet.http.console.page import (
    STATIC_MEDIA_TYPES,
    LoggedInPage,
    Page,
    RedirectError,
    VisitorPage,
    read_static_file,
    redirect_to,
)
from discreet.http.http_errors import NotFoundError
from discreet.services.users import Role
from discreet.services.users.api_tokens import MAX_LABEL_LENGTH, MAX_TOKEN_DAYS
from discreet.services.users.user_storage import DEFAULT_TOKEN_DAYS

router = APIRouter(include_in_schema=False)
ROLE_PERMISSIONS = {
    Role.CUSTODIAN: "reads the whole policy and ledger, decides on budget, attacks and publishes",
    Role.ANALYST: "plans, tries and asks within a share, and reads their own part of the ledger",
    Role.AUDITOR: "reads the whole ledger and all certificates",
}


@router.get("/")
def redirect_home(page: VisitorPage) -> Response:
    if page.caller is None:
        return redirect_to("/login")
    return redirect_to("/data" if page.is_custodian and page.context.served.is_empty else "/promise")


@router.get("/static/{name}")
def get_static_file(name: str) -> Response:
    if name not in STATIC_MEDIA_TYPES:
        raise NotFoundError("There is no such file.")
    return Response(read_static_file(name), media_type=STATIC_MEDIA_TYPES[name])


@router.get("/login")
def show_login(page: VisitorPage, ended: bool = False) -> Response:
    return page.render("login.html", {"ended": ended})


@router.post("/login")
async def log_in(page: VisitorPage) -> Response:
    fields, context = await page.read_form(), page.context
    # cut off: hashing a password of any length would keep the server busy
    name, password = fields.get("name", "")[:200], fields.get("password", "")[:200]
    try:
        user = await run_in_threadpool(
            context.logins.authenticate_user, name, password, get_client_address(page.request)
        )
    except RequestError as error:
        return page.render_error("login.html", error, {"ended": False})
    response = redirect_to("/password" if user.must_change_password else "/")
    set_session_cookie(response, context, context.sessions.open(user)[1])
    return response


@router.get("/password")
def show_password(page: VisitorPage) -> Response:
    if page.caller is None:
        raise RedirectError("/login")
    return page.render("password.html")


@router.post("/password")
async def change_password(page: VisitorPage) -> Response:
    if page.caller is None:
        raise RedirectError("/login")
    fields, place = await page.read_form(), get_client_address(page.request)
    old, new = fields.get("old", "")[:200], fields.get("new", "")[:400]
    try:
        session = page.caller.required_session
        _, text = await run_in_threadpool(page.context.logins.change_password, session, old, new, place)
    except RequestError as error:
        return page.render_error("password.html", error)
    response = redirect_to("/")
    set_session_cookie(response, page.context, text)
    return response


@router.post("/logout")
async def log_out(page: VisitorPage) -> Response:
    await page.read_form()
    if page.caller is not None:
        page.context.sessions.end(page.caller.required_session)
    response = redirect_to("/login")
    delete_session_cookie(response, page.context)
    return response


@router.get("/account")
def show_account(page: LoggedInPage) -> Response:
    return page.render("account.html", _build_template_context(page))


@router.post("/account")
async def issue_or_revoke_token(page: LoggedInPage) -> Response:
    """Create a token, whose value is shown only now, or revoke one."""
    fields = await page.read_form()
    try:
        if fields.get("do") == "revoke":
            await run_in_threadpool(page.context.tokens.revoke, page.user_name, fields.get("token", ""))
            return redirect_to("/account")
        made = await run_in_threadpool(
            _issue_token, page, fields.get("label", "").strip(), fields.get("days", "")
        )
    except DiscreetError as error:
        return page.render_error("account.html", error, _build_template_context(page))
    return page.render("account.html", _build_template_context(page) | {"made": made})


def _issue_token(page: Page, label: str, days: str) -> str:
    if not label or len(label) > MAX_LABEL_LENGTH:
        raise RequestError("tokens: a token needs a label.", hint="Say what it is for.")
    if not days.isascii() or not days.isdigit() or len(days) > 4:
        raise RequestError("tokens: days must be a whole number.", hint="Say for how many days it is valid.")
    stamp = page.required_caller.user.stamp
    return page.context.tokens.issue(page.user_name, label, days=int(days), stamp=stamp)[1]


def _build_template_context(page: Page) -> dict[str, object]:
    user = page.required_caller.user
    return {
        "may": ROLE_PERMISSIONS[user.role],
        "analyst": user.analyst,
        "tokens": page.context.tokens.list_for_user(user.name),
        "days": DEFAULT_TOKEN_DAYS,
        "most_days": MAX_TOKEN_DAYS,
        "made": None,
        "url": str(page.request.base_url).rstrip("/"),
    }
