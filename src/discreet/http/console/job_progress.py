"""Progress of a job that a page started: it continues when the browser leaves.

Address     names the job and nothing else. The form, which may name a person, is held in memory with the job,
            and so is the result.
Refresh     The page of a running job reloads itself without a script; the server delays its response until
            there is progress, for at most `MAX_WAIT_SECONDS`.
"""

from __future__ import annotations

import time

import anyio

from discreet.core.errors import DiscreetError
from discreet.http.http_errors import NotFoundError
from discreet.services.serving.job import Job, JobState
from discreet.services.serving.job_queue import JobQueue

MAX_WAIT_SECONDS = 2.0
POLL_SECONDS = 0.05


def find_page_job(jobs: JobQueue, name: str, kind: str) -> Job:
    """Return a job that a page of this kind started."""
    found = jobs.find_job(name)
    if found is None or found.kind != kind:
        raise NotFoundError("There is no such job.", hint="Start it again.")
    return found


async def wait_for_progress(job: Job) -> Job:
    """Return the job once it has made progress, or after a short wait."""
    begun, until = (job.state, job.stage), time.monotonic() + MAX_WAIT_SECONDS
    while not job.is_over and (job.state, job.stage) == begun and time.monotonic() < until:
        await anyio.sleep(POLL_SECONDS)
    return job


def cancel_page_job(jobs: JobQueue, name: str, kind: str) -> tuple[Job, DiscreetError | None]:
    """Cancel a job, and return it with the error if it can no longer be cancelled."""
    job = find_page_job(jobs, name, kind)
    try:
        jobs.cancel(job)
    except DiscreetError as refusal:
        return job, refusal
    return job, None


def build_job_context(job: Job, job_path: str) -> dict[str, object]:
    """Return the context of a job that has not failed: its progress, its result, or why there is none."""
    if not job.is_over:
        return {"progress": _describe_progress(job, job_path)}
    # a job that was started by the API has no form, and its result has another shape
    found = job.outcome.results if job.outcome is not None and job.form else None
    return {"found": found, "ended": "" if found else _explain_missing_result(job)}


def _explain_missing_result(job: Job) -> str:
    """Return the reason why a finished job has no result to show."""
    if job.state is JobState.CANCELLED:
        return "This was cancelled before it cost anything."
    return "The result is no longer available: the server was restarted. Start the job again."


def _describe_progress(job: Job, job_path: str) -> dict[str, object]:
    """Return the state of each stage of a running job."""
    at = job.stages.index(job.stage) if job.stage in job.stages else -1
    words = [
        "done" if place < at else "running" if place == at else "to do" for place in range(len(job.stages))
    ]
    return {
        "share": job.fraction_done,
        "state": job.state.value,
        "stages": list(zip(job.stages, words, strict=True)),
        "revocable": not job.is_charged,
        "here": job_path,
    }
