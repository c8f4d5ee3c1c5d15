"""The route that attacks a release or the answers, as a job. Custodian only: results come from real data.

A release is named by its number in the ledger, never by a path, so the custodian's password does not open
other files of the server.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Response

from discreet.app.http.bodies import Attack
from discreet.app.http.describing import BEGUN, MISSING, Key
from discreet.app.http.door import HttpDoor
from discreet.app.http.entering import Deciding, Door
from discreet.app.http.jobs import started
from discreet.app.http.releases import release_file
from discreet.app.progress import Tell
from discreet.app.serve.job import Outcome, Work
from discreet.app.trials.request import Request

router = APIRouter(prefix="/api", tags=["attacks"])
STAGES = ("preparing", "choosing victims", "matching", "attacking")


@router.post("/attacks", status_code=202, response_class=Response, responses=BEGUN | MISSING)
def attack(body: Attack, caller: Deciding, door: Door, key: Key = None) -> Response:
    """Start an attack. GET /api/jobs/ID returns its progress and result."""
    return started(door, caller, key, ["attack", body.model_dump()], lambda: _work(door, body))


def _work(door: HttpDoor, body: Attack) -> Work:
    request = _request(door, body)

    def do(tell: Tell, folder: Path) -> Outcome:
        from discreet.app.trials import attacking, view  # slow to import

        trial, _ = attacking.tried(request, tell)
        return Outcome(found=view.as_object(trial))

    what = "the answers" if body.release is None else f"release {body.release}"
    return Work(kind="attack", name=f"attack on {what}", stages=STAGES, do=do)


def _request(door: HttpDoor, body: Attack) -> Request:
    return Request(
        release=str(door.policy_file) if body.release is None else release_file(door, body.release),
        policy=None if body.release is None else door.policy_file,
        table=body.table,
        victim=body.victim,
        claim=body.claim,
        victims=body.victims,
        rules_out=tuple(body.rules_out),
        at_most=body.at_most,
    )
