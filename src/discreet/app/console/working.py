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


def ending(job: Job) -> str:
    """Why there is nothing to show of a job that is over."""
    if job.state is JobState.CANCELLED:
        return "This was cancelled before it cost anything."
    return "What was found is forgotten, as the server was started anew since. Begin it again."


def progress(job: Job, here: str) -> dict[str, object]:
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
