"""The job that learns the bounds or values of a column, which a route and a page start alike.

A request that the policy does not allow is refused before the job is started. The server's policy file is not
written: the result has the entries to put there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from discreet.http.app_context import AppContext
from discreet.rendering.bounds_view import bounds_to_json
from discreet.services.bounds.bounds_request import BoundsRequest
from discreet.services.bounds.learn_bounds import learn_bounds, plan_bounds
from discreet.services.curator import Curator
from discreet.services.policies import resolve_analyst
from discreet.services.progress import ProgressCallback
from discreet.services.serving.job import JobOutcome, JobWork

BOUNDS_KIND = "bounds"
BOUNDS_STAGES = ("preparing", "counting")


def build_bounds_work(
    context: AppContext, request: BoundsRequest, analyst: str | None, form: Mapping[str, str] | None = None
) -> JobWork:
    """Return the work of a job that learns what a request names, charged to an analyst's share."""
    policy = context.curators.policy
    charged = resolve_analyst(policy, analyst)
    plan_bounds(context.curators.for_analyst(charged), request)

    def learn(tell: ProgressCallback, folder: Path) -> JobOutcome:
        tell("preparing")
        with Curator.open_policy(policy, analyst=charged) as curator:
            tell("counting")
            found = learn_bounds(curator, request)
        return JobOutcome(results=bounds_to_json(found), document=found.plan.certificate)

    return JobWork(
        kind=BOUNDS_KIND,
        name=f"bounds {request.table} {request.column} for {charged}",
        stages=BOUNDS_STAGES,
        charging_stage="counting",
        run=learn,
        form=form or {},
    )
