"""The Account screen: the user and the role's permissions, a link to change the password, tokens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from starlette.concurrency import run_in_threadpool

from discreet.app.console.logins import elsewhere
from discreet.app.console.rendering import Page, entered
from discreet.app.users import Role
from discreet.app.users.storage import TOKEN_DAYS
from discreet.app.users.tokens import LONGEST_LABEL, MOST_DAYS
from discreet.core.errors import DiscreetError, RequestError

router = APIRouter(include_in_schema=False)
MAY = {
    Role.CUSTODIAN: "reads the whole policy and ledger, decides on budget, attacks and publishes",
    Role.ANALYST: "plans, tries and asks within a share, and reads their own part of the ledger",
    Role.AUDITOR: "reads the whole ledger and all certificates",
}
Entered = Annotated[Page, Depends(entered)]


@router.get("/account")
def account(page: Entered) -> Response:
    return page.shown("account.html", _facts(page))


@router.post("/account")
async def decide(page: Entered) -> Response:
    """Create a token, whose value is shown only now, or revoke one."""
    fields = await page.form()
    try:
        if fields.get("do") == "revoke":
            await run_in_threadpool(page.door.tokens.revoke, page.user, fields.get("token", ""))
            return elsewhere("/account")
        made = await run_in_threadpool(_issued, page, fields.get("label", "").strip(), fields.get("days", ""))
    except DiscreetError as error:
        return page.refused("account.html", error, _facts(page))
    return page.shown("account.html", _facts(page) | {"made": made})


def _issued(page: Page, label: str, days: str) -> str:
    if not label or len(label) > LONGEST_LABEL:
        raise RequestError("tokens: a token needs a label.", hint="Say what it is for.")
    if not days.isascii() or not days.isdigit() or len(days) > 4:
        raise RequestError("tokens: days must be a whole number.", hint="Say for how many days it is valid.")
    assert page.caller is not None
    stamp = page.caller.user.stamp
    return page.door.tokens.issue(page.user, label, days=int(days), stamp=stamp)[1]


def _facts(page: Page) -> dict[str, object]:
    assert page.caller is not None
    user = page.caller.user
    return {
        "may": MAY[user.role],
        "analyst": user.analyst,
        "tokens": page.door.tokens.of(user.name),
        "days": TOKEN_DAYS,
        "most_days": MOST_DAYS,
        "made": None,
        "url": str(page.request.base_url).rstrip("/"),
    }
