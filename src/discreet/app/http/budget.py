"""Routes of budget requests: an analyst makes one, the custodian grants or denies it."""

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
    """Return an analyst's own budget requests, or all of them for other roles."""
    analyst = caller.asks_as if caller.user.role is Role.ANALYST else None
    return {"wishes": [each.as_object() for each in door.wishes.all(analyst)]}


@router.post("", status_code=201)
def make(body: WishBody, caller: Asking, door: Door) -> dict[str, object]:
    """Ask the custodian for a larger share of the promise."""
    if caller.asks_as not in door.curators.policy.analysts:
        raise RequestError(
            "budget: this policy has one analyst, who has the whole promise.",
            hint="A larger promise is the custodian's decision, in the policy.",
        )
    return door.wishes.make(caller.asks_as, Fraction(str(body.share)), body.reason).as_object()


@router.post("/{number}/grant")
def grant(number: int, body: Grant, caller: Deciding, door: Door) -> dict[str, object]:
    """Enlarge the share, out of the unassigned budget or out of another analyst's share."""
    curators = door.curators
    return door.wishes.grant(number, curators.policy, curators.ledger.set_shares, body.taken_from).as_object()


@router.post("/{number}/deny")
def deny(number: int, body: Denial, caller: Deciding, door: Door) -> dict[str, object]:
    """Deny the request and leave the share unchanged."""
    return door.wishes.deny(number, body.note).as_object()
