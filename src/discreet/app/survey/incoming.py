"""Submitted reports, parsed strictly or refused with a sentence that the page shows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from discreet.app.collect.report_files import Description
from discreet.app.survey.survey_files import Survey
from discreet.core.errors import RequestError
from discreet.local.forms import Bits

LARGEST = 1 << 16
KEYS = {"survey", "ticket", "reports"}


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A ticket, and for each question the codes of the answers in its report."""

    ticket: bytes
    reports: tuple[tuple[int, ...], ...]


def read_sent(survey: Survey, body: bytes) -> Sent:
    """Return a submission that this survey's operators can produce, or raise."""
    sent = _object(body)
    _require(sent["survey"] == survey.id, "The survey has changed since this page was opened. Reload it.")
    ticket, reports = sent["ticket"], sent["reports"]
    whole = isinstance(ticket, str) and re.fullmatch("[0-9a-f]{32}", ticket) is not None
    _require(whole, "A ticket must be 32 hexadecimal digits.")
    listed = isinstance(reports, list) and len(reports) == len(survey.questions)
    _require(listed, "Reports must be one list for each question.")
    pairs = zip(survey.descriptions, reports, strict=True)
    return Sent(ticket=bytes.fromhex(ticket), reports=tuple(_codes(each, codes) for each, codes in pairs))


def _object(body: bytes) -> dict[str, Any]:
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        sent = None
    _require(isinstance(sent, dict), "Reports must be JSON.")
    _require(set(sent) == KEYS, "The JSON object must have survey, ticket and reports, and nothing else.")
    found: dict[str, Any] = sent
    return found


def _codes(description: Description, given: Any) -> tuple[int, ...]:
    form = description.operator.form
    assert isinstance(form, Bits)
    codes = given if isinstance(given, list) else []
    # not isinstance: true and false are integers to Python, and no codes
    whole = all(type(code) is int and 0 <= code < form.width for code in codes)
    fits = whole and len(codes) == len(set(codes)) == form.ones
    _require(fits, "Some reports cannot come from this survey's operators.")
    return tuple(codes)


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise RequestError(sentence)
