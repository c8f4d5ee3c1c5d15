"""The work of HTTP jobs: the same as the commands of the same names, into the job's own folder.

A request that the policy does not allow is refused before a job is started.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.http.app_context import AppContext
from discreet.http.request_bodies import AnonymizeBody, AuditBody, BoundsBody, SynthesizeBody
from discreet.rendering import anonymize_view, attack_view, private_release_view
from discreet.rendering.audit_view import audit_to_json
from discreet.rendering.bounds_view import bounds_to_json
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
from discreet.services.audit.audit_dispatch import AuditRequest, is_question, run_audit
from discreet.services.bounds.bounds_request import BoundsRequest
from discreet.services.bounds.learn_bounds import learn_bounds, plan_bounds
from discreet.services.curator import Curator
from discreet.services.policies import resolve_analyst
from discreet.services.progress import ProgressCallback
from discreet.services.serving.job import JobOutcome, JobWork
from discreet.services.synthesize.synthesize_request import (
    PublishRequest,
    SynthesizeFields,
    SynthesizeRequest,
)
from discreet.services.synthesize.synthetic_publication import publish_synthetic
from discreet.services.synthesize.synthetic_table import plan_synthetic

MAX_NAME_LENGTH = 200
SYNTHESIS_STAGES = ("preparing", "synthesizing", "attacking", "comparing", "writing")
AUDIT_STAGES = ("choosing", "running")
BOUNDS_STAGES = ("counting",)


def build_synthesize_work(context: AppContext, body: SynthesizeBody) -> JobWork:
    """Return the work of a job that synthesizes a table."""
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


def build_anonymize_work(context: AppContext, body: AnonymizeBody) -> JobWork:
    """Return the work of a job that generalizes a table."""
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


def build_audit_work(context: AppContext, body: AuditBody) -> JobWork:
    """Return the work of a job that audits a query or a mechanism."""
    request = AuditRequest.model_validate(body.model_dump(exclude={"kind"}))
    policy = context.curators.policy if is_question(request.audited) else None

    def perform_audit(tell: ProgressCallback, folder: Path) -> JobOutcome:
        told = audit_to_json(run_audit(request, policy, tell))
        return JobOutcome(results=told, document=told)

    return JobWork(
        kind=body.kind, name=f"audit {body.audited[:MAX_NAME_LENGTH]}", stages=AUDIT_STAGES, run=perform_audit
    )


def build_bounds_work(context: AppContext, body: BoundsBody) -> JobWork:
    """Return the work of a job that learns the bounds or values of a column."""
    policy = context.curators.policy
    analyst = resolve_analyst(policy, body.analyst)
    request = BoundsRequest(**{name: getattr(body, name) for name in BoundsRequest.model_fields})
    # raises what can be refused before the job starts
    plan_bounds(context.curators.for_analyst(analyst), request)

    def learn(tell: ProgressCallback, folder: Path) -> JobOutcome:
        with Curator.open_policy(policy, analyst=analyst) as curator:
            tell("counting")
            found = learn_bounds(curator, request)
        return JobOutcome(results=bounds_to_json(found), document=found.plan.certificate)

    return JobWork(
        kind=body.kind,
        name=f"bounds {body.table} {body.column} for {analyst}",
        stages=BOUNDS_STAGES,
        charging_stage="counting",
        run=learn,
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
