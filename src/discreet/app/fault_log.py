"""The custodian's log: a file beside the ledger that only its owner can read.

Of a fault an analyst sees a constant text and an incident's number; the details, which may quote data, stand
here. So does what preparing the store has left out, of which an analyst sees nothing.
"""

from __future__ import annotations

import io
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.app.ledger_addresses import file_beside
from discreet.engines.engine_faults import CUSTODIAN_LOG


class FaultLog(logging.FileHandler):
    """Appends to a private file, which is made with the first entry and not before."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, delay=True, encoding="utf-8")
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_APPEND | os.O_CREAT | os.O_WRONLY
        return io.TextIOWrapper(os.fdopen(os.open(self.baseFilename, flags, 0o600), "ab"), encoding="utf-8")


GUARD = threading.Lock()
KEPT: dict[Path, tuple[FaultLog, int]] = {}
"""The open logs, and for how many: what several curators of one ledger log is written once."""


def keep_faults(ledger: str) -> FaultLog | None:
    """Begin to log faults beside the ledger; none for a ledger in memory."""
    place = file_beside(ledger, ".faults.log")
    if place is None:
        return None
    path = place.absolute()
    with GUARD:
        log, holders = KEPT.get(path) or (FaultLog(path), 0)
        if not holders:
            CUSTODIAN_LOG.addHandler(log)
        KEPT[path] = log, holders + 1
    return log


@contextmanager
def kept(ledger: str) -> Iterator[None]:
    """The same for a while."""
    log = keep_faults(ledger)
    try:
        yield
    finally:
        stop(log)


def stop(log: FaultLog | None) -> None:
    if log is None:
        return
    path = Path(log.baseFilename)
    with GUARD:
        _, holders = KEPT.pop(path)
        if holders > 1:
            KEPT[path] = log, holders - 1
        else:
            CUSTODIAN_LOG.removeHandler(log)
            log.close()
