"""The exception tree, with the exit code of each class.

    DiscreetError
    ├── RequestError             depends only on the request and the policy, raised before data is read
    │   ├── InvalidParameterError    one parameter is out of its range            (exit code 2)
    │   ├── BudgetError              the promise has no budget left for it        (exit code 3)
    │   ├── BusyError                the server cannot start it in time           (exit code 2)
    │   └── AlreadyRunningError      the same request is already running          (exit code 2)
    ├── DataError                the custodian's data contradicts the policy      (exit code 2)
    ├── ModelNotMetError         no release meets the requested privacy models    (exit code 4)
    └── EngineFault              outside the promise; the analyst sees a constant text (exit code 5)

A message says what is wrong, where, and what to do next. It never contains a value from the data. It names
a parameter as a Python caller gives it, in backticks with an equals sign: `least_rows=`, or with a value
`promise="1%:5%"`. Each frontend shows its own name for it: an option, a field or a setting.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import IntEnum
from typing import ClassVar, Self

LONG_WORD = re.compile(r"\S{300,}")
MOST_SHOWN = 80
"""The most characters that a message repeats of a value."""
INNER_VERB = re.compile(r"^(?:prepare|reserve|spend): ")
"""Steps that no user calls: a frontend or a service that shows their errors puts its verb in their place."""
ARGUMENT = re.compile(r"`(?P<name>[a-z_]+)=(?P<value>[^`]*)`")


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    DONE = 0
    INTERNAL = 1
    REFUSED = 2
    """A usage error, or a request that is refused."""
    BUDGET_REFUSED = 3
    MODEL_NOT_MET = 4
    """Also where an attack exceeds a bound that was set, or an audit the claimed epsilon."""
    ENGINE_FAULT = 5
    STOPPED = 130
    """By the user, with Ctrl-C."""


class DiscreetError(Exception):
    """The base class of every error that this package raises on purpose."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL
    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, hint: str = "") -> None:
        # what a caller gave may be a text of any length, and is repeated in many messages
        message, hint = (LONG_WORD.sub(_shorten_word, text) for text in (message, hint))
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class RequestError(DiscreetError):
    """A request refused because of its text and the policy alone; nothing was read or charged."""

    exit_code = ExitCode.REFUSED
    code = "refused"


class InvalidParameterError(RequestError, ValueError):
    """A parameter lies outside the range for which the guarantee is proven."""

    code = "invalid-parameter"


class BudgetError(RequestError):
    """A request that costs more than the promise has left."""

    exit_code = ExitCode.BUDGET_REFUSED
    code = "budget"


class BusyError(RequestError):
    """A request that was not started because the server is busy; it may be retried after `seconds`."""

    code = "busy"

    def __init__(self, message: str, *, hint: str = "", seconds: int = 1) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds

    @classmethod
    def for_delay(cls, seconds: float) -> Self:
        """Return the error for a question that could start only after this many seconds."""
        whole = max(1, math.ceil(seconds))
        return cls(
            "ask: the server is busy, and the question cannot begin in time.",
            hint=f"Ask again in {whole} second{'s' if whole > 1 else ''}; nothing was charged.",
            seconds=whole,
        )


class AlreadyRunningError(RequestError):
    """A request that is already running, and is not run twice."""

    code = "under-way"


class DataError(DiscreetError):
    """Data that contradicts the policy; raised only by a custodian's command.

    A message may end up in a log: it gives the number of wrong values and how to list them, never the values.
    """

    exit_code = ExitCode.REFUSED
    code = "data"


class ModelNotMetError(DiscreetError):
    """No release meets the requested models; shown only to the custodian, as it depends on the data."""

    exit_code = ExitCode.MODEL_NOT_MET
    code = "unmet"


class EngineFault(DiscreetError):  # noqa: N818  (a fault of the engine, not an error of the request)
    """A failure of the engine after data was read; the custodian's log has the details under `incident`."""

    exit_code = ExitCode.ENGINE_FAULT
    code = "engine-fault"

    def __init__(self, message: str, *, incident: str = "unnumbered") -> None:
        hint = f"The custodian's log has the details under incident {incident}."
        super().__init__(message, hint=hint)
        self.incident = incident


def require_parameter(
    is_valid: bool, owner: object, name: str, value: object, expected: str, *, hint: str = ""
) -> None:
    """Raise an error for a parameter that is not what is `expected`.

    The owner is a class, or the function or verb that the user called. Without one (""), the argument is
    named alone: for parameters of a class that users do not know, named as the argument that they gave.

    >>> require_parameter(False, "Promise", "group", 0, "an integer of at least 1")
    Traceback (most recent call last):
    discreet.core.errors.InvalidParameterError: Promise.group must be an integer of at least 1; got 0.
    >>> require_parameter(False, "audit", "runs", 7, "an integer of at least 100")
    Traceback (most recent call last):
    discreet.core.errors.InvalidParameterError: audit: `runs=` must be an integer of at least 100; got 7.
    """
    if not is_valid:
        place = owner if isinstance(owner, str) else type(owner).__name__
        is_class = place.lstrip("_")[:1].isupper()
        parameter = f"{place}.{name}" if is_class else f"{place}: `{name}=`" if place else f"`{name}=`"
        raise InvalidParameterError(f"{parameter} must be {expected}; got {shorten_value(value)}.", hint=hint)


def _shorten_word(found: re.Match[str]) -> str:
    return f"{found[0][:MOST_SHOWN]}…"


def shorten_value(value: object) -> str:
    """Return what was given as one line of a message.

    >>> shorten_value([[1, 2]]), shorten_value("x" * 1_000)[-9:]
    ('[[1, 2]]', 'xxxxxxxx…')
    """
    try:
        text = " ".join(str(value).split())
    except ValueError:  # an integer of thousands of digits has no text
        text = "a number of too many digits"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def replace_verb(error: RequestError, verb: str, *, hint: str = "") -> RequestError:
    """Return a refusal that begins with the verb that the user called; a `hint` replaces its own.

    >>> str(replace_verb(BudgetError("reserve: nothing is left.", hint="Ask for less."), "collect"))
    'collect: nothing is left. Ask for less.'
    """
    if not INNER_VERB.match(error.message) and not hint:
        return error
    return type(error)(INNER_VERB.sub(f"{verb}: ", error.message), hint=hint or error.hint)


def rename_arguments(text: str, rename: Callable[[str, str], str]) -> str:
    """Return a message with each argument as `rename` writes it, given its name and its value or "".

    A value keeps its quotes only if it has a space, so that it can be typed on a command line.

    >>> rename_arguments('Give `k=5`, `within="5%"` or `victim="age 36"`.', "-{} {}".format)
    'Give -k 5, -within 5% or -victim "age 36".'
    """

    def replace(found: re.Match[str]) -> str:
        value = found["value"]
        plain = value[1:-1] if value[:1] in "'\"" and value[:1] == value[-1:] else value
        return rename(found["name"], value if " " in plain else plain)

    return ARGUMENT.sub(replace, text)
