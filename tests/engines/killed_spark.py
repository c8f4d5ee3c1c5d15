"""A question whose Spark is killed while it counts; run in a process of its own, which it leaves without one.

The arguments are those of `discreet`. The virtual machine is killed once the question is charged and a job of
Spark is running; the exit code is the command's.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.services.test_promise import discreet


def kill_when_counting(ledger: Path, ended: threading.Event) -> None:
    from pyspark import SparkContext

    while not ended.wait(0.001):
        context = SparkContext._active_spark_context
        if context is None or not is_charged(ledger):
            continue
        if context.statusTracker().getActiveJobsIds():
            gateway: Any = context._gateway
            os.kill(gateway.proc.pid, signal.SIGKILL)
            return


def is_charged(ledger: Path) -> bool:
    if not ledger.exists():
        return False
    with suppress(sqlite3.Error), closing(sqlite3.connect(ledger)) as connection:
        return bool(connection.execute("SELECT count(*) FROM entry").fetchone()[0])
    return False


if __name__ == "__main__":
    over = threading.Event()
    killer = threading.Thread(target=kill_when_counting, args=(Path("ledger.db"), over))
    killer.start()
    code = discreet(*sys.argv[1:])
    over.set()
    killer.join()
    # whatever Spark's own threads still say about their lost machine is not waited for
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
