"""The Trade-off screen: the error of a question under each cap on belief, from plan and policy alone."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Response

from discreet.app.console.rendering import Page, entered
from discreet.app.http.bodies import LONGEST_SQL
from discreet.app.http.questions import ASKING
from discreet.app.tradeoff import Tradeoff, tradeoff
from discreet.app.tradeoff_drawing import Plot, tradeoff_picture
from discreet.core.errors import DiscreetError
from discreet.core.policy import Policy

router = APIRouter(include_in_schema=False)
Whole = Annotated[str, Query(pattern=r"^\d{0,9}$")]


@router.get("/tradeoff")
async def show(
    page: Annotated[Page, Depends(entered)],
    sql: Annotated[str, Query(max_length=LONGEST_SQL)] = "",
    questions: Whole = "",
    least_rows: Whole = "",
    at: Annotated[int | None, Query(ge=0, le=1000)] = None,
) -> Response:
    policy, promise = page.door.curators.policy, page.door.curators.ledger.promise
    text = sql.strip() or usual(policy)
    facts: dict[str, object] = {
        "fields": {"sql": text, "questions": questions, "least_rows": least_rows},
        "found": None,
    }

    def work() -> Tradeoff:
        with page.door.place(page.user):
            return tradeoff(
                text,
                policy,
                promise,
                questions=int(questions or 1),
                least_rows=int(least_rows) if least_rows else None,
            )

    try:
        found = await to_thread.run_sync(work, limiter=ASKING)
    except DiscreetError as error:
        return page.refused("tradeoff.html", error, facts)
    place = found.own if at is None else min(at, len(found.points) - 1)
    plot = Plot(found=found)
    return page.shown(
        "tradeoff.html",
        facts
        | {
            "found": found,
            "place": place,
            "picture": tradeoff_picture(found, place),
            "rows": [(each, *plot.place(each), found.sentence(each)) for each in found.points],
        },
    )


def usual(policy: Policy) -> str:
    """Return the query that the screen starts with: a count of the first table about people."""
    about_people = (name for name, table in policy.tables.items() if table.person != "none")
    name = next(about_people, next(iter(policy.tables)))
    return f"SELECT COUNT(*) AS n FROM {name}"
