"""Submitted reports, parsed strictly or refused with a sentence that the page shows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from discreet.core.errors import RequestError
from discreet.local.report_formats import BitFormat
from discreet.services.collect.report_files import ReportDescription
from discreet.services.collect.surveys import Survey

MAX_BODY_BYTES = 1 << 16
KEYS = {"survey", "ticket", "reports"}


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A ticket, and for each question the codes of the answers in its report."""

    ticket: bytes
    reports: tuple[tuple[int, ...], ...]


def parse_submission(survey: Survey, body: bytes) -> Submission:
    """Return a submission that this survey's operators can produce, or raise."""
    sent = _parse_object(body)
    _require_valid(
        sent["survey"] == survey.id, "The survey has changed since this page was opened. Reload it."
    )
    ticket, reports = sent["ticket"], sent["reports"]
    whole = isinstance(ticket, str) and re.fullmatch("[0-9a-f]{32}", ticket) is not None
    _require_valid(whole, "A ticket must be 32 hexadecimal digits.")
    listed = isinstance(reports, list) and len(reports) == len(survey.questions)
    _require_valid(listed, "Reports must be one list for each question.")
    pairs = zip(survey.descriptions, reports, strict=True)
    return Submission(
        ticket=bytes.fromhex(ticket), reports=tuple(_parse_codes(each, codes) for each, codes in pairs)
    )


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        sent = None
    _require_valid(isinstance(sent, dict), "Reports must be JSON.")
    _require_valid(
        set(sent) == KEYS, "The JSON object must have survey, ticket and reports, and nothing else."
    )
    found: dict[str, Any] = sent
    return found


def _parse_codes(description: ReportDescription, given: Any) -> tuple[int, ...]:
    form = description.operator.report_format
    assert isinstance(form, BitFormat)
    codes = given if isinstance(given, list) else []
    # not isinstance: true and false are integers to Python, and no codes
    whole = all(type(code) is int and 0 <= code < form.width for code in codes)
    fits = whole and len(codes) == len(set(codes)) == form.ones
    _require_valid(fits, "Some reports cannot come from this survey's operators.")
    return tuple(codes)


def _require_valid(holds: bool, sentence: str) -> None:
    if not holds:
        raise RequestError(sentence)
