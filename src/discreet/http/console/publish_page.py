"""The Publish screen: a table, the roles of its columns, the privacy models to meet, the release.

It does what `discreet anonymize` does, as a job: the release is found, checked and attacked before anything
is written, and entered in the ledger before the file exists. The figures on the page are computed on real
data and are for the custodian; the certificate is public.

Idempotent  A form carries a random key: submitted twice, it publishes once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import FileResponse

from discreet.core.errors import DiscreetError
from discreet.core.release_target import ReleaseTarget
from discreet.http.console.job_progress import (
    build_job_context,
    cancel_page_job,
    find_page_job,
    wait_for_progress,
)
from discreet.http.console.page import Page, redirect_to, require_custodian
from discreet.http.http_errors import NotFoundError
from discreet.services.serving.job import Job, JobFailure, JobOutcome
from discreet.services.users.idempotency_keys import StoredResponse

router = APIRouter(include_in_schema=False)
JOB_KIND, JOB_PATH = "anonymize", "/publish/work/"
COMPANION_FILES = {"certificate": "certificate.json", "report": "report.html"}
CustodianPage = Annotated[Page, Depends(require_custodian)]


@router.get("/publish")
def show_publish(page: CustodianPage, table: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    from discreet.http.console.publish_job import build_template_context  # slow to import

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
    job = await wait_for_progress(find_page_job(page, name, JOB_KIND))
    return await to_thread.run_sync(_render_job, page, job.form, job)


@router.post("/publish/work/{name}")
async def cancel_publish_job(name: str, page: CustodianPage) -> Response:
    job, refusal = await cancel_page_job(page, name, JOB_KIND)
    if refusal is not None:
        return await to_thread.run_sync(_render_error, page, job.form, refusal)
    return await to_thread.run_sync(_render_job, page, job.form, None)


def _start_job(page: Page, fields: Mapping[str, str]) -> str | None:
    """Start the form's job and return its id; a publishing form submitted twice starts one job."""
    from discreet.http.console.publish_job import build_publish_work

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
    from discreet.http.console.publish_job import build_template_context, find_release_number

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
    from discreet.http.console.publish_job import build_template_context

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
