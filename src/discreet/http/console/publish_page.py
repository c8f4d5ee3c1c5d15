"""The Publish screen: a table, the roles of its columns, the privacy models to meet, the release.

It does what `discreet anonymize` does, as a job: the release is found, checked and attacked before anything
is written, and entered in the ledger before the file exists. The figures on the page are computed on real
data and are for the custodian; the certificate is public.

Idempotent  A form carries a random key: submitted twice, it publishes once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse

from discreet.core.errors import DiscreetError
from discreet.core.randomness import Randomness
from discreet.core.release_target import ReleaseTarget
from discreet.http.console.job_progress import (
    build_job_context,
    cancel_page_job,
    find_page_job,
    wait_for_progress,
)
from discreet.http.console.page import BAR_LENGTH, CustodianPage, Page, redirect_to
from discreet.http.console.publish_form import (
    FORMATS,
    FormInput,
    PublishForm,
    list_publishable_tables,
)
from discreet.http.http_errors import NotFoundError
from discreet.rendering.anonymize_view import (
    class_risk_to_json,
    format_examples,
    list_figures,
    list_risk_rows,
)
from discreet.rendering.attack_view import describe_verdict
from discreet.rendering.charts import draw_changes
from discreet.rendering.release_report import render_release_report
from discreet.services.anonymize.anonymize import ANONYMIZATION_STAGES, anonymize, require_anonymizable
from discreet.services.anonymize.release import Release
from discreet.services.anonymize.release_certificate import build_certificate
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.progress import ProgressCallback
from discreet.services.serving.job import Job, JobFailure, JobOutcome, JobWork
from discreet.services.users.idempotency_keys import StoredResponse

router = APIRouter(include_in_schema=False)
JOB_KIND, JOB_PATH = "anonymize", "/publish/work/"
COMPANION_FILES = {"certificate": "certificate.json", "report": "report.html"}
RISK_FIGURES = {
    "prosecutor_highest": "highest risk",
    "marketer": "average risk",
    "at_risk": "people above 20%",
}


@router.get("/publish")
def show_publish(page: CustodianPage, table: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    return page.render(
        "publish.html", build_template_context(page, {} if table is None else {"table": table})
    )


@router.post("/publish")
async def submit_publish_form(page: CustodianPage) -> Response:
    fields = dict(await page.read_form())
    try:
        begun = await to_thread.run_sync(_start_job, page, fields)
    except DiscreetError as error:
        return await to_thread.run_sync(_render_error, page, fields, error)
    if begun is None:
        return await to_thread.run_sync(_render_job, page, fields, None)
    job = page.context.jobs.find_job(begun)
    if job is not None:
        await wait_for_progress(job)
    return redirect_to(f"{JOB_PATH}{begun}")


@router.get("/publish/work/{name}")
async def show_publish_job(name: str, page: CustodianPage) -> Response:
    """Show the progress of a release, or its result."""
    job = await wait_for_progress(find_page_job(page.context.jobs, name, JOB_KIND))
    return await to_thread.run_sync(_render_job, page, job.form, job)


@router.post("/publish/work/{name}")
async def cancel_publish_job(name: str, page: CustodianPage) -> Response:
    await page.read_form()
    job, refusal = cancel_page_job(page.context.jobs, name, JOB_KIND)
    if refusal is not None:
        return await to_thread.run_sync(_render_error, page, job.form, refusal)
    return await to_thread.run_sync(_render_job, page, job.form, None)


def _start_job(page: Page, fields: Mapping[str, str]) -> str | None:
    """Start the form's job and return its id; a publishing form submitted twice starts one job."""
    do, asked = fields.get("do", "show"), {name: fields[name] for name in fields if name != "drawn"}
    if do not in ("try", "publish"):
        return None

    def start_and_respond() -> StoredResponse:
        begun = page.context.jobs.submit(page.user_name, build_publish_work(page, fields))
        return StoredResponse(status=303, media_type="text/plain", body=begun.id.encode())

    key = fields.get("drawn") if do == "publish" else None
    return page.context.idempotency_keys.run_or_replay(
        page.user_name, key, ["publish", asked], start_and_respond
    ).body.decode()


def _render_job(page: Page, fields: Mapping[str, str], job: Job | None) -> Response:
    try:
        facts = build_template_context(page, fields)
    except DiscreetError as error:
        return _render_error(page, {}, error)
    if job is None:
        return page.render("publish.html", facts)
    if job.failure is not None:
        return _render_error(page, fields, job.failure)
    number = {"number": find_release_number(page, job.outcome or JobOutcome())}
    return page.render("publish.html", facts | build_job_context(job, f"{JOB_PATH}{job.id}") | number)


def _render_error(page: Page, fields: Mapping[str, str], error: DiscreetError | JobFailure) -> Response:
    try:
        facts = build_template_context(page, fields)
    except DiscreetError:
        facts = build_template_context(page, {})
    return page.render_error("publish.html", error, facts)


