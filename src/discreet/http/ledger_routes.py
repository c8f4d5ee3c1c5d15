"""Routes of the ledger: policy, entries, belief and metrics are read, budget requests are made and decided.

An analyst sees public information and the analyst's own entries, never what others asked or spent.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from discreet.accounting.amounts import get_amount
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.http.app_context import AppContext, Context
from discreet.http.authentication import AskingCaller, AuditorCaller, Caller, CurrentCaller, CustodianCaller
from discreet.http.request_bodies import BudgetRequestBody, DenialBody, GrantBody
from discreet.rendering.ledger_view import belief_to_json, ledger_to_json, open_release_to_json
from discreet.services.addresses import remove_login
from discreet.services.users import Role

router = APIRouter(prefix="/api")


@router.get("/policy", tags=["reading"])
def get_policy(caller: CurrentCaller, context: Context) -> dict[str, object]:
    """Return the policy: all of it to a custodian, the public part to others."""
    terms = context.curators.policy
    if caller.user.role is Role.CUSTODIAN:
        return terms.model_dump(mode="json") | {
            "engine": remove_login(terms.engine),  # addresses may contain passwords
            "ledger": remove_login(terms.ledger),
        }
    return public_policy_to_json(terms) | {"analysts": _shares_to_json(context, caller)}


@router.get("/ledger", tags=["reading"])
def get_ledger(caller: CurrentCaller, context: Context) -> dict[str, object]:
    """Return entries, expenditure and remaining budget: of everyone, or an analyst's own part."""
    analyst, belief_scope = _find_visible_analysts(context, caller)
    told = ledger_to_json(context.curators.ledger, analyst, belief_scope=belief_scope)
    for_custodian = caller.user.role is Role.CUSTODIAN
    releases = context.curators.ledger.list_releases()
    return told | {"releases": [open_release_to_json(each, for_custodian=for_custodian) for each in releases]}


@router.get("/belief", tags=["reading"])
def get_belief(
    caller: CurrentCaller, context: Context, prior: Annotated[float | None, Query(gt=0, lt=1)] = None
) -> dict[str, object]:
    """Return what an attacker may believe after all answers, or after the calling analyst's answers."""
    book, (_, belief_scope) = context.curators.ledger, _find_visible_analysts(context, caller)
    now = book.compute_belief(prior, analyst=belief_scope)
    return belief_to_json(now, book.promise.posterior) | {
        "sentence": book.describe_belief(prior, analyst=belief_scope)
    }


@router.post("/analysts/{name}/clear", tags=["deciding"])
def clear_suspension(name: str, caller: CustodianCaller, context: Context) -> dict[str, object]:
    """Let a suspended analyst ask again."""
    context.curators.ledger.clear_suspension(name)
    return {"cleared": name}


@router.get("/metrics", tags=["reading"], response_class=Response)
def get_metrics(caller: AuditorCaller, context: Context) -> Response:
    """Return counters for Prometheus; no label depends on the data."""
    book = context.curators.ledger
    text = context.metrics.to_prometheus_text(
        discreet_ledger_spent=(
            "What was spent of the promise, in its unit.",
            get_amount(book.get_total_spent()),
        ),
        discreet_ledger_left=(
            "What is left of the promise, in its unit.",
            get_amount(book.get_remaining_budget()),
        ),
        discreet_belief=("What an attacker may believe now.", book.compute_belief().highest),
    )
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/budget-requests", tags=["budget"])
def list_budget_requests(caller: CurrentCaller, context: Context) -> dict[str, object]:
    """Return an analyst's own budget requests, or all of them for other roles."""
    analyst = caller.analyst if caller.user.role is Role.ANALYST else None
    return {"budget_requests": [each.to_json() for each in context.budget_requests.list_all(analyst)]}


@router.post("/budget-requests", tags=["budget"], status_code=201)
def create_budget_request(
    body: BudgetRequestBody, caller: AskingCaller, context: Context
) -> dict[str, object]:
    """Ask the custodian for a larger share of the promise."""
    return context.request_budget(caller.analyst, body.share, body.reason).to_json()


@router.post("/budget-requests/{number}/grant", tags=["budget"])
def grant_budget_request(
    number: int, body: GrantBody, caller: CustodianCaller, context: Context
) -> dict[str, object]:
    """Enlarge the share, out of the unassigned budget or out of another analyst's share."""
    return context.grant_budget(number, body.taken_from).to_json()


@router.post("/budget-requests/{number}/deny", tags=["budget"])
def deny_budget_request(
    number: int, body: DenialBody, caller: CustodianCaller, context: Context
) -> dict[str, object]:
    """Deny the request and leave the share unchanged."""
    return context.budget_requests.deny(number, body.note).to_json()


def public_policy_to_json(policy: Policy) -> dict[str, object]:
    """Return a policy as JSON without files, addresses and other analysts' shares."""
    said = policy.model_dump(mode="json", include={"promise", "epsilon", "data_version", "share_answers"})
    return said | {"tables": {name: _table_to_json(table) for name, table in policy.tables.items()}}


def _table_to_json(table: Table) -> dict[str, object]:
    # where bounds were learned from names an analyst and the number of that analyst's entry
    return table.model_dump(
        mode="json", exclude={"source": True, "columns": {"__all__": {"learned"}}}, exclude_none=True
    )


def _shares_to_json(context: AppContext, caller: Caller) -> dict[str, object]:
    analyst, _ = _find_visible_analysts(context, caller)
    accounts = (
        context.curators.ledger.list_accounts()
        if analyst is None
        else [context.curators.ledger.get_account(analyst)]
    )
    return {each.analyst: {"share": float(each.share)} for each in accounts}


def _find_visible_analysts(context: AppContext, caller: Caller) -> tuple[str | None, str | None]:
    """Return the analyst whose entries a user sees, and the one whose answers belief covers; None is all."""
    if caller.user.role is not Role.ANALYST:
        return None, None
    return caller.analyst, context.curators.for_analyst(caller.analyst).belief_scope
