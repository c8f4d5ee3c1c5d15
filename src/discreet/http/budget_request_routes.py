"""Routes of budget requests: an analyst makes one, the custodian grants or denies it."""

from __future__ import annotations

from fractions import Fraction

from fastapi import APIRouter

from discreet.core.errors import RequestError
from discreet.http.authentication import AskingCaller, Context, CurrentCaller, CustodianCaller
from discreet.http.request_bodies import BudgetRequestBody, DenialBody, GrantBody
from discreet.services.users import Role

router = APIRouter(prefix="/api/wishes", tags=["budget"])


@router.get("")
def list_budget_requests(caller: CurrentCaller, context: Context) -> dict[str, object]:
    """Return an analyst's own budget requests, or all of them for other roles."""
    analyst = caller.analyst if caller.user.role is Role.ANALYST else None
    return {"wishes": [each.to_json() for each in context.budget_requests.list_all(analyst)]}


@router.post("", status_code=201)
def create_budget_request(
    body: BudgetRequestBody, caller: AskingCaller, context: Context
) -> dict[str, object]:
    """Ask the custodian for a larger share of the promise."""
    if caller.analyst not in context.curators.policy.analysts:
        raise RequestError(
            "budget: this policy has one analyst, who has the whole promise.",
            hint="A larger promise is the custodian's decision, in the policy.",
        )
    return context.budget_requests.create(caller.analyst, Fraction(str(body.share)), body.reason).to_json()


@router.post("/{number}/grant")
def grant_budget_request(
    number: int, body: GrantBody, caller: CustodianCaller, context: Context
) -> dict[str, object]:
    """Enlarge the share, out of the unassigned budget or out of another analyst's share."""
    curators = context.curators
    return context.budget_requests.grant(
        number, curators.policy, curators.ledger.set_shares, body.taken_from
    ).to_json()


@router.post("/{number}/deny")
def deny_budget_request(
    number: int, body: DenialBody, caller: CustodianCaller, context: Context
) -> dict[str, object]:
    """Deny the request and leave the share unchanged."""
    return context.budget_requests.deny(number, body.note).to_json()
