"""The Promise screen: the attacker's belief before, and at most after, drawn as a hundred people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Response

from discreet.core.errors import DiscreetError
from discreet.core.neighbor_relations import Relation
from discreet.http.console.page import LoggedInPage
from discreet.services.promise import PromiseRequest, state_promise

router = APIRouter(include_in_schema=False)
FIGURES_PER_ROW = 20
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
