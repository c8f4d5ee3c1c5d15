"""Responses: JSON objects, errors, answers in the requested format."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Mapping
from enum import StrEnum

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import Response

from discreet.core.errors import ARGUMENT, DiscreetError
from discreet.http.http_errors import STATUS_BY_CODE
from discreet.http.request_bodies import FIELDS_BY_ARGUMENT
from discreet.services.answers import Answer
from discreet.services.serving.job import JobFailure
from discreet.services.users.idempotency_keys import StoredResponse

JSON_MEDIA_TYPE = "application/json"
MADE_UP_FACTS: dict[str, object] = {"dummy": True, "entry": None, "entries": [], "belief": None}
"""What an answer about made-up people says: nothing was charged, so it has no entry and changes no belief."""


class ResponseFormat(StrEnum):
    """The format of an answer."""

    JSON = "json"
    CSV = "csv"
    ARROW = "arrow"
    PARQUET = "parquet"


MEDIA_TYPES = {
    ResponseFormat.JSON: JSON_MEDIA_TYPE,
    ResponseFormat.CSV: "text/csv; charset=utf-8",
    ResponseFormat.ARROW: "application/vnd.apache.arrow.stream",
    ResponseFormat.PARQUET: "application/vnd.apache.parquet",
}


def to_json_bytes(value: object) -> bytes:
    """Return a value as JSON; non-finite numbers become null, other unknown types become text."""
    return json.dumps(replace_non_finite(value), allow_nan=False, default=str).encode()


def build_error_response(error: DiscreetError) -> StoredResponse:
    """Return the reply for an error."""
    return StoredResponse(
        status=STATUS_BY_CODE.get(error.code, 400),
        media_type=JSON_MEDIA_TYPE,
        body=to_json_bytes(error_to_json(error)),
    )


def error_to_json(error: DiscreetError | JobFailure) -> dict[str, str]:
    """Return an error as a JSON object, which names the fields of a body."""
    return {"error": name_fields(error.message), "code": error.code, "hint": name_fields(error.hint)}


def name_fields(text: str) -> str:
    """Return a text in which Python arguments are replaced by the fields of a request body.

    >>> name_fields('Give `within="2%"` `least_rows=100`, or `levels=`.')
    'Give `within` "2%" `least_rows` 100, or `level`.'
    """
    return ARGUMENT.sub(_argument_to_field, text)


def _argument_to_field(argument: re.Match[str]) -> str:
    name = FIELDS_BY_ARGUMENT.get(argument["name"], argument["name"])
    return f"`{name}` {argument['value']}".rstrip()  # the value in its quotes, as JSON has it


def build_answer_response(
    answer: Answer, response_format: ResponseFormat, *, is_made_up: bool = False
) -> StoredResponse:
    """Return an answer in a format. Facts that a table cannot hold go to headers and file metadata."""
    said = answer.to_json() | (MADE_UP_FACTS if is_made_up else {})
    if response_format is ResponseFormat.JSON:
        return StoredResponse(status=200, media_type=JSON_MEDIA_TYPE, body=to_json_bytes(said))
    facts = {
        name: said[name]
        for name in (
            "epsilon",
            "confidence",
            "interval_kind",
            "no_interval",
            "belief",
            "entry",
            "entries",
            "repeated",
            "sentence",
        )
    }
    facts |= {"dummy": is_made_up}
    headers = {
        "Discreet-Facts": json.dumps(replace_non_finite(facts)),
        "Content-Disposition": f'attachment; filename="answer.{response_format.value}"',
    }
    return StoredResponse(
        status=200,
        media_type=MEDIA_TYPES[response_format],
        headers=headers,
        body=_answer_to_file_bytes(answer, response_format, facts),
    )


def to_http_response(stored_response: StoredResponse) -> Response:
    return Response(
        stored_response.body,
        stored_response.status,
        dict(stored_response.headers),
        stored_response.media_type,
    )


def _answer_to_file_bytes(
    answer: Answer, response_format: ResponseFormat, facts: Mapping[str, object]
) -> bytes:
    if response_format is ResponseFormat.CSV:
        return answer.to_csv().encode()
    table = answer.to_table_with_bounds().replace_schema_metadata(
        {"discreet": json.dumps(replace_non_finite(facts))}
    )
    sink = io.BytesIO()
    if response_format is ResponseFormat.PARQUET:
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


def replace_non_finite(value: object) -> object:
    """Return a copy with None for numbers that JSON cannot represent: infinities and NaN."""
    if isinstance(value, Mapping):
        return {str(name): replace_non_finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [replace_non_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
