"""Wishes for more budget: an analyst makes them, the custodian grants or denies."""

from __future__ import annotations

from fractions import Fraction

from fastapi import APIRouter

from discreet.app.http.bodies import Denial, Grant, WishBody
from discreet.app.http.entering import Asking, Deciding, Door, Entered
from discreet.app.users import Role
from discreet.core.errors import RequestError

router = APIRouter(prefix="/api/wishes", tags=["budget"])


@router.get("")
def wishes(caller: Entered, door: Door) -> dict[str, object]:
    """An analyst's own wishes; all, for others."""
    analyst = caller.asks_as if caller.user.role is Role.ANALYST else None
    return {"wishes": [each.as_object() for each in door.wishes.all(analyst)]}


@router.post("", status_code=201)
def make(body: WishBody, caller: Asking, door: Door) -> dict[str, object]:
    """Ask the custodian for a larger share of the promise."""
    if caller.asks_as not in door.curators.policy.analysts:
        raise RequestError(
            "budget: there is one analyst, who has the whole promise.",
            hint="A larger one is the custodian's to make, in the policy.",
        )
    return door.wishes.make(caller.asks_as, Fraction(str(body.share)), body.reason).as_object()


@router.post("/{number}/grant")
def grant(number: int, body: Grant, caller: Deciding, door: Door) -> dict[str, object]:
    """Let the share grow, out of what nobody has or out of another's share."""
    curators = door.curators
    return door.wishes.grant(number, curators.policy, curators.ledger.set_shares, body.taken_from).as_object()


@router.post("/{number}/deny")
def deny(number: int, body: Denial, caller: Deciding, door: Door) -> dict[str, object]:
    """Leave the share as it is."""
    return door.wishes.deny(number, body.note).as_object()
