"""The Check screen: how the data fits the policy, and the button that accepts it for analysts.

Custodian only: everything on it is computed from real data.
"""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Response

from discreet.core.errors import DiscreetError
from discreet.http.console.page import CustodianPage, Page
from discreet.http.console.table_check import describe_table_check
from discreet.services.check.acceptance import list_unaccepted
from discreet.services.check.check_report import DataCheck
from discreet.services.check.check_request import CheckRequest
from discreet.services.check.verdicts import Verdict

router = APIRouter(include_in_schema=False)


@router.get("/check")
def show_check(page: CustodianPage, saved: str = "") -> Response:
    """Show the last check; `saved` is a table that the Data screen has just saved."""
    known = saved if saved in page.context.curators.policy.tables else ""
    return page.render("check.html", _build_template_context(page, None) | {"saved": known})


@router.post("/check")
async def submit_check(page: CustodianPage) -> Response:
    """Check the data, or check and accept it."""
    fields = await page.read_form()
    request = CheckRequest(
        accept=fields.get("do") == "accept",
        despite=fields.get("do") == "accept" and fields.get("despite") == "on",
    )
    try:
        found = await to_thread.run_sync(page.context.check_data, request)
    except DiscreetError as error:
        return page.render_error("check.html", error, _build_template_context(page, None))
    return page.render("check.html", _build_template_context(page, found))


def _build_template_context(page: Page, check: DataCheck | None) -> dict[str, object]:
    curators = page.context.curators
    verdicts = [each.verdict for each in curators.check_summaries] if check is None else [check.verdict]
    return {
        "saved": "",
        "version": curators.policy.data_version,
        "accepted": not list_unaccepted(curators.ledger, curators.table_states),
        "summaries": [] if check is not None else curators.check_summaries,
        "tables": [] if check is None else [describe_table_check(table) for table in check.tables],
        "exceeds": Verdict.EXCEEDS in verdicts,
    }
