"""Routes of jobs: start, follow and cancel long work, and fetch its result; attacks are jobs, too.

Custodian   only: results of attacks come from real data.

Analysts    start no jobs: a job shows how long work on the data takes, and that duration may depend on the
            data. A table that is synthesized for an analyst is charged to that analyst's share.
Paths       A release is named by its number in the ledger, never by a path, so the custodian's password does
            not open other files of the server.
Idempotent  The same request under the same Idempotency-Key starts one job, and is charged once.
Work        is that of the command of the same name, into the job's own folder. A request that the policy does
            not allow is refused before a job is started.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from discreet.core.errors import RequestError
from discreet.http.app_context import AppContext, Context
from discreet.http.authentication import Caller, CustodianCaller
from discreet.http.http_errors import NotFoundError
from discreet.http.openapi import (
    FILE_RESPONSES,
    JOB_STARTED_RESPONSE,
    NOT_FOUND_RESPONSE,
    FormatParameter,
    IdempotencyKeyHeader,
)
from discreet.http.request_bodies import AnonymizeBody, AttackBody, AuditBody, JobBody, SynthesizeBody
from discreet.http.responses import (
    JSON_MEDIA_TYPE,
    MEDIA_TYPES,
    ResponseFormat,
    error_to_json,
    replace_non_finite,
    to_http_response,
    to_json_bytes,
)
from discreet.rendering import anonymize_view, attack_view, private_release_view
from discreet.rendering.audit_view import audit_to_json
from discreet.rendering.release_report import render_release_report
from discreet.rendering.synthetic_view import synthetic_to_json, write_synthetic_report
from discreet.services.anonymize.anonymize import (
    ANONYMIZATION_STAGES,
    PRIVATE_ANONYMIZATION_STAGES,
    anonymize,
    anonymize_privately,
    require_anonymizable,
)
from discreet.services.anonymize.anonymize_request import PRIVATE, AnonymizeFields, AnonymizeRequest
from discreet.services.anonymize.table_resolution import resolve_policy_table
from discreet.services.attack import attack_dispatch
from discreet.services.attack.attack_request import AttackFields, AttackRequest
from discreet.services.audit.audit_dispatch import run_audit
from discreet.services.audit.audit_request import AuditRequest, is_question
from discreet.services.policies import resolve_analyst
from discreet.services.progress import ProgressCallback
from discreet.services.release_files import convert_release_file
from discreet.services.serving.job import Job, JobOutcome, JobState, JobWork
from discreet.services.synthesize.synthesize_request import (
    PublishRequest,
    SynthesizeFields,
    SynthesizeRequest,
)
from discreet.services.synthesize.synthetic_publication import publish_synthetic
from discreet.services.synthesize.synthetic_table import plan_synthetic
from discreet.services.users.idempotency_keys import StoredResponse

router = APIRouter(prefix="/api/jobs", tags=["jobs"])
attack_router = APIRouter(prefix="/api", tags=["attacks"])
MAX_NAME_LENGTH = 200
SYNTHESIS_STAGES = ("preparing", "synthesizing", "attacking", "comparing", "writing")
AUDIT_STAGES = ("choosing", "running")
ATTACK_STAGES = ("preparing", "choosing victims", "matching", "attacking")


@router.post(
    "", status_code=202, response_class=Response, responses=JOB_STARTED_RESPONSE | NOT_FOUND_RESPONSE
)
def start_job(
    body: JobBody, caller: CustodianCaller, context: Context, idempotency_key: IdempotencyKeyHeader = None
) -> Response:
    """Start to synthesize, anonymize or audit. GET /api/jobs/ID returns the progress."""
    return start_or_replay_job(
        context,
        caller,
        idempotency_key,
        ["job", body.model_dump(mode="json")],  # a key is bound to the route and its body
        lambda: _build_work(context, body),
    )


@router.get("")
def list_jobs(caller: CustodianCaller, context: Context) -> dict[str, object]:
    """Return all jobs, without their results."""
    return {"jobs": [_job_to_json(each) for each in context.jobs.list_jobs()]}


@router.get("/{name}", responses=NOT_FOUND_RESPONSE)
def get_job(name: str, caller: CustodianCaller, context: Context) -> dict[str, object]:
    """Return one job: its stage, the fraction done, and its result."""
    found = _find_job(context, name)
    return _job_to_json(found) | {
        "found": None if found.outcome is None else replace_non_finite(found.outcome.results)
    }


@router.delete("/{name}", responses=NOT_FOUND_RESPONSE)
def cancel_job(name: str, caller: CustodianCaller, context: Context) -> dict[str, object]:
    """Cancel a job that has not been charged yet."""
    found = _find_job(context, name)
    context.jobs.cancel(found)
    return _job_to_json(found)


@router.get("/{name}/result", response_class=Response, responses=FILE_RESPONSES | NOT_FOUND_RESPONSE)
def get_job_result(
    name: str,
    caller: CustodianCaller,
    context: Context,
    response_format: FormatParameter = ResponseFormat.JSON,
) -> Response:
    """Return what a job made: in JSON the certificate or the audit, in other formats the rows."""
    outcome = _find_job(context, name).outcome
    if outcome is None or outcome.document is None:
        raise NotFoundError("This job has made nothing.", hint=f"GET /api/jobs/{name} says why.")
    if response_format is ResponseFormat.JSON:
        return to_http_response(
            StoredResponse(status=200, media_type=JSON_MEDIA_TYPE, body=to_json_bytes(outcome.document))
        )
    if outcome.file is None:
        raise RequestError("An audit makes no table.", hint="Leave format out.")
    if not outcome.file.is_file():
        raise NotFoundError(
            "The file of this release is not here.",
            hint="Ask the server that made it; if it was moved away, start the job again.",
        )
    file = convert_release_file(outcome.file, f".{response_format.value}")
    return FileResponse(file, media_type=MEDIA_TYPES[response_format], filename=file.name)


def start_or_replay_job(
    context: AppContext,
    caller: Caller,
    idempotency_key: str | None,
    request: object,
    build_work: Callable[[], JobWork],
) -> Response:
    """Start a job and return its reply; a request repeated under its key gets the stored reply."""

    def start_and_respond() -> StoredResponse:
        begun = context.jobs.submit(caller.user.name, build_work())
        headers = {"Location": f"/api/jobs/{begun.id}"}
        return StoredResponse(
            status=202, media_type=JSON_MEDIA_TYPE, headers=headers, body=to_json_bytes(_job_to_json(begun))
        )

    return to_http_response(
        context.idempotency_keys.run_or_replay(caller.user.name, idempotency_key, request, start_and_respond)
    )


def _build_work(context: AppContext, body: JobBody) -> JobWork:
    if isinstance(body, SynthesizeBody):
        return _build_synthesize_work(context, body)
    if isinstance(body, AnonymizeBody):
        return _build_anonymize_work(context, body)
    return _build_audit_work(context, body)


def _find_job(context: AppContext, name: str) -> Job:
    found = context.jobs.find_job(name)
    if found is None:
        raise NotFoundError("There is no such job.", hint="GET /api/jobs lists them.")
    return found


def _job_to_json(job: Job) -> dict[str, object]:
    told: dict[str, object] = {
        "id": job.id,
        "kind": job.kind,
        "name": job.name,
        "user": job.user,
        "state": job.state.value,
        "stage": job.stage,
        "share": job.fraction_done,
        "begun": job.started_at,
        "ended": job.ended_at,
    }
    if job.failure is not None:
        told["error"] = error_to_json(job.failure)
    if job.state is JobState.DONE and job.outcome is not None and job.outcome.document is not None:
        told["result"] = f"/api/jobs/{job.id}/result"
    return told


@attack_router.post(
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
        return JobOutcome(
            results=attack_view.evaluation_to_json(attack_dispatch.attack_release(request, tell))
        )

    what = "the answers" if body.release is None else f"release {body.release}"
    return JobWork(kind="attack", name=f"attack on {what}", stages=ATTACK_STAGES, run=run_attack)


def _build_attack_request(context: AppContext, body: AttackBody) -> AttackRequest:
    release = str(context.policy_file) if body.release is None else context.find_release_file(body.release)
    policy = None if body.release is None else context.policy_file
    return AttackRequest(
        **{name: getattr(body, name) for name in AttackFields.model_fields}, release=release, policy=policy
    )


def _build_synthesize_work(context: AppContext, body: SynthesizeBody) -> JobWork:
    policy = resolve_policy_table(context.curators.policy, body.table, None).policy
    analyst = resolve_analyst(policy, body.analyst)
    asked = {name: getattr(body, name) for name in SynthesizeFields.model_fields}
    # raises what can be refused before the job starts
    plan_synthetic(context.curators.for_analyst(analyst), SynthesizeRequest(**asked))

    def run_synthesis(tell: ProgressCallback, folder: Path) -> JobOutcome:
        request = PublishRequest(**asked, analyst=analyst, output=_get_output_path(folder, body))
        made = publish_synthetic(policy, request, tell)
        files = (*made.files, write_synthetic_report(made))
        return _build_outcome(synthetic_to_json(made, files), files)

    return JobWork(
        kind=body.kind,
        name=f"synthesize {body.table} for {analyst}",
        stages=SYNTHESIS_STAGES,
        charging_stage="synthesizing",
        run=run_synthesis,
    )


def _build_anonymize_work(context: AppContext, body: AnonymizeBody) -> JobWork:
    named = resolve_policy_table(context.curators.policy, body.table, body.population)
    private = body.method == PRIVATE
    require_anonymizable(_build_anonymize_request(context, body), named)

    def run_anonymization(tell: ProgressCallback, folder: Path) -> JobOutcome:
        request = _build_anonymize_request(context, body, _get_output_path(folder, body))
        if private:
            sampled = anonymize_privately(
                request,
                named,
                report_progress=tell,
                render_report=private_release_view.render_private_report,
            )
            return _build_outcome(
                private_release_view.private_release_to_json(sampled.release), sampled.files
            )
        result = anonymize(request, named, report_progress=tell, render_report=render_release_report)
        trial = {"trial": attack_view.evaluation_to_json(result.evaluation)}
        return _build_outcome(anonymize_view.release_to_json(result.release) | trial, result.files)

    return JobWork(
        kind=body.kind,
        name=f"anonymize {body.table}",
        stages=PRIVATE_ANONYMIZATION_STAGES if private else ANONYMIZATION_STAGES,
        charging_stage="counting" if private else "writing",
        run=run_anonymization,
    )


def _build_audit_work(context: AppContext, body: AuditBody) -> JobWork:
    request = AuditRequest.model_validate(body.model_dump(exclude={"kind"}))
    policy = context.curators.policy if is_question(request.audited) else None

    def perform_audit(tell: ProgressCallback, folder: Path) -> JobOutcome:
        told = audit_to_json(run_audit(request, policy, tell))
        return JobOutcome(results=told, document=told)

    return JobWork(
        kind=body.kind, name=f"audit {body.audited[:MAX_NAME_LENGTH]}", stages=AUDIT_STAGES, run=perform_audit
    )


def _get_output_path(folder: Path, body: SynthesizeBody | AnonymizeBody) -> Path:
    return folder / f"{body.name or body.table}.parquet"


def _build_outcome(found: Mapping[str, object], files: Sequence[Path | str]) -> JobOutcome:
    rows, certificate = map(Path, files[:2])
    return JobOutcome(results=found, document=json.loads(certificate.read_text(encoding="utf-8")), file=rows)


def _build_anonymize_request(
    context: AppContext, body: AnonymizeBody, output: Path | None = None
) -> AnonymizeRequest:
    """Return the request of a body; paths are the server's, never the body's."""
    return AnonymizeRequest(
        **{name: getattr(body, name) for name in AnonymizeFields.model_fields},
        policy=context.policy_file,
        output=None if output is None else str(output),
        others=tuple(context.find_release_file(each) for each in body.others),
    )
