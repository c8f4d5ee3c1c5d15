"""The route that attacks a release or the answers, as a job. Custodian only: results come from real data.

A release is named by its number in the ledger, never by a path, so the custodian's password does not open
other files of the server.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Response

from discreet.http.app_context import AppContext
from discreet.http.authentication import Context, CustodianCaller
from discreet.http.job_routes import start_or_replay_job
from discreet.http.openapi import JOB_STARTED_RESPONSE, NOT_FOUND_RESPONSE, IdempotencyKeyHeader
from discreet.http.release_routes import find_release_file
from discreet.http.request_bodies import AttackBody
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.progress import ProgressCallback
from discreet.services.serving.job import JobOutcome, JobWork

router = APIRouter(prefix="/api", tags=["attacks"])
ATTACK_STAGES = ("preparing", "choosing victims", "matching", "attacking")


@router.post(
    "/attacks", status_code=202, response_class=Response, responses=JOB_STARTED_RESPONSE | NOT_FOUND_RESPONSE
)
def start_attack(
    body: AttackBody, caller: CustodianCaller, context: Context, idempotency_key: IdempotencyKeyHeader = None
) -> Response:
    """Start an attack. GET /api/jobs/ID returns its progress and result."""
    return start_or_replay_job(
        context,
        caller,
        idempotency_key,
        ["attack", body.model_dump()],
        lambda: _build_attack_work(context, body),
    )


def _build_attack_work(context: AppContext, body: AttackBody) -> JobWork:
    request = _build_attack_request(context, body)

    def run_attack(tell: ProgressCallback, folder: Path) -> JobOutcome:
        from discreet.rendering import attack_view  # slow to import
        from discreet.services.attack import attack_dispatch

        trial, _ = attack_dispatch.attack_release(request, tell)
        return JobOutcome(results=attack_view.evaluation_to_json(trial))

    what = "the answers" if body.release is None else f"release {body.release}"
    return JobWork(kind="attack", name=f"attack on {what}", stages=ATTACK_STAGES, run=run_attack)


def _build_attack_request(context: AppContext, body: AttackBody) -> AttackRequest:
    return AttackRequest(
        release=str(context.policy_file)
        if body.release is None
        else find_release_file(context, body.release),
        policy=None if body.release is None else context.policy_file,
        table=body.table,
        victim=body.victim,
        claim=body.claim,
        victims=body.victims,
        rules_out=tuple(body.rules_out),
        at_most=body.at_most,
    )
