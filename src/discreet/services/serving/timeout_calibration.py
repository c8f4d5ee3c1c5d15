"""Calibration of timeouts: how much slower this machine is than the fixed paces, measured at the start.

Rows        A statement generates its own numbers: no table is read. Every slot has its own engine and all of
            them run at once, as they will in service, while another thread parses queries.
Slowness    The time of the slowest engine, in the best of a few rounds, over the time that the pace allows,
            rounded up to a power of two and at least one. It lengthens all deadlines alike, so that refusals
            depend on text and policy alone.
Once        It is not repeated while questions are asked: the load of one analyst would then show in the times
            of another's answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.services.engine_addresses import parse_engine_address
from discreet.services.work_limits import COST_MODELS, SPARK_COST_MODEL
from discreet.sql.query_parser import parse_query

ROUNDS = 3
ROWS = 100_000
SAFETY_FACTOR = 5
MAX_SLOWNESS = 64.0
"""The largest factor; on a slower machine the custodian lengthens deadlines with --slack."""
SYNTHETIC_STATEMENT = (
    "SELECT count(*) AS n, CAST(sum(m.k % 7) AS BIGINT) AS s FROM "
    f"(SELECT DISTINCT d.x AS k FROM (SELECT unnest(range(0, {ROWS})) AS x) AS d) AS m"
)
SAMPLE_QUERY = (
    "SELECT a, COUNT(*) AS n FROM t WHERE b BETWEEN 1 AND 2 AND c LIKE '%x%' GROUP BY a ORDER BY n DESC"
)


def measure_slowness(policy: Policy, open_engine: Callable[[], Engine], slots: int) -> float:
    """Return the power of two by which deadlines are lengthened on this machine; at least 1."""
    pace = COST_MODELS.get(parse_engine_address(policy.engine).scheme, SPARK_COST_MODEL)
    given = pace.minimum + ROWS * pace.per_row
    with ExitStack() as stack:
        engines = [stack.enter_context(open_engine()) for _ in range(slots)]
        pool = stack.enter_context(ThreadPoolExecutor(slots))
        slowest = min(_measure_round(engines, pool) for _ in range(ROUNDS))
    slowness = 1.0
    while slowness < min(MAX_SLOWNESS, SAFETY_FACTOR * slowest / given):
        slowness *= 2
    return slowness


def _measure_round(engines: list[Engine], pool: ThreadPoolExecutor) -> float:
    """Return the seconds that the slowest engine takes when all run at once."""
    done = threading.Event()
    planner = threading.Thread(target=_parse_queries_until, args=(done,), daemon=True)
    planner.start()
    try:
        return max(pool.map(_time_statement, engines))
    finally:
        done.set()
        planner.join()


def _time_statement(engine: Engine) -> float:
    began = time.monotonic()
    engine.count(SYNTHETIC_STATEMENT)
    return time.monotonic() - began


def _parse_queries_until(done: threading.Event) -> None:
    while not done.is_set():
        parse_query(SAMPLE_QUERY)
