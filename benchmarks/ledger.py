"""The ledger: how many reservations a second are on the disk, from one client and from eight at once.

Every reservation is durable before its client goes on. The clients are threads of one process, as those of a
server are. With grouping one commit takes all that wait; without, each has its own.
"""

from __future__ import annotations

import tempfile
import threading
import time
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.accounting.group_commit import MOST
from discreet.accounting.ledger import Ledger
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
            _row("PostgreSQL", server.schema(), MOST),
            _row("PostgreSQL, a commit each", server.schema(), 1),
        ]


def _row(name: str, place: str, most: int) -> tuple[str, str, str]:
    with Ledger(place, PROMISE) as ledger:
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
