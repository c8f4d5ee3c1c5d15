"""What can go wrong, and whose business it is.

    DiscreetError
    ├── RequestError             depends on the request and the policy alone, raised before data is read
    │   ├── InvalidParameterError    one parameter is out of its range            (exit code 2)
    │   ├── BudgetError              the promise does not leave room for it       (exit code 3)
    │   ├── BusyError                the server has no room for it in time        (exit code 2)
    │   └── UnderWayError            the same is being done elsewhere             (exit code 2)
    ├── DataError                the custodian's data is not what the policy says of it  (exit code 2)
    ├── UnmetError               no release meets the models that were asked for  (exit code 4)
    └── EngineFault              outside the promise; the analyst sees a constant text (exit code 5)

A message says what is wrong, where, and what to do next. It never holds a value from the data.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self


class DiscreetError(Exception):
    """The root of everything this package raises on purpose."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class RequestError(DiscreetError):
    """Refused from text and policy alone; nothing was read, nothing is charged."""

    exit_code = 2
    code = "refused"


class InvalidParameterError(RequestError, ValueError):
    """A parameter lies outside the range for which the guarantee is proven."""

    code = "invalid-parameter"


class BudgetError(RequestError):
    """The promise does not leave room for the request."""

    exit_code = 3
    code = "budget"


class BusyError(RequestError):
    """Nothing was begun; the same may be asked again after so many `seconds`."""

    code = "busy"

    def __init__(self, message: str, *, hint: str = "", seconds: int = 1) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds

    @classmethod
    def after(cls, seconds: float) -> Self:
        """Return the refusal of a question that could begin after so many seconds."""
        whole = max(1, math.ceil(seconds))
        return cls(
            "ask: the server is busy, and the question cannot begin in time.",
            hint=f"Ask again in {whole} second{'s' if whole > 1 else ''}; nothing was charged.",
            seconds=whole,
        )


class UnderWayError(RequestError):
    """The same is being done, and is not done twice."""

    code = "under-way"


class DataError(DiscreetError):
    """The data is not what the policy says of it; only a custodian's command meets this.

    A message may end in a log: it tells how many values are wrong and how to list them, never which.
    """

    exit_code = 2
    code = "data"


class UnmetError(DiscreetError):
    """No release meets what was asked for; said to the custodian, as it depends on the data."""

    exit_code = 4
    code = "unmet"


class EngineFault(DiscreetError):  # noqa: N818  (a fault of the engine, not an error of the request)
    """The engine failed after data was read; the custodian's log has the details under `incident`."""

    exit_code = 5
    code = "engine-fault"

    def __init__(self, message: str, *, incident: str = "unnumbered") -> None:
        hint = f"The custodian's log has the details under incident {incident}."
        super().__init__(message, hint=hint)
        self.incident = incident


def require(holds: bool, owner: object, name: str, value: object, wanted: str, *, hint: str = "") -> None:
    """Refuse a parameter that is not what is `wanted`.

    >>> require(False, "Promise", "group", 0, "an integer of at least 1")
    Traceback (most recent call last):
    discreet.core.errors.InvalidParameterError: Promise.group must be an integer of at least 1; got 0.
    """
    if not holds:
        place = owner if isinstance(owner, str) else type(owner).__name__
        raise InvalidParameterError(f"{place}.{name} must be {wanted}; got {value}.", hint=hint)
