"""What /api/openapi.json says beside the bodies: parameters of many routes, kinds of files, every refusal."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.routing import APIRoute

from discreet.app.http.bodies import Refusal
from discreet.app.http.replies import KINDS, Form

Responses = dict[int | str, dict[str, Any]]
REFUSALS = {
    400: "Refused by what it asks for, or by what the policy says; nothing was charged.",
    401: "Nobody is logged in, or the token is not known.",
    402: "The own share has no room for it; nothing was charged.",
    403: "The role does not allow it, a password must be chosen first, or the proof of a session is missing.",
    409: "No release meets what was asked for, it comes too late, or the same is under way.",
    413: "More was sent than any request needs.",
    421: "The request is for a server of another name.",
    422: "A field is missing, out of its range, or nobody knows it.",
    429: "Too much is going on at once, or too many logins have failed.",
    500: "A fault: a constant text, and the number under which the custodian's log has the details.",
}
ANYWHERE: Responses = {status: {"model": Refusal, "description": told} for status, told in REFUSALS.items()}
MISSING: Responses = {404: {"model": Refusal, "description": "There is no such thing."}}
FILES: Responses = {
    200: {
        "description": "JSON, or a file in the form that was asked for.",
        "content": {kind.partition(";")[0]: {} for kind in KINDS.values()},
    }
}
BEGUN: Responses = {202: {"description": "The job that was begun.", "content": {KINDS[Form.JSON]: {}}}}
Wanted = Annotated[Form, Query(alias="format", description="How the answer is written.")]
Key = Annotated[
    str | None, Header(alias="Idempotency-Key", description="A request sent again under it is charged once.")
]


def described(router: APIRouter) -> APIRouter:
    """Let the first sentence that says what a route does be its summary."""
    for route in router.routes:
        if isinstance(route, APIRoute):
            route.summary = route.description.partition("\n")[0].partition(". ")[0].rstrip(".")
    return router
