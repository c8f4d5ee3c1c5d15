"""Attacks on what was released or answered, as jobs: computed on real data, so for the custodian alone.

What is attacked is named by its number in the ledger, never by a file: whoever has the custodian's password
over the network does not read other files with it.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter

from discreet.app.http.bodies import Attack
from discreet.app.http.door import HttpDoor
from discreet.app.http.entering import Deciding, Door
from discreet.app.http.errors import MissingError
from discreet.app.http.replies import finite
from discreet.app.serve.jobs import Job, Tell
from discreet.app.trials.request import Request

router = APIRouter(prefix="/api", tags=["attacks"])


@router.post("/attacks", status_code=202)
def attack(body: Attack, caller: Deciding, door: Door) -> dict[str, object]:
    """Begin an attack; GET /api/jobs/… tells how far it is and what it found."""
    request = _request(door, body)

    def work(tell: Tell) -> object:
        from discreet.app.trials import attacking, view  # what they need takes a second to load

        trial, _ = attacking.tried(request, tell)
        return view.as_object(trial)

    what = "the answers" if body.release is None else f"release {body.release}"
    return _told(door.jobs.start(f"attack on {what}", work))


@router.get("/jobs")
def jobs(caller: Deciding, door: Door) -> dict[str, object]:
    """Everything that was begun, without what was found."""
    return {"jobs": [_told(each, found=False) for each in door.jobs.all()]}


@router.get("/jobs/{number}")
def job(number: int, caller: Deciding, door: Door) -> dict[str, object]:
    """One job, and what it found."""
    found = door.jobs.find(number)
    if found is None:
        raise MissingError(f"There is no job {number}.", hint="GET /api/jobs lists them.")
    return _told(found)


def _request(door: HttpDoor, body: Attack) -> Request:
    return Request(
        release=str(door.policy_file) if body.release is None else _file(door, body.release),
        policy=None if body.release is None else door.policy_file,
        table=body.table,
        victim=body.victim,
        claim=body.claim,
        victims=body.victims,
        rules_out=tuple(body.rules_out),
        at_most=body.at_most,
    )


def _file(door: HttpDoor, number: int) -> str:
    for each in door.curators.ledger.releases():
        path, inner = each.certificate.get("path"), each.certificate.get("inner")
        if each.id == number and isinstance(path, str) and Path(path).is_file():
            return f"{path}#{inner}" if inner else path
    raise MissingError(f"There is no file of a release {number}.", hint="GET /api/releases lists them.")


def _told(job: Job, *, found: bool = True) -> dict[str, object]:
    said: dict[str, object] = {
        "id": job.id,
        "name": job.name,
        "state": job.state.value,
        "progress": job.progress,
        "begun": job.begun.isoformat(),
    }
    if job.error is not None:
        said["error"] = {"error": job.error.message, "code": job.error.code, "hint": job.error.hint}
    return said | ({"found": finite(job.found)} if found else {})
