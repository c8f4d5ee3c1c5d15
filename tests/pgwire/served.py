"""A server for tests: a small policy behind the real listener, in a thread."""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.engine import Closeable, Engine
from discreet.core.exact_values import Exact
from discreet.pgwire.catalog import BuiltinCatalog, ShadowCatalog
from discreet.pgwire.listener import serve_postgres
from discreet.services.check.check import run_check
from discreet.services.check.check_request import CheckRequest
from discreet.services.policies import load_policy
from discreet.services.serving.curators import Curators
from discreet.services.serving.query_timeouts import Deadlines
from discreet.services.serving.served_policy import ServedPolicy
from discreet.services.serving.tls import TlsCertificate
from discreet.services.users import Role, UserAccounts, UserFile
from discreet.services.users.login_throttle import LoginThrottle
from tests.patience import PATIENCE

PEOPLE = 3_000
CANARY = "canary-4711"
PASSWORD = "open sesame"
POLICY = """
promise: {prior: 1%, posterior: 5%}
epsilon: 0.1
tables:
  people:
    source: people.parquet
    person: id
    columns:
      id: {type: integer, role: identifier}
      age: {type: integer, low: 18, high: 90, nulls: false}
      height: {type: decimal, low: 0, high: 2.5, resolution: 0.01}
      sex: {type: category, values: [Male, Female, Other]}
      smoker: {type: boolean}
      born: {type: date, low: 1930-01-01, high: 2010-12-31}
      town: {type: text}
  visits:
    source: visits.parquet
    person: person
    rows_per_person: 3
    links: {person: people.id}
    columns:
      person: {type: integer, role: identifier}
      cost: {type: integer, low: 0, high: 1000}
analysts:
  alice: {share: 50%}
  bob: {share: 50%}
"""


@dataclass(frozen=True, kw_only=True)
class Served:
    """Where the server listens, and the curators behind it."""

    port: int
    curators: Curators
    folder: Path

    @property
    def address(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=alice password='{PASSWORD}' dbname=discreet"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://alice:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self.port}/discreet"

    def charges(self, analyst: str = "alice") -> int:
        return len(self.curators.ledger.list_entries(analyst))


def write_data(folder: Path, people: int = PEOPLE) -> None:
    table = pa.table(
        {
            "id": range(people),
            "age": [20 + i % 50 for i in range(people)],
            "height": [1.5 + i % 50 / 100 for i in range(people)],
            "sex": ["Male" if i % 3 else "Female" for i in range(people)],
            "smoker": [i % 4 == 0 for i in range(people)],
            "born": [dt.date(1950 + i % 50, 1, 1) for i in range(people)],
            "town": [CANARY] * people,
        }
    )
    visits = pa.table({"person": [i // 2 for i in range(people)], "cost": [i % 500 for i in range(people)]})
    pq.write_table(table, folder / "people.parquet")
    pq.write_table(visits, folder / "visits.parquet")
    (folder / "privacy.yaml").write_text(POLICY)


def write_public_table(folder: Path) -> None:
    """Add a table about nobody to the policy."""
    pq.write_table(pa.table({"ward": [1, 2]}), folder / "wards.parquet")
    columns = "{ward: {type: integer, low: 1, high: 9}}"
    wards = f"  wards: {{source: wards.parquet, person: none, columns: {columns}}}\n"
    text = (folder / "privacy.yaml").read_text().replace("analysts:", f"{wards}analysts:")
    (folder / "privacy.yaml").write_text(text)


def accept_data(folder: Path, ledger: str | None = None) -> None:
    """Accept the data as the custodian does, so that analysts are answered."""
    run_check(load_policy(folder / "privacy.yaml", ledger=ledger), CheckRequest(accept=True))


@contextmanager
def served(
    folder: Path,
    certificate: TlsCertificate | None = None,
    shadow: str | None = None,
    slack: float | None = None,
    throttle: LoginThrottle | None = None,
    host: str = "127.0.0.1",
) -> Iterator[Served]:
    """The server, ready; it ends with the block."""
    policy = load_policy(folder / "privacy.yaml")
    users = UserAccounts(UserFile(":memory:"))
    for name in ("alice", "bob"):
        users.add(name, Role.ANALYST, name, PASSWORD)
    deadlines = None if slack is None else Deadlines(policy=policy, slack=slack)
    with (
        Curators.open_policy(policy, deadlines=deadlines) as curators,
        closing(BuiltinCatalog(policy) if shadow is None else ShadowCatalog(shadow, policy)) as catalog,
        socket.create_server((host, 0)) as bound,
    ):
        curators.ledger.accept_data(curators.table_states)
        ready, loop, stopped = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
        serving = serve_postgres(
            ServedPolicy(curators),
            users,
            catalog,
            bound,
            certificate=certificate,
            throttle=throttle,
            on_ready=ready.set,
            stop_event=stopped,
        )
        thread = threading.Thread(target=lambda: loop.run_until_complete(serving))
        thread.start()
        assert ready.wait(PATIENCE)
        try:
            yield Served(port=bound.getsockname()[1], curators=curators, folder=folder)
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join()
            loop.close()


class Slow(Closeable):
    """An engine that waits for something before it counts."""

    def __init__(self, engine: Engine, wait: Callable[[], object]) -> None:
        self.engine, self.wait = engine, wait

    def count(self, sql: str) -> Exact[pa.Table]:
        self.wait()
        return self.engine.count(sql)

    def close(self) -> None:
        self.engine.close()


def slowed(curators: Curators, analyst: str, wait: Callable[[], object]) -> None:
    """One analyst's engine waits, those of others stay as they are."""
    curator = curators.for_analyst(analyst)
    curator._engine = Slow(curator._engine, wait)
