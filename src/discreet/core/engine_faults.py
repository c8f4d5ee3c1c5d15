"""Engine faults: replace a driver's error by a constant message; the details go to the custodian's log.

A driver's message may quote values, and whether it fails may depend on them, so nothing of it is passed on:
neither its text nor the exception itself, not even as the cause. The package's own errors contain nothing of
the data, so they are raised unchanged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from discreet.core.errors import DataError, DiscreetError, EngineFault
from discreet.core.output_files import is_disk_full, make_disk_full_error
from discreet.core.randomness import Randomness

T = TypeVar("T")

CUSTODIAN_LOG = logging.getLogger("discreet.custodian")
# Without a handler of its own, logging would print the details to the program's stderr.
CUSTODIAN_LOG.addHandler(logging.NullHandler())

FAULT_MESSAGE = "The engine could not finish the request."
CHARGED_FAULT_MESSAGE = "The engine could not finish the request, which was charged: the charge stays."


def run_guarded(operation: Callable[[], T]) -> T:
    """Return the result of a driver's operation, or raise an `EngineFault` that holds only an incident id."""
    try:
        return operation()
    except DiscreetError:
        raise
    except Exception as error:
        fault = log_fault(error)
    # Raised outside of the handler, so that the driver's error does not become its context.
    raise fault


def run_guarded_write(operation: Callable[[], T], path: Path) -> T:
    """Return the result of an operation that writes a file; a full disk is reported as such."""
    try:
        return operation()
    except DiscreetError:
        raise
    except Exception as error:
        fault = make_disk_full_error(path) if is_disk_full(error) else log_fault(error)
    raise fault


def run_charged(operation: Callable[[], T]) -> T:
    """Return the result of a charged operation, or raise an `EngineFault` that says that the charge stays.

    Every failure from here on is a fault, including the package's own errors: an engine that is gone refuses
    to be reopened, and a refusal would imply that nothing was charged. A `DataError`, which only custodian
    commands raise, keeps its message and adds that the charge stays.
    """
    fault: DiscreetError
    try:
        return operation()
    except DataError as error:
        fault = DataError(error.message, hint=f"{error.hint} The charge stays.".strip())
    except EngineFault as error:
        fault = EngineFault(CHARGED_FAULT_MESSAGE, incident=error.incident)
    except Exception as error:
        fault = log_fault(error, CHARGED_FAULT_MESSAGE)
    raise fault


def log_fault(error: BaseException, message: str = FAULT_MESSAGE) -> EngineFault:
    """Write an error to the custodian's log and return the fault to raise in its place."""
    incident = f"{Randomness().draw_bits(48):012x}"
    CUSTODIAN_LOG.error("incident %s: %s: %s", incident, type(error).__name__, error)
    return EngineFault(message, incident=incident)
