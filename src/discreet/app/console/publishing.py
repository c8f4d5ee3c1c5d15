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

from discreet.app.console.logins import elsewhere
from discreet.app.console.rendering import Page, decided
from discreet.app.console.working import cancelled, come_to, followed, job_of
from discreet.app.http.errors import MissingError
from discreet.app.serve.job import Failure, Job, Outcome
from discreet.app.users.attempts import Reply
from discreet.core.errors import DiscreetError
from discreet.engines.duckdb_publisher import ReleaseTarget

router = APIRouter(include_in_schema=False)
KIND, HERE = "anonymize", "/publish/work/"
PARTS = {"certificate": "certificate.json", "report": "report.html"}
Deciding = Annotated[Page, Depends(decided)]


@router.get("/publish")
def show(page: Deciding, table: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    from discreet.app.console.publish_work import around  # slow to import

    return page.shown("publish.html", around(page, {} if table is None else {"table": table}))


@router.post("/publish")
async def publish(page: Deciding) -> Response:
    fields = dict(await page.form())
    try:
        begun = await to_thread.run_sync(_begun, page, fields)
    except DiscreetError as error:
        return await to_thread.run_sync(_refused, page, fields, error)
    if begun is None:
        return await to_thread.run_sync(_come_to, page, fields, None)
    job = page.door.jobs.find(begun)
    if job is not None:
        await followed(job)
    return elsewhere(f"{HERE}{begun}")


@router.get("/publish/work/{name}")
async def follow(name: str, page: Deciding) -> Response:
    """Show the progress of a release, or its result."""
    job = await followed(job_of(page, name, KIND))
    return await to_thread.run_sync(_come_to, page, job.form, job)


@router.post("/publish/work/{name}")
async def cancel(name: str, page: Deciding) -> Response:
    job, refusal = await cancelled(page, name, KIND)
    if refusal is not None:
        return await to_thread.run_sync(_refused, page, job.form, refusal)
    return await to_thread.run_sync(_come_to, page, job.form, None)


def _begun(page: Page, fields: Mapping[str, str]) -> str | None:
    """Start the form's job and return its id; a publishing form submitted twice starts one job."""
    from discreet.app.console.publish_work import work

    do, asked = fields.get("do", "show"), {name: fields[name] for name in fields if name != "drawn"}
    if do not in ("try", "publish"):
        return None

    def begin() -> Reply:
        begun = page.door.jobs.start(page.user, work(page, fields))
        return Reply(status=303, kind="text/plain", body=begun.id.encode())

    key = fields.get("drawn") if do == "publish" else None
    return page.door.attempts.once(page.user, key, ["publish", asked], begin).body.decode()


def _come_to(page: Page, fields: Mapping[str, str], job: Job | None) -> Response:
    from discreet.app.console.publish_work import around, number_of

    try:
        facts = around(page, fields)
    except DiscreetError as error:
        return _refused(page, {}, error)
    if job is None:
        return page.shown("publish.html", facts)
    if job.failure is not None:
        return _refused(page, fields, job.failure)
    number = {"number": number_of(page, job.outcome or Outcome())}
    return page.shown("publish.html", facts | come_to(job, f"{HERE}{job.id}") | number)


def _refused(page: Page, fields: Mapping[str, str], error: DiscreetError | Failure) -> Response:
    from discreet.app.console.publish_work import around

    try:
        facts = around(page, fields)
    except DiscreetError:
        facts = around(page, {})
    return page.refused("publish.html", error, facts)


@router.get("/publish/{number}/{part}")
def file(number: int, part: str, page: Deciding) -> Response:
    """Return the file of a release, its certificate or its report."""
    for each in page.door.curators.ledger.list_releases():
        target = ReleaseTarget.from_ledger_entry(each.certificate)
        if each.id != number or target is None:
            continue
        path = target.make_companion_path(PARTS[part]) if part in PARTS else target.file
        if part in (*PARTS, "table") and path.is_file():
            return FileResponse(path, filename=path.name, content_disposition_type="attachment")
    raise MissingError("This release has no such file.", hint="The Publish screen lists them.")
