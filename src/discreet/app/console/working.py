"""Long work that a page begins, as a job: it goes on though the browser leaves, and tells how far it is.

Shown       under an address that names the job and nothing else: what was asked for, which may name a person,
            is held in memory with the job, and what was found beside it.
Follows     A page of a job that is not over comes again by itself, without script: the server holds it back
            until there is something new to say, for a moment at most.
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
    """A job that a page of this kind began."""
    found = page.door.jobs.find(name)
    if found is None or found.kind != kind:
        raise MissingError("There is no such work.", hint="Begin it again.")
    return found


async def followed(job: Job) -> Job:
    """The same job, when it has come further, or a moment later."""
    begun, until = (job.state, job.stage), time.monotonic() + MOMENT
    while not job.over and (job.state, job.stage) == begun and time.monotonic() < until:
        await anyio.sleep(GLANCE)
    return job


async def cancelled(page: Page, name: str, kind: str) -> tuple[Job, DiscreetError | None]:
    """A job that is not wanted any more, and why it goes on all the same, where it does."""
    await page.form()
    job = job_of(page, name, kind)
    try:
        page.door.jobs.cancel(job)
    except DiscreetError as refusal:
        return job, refusal
    return job, None


def come_to(job: Job, here: str) -> dict[str, object]:
    """What a page says of a job that has not failed: how far it is, what was found, or why that is gone."""
    if not job.over:
        return {"progress": _progress(job, here)}
    # what a program asked for has no form, and its outcome another shape
    found = job.outcome.found if job.outcome is not None and job.form else None
    return {"found": found, "ended": "" if found else _ending(job)}


def _ending(job: Job) -> str:
    """Why there is nothing to show of a job that is over."""
    if job.state is JobState.CANCELLED:
        return "This was cancelled before it cost anything."
    return "What was found is forgotten, as the server was started anew since. Begin it again."


def _progress(job: Job, here: str) -> dict[str, object]:
    """How far a job is, stage by stage."""
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
