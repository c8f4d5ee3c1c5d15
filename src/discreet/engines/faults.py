"""What becomes of a driver's error: a constant text for the analyst, the details for the custodian's log.

A driver's message may quote values, and whether it fails may depend on them, so nothing of it is passed on:
neither its text nor the exception itself, not even as the cause. The package's own errors hold nothing of
the data, so they pass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from discreet.core.errors import DataError, DiscreetError, EngineFault
from discreet.core.output_files import is_disk_full, refuse_full
from discreet.core.randomness import Randomness

T = TypeVar("T")

CUSTODIAN = logging.getLogger("discreet.custodian")
# Without a handler of its own, logging would print the details to whoever runs the program.
CUSTODIAN.addHandler(logging.NullHandler())

TEXT = "The engine could not finish the request."
CHARGED = "The engine could not finish the request, which was charged: the charge stays."


def guarded(work: Callable[[], T]) -> T:
    """Do the driver's work, or raise an `EngineFault` that tells only an incident's number."""
    try:
        return work()
    except DiscreetError:
        raise
    except Exception as error:
        fault = logged(error)
    # Raised outside of the handler, so that the driver's error does not ride along as its context.
    raise fault


def guard_writing(work: Callable[[], T], path: Path) -> T:
    """The same for what writes a file: a disk that is full is said to be."""
    try:
        return work()
    except DiscreetError:
        raise
    except Exception as error:
        fault = refuse_full(path) if is_disk_full(error) else logged(error)
    raise fault


def guard_charged(work: Callable[[], T]) -> T:
    """Do work that is already charged, or raise an `EngineFault` that says that the charge stays.

    Whatever goes wrong from here on is a fault, the package's own errors too: an engine that is gone refuses
    to be opened again, and a refusal would say that nothing was charged. What is wrong with the data, which
    only a custodian's command says, is said, and that the charge stays.
    """
    fault: DiscreetError
    try:
        return work()
    except DataError as error:
        fault = DataError(error.message, hint=f"{error.hint} The charge stays.".strip())
    except EngineFault as error:
        fault = EngineFault(CHARGED, incident=error.incident)
    except Exception as error:
        fault = logged(error, CHARGED)
    raise fault


def logged(error: BaseException, text: str = TEXT) -> EngineFault:
    """The fault that an error becomes, once the custodian's log has it."""
    incident = f"{Randomness().bits(48):012x}"
    CUSTODIAN.error("incident %s: %s: %s", incident, type(error).__name__, error)
    return EngineFault(text, incident=incident)
