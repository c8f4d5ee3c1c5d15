"""Routes of the custodian's check: how the data fits the policy, and its acceptance for analysts.

Custodian   only: all of it is computed from real data. The check reads the tables by an engine of its own, so
            that no analyst waits for it.
"""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter

from discreet.http.app_context import Context
from discreet.http.authentication import CustodianCaller
from discreet.http.request_bodies import CheckBody
from discreet.rendering.check_view import check_to_json
from discreet.services.check.acceptance import list_unaccepted

router = APIRouter(prefix="/api", tags=["deciding"])


@router.get("/check")
def get_check(caller: CustodianCaller, context: Context) -> dict[str, object]:
    """Return which tables are accepted for analysts, and a sentence on each from the last check."""
    curators = context.curators
    missing = list_unaccepted(curators.ledger, curators.table_states)
    found = {each.table: each for each in curators.check_summaries}
    return {
        "version": curators.policy.data_version,
        "accepted": not missing,
        "tables": [
            {
                "name": name,
                "accepted": name not in missing,
                "verdict": found[name].verdict.value if name in found else None,
                "summary": found[name].text if name in found else None,
            }
            for name in curators.policy.tables
        ],
    }


@router.post("/check")
async def check_data(body: CheckBody, caller: CustodianCaller, context: Context) -> dict[str, object]:
    """Check the data against the policy, and accept it for analysts if the body says so."""
    return check_to_json(await to_thread.run_sync(context.check_data, body))