@router.get("/publish/{number}/{part}")
def get_release_file(number: int, part: str, page: CustodianPage) -> Response:
    """Return the file of a release, its certificate or its report."""
    for each in page.context.curators.ledger.list_releases():
        target = ReleaseTarget.from_ledger_entry(each.certificate)
        if each.id != number or target is None:
            continue
        path = target.make_companion_path(COMPANION_FILES[part]) if part in COMPANION_FILES else target.file
        if part in (*COMPANION_FILES, "table") and path.is_file():
            return FileResponse(path, filename=path.name, content_disposition_type="attachment")
    raise NotFoundError("This release has no such file.", hint="The Publish screen lists them.")


def build_publish_work(page: Page, fields: Mapping[str, str]) -> JobWork:
    """Return work that finds and attacks a release, and writes it if the form says publish."""
    chosen, keep = _parse_form(page, fields), fields.get("do") == "publish"
    # raises what can be refused before the job starts
    require_anonymizable(chosen.build_request(None), chosen.resolved_table)

    def run_publication(tell: ProgressCallback, folder: Path) -> JobOutcome:
        output = folder / f"{chosen.name}.{chosen.file_format}" if keep else None
        result = anonymize(
            chosen.build_request(output),
            chosen.resolved_table,
            report_progress=tell,
            render_report=render_release_report,
        )
        made = build_certificate(result.release, evaluation=result.evaluation)
        found = _build_result_context(result.release, result.evaluation, made) | {"kept": keep}
        return JobOutcome(results=found, document=made if keep else None, file=output)

    return JobWork(
        kind="anonymize",
        name=f"{'anonymize' if keep else 'try to anonymize'} {chosen.name}",
        stages=ANONYMIZATION_STAGES if keep else ANONYMIZATION_STAGES[:-1],
        charging_stage="writing" if keep else None,
        run=run_publication,
        form=fields,
    )


def find_release_number(page: Page, outcome: JobOutcome) -> int | None:
    """Return the ledger's number of the release that a job published, or None."""
    if outcome.file is None:
        return None
    found = reversed(page.context.curators.ledger.list_releases())
    there = ((each.id, ReleaseTarget.from_ledger_entry(each.certificate)) for each in found)
    return next((each for each, target in there if target is not None and target.file == outcome.file), None)


def _parse_form(page: Page, fields: Mapping[str, str]) -> PublishForm:
    policy = page.context.curators.policy
    tables = list_publishable_tables(policy)
    name = fields.get("table", "")
    return PublishForm(policy=policy, name=name if name in tables else tables[0], fields=fields)


def build_template_context(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    """Return the context of the page without a release: the possible and the current choices."""
    chosen = _parse_form(page, fields)
    return {
        "tables": list_publishable_tables(chosen.policy),
        "table": chosen.name,
        "columns": chosen.column_choices,
        "sections": chosen.sections,
        "format": FormInput(name="format", label="File", choices=FORMATS, value=fields.get("format", "")),
        "drawn": f"{Randomness().draw_bits(64):016x}",
        "releases": list_available_releases(page),
        "found": None,
        "ended": "",
        "progress": None,
        "number": None,
    }


def list_available_releases(page: Page) -> list[tuple[int, str, str]]:
    """Return number, name and description of the published releases whose files still exist."""
    found = page.context.curators.ledger.list_releases()
    there = [(each, ReleaseTarget.from_ledger_entry(each.certificate)) for each in found]
    return [
        (each.id, each.name, each.description)
        for each, target in reversed(there)
        if target is not None and target.file.is_file()
    ]


def _build_result_context(
    release: Release, trial: AttackEvaluation, certificate: Mapping[str, object]
) -> dict[str, object]:
    """Return what the page shows of a release, without the release itself."""
    quasi = enumerate(release.source.quasi)
    return {
        "figures": list_figures(release),
        "columns": [
            (name, release.describe_level(place), format_examples(release, place) or "–")
            for place, name in quasi
        ],
        "risks": list_risk_rows(release),
        "picture": _draw_risks(release),
        "models": [
            (model.name, release.describe_belief(model), ", ".join(model.not_stopped))
            for model in release.goal.models
        ],
        "verdict": [text for text, _ in describe_verdict(trial)],
        "warnings": list(release.warnings),
        "certificate": json.dumps(certificate, indent=2, ensure_ascii=False),
    }


def _draw_risks(release: Release) -> str:
    before, after = class_risk_to_json(release.classes_before), class_risk_to_json(release.classes)
    changes = [(name, before[figure], after[figure]) for figure, name in RISK_FIGURES.items()]
    return draw_changes(changes, title="risk of being matched to a row", bar_height=14, width=BAR_LENGTH)
