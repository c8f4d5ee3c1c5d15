"""Errors as clients see them: a SQLSTATE and a text that reveals nothing about the data.

The text of a `DiscreetError` follows from request and policy alone, so it is passed on; where it names an
argument such as `epsilon=0.5`, clients see the setting: SET discreet.epsilon = 0.5. Neither the text nor
the type of any other error is, because both may depend on data: the backend logs it, and the client gets the
constant text that the backend returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.core.errors import (
    AlreadyRunningError,
    BudgetError,
    BusyError,
    DiscreetError,
    EngineFault,
    InvalidParameterError,
    RequestError,
    rename_arguments,
)
from discreet.services.question_request import QuestionFields

SQLSTATES: tuple[tuple[type[DiscreetError], str], ...] = (
    (BudgetError, "53400"),
    (InvalidParameterError, "22023"),
    (AlreadyRunningError, "55P03"),
    (BusyError, "53300"),
    (RequestError, "0A000"),
    (EngineFault, "58000"),
)
INTERNAL_ERROR = "XX000"


class WireError(Exception):
    """A protocol error with its SQLSTATE; `is_fatal` ends the connection."""

    def __init__(self, sqlstate: str, message: str, *, hint: str = "", is_fatal: bool = False) -> None:
        super().__init__(message)
        self.sqlstate, self.message, self.hint, self.is_fatal = sqlstate, message, hint, is_fatal


@dataclass(frozen=True, kw_only=True)
class ErrorReport:
    """The fields of an ErrorResponse or NoticeResponse."""

    sqlstate: str
    message: str
    hint: str = ""
    severity: str = "ERROR"


def build_error_report(error: Exception, log_fault: Callable[[Exception], DiscreetError]) -> ErrorReport:
    """Return the report of an error; an unexpected one is logged and replaced by what `log_fault` returns."""
    if isinstance(error, WireError):
        severity = "FATAL" if error.is_fatal else "ERROR"
        return ErrorReport(sqlstate=error.sqlstate, message=error.message, hint=error.hint, severity=severity)
    for kind, state in SQLSTATES:
        if isinstance(error, kind):
            assert isinstance(error, DiscreetError)
            message, hint = (rename_arguments(text, _format_setting) for text in (error.message, error.hint))
            return ErrorReport(sqlstate=state, message=message, hint=hint)
    fault = log_fault(error)
    return ErrorReport(sqlstate=INTERNAL_ERROR, message=fault.message, hint=fault.hint)


def _format_setting(name: str, value: str) -> str:
    if name not in QuestionFields.model_fields:
        return f"{name} {value}".rstrip()
    return f"SET discreet.{name} = {value}" if value else f"discreet.{name}"
