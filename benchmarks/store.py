"""Answers from the store: the curator's time, the rate over the PostgreSQL wire, and post-processing.

A machine may do other work beside: the curator's times are processor times of its process, and those of
post-processing are multiples of DuckDB's, the best of a few runs beside it over the same table.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks import serve
from discreet.engines.released_queries import query_released_tables
from discreet.services.curator import Curator

ANSWERS, CLIENTS, RUNS, SIDE = 200, 3, 15, 1_000
COUNTS = "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY sex"
SPELLINGS = (
    (
        "relabelled, another limit",
        "SELECT sex AS s{0}, COUNT(*) AS n{0} FROM people GROUP BY sex LIMIT {1}",
    ),
    (
        "percent of total, relabelled",
        "SELECT sex AS s{0}, 100.0 * n / SUM(n) OVER () AS p{0} "
        "FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS t",
    ),
)
CELLS = {
    "ORDER BY": "SELECT k0, k1, m0 FROM r0 ORDER BY m0 DESC",
    "running total": "SELECT k0, k1, SUM(m0) OVER (PARTITION BY k0 ORDER BY k1) AS x FROM r0",
    "percent of total": "SELECT k0, k1, 100.0 * m0 / SUM(m0) OVER () AS x FROM r0",
    "ROLLUP": "SELECT k0, k1, SUM(m0) AS n FROM r0 GROUP BY ROLLUP (k0, k1)",
}
CLIENT = """
import sys, time, psycopg
port, sql, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
with psycopg.connect(
    host="127.0.0.1", port=port, user="analyst", password=sys.argv[4], autocommit=True, prepare_threshold=None
) as line:
    line.execute(sql).fetchall()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        line.execute(sql).fetchall()
        count += 1
    print(count / (time.perf_counter() - began))
"""


def rows() -> list[tuple[str, str, str]]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        return [*_time_curator(Path(folder)), *_time_post_processing()]


def _time_curator(folder: Path) -> list[tuple[str, str, str]]:
    with serve.served(folder) as (port, curators):
        curator = curators.for_analyst("analyst")
        curator.ask(COUNTS)
        times = [("an answer again", _measure_milliseconds(lambda: curator.ask(COUNTS)))]
        for name, spelling in SPELLINGS:
            times.append((f"{name}, each for the first time", _time_spellings(curator, spelling)))
        found = [(name, taken, "at most 1.5 ms") for name, taken in times]
        found.append(("psycopg in a process of its own", *_count_answers_over_wire(port)))
    return found


def _count_answers_over_wire(port: int) -> tuple[str, str]:
    """Return the rate of a client in a process of its own, with the server's processor time, and the bar."""
    began = time.process_time()
    client = [sys.executable, "-c", CLIENT, str(port), COUNTS, str(serve.SECONDS), serve.PASSWORD]
    best = max(float(subprocess.check_output(client, text=True)) for _ in range(CLIENTS))
    taken = (time.process_time() - began) / CLIENTS / serve.SECONDS / best
    return f"{best:,.0f}/s, {1_000 * taken:.2f} ms of the server", "at least 400/s"


def _time_spellings(curator: Curator, spelling: str) -> str:
    numbers = count(10)

    def ask() -> None:
        number = next(numbers)
        curator.ask(spelling.format(number, number))

    return _measure_milliseconds(ask)


def _measure_milliseconds(work: Callable[[], object]) -> str:
    work()
    times = []
    for _ in range(ANSWERS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return f"{median(times) * 1_000:.2f} ms"


def _time_post_processing() -> list[tuple[str, str, str]]:
    """Return the time of queries over a million released cells as a multiple of DuckDB's own."""
    cells, random = SIDE * SIDE, np.random.default_rng(1)
    released = pa.table(
        {
            "k0": np.repeat(np.arange(SIDE), SIDE),
            "k1": np.tile(np.arange(SIDE), SIDE),
            "m0": random.integers(0, 1_000, cells),
        }
    )
    found = []
    with duckdb.connect() as database:
        database.execute("SET threads = 1")  # as in the process for post-processing, whose sums repeat
        database.execute("CREATE TABLE r0 AS FROM released")
        for name, sql in CELLS.items():
            pairs = [
                (
                    _time(query_released_tables, sql, {"r0": released}),
                    _time(lambda sql: database.sql(sql).to_arrow_table(), sql),
                )
                for _ in range(RUNS)
            ]
            ours, theirs = map(min, zip(*pairs, strict=True))
            found.append((f"{name} of {cells:,} cells", f"{ours / theirs:.1f}× DuckDB", "at most 1.5×"))
    return found


def _time(work: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - began
