"""Routes that read the policy, the ledger, belief and metrics.

An analyst sees public information and the analyst's own entries, never what others asked or spent.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from discreet.app.addresses import without_login
from discreet.app.http.door import HttpDoor
from discreet.app.http.entering import Caller, Deciding, Door, Entered, Overseeing
from discreet.app.http.releases import open_releases
from discreet.app.ledger_object import as_object, belief_object, size
from discreet.app.users import Role
from discreet.core.policy import Policy, Table

router = APIRouter(prefix="/api")


@router.get("/policy", tags=["reading"])
def policy(caller: Entered, door: Door) -> dict[str, object]:
    """Return the policy: all of it to a custodian, the public part to others."""
    terms = door.curators.policy
    if caller.user.role is Role.CUSTODIAN:
        return terms.model_dump(mode="json") | {
            "engine": without_login(terms.engine),
            "ledger": without_login(terms.ledger),
        }
    return public(terms) | {"analysts": _shares(door, caller)}


@router.get("/ledger", tags=["reading"])
def ledger(caller: Entered, door: Door) -> dict[str, object]:
    """Return entries, expenditure and remaining budget: of everyone, or an analyst's own part."""
    analyst, alone = _seen(door, caller)
    told = as_object(door.curators.ledger, analyst, alone=alone)
    return told | {"releases": open_releases(door, caller)}


@router.get("/belief", tags=["reading"])
def belief(
    caller: Entered, door: Door, prior: Annotated[float | None, Query(gt=0, lt=1)] = None
) -> dict[str, object]:
    """Return what an attacker may believe after all answers, or after the calling analyst's answers."""
    book, (_, alone) = door.curators.ledger, _seen(door, caller)
    now = book.compute_belief(prior, analyst=alone)
    return belief_object(now, book.promise.posterior) | {
        "sentence": book.describe_belief(prior, analyst=alone)
    }


@router.post("/analysts/{name}/clear", tags=["deciding"])
def clear(name: str, caller: Deciding, door: Door) -> dict[str, object]:
    """Let a suspended analyst ask again."""
    door.curators.ledger.clear_suspension(name)
    return {"cleared": name}


@router.get("/metrics", tags=["reading"], response_class=Response)
def metrics(caller: Overseeing, door: Door) -> Response:
    """Return counters for Prometheus; no label depends on the data."""
    book = door.curators.ledger
    text = door.metrics.text(
        discreet_ledger_spent=("What was spent of the promise, in its unit.", size(book.get_total_spent())),
        discreet_ledger_left=("What is left of the promise, in its unit.", size(book.get_remaining_budget())),
        discreet_belief=("What an attacker may believe now.", book.compute_belief().highest),
    )
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def public(terms: Policy) -> dict[str, object]:
    """Return a policy as JSON without files, addresses and other analysts' shares."""
    said = terms.model_dump(mode="json", include={"promise", "epsilon", "data_version"})
    return said | {"tables": {name: _table(table) for name, table in terms.tables.items()}}


def _table(table: Table) -> dict[str, object]:
    return table.model_dump(mode="json", exclude={"source"}, exclude_none=True)


def _shares(door: HttpDoor, caller: Caller) -> dict[str, object]:
    analyst, _ = _seen(door, caller)
    accounts = (
        door.curators.ledger.list_accounts()
        if analyst is None
        else [door.curators.ledger.get_account(analyst)]
    )
    return {each.analyst: {"share": float(each.share)} for each in accounts}


def _seen(door: HttpDoor, caller: Caller) -> tuple[str | None, str | None]:
    """Return the analyst whose entries a user sees, and the one whose answers belief covers; None is all."""
    if caller.user.role is not Role.ANALYST:
        return None, None
    return caller.asks_as, door.curators.of(caller.asks_as).alone
