"""The ledger: how many reservations a second are on the disk, from one client and from eight at once.

Every reservation is durable before its client goes on. The clients are threads of one process, as those of a
server are. With grouping one commit takes all that wait; without, each has its own. A reservation with marks
(`accounting.high_water_marks`) waits for these as well, which are written beside each other after the commit.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.accounting.high_water_marks import HighWaterMarks, LedgerTerms
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_storage import MOST
from discreet.accounting.mark_files import MarkFile
from discreet.belief import Promise
from discreet.core.guarantees import PureDP
from tests.engines import servers

SECONDS = 2.0
CLIENTS = 8
PROMISE = Promise(0.01, 0.05)
LITTLE = PureDP(epsilon=Fraction(1, 10**9))


def rows() -> list[tuple[str, str, str]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-bench-")))
        server = stack.enter_context(servers.postgres(fsync=True))
        return [
            _row("SQLite", str(folder / "grouped.db"), MOST),
            _row("SQLite, a commit each", str(folder / "alone.db"), 1),
            _row("SQLite, 1 mark", str(folder / "marked.db"), MOST, [folder / "1.mark"]),
            _row("SQLite, 2 marks", str(folder / "twice.db"), MOST, [folder / "2.mark", folder / "3.mark"]),
            _row("PostgreSQL", server.schema(), MOST),
            _row("PostgreSQL, a commit each", server.schema(), 1),
        ]


def _row(name: str, place: str, most: int, marked: Sequence[Path] = ()) -> tuple[str, str, str]:
    marks = HighWaterMarks([MarkFile(path=each) for each in marked])
    with Ledger(place, PROMISE, terms=LedgerTerms(marks=marks)) as ledger:
        storage: Any = ledger.storage
        storage.commits.most = most
        one, many = _rate(ledger, 1), _rate(ledger, CLIENTS)
        ledger.verify()
    return f"reservations in {name}", f"{one:,.0f}/s", f"{many:,.0f}/s"


def _rate(ledger: Ledger, clients: int) -> float:
    counts, stop = [0] * clients, threading.Event()

    def reserve(client: int) -> None:
        while not stop.is_set():
            ledger.reserve("analyst", f"{client} {counts[client]}", "SELECT COUNT(*) FROM t", LITTLE)
            counts[client] += 1

    threads = [threading.Thread(target=reserve, args=(client,)) for client in range(clients)]
    began = time.perf_counter()
    for each in threads:
        each.start()
    stop.wait(SECONDS)
    stop.set()
    for each in threads:
        each.join()
    return sum(counts) / (time.perf_counter() - began)
