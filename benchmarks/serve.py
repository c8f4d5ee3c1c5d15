"""The PostgreSQL listener: how many questions a second one client gets answered, without padding.

A stored answer is asked for by psycopg in simple queries over a socket, and of the curator itself, in the
same run; the difference is the protocol. A question about the schema and a setting are beside them.
"""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.policy import Policy
from discreet.pgwire.catalog import BuiltinCatalog
from discreet.pgwire.listener import serve_postgres
from discreet.services.serving.curators import Curators
from discreet.services.serving.served_policy import ServedPolicy
from discreet.services.users import Role, UserAccounts, UserFile

PEOPLE = 100_000
PASSWORD = "benchmarks"
SECONDS = 2.0
COUNT = "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY sex"


def rows() -> list[tuple[str, str, str]]:
    with (
        tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder,
        served(Path(folder)) as (port, curators),
    ):
        password = {"host": "127.0.0.1", "port": port, "user": "analyst", "password": PASSWORD}
        with psycopg.connect(**password, autocommit=True, prepare_threshold=None) as line:  # type: ignore[arg-type]
            found = [
                (
                    "a stored answer, over the wire",
                    _rate(lambda: line.execute(COUNT).fetchall()),
                    "at least 100/s",
                ),
                ("the same, of the curator itself", _rate(lambda: _asked(curators)), ""),
                ("SHOW, over the wire", _rate(lambda: line.execute("SHOW discreet.epsilon").fetchall()), ""),
                ("a table's columns, of the catalog", _rate(lambda: line.execute(COLUMNS).fetchall()), ""),
            ]
    return found


COLUMNS = (
    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'people'::regclass"
)


def _asked(curators: Curators) -> object:
    return curators.ask("analyst", curators.for_analyst("analyst").plan(COUNT))


def _rate(ask: Callable[[], object]) -> str:
    ask()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        ask()
        count += 1
    return f"{count / (time.perf_counter() - began):,.0f}/s"


def _accept(curators: Curators) -> Curators:
    """Accept the data as its custodian, so that questions are answered."""
    curators.ledger.accept_data(curators.table_states)
    return curators


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, Curators]]:
    people = {
        "age": [20 + i % 60 for i in range(PEOPLE)],
        "sex": ["f" if i % 2 else "m" for i in range(PEOPLE)],
    }
    pq.write_table(pa.table(people), folder / "people.parquet")
    columns = {
        "age": {"type": "integer", "low": 0, "high": 120},
        "sex": {"type": "category", "values": ["f", "m"]},
    }
    policy = Policy.model_validate(
        {
            "promise": {"prior": "1%", "posterior": "5%"},
            "epsilon": 0.1,
            "ledger": str(folder / "ledger.db"),
            "tables": {"people": {"source": str(folder / "people.parquet"), "columns": columns}},
        }
    )
    users = UserAccounts(UserFile(":memory:"))
    users.add("analyst", Role.ANALYST, "analyst", PASSWORD)
    with (
        _accept(Curators.open_policy(policy)) as curators,
        closing(BuiltinCatalog(policy)) as catalog,
        socket.create_server(("127.0.0.1", 0)) as bound,
    ):
        loop, ready, stopped = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
        serving = serve_postgres(
            ServedPolicy(curators), users, catalog, bound, on_ready=ready.set, stop_event=stopped
        )
        thread = threading.Thread(target=lambda: loop.run_until_complete(serving))
        thread.start()
        ready.wait()
        try:
            yield bound.getsockname()[1], curators
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join()
            loop.close()
