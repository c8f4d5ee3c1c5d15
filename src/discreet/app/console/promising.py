"""The Promise screen: what an attacker thinks now and may think at most, as people of a hundred."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from discreet.app.console.rendering import Page, entered
from discreet.belief import Promise
from discreet.core.errors import DiscreetError
from discreet.core.relations import Relation

router = APIRouter(include_in_schema=False)
ACROSS = 20
Percent = Annotated[float | None, Query(gt=0, lt=100)]


@dataclass(frozen=True)
class Person:
    """Where one of a hundred stands, and how much of them is coloured."""

    x: int
    y: int
    part: float


def crowd(share: float) -> list[Person]:
    """A hundred people, of whom 100 * share are coloured."""
    return [
        Person(place % ACROSS, place // ACROSS, min(1.0, max(0.0, 100 * share - place)))
        for place in range(100)
    ]


@router.get("/promise")
def promise(
    page: Annotated[Page, Depends(entered)],
    prior: Percent = None,
    posterior: Percent = None,
    secret: Relation | None = None,
    group: Annotated[int | None, Query(ge=1, le=20)] = None,
) -> Response:
    kept = page.door.curators.ledger.promise
    wanted = {
        "prior": kept.prior if prior is None else prior / 100,
        "posterior": kept.posterior if posterior is None else posterior / 100,
        "secret": secret or kept.secret,
        "group": group or kept.group,
    }
    facts: dict[str, object] = {**wanted, "kept": kept, "across": ACROSS, "secrets": list(Relation)}
    facts |= {"before": crowd(float(wanted["prior"])), "after": crowd(float(wanted["posterior"]))}  # type: ignore[arg-type]
    try:
        made = Promise(**wanted)  # type: ignore[arg-type]
    except DiscreetError as error:
        return page.refused("promise.html", error, made=None, said=[], limits=[], **facts)
    said, limits = _told(made)
    return page.shown("promise.html", made=made, said=said, limits=limits, **facts)


def _told(made: Promise) -> tuple[list[str], list[str]]:
    """What the promise says, and what it does not cover."""
    lines = [line for line in made.explain().splitlines() if line]
    listed = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    return [line for line in lines[:1] if math.isfinite(made.epsilon)], listed
