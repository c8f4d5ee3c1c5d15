"""What a client is told when something is refused: a SQLSTATE and a text that holds nothing of the data.

An error of the package says what is wrong from request and policy alone, so its text is passed on. Of any
other error nothing is: neither its text nor its kind, as both may depend on data. It is handed to whoever
stands behind the door, and the client is told what comes of that.
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
    """A refusal of the protocol's own; `fatal` ends the connection."""

    def __init__(self, state: str, message: str, *, hint: str = "", fatal: bool = False) -> None:
        super().__init__(message)
        self.state, self.message, self.hint, self.fatal = state, message, hint, fatal


@dataclass(frozen=True, kw_only=True)
class Told:
    """What an error becomes on the wire."""

    state: str
    message: str
    hint: str = ""
    severity: str = "ERROR"


def told(error: Exception, unforeseen: Callable[[Exception], DiscreetError]) -> Told:
    """The state and text of an error; of one that nobody foresaw, what is made of it."""
    if isinstance(error, WireError):
        severity = "FATAL" if error.fatal else "ERROR"
        return Told(state=error.state, message=error.message, hint=error.hint, severity=severity)
    for kind, state in STATES:
        if isinstance(error, kind):
            assert isinstance(error, DiscreetError)
            return Told(state=state, message=error.message, hint=error.hint)
    fault = unforeseen(error)
    return Told(state=INTERNAL, message=fault.message, hint=fault.hint)
