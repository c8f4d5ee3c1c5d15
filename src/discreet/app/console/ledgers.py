"""The Ledger screen: belief after each entry below its cap, all entries, budget requests."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from starlette.concurrency import run_in_threadpool

from discreet.accounting.accountant import format_figure, name_unit
from discreet.accounting.ledger import Ledger
from discreet.app.console.logins import elsewhere
from discreet.app.console.rendering import NARROW, Page, entered
from discreet.app.http.entering import Caller
from discreet.app.http.errors import ForbiddenError
from discreet.app.ledger_object import accounts_of
from discreet.app.users import Role
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.number_checks import parse_probability

router = APIRouter(include_in_schema=False)
MOST_ENTRIES = 200
Entered = Annotated[Page, Depends(entered)]


@router.get("/ledger")
def ledger(page: Entered) -> Response:
    return page.shown("ledger.html", _facts(page))


@router.post("/ledger")
async def decide(page: Entered) -> Response:
    """Make, grant or deny a budget request, or let a suspended analyst ask again."""
    fields = dict(await page.form())
    try:
        await run_in_threadpool(_decided, page, fields)
    except DiscreetError as error:
        return page.refused("ledger.html", error, _facts(page))
    return elsewhere("/ledger")


def _decided(page: Page, fields: dict[str, str]) -> None:
    door, caller, do = page.door, _caller(page), fields.get("do")
    if do == "wish" and caller.user.role is Role.ANALYST:
        share = parse_probability("share", fields.get("share", ""))
        door.wishes.make(caller.asks_as, Fraction(str(share)), fields.get("reason", "")[:1000])
        return
    if caller.user.role is not Role.CUSTODIAN:
        raise ForbiddenError("Only the custodian decides this.")
    if do == "clear":
        door.curators.ledger.clear_suspension(fields.get("analyst", ""))
        return
    number = fields.get("wish", "")
    if not number.isdecimal() or len(number) > 9:
        raise RequestError("budget: there is no such budget request.")
    if do == "grant":
        taken = fields.get("taken_from") or None
        door.wishes.grant(int(number), door.curators.policy, door.curators.ledger.set_shares, taken)
    else:
        door.wishes.deny(int(number), fields.get("note", "")[:1000])


def _facts(page: Page) -> dict[str, object]:
    book, caller = page.door.curators.ledger, _caller(page)
    own = caller.asks_as if caller.user.role is Role.ANALYST else None
    alone = None if own is None else page.door.curators.of(own).alone
    last, whole = book.list_entries(own)[: -MOST_ENTRIES - 1 : -1], book.get_accountant().limit
    return {
        "sentence": book.describe_belief(analyst=alone),
        "unit": name_unit(whole),
        "whole": format_figure(whole),
        "picture": _picture(book, alone),
        "entries": [
            (each, each.id if own is None else each.number, format_figure(each.charge, up=True))
            for each in last
        ],
        "accounts": [
            (each, format_figure(each.spent, up=True), format_figure(each.left))
            for each in accounts_of(book, own)
        ],
        "releases": book.list_releases(),
        "wishes": page.door.wishes.all(own),
        "role": caller.user.role.value,
    }


def _picture(book: Ledger, analyst: str | None) -> str:
    from discreet.app.charts import as_svg  # slow to import
    from discreet.app.ledger_chart import ledger_picture

    return as_svg(ledger_picture(book, analyst=analyst, told=False, width=NARROW + 60, height=NARROW))


def _caller(page: Page) -> Caller:
    assert page.caller is not None
    return page.caller
