"""Errors as clients see them: a SQLSTATE and a text that reveals nothing about the data.

The text of a `DiscreetError` follows from request and policy alone, so it is passed on. Neither the text nor
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
)

STATES: tuple[tuple[type[DiscreetError], str], ...] = (
    (BudgetError, "53400"),
    (InvalidParameterError, "22023"),
    (AlreadyRunningError, "55P03"),
    (BusyError, "53300"),
    (RequestError, "0A000"),
    (EngineFault, "58000"),
)
INTERNAL = "XX000"


class WireError(Exception):
    """A protocol error with its SQLSTATE; `fatal` ends the connection."""

    def __init__(self, state: str, message: str, *, hint: str = "", fatal: bool = False) -> None:
        super().__init__(message)
        self.state, self.message, self.hint, self.fatal = state, message, hint, fatal


@dataclass(frozen=True, kw_only=True)
class Told:
    """The fields of an ErrorResponse or NoticeResponse."""

    state: str
    message: str
    hint: str = ""
    severity: str = "ERROR"


def told(error: Exception, unforeseen: Callable[[Exception], DiscreetError]) -> Told:
    """Return the report of an error; an unexpected one is logged and replaced by what `log_fault` returns."""
    if isinstance(error, WireError):
        severity = "FATAL" if error.fatal else "ERROR"
        return Told(state=error.state, message=error.message, hint=error.hint, severity=severity)
    for kind, state in STATES:
        if isinstance(error, kind):
            assert isinstance(error, DiscreetError)
            return Told(state=state, message=error.message, hint=error.hint)
    fault = unforeseen(error)
    return Told(state=INTERNAL, message=fault.message, hint=fault.hint)
