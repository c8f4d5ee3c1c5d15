"""The Check screen: how the data fits the policy, and the button that accepts it for analysts.

Custodian only: everything on it is computed from real data.
"""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Response

from discreet.core.errors import DiscreetError
from discreet.http.console.page import CustodianPage, Page
from discreet.rendering.check_view import HEADINGS, SHARES, count_departures, draw_sparkline
from discreet.services.check.acceptance import list_unaccepted
from discreet.services.check.check_request import CheckRequest
from discreet.services.check.data_check import DataCheck, TableCheck
from discreet.services.check.verdicts import Verdict, format_share

router = APIRouter(include_in_schema=False)
NO_BREAK = "\N{NO-BREAK SPACE}"


@router.get("/check")
def show_check(page: CustodianPage) -> Response:
    return page.render("check.html", _build_template_context(page, None))


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
        "version": curators.policy.data_version,
        "accepted": not list_unaccepted(curators.ledger, curators.table_states),
        "summaries": [] if check is not None else curators.check_summaries,
        "tables": [] if check is None else [_describe_table(table) for table in check.tables],
        "exceeds": Verdict.EXCEEDS in verdicts,
    }


def _describe_table(table: TableCheck) -> dict[str, object]:
    used = [name for name in SHARES if any(count_departures(each)[name] for each in table.columns)]
    return {
        "name": table.name,
        "rows": f"{table.rows:,}",
        "unread": f"{table.unread.count:,}" if table.unread.count else "",
        "headings": [HEADINGS[name] for name in used],
        "columns": [
            {
                "name": column.name,
                "shares": [
                    format_share(count, table.rows) if (count := count_departures(column)[name]) else ""
                    for name in used
                ],
                "bars": draw_sparkline(column).replace(" ", NO_BREAK),
                "verdict": column.verdict.value,
                "finding": column.text,
                "fix": column.fix,
            }
            for column in table.columns
        ],
        "findings": table.findings,
    }
