"""The custodian's fault log: a file beside the ledger, readable by its owner only.

An analyst sees a constant text and an incident number; the details, which may quote data, are logged here. So
are the rows that were skipped when the store was prepared, which analysts must not learn about.
"""

from __future__ import annotations

import io
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.accounting.ledger_storage import find_sibling_file
from discreet.core.engine_faults import CUSTODIAN_LOG


class FaultLog(logging.FileHandler):
    """A log handler that appends to a private file, created with the first entry."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, delay=True, encoding="utf-8")
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_APPEND | os.O_CREAT | os.O_WRONLY
        return io.TextIOWrapper(os.fdopen(os.open(self.baseFilename, flags, 0o600), "ab"), encoding="utf-8")


LOCK = threading.Lock()
OPEN_LOGS: dict[Path, tuple[FaultLog, int]] = {}
"""Open logs with their number of users: several curators of one ledger share one log."""


def open_fault_log(ledger: str) -> FaultLog | None:
    """Open the fault log of a ledger; None for a ledger in memory."""
    place = find_sibling_file(ledger, ".faults.log")
    if place is None:
        return None
    path = place.absolute()
    with LOCK:
        log, holders = OPEN_LOGS.get(path) or (FaultLog(path), 0)
        if not holders:
            CUSTODIAN_LOG.addHandler(log)
        OPEN_LOGS[path] = log, holders + 1
    return log


@contextmanager
def log_faults(ledger: str) -> Iterator[None]:
    """Log faults beside the ledger within the context."""
    log = open_fault_log(ledger)
    try:
        yield
    finally:
        close_fault_log(log)


def close_fault_log(log: FaultLog | None) -> None:
    if log is None:
        return
    path = Path(log.baseFilename)
    with LOCK:
        _, holders = OPEN_LOGS.pop(path)
        if holders > 1:
            OPEN_LOGS[path] = log, holders - 1
        else:
            CUSTODIAN_LOG.removeHandler(log)
            log.close()
