"""The Ledger screen: belief after each entry below its cap, all entries, budget requests."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from discreet.accounting.amounts import format_figure, name_unit
from discreet.accounting.ledger import Ledger
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.number_checks import parse_probability
from discreet.http.console.page import CHART_WIDTH, LoggedInPage, Page, redirect_to
from discreet.http.http_errors import ForbiddenError
from discreet.rendering.charts import chart_to_svg
from discreet.rendering.ledger_chart import draw_ledger_chart
from discreet.rendering.ledger_view import list_accounts
from discreet.services.users import Role

router = APIRouter(include_in_schema=False)
MAX_ENTRIES = 200


@router.get("/ledger")
def show_ledger(page: LoggedInPage) -> Response:
    return page.render("ledger.html", _build_template_context(page))


@router.post("/ledger")
async def submit_decision(page: LoggedInPage) -> Response:
    """Make, grant or deny a budget request, or let a suspended analyst ask again."""
    fields = dict(await page.read_form())
    try:
        await run_in_threadpool(_apply_decision, page, fields)
    except DiscreetError as error:
        return page.render_error("ledger.html", error, _build_template_context(page))
    return redirect_to("/ledger")


def _apply_decision(page: Page, fields: dict[str, str]) -> None:
    context, caller, do = page.context, page.required_caller, fields.get("do")
    if do == "request" and caller.user.role is Role.ANALYST:
        share = parse_probability("share", fields.get("share", ""))
        context.request_budget(caller.analyst, share, fields.get("reason", "")[:1000])
        return
    if caller.user.role is not Role.CUSTODIAN:
        raise ForbiddenError("Only the custodian decides this.")
    if do == "clear":
        context.curators.ledger.clear_suspension(fields.get("analyst", ""))
        return
    number = fields.get("request", "")
    if not number.isdecimal() or len(number) > 9:
        raise RequestError("budget: there is no such budget request.")
    if do == "grant":
        context.grant_budget(int(number), fields.get("taken_from") or None)
    else:
        context.budget_requests.deny(int(number), fields.get("note", "")[:1000])


def _build_template_context(page: Page) -> dict[str, object]:
    book, caller = page.context.curators.ledger, page.required_caller
    own = caller.analyst if caller.user.role is Role.ANALYST else None
    alone = None if own is None else page.context.curators.for_analyst(own).belief_scope
    last, whole = book.list_entries(own)[: -MAX_ENTRIES - 1 : -1], book.get_accountant().limit
    return {
        "sentence": book.describe_belief(analyst=alone),
        "unit": name_unit(whole),
        "whole": format_figure(whole),
        "picture": _draw_ledger(book, alone),
        "entries": [
            (each, each.id if own is None else each.number, format_figure(each.charge, up=True))
            for each in last
        ],
        "accounts": [
            (each, format_figure(each.spent, up=True), format_figure(each.left))
            for each in list_accounts(book, own)
        ],
        "releases": book.list_releases(),
        "budget_requests": page.context.budget_requests.list_all(own),
        "role": caller.user.role.value,
    }


def _draw_ledger(ledger: Ledger, analyst: str | None) -> str:
    return chart_to_svg(
        draw_ledger_chart(
            ledger, analyst=analyst, show_sentence=False, width=CHART_WIDTH + 60, height=CHART_WIDTH
        )
    )
