"""Shared parts of the OpenAPI document: common parameters, media types, error responses, summaries."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Query
from fastapi.routing import APIRoute

from discreet.http.request_bodies import ErrorBody
from discreet.http.responses import MEDIA_TYPES, ResponseFormat, name_fields

OpenApiResponses = dict[int | str, dict[str, Any]]
ERROR_DESCRIPTIONS = {
    400: "The request or the policy does not allow it; nothing was charged.",
    401: "Not logged in, or the token is not valid.",
    402: "The analyst's share does not have enough budget left; nothing was charged.",
    403: "The role does not allow it, a new password must be chosen first, or the CSRF token is missing.",
    409: "No release meets the request, it comes too late, or the same request is still running.",
    413: "The body is too large.",
    421: "The Host header names another server.",
    422: "A field is missing, out of range or unknown.",
    429: "Too many requests at once, or too many failed logins.",
    500: "An engine fault: a constant text, and the incident id under which the custodian's log has details.",
}
COMMON_ERROR_RESPONSES: OpenApiResponses = {
    status: {"model": ErrorBody, "description": told} for status, told in ERROR_DESCRIPTIONS.items()
}
NOT_FOUND_RESPONSE: OpenApiResponses = {404: {"model": ErrorBody, "description": "Not found."}}
FILE_RESPONSES: OpenApiResponses = {
    200: {
        "description": "JSON, or a file in the requested format.",
        "content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()},
    }
}
JOB_STARTED_RESPONSE: OpenApiResponses = {
    202: {"description": "The job that was started.", "content": {MEDIA_TYPES[ResponseFormat.JSON]: {}}}
}
FormatParameter = Annotated[ResponseFormat, Query(alias="format", description="The format of the answer.")]
IdempotencyKeyHeader = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="The same request under the same key is charged once."),
]


def name_described_fields(app: FastAPI) -> None:
    """Name fields in the document's descriptions, which come from requests, as an HTTP client gives them."""
    describe = app.openapi

    def describe_with_fields() -> dict[str, Any]:
        document: dict[str, Any] = json.loads(name_fields(json.dumps(describe(), ensure_ascii=False)))
        return document

    app.openapi = describe_with_fields  # type: ignore[method-assign]


def set_route_summaries(router: APIRouter) -> APIRouter:
    """Set each route's summary to the first sentence of its docstring, and return the router."""
    for route in router.routes:
        if isinstance(route, APIRoute):
            route.summary = route.description.partition("\n")[0].partition(". ")[0].rstrip(".")
    return router
