"""The Promise and Trade-off screens: what a promise means, and how wrong answers are under it.

Promise     the attacker's belief before, and at most after, drawn as a hundred people.
Trade-off   the error of a question under each cap on belief, from plan and policy alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Response

from discreet.core.errors import DiscreetError
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.http.app_context import QUERY_LIMITER
from discreet.http.console.page import LoggedInPage
from discreet.http.request_bodies import MAX_SQL_LENGTH
from discreet.rendering.tradeoff_chart import TradeoffPlot, draw_tradeoff
from discreet.services.promise import PromiseRequest, state_promise
from discreet.services.tradeoff import Tradeoff, compute_tradeoff

router = APIRouter(include_in_schema=False)
FIGURES_PER_ROW = 20
WholeNumber = Annotated[str, Query(pattern=r"^\d{0,9}$")]
Percent = Annotated[float | None, Query(gt=0, lt=100)]


@dataclass(frozen=True)
class Person:
    """The position of one of a hundred figures, and the coloured fraction of it."""

    x: int
    y: int
    part: float


def build_crowd(share: float) -> list[Person]:
    """Return a hundred figures, 100 * share of them coloured."""
    return [
        Person(place % FIGURES_PER_ROW, place // FIGURES_PER_ROW, min(1.0, max(0.0, 100 * share - place)))
        for place in range(100)
    ]


@router.get("/promise")
def show_promise(
    page: LoggedInPage,
    prior: Percent = None,
    posterior: Percent = None,
    secret: Relation | None = None,
    group: Annotated[int | None, Query(ge=1, le=20)] = None,
) -> Response:
    kept = page.context.curators.ledger.promise
    before = kept.prior if prior is None else prior / 100
    after = kept.posterior if posterior is None else posterior / 100
    relation = secret or kept.secret
    request = PromiseRequest(
        prior=before,
        posterior=after,
        secret=relation.value,
        group=group or kept.group,
        tail=kept.tail or None,
    )
    facts: dict[str, object] = {
        **dict(request),
        "secret": relation,
        "kept": kept,
        "across": FIGURES_PER_ROW,
        "before": build_crowd(before),
        "after": build_crowd(after),
        "made": None,
    }
    try:
        made, _ = state_promise(request)
    except DiscreetError as error:
        return page.render_error("promise.html", error, facts)
    said, *more = [line for line in made.explain().splitlines() if line]
    limits = [line.removeprefix("- ") for line in more if line.startswith("- ")]
    return page.render("promise.html", facts | {"made": made, "said": said, "limits": limits})


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
