"""Long work over HTTP: begun, followed, cancelled, and its result fetched; all by the custodian.

Analysts    start none: the policy gives them shares to ask within, and how long work on data takes, which a
            job shows to whoever follows it, may tell of the data. What is synthesized for an analyst is
            charged to that analyst's share.
Again       The same request under the same Idempotency-Key starts one job, and is charged once.
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
    """Begin to synthesize, anonymize or audit. GET /api/jobs/ID tells how far it is."""
    return started(door, caller, key, ["job", body.model_dump()], lambda: _work(door, body))


@router.get("")
def jobs(caller: Deciding, door: Door) -> dict[str, object]:
    """Everything that was begun, without what was found."""
    return {"jobs": [_told(each) for each in door.jobs.all()]}


@router.get("/{name}", responses=MISSING)
def job(name: str, caller: Deciding, door: Door) -> dict[str, object]:
    """One job: its stage, the share that is done, and what it found."""
    found = _found(door, name)
    return _told(found) | {"found": None if found.outcome is None else finite(found.outcome.found)}


@router.delete("/{name}", responses=MISSING)
def cancel(name: str, caller: Deciding, door: Door) -> dict[str, object]:
    """Cancel a job that has cost nothing yet."""
    found = _found(door, name)
    door.jobs.cancel(found)
    return _told(found)


@router.get("/{name}/result", response_class=Response, responses=FILES | MISSING)
def result(name: str, caller: Deciding, door: Door, form: Wanted = Form.JSON) -> Response:
    """What a job made: as JSON the certificate of a release or the result of an audit, else the rows."""
    outcome = _found(door, name).outcome
    if outcome is None or outcome.document is None:
        raise MissingError("This job has made nothing.", hint=f"GET /api/jobs/{name} tells why.")
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
    """The reply to whoever begins a job; the same for a request that is sent again under its key."""

    def begin() -> Reply:
        begun = door.jobs.start(caller.user.name, work())
        headers = {"Location": f"/api/jobs/{begun.id}"}
        return Reply(status=202, kind=JSON, headers=headers, body=written(_told(begun)))

    return sent(door.attempts.once(caller.user.name, key, request, begin))


def _work(door: HttpDoor, body: JobBody) -> Work:
    from discreet.app.http import works  # what they need takes seconds to load

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
