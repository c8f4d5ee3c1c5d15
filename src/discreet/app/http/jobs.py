"""Routes of jobs: start, follow and cancel long work, and fetch its result. Custodian only.

Analysts    start no jobs: a job shows how long work on the data takes, and that duration may depend on the
            data. A table that is synthesized for an analyst is charged to that analyst's share.
Idempotent  The same request under the same Idempotency-Key starts one job, and is charged once.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from discreet.app.http.describing import BEGUN, FILES, MISSING, Key, Wanted
from discreet.app.http.door import HttpDoor
from discreet.app.http.entering import Caller, Deciding, Door
from discreet.app.http.errors import MissingError
from discreet.app.http.job_bodies import Anonymize, JobBody, Synthesize
from discreet.app.http.release_files import in_form
from discreet.app.http.replies import JSON, KINDS, Form, finite, said, sent, written
from discreet.app.serve.job import Job, JobState, Work
from discreet.app.users.attempts import Reply
from discreet.core.errors import RequestError

router = APIRouter(prefix="/api/jobs", tags=["jobs"])


@router.post("", status_code=202, response_class=Response, responses=BEGUN | MISSING)
def start(body: JobBody, caller: Deciding, door: Door, key: Key = None) -> Response:
    """Start to synthesize, anonymize or audit. GET /api/jobs/ID returns the progress."""
    return started(door, caller, key, ["job", body.model_dump()], lambda: _work(door, body))


@router.get("")
def jobs(caller: Deciding, door: Door) -> dict[str, object]:
    """Return all jobs, without their results."""
    return {"jobs": [_told(each) for each in door.jobs.all()]}


@router.get("/{name}", responses=MISSING)
def job(name: str, caller: Deciding, door: Door) -> dict[str, object]:
    """Return one job: its stage, the fraction done, and its result."""
    found = _found(door, name)
    return _told(found) | {"found": None if found.outcome is None else finite(found.outcome.found)}


@router.delete("/{name}", responses=MISSING)
def cancel(name: str, caller: Deciding, door: Door) -> dict[str, object]:
    """Cancel a job that has not been charged yet."""
    found = _found(door, name)
    door.jobs.cancel(found)
    return _told(found)


@router.get("/{name}/result", response_class=Response, responses=FILES | MISSING)
def result(name: str, caller: Deciding, door: Door, form: Wanted = Form.JSON) -> Response:
    """Return what a job made: in JSON the certificate or the audit, in other formats the rows."""
    outcome = _found(door, name).outcome
    if outcome is None or outcome.document is None:
        raise MissingError("This job has made nothing.", hint=f"GET /api/jobs/{name} says why.")
    if form is Form.JSON:
        return sent(Reply(status=200, kind=JSON, body=written(outcome.document)))
    if outcome.file is None:
        raise RequestError("An audit makes no table.", hint="Leave format out.")
    if not outcome.file.is_file():
        raise MissingError(
            "The file of this release is not here.",
            hint="Ask the server that made it; if it was moved away, start the job again.",
        )
    file = in_form(outcome.file, form)
    return FileResponse(file, media_type=KINDS[form], filename=file.name)


def started(
    door: HttpDoor, caller: Caller, key: str | None, request: object, work: Callable[[], Work]
) -> Response:
    """Start a job and return its reply; a request repeated under its key gets the stored reply."""

    def begin() -> Reply:
        begun = door.jobs.start(caller.user.name, work())
        headers = {"Location": f"/api/jobs/{begun.id}"}
        return Reply(status=202, kind=JSON, headers=headers, body=written(_told(begun)))

    return sent(door.attempts.once(caller.user.name, key, request, begin))


def _work(door: HttpDoor, body: JobBody) -> Work:
    from discreet.app.http import works  # slow to import

    if isinstance(body, Synthesize):
        return works.synthesis(door, body)
    return works.anonymization(door, body) if isinstance(body, Anonymize) else works.audit(door, body)


def _found(door: HttpDoor, name: str) -> Job:
    found = door.jobs.find(name)
    if found is None:
        raise MissingError("There is no such job.", hint="GET /api/jobs lists them.")
    return found


def _told(job: Job) -> dict[str, object]:
    told: dict[str, object] = {
        "id": job.id,
        "kind": job.kind,
        "name": job.name,
        "user": job.user,
        "state": job.state.value,
        "stage": job.stage,
        "share": job.share,
        "begun": job.begun,
        "ended": job.ended,
    }
    if job.failure is not None:
        told["error"] = said(job.failure)
    if job.state is JobState.DONE and job.outcome is not None and job.outcome.document is not None:
        told["result"] = f"/api/jobs/{job.id}/result"
    return told
