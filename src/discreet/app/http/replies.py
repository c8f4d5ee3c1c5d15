"""Responses: JSON objects, errors with their status, answers in the requested format."""

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

from discreet.app.answers import Answer
from discreet.app.serve.job import Failure
from discreet.app.users.attempts import Reply
from discreet.core.errors import DiscreetError

JSON = "application/json"
STATUS = {
    "refused": 400,
    "invalid-parameter": 422,
    "budget": 402,
    "login": 401,
    "forbidden": 403,
    "password": 403,
    "missing": 404,
    "method": 405,
    "too-long": 413,
    "misdirected": 421,
    "crowded": 429,
    "busy": 429,
    "data": 400,
    "unmet": 409,
    "too-late": 409,
    "under-way": 409,
    "engine-fault": 500,
    "internal": 500,
}
"""The HTTP status of each error code; several codes share a status."""


OPTION = re.compile(r"(?<![\w-])--?((?<=--)[a-z][a-z-]*|k)\b")
OF_THE_SERVER = ("name", "slack")
"""Options of the server's command line, which are no fields of a request."""
COMMAND = "discreet "
IN_PYTHON = re.compile(r", in Python [^.;]+")


class Form(StrEnum):
    """The format of an answer."""

    JSON = "json"
    CSV = "csv"
    ARROW = "arrow"
    PARQUET = "parquet"


KINDS = {
    Form.JSON: JSON,
    Form.CSV: "text/csv; charset=utf-8",
    Form.ARROW: "application/vnd.apache.arrow.stream",
    Form.PARQUET: "application/vnd.apache.parquet",
}


def written(value: object) -> bytes:
    """Return a value as JSON; non-finite numbers become null, other unknown types become text."""
    return json.dumps(finite(value), allow_nan=False, default=str).encode()


def refusal(error: DiscreetError) -> Reply:
    """Return the reply for an error."""
    return Reply(status=STATUS.get(error.code, 400), kind=JSON, body=written(said(error)))


def said(error: DiscreetError | Failure) -> dict[str, str]:
    """Return an error as a JSON object; its hint names request fields instead of command-line options."""
    message, hint = (_in_fields(IN_PYTHON.sub("", text)) for text in (error.message, error.hint))
    return {"error": message, "code": error.code, "hint": hint}


def _in_fields(text: str) -> str:
    """Return a text with options written as fields, unless it quotes a whole command."""
    return text if COMMAND in text else OPTION.sub(_as_field, text)


def _as_field(option: re.Match[str]) -> str:
    return option[0] if option[1] in OF_THE_SERVER else option[1].replace("-", "_")


def answered(answer: Answer, form: Form, *, dummy: bool = False) -> Reply:
    """Return an answer in a format. Facts that a table cannot hold go to headers and file metadata."""
    said = answer.as_object() | ({"dummy": True} if dummy else {})
    if form is Form.JSON:
        return Reply(status=200, kind=JSON, body=written(said))
    facts = {
        name: said[name]
        for name in ("epsilon", "confidence", "no_interval", "belief", "entry", "repeated", "sentence")
    }
    facts |= {"dummy": dummy}
    headers = {
        "Discreet-Facts": json.dumps(finite(facts)),
        "Content-Disposition": f'attachment; filename="answer.{form.value}"',
    }
    return Reply(status=200, kind=KINDS[form], headers=headers, body=_file(answer, form, facts))


def sent(reply: Reply) -> Response:
    return Response(reply.body, reply.status, dict(reply.headers), reply.kind)


def _file(answer: Answer, form: Form, facts: Mapping[str, object]) -> bytes:
    if form is Form.CSV:
        return answer.as_csv().encode()
    table = answer.with_ends().replace_schema_metadata({"discreet": json.dumps(finite(facts))})
    sink = io.BytesIO()
    if form is Form.PARQUET:
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


def finite(value: object) -> object:
    """Return a copy with None for numbers that JSON cannot represent: infinities and NaN."""
    if isinstance(value, Mapping):
        return {str(name): finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
