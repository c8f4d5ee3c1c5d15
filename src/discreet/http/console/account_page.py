"""The Account screen: the user and the role's permissions, a link to change the password, tokens."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from discreet.core.errors import DiscreetError, RequestError
from discreet.http.console.page import LoggedInPage, Page, redirect_to
from discreet.services.users import Role
from discreet.services.users.api_tokens import MAX_LABEL_LENGTH, MAX_TOKEN_DAYS
from discreet.services.users.user_storage import DEFAULT_TOKEN_DAYS

router = APIRouter(include_in_schema=False)
ROLE_PERMISSIONS = {
    Role.CUSTODIAN: "reads the whole policy and ledger, decides on budget, attacks and publishes",
    Role.ANALYST: "plans, tries and asks within a share, and reads their own part of the ledger",
    Role.AUDITOR: "reads the whole ledger and all certificates",
}


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
