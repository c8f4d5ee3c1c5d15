"""Progress of a job that a page started: it continues when the browser leaves.

Address     names the job and nothing else. The form, which may name a person, is held in memory with the job,
            and so is the result.
Refresh     The page of a running job reloads itself without a script; the server delays its response until
            there is progress, for at most `MAX_WAIT_SECONDS`.
"""

from __future__ import annotations

import time

import anyio

from discreet.app.console.rendering import Page
from discreet.app.http.errors import MissingError
from discreet.app.serve.job import Job, JobState
from discreet.core.errors import DiscreetError

MOMENT = 2.0
GLANCE = 0.05


def job_of(page: Page, name: str, kind: str) -> Job:
    """Return a job that a page of this kind started."""
    found = page.door.jobs.find(name)
    if found is None or found.kind != kind:
        raise MissingError("There is no such job.", hint="Start it again.")
    return found


async def followed(job: Job) -> Job:
    """Return the job once it has made progress, or after a short wait."""
    begun, until = (job.state, job.stage), time.monotonic() + MOMENT
    while not job.over and (job.state, job.stage) == begun and time.monotonic() < until:
        await anyio.sleep(GLANCE)
    return job


async def cancelled(page: Page, name: str, kind: str) -> tuple[Job, DiscreetError | None]:
    """Cancel a job, and return it with the error if it can no longer be cancelled."""
    await page.form()
    job = job_of(page, name, kind)
    try:
        page.door.jobs.cancel(job)
    except DiscreetError as refusal:
        return job, refusal
    return job, None


def come_to(job: Job, here: str) -> dict[str, object]:
    """Return the context of a job that has not failed: its progress, its result, or why there is none."""
    if not job.over:
        return {"progress": _progress(job, here)}
    # a job that was started by the API has no form, and its result has another shape
    found = job.outcome.found if job.outcome is not None and job.form else None
    return {"found": found, "ended": "" if found else _ending(job)}


def _ending(job: Job) -> str:
    """Return the reason why a finished job has no result to show."""
    if job.state is JobState.CANCELLED:
        return "This was cancelled before it cost anything."
    return "The result is no longer available: the server was restarted. Start the job again."


def _progress(job: Job, here: str) -> dict[str, object]:
    """Return the state of each stage of a running job."""
    at = job.stages.index(job.stage) if job.stage in job.stages else -1
    words = [
        "done" if place < at else "under way" if place == at else "to do" for place in range(len(job.stages))
    ]
    return {
        "share": job.share,
        "state": job.state.value,
        "stages": list(zip(job.stages, words, strict=True)),
        "revocable": not job.bound,
        "here": here,
    }
