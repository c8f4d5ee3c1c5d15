"""The Trade-off screen: the error of a question under each cap on belief, from plan and policy alone."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Response

from discreet.core.errors import DiscreetError
from discreet.core.policy import Policy
from discreet.http.app_context import QUERY_LIMITER
from discreet.http.console.page import LoggedInPage
from discreet.http.request_bodies import MAX_SQL_LENGTH
from discreet.rendering.tradeoff_chart import TradeoffPlot, draw_tradeoff
from discreet.services.tradeoff import Tradeoff, compute_tradeoff

router = APIRouter(include_in_schema=False)
WholeNumber = Annotated[str, Query(pattern=r"^\d{0,9}$")]


@router.get("/tradeoff")
async def show_tradeoff(
    page: LoggedInPage,
    sql: Annotated[str, Query(max_length=MAX_SQL_LENGTH)] = "",
    questions: WholeNumber = "",
    least_rows: WholeNumber = "",
    at: Annotated[int | None, Query(ge=0, le=1000)] = None,
) -> Response:
    policy, promise = page.context.curators.policy, page.context.curators.ledger.promise
    text = sql.strip() or build_default_query(policy)
    facts: dict[str, object] = {
        "fields": {"sql": text, "questions": questions, "least_rows": least_rows},
        "found": None,
    }

    def run_in_query_slot() -> Tradeoff:
        with page.context.reserve_query_slot(page.user_name):
            return compute_tradeoff(
                text,
                policy,
                promise,
                questions=int(questions or 1),
                least_rows=int(least_rows) if least_rows else None,
            )

    try:
        found = await to_thread.run_sync(run_in_query_slot, limiter=QUERY_LIMITER)
    except DiscreetError as error:
        return page.render_error("tradeoff.html", error, facts)
    place = found.promised_index if at is None else min(at, len(found.points) - 1)
    plot = TradeoffPlot(tradeoff=found)
    return page.render(
        "tradeoff.html",
        facts
        | {
            "found": found,
            "place": place,
            "picture": draw_tradeoff(found, place),
            "rows": [(each, *plot.get_position(each), found.describe_point(each)) for each in found.points],
        },
    )


def build_default_query(policy: Policy) -> str:
    """Return the query that the screen starts with: a count of the first table about people."""
    about_people = (name for name, table in policy.tables.items() if table.person != "none")
    name = next(about_people, next(iter(policy.tables)))
    return f"SELECT COUNT(*) AS n FROM {name}"
