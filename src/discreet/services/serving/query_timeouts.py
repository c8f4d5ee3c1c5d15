"""Query timeouts: answers leave at a time fixed by plan and policy, which reveals nothing about the data.

Fixed time  The worst case of the plan on the declared rows, rounded up to a power of two times the shortest
            time; see `work_limits`. A slower machine lengthens all times by the same power of two.
Early       An answer or fault that is ready waits, and is settled in the ledger afterwards: until then, plans
            of the same question and views of the ledger, at any server, show it as running.
Late        An overrun is charged, withheld until twice the fixed time, and suspends the analyst. Work that is
            done by then is answered at that time. Other work is stopped and is a fault at that time. So a
            question reveals one of three outcomes of its work, two of which suspend the analyst until the
            custodian decides.
Exempt      Stored answers and refusals do not wait: they depend on the analyst's own questions alone.
Slowness    of this machine against the fixed paces is measured once, at the start: the time of the slowest
            engine, in the best of a few rounds, rounded up to a power of two. The statement generates its
            own numbers and reads no table; all engines run it at once, as they will in service, while another
            thread parses queries. Measured again while questions are asked, the load of one analyst would
            show in the times of another's answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.services.addresses import parse_engine_address
from discreet.services.work_limits import LateResult, WorkLimits
from discreet.sql.planner import QueryPlan
from discreet.sql.query_parser import parse_query

T = TypeVar("T")
ROUNDS = 3
ROWS = 100_000
SAFETY_FACTOR = 5
MAX_SLOWNESS = 64.0
"""The largest factor; on a slower machine the custodian lengthens deadlines by `slack`."""
SYNTHETIC_STATEMENT = (
    "SELECT count(*) AS n, CAST(sum(m.k % 7) AS BIGINT) AS s FROM "
    f"(SELECT DISTINCT d.x AS k FROM (SELECT unnest(range(0, {ROWS})) AS x) AS d) AS m"
)
SAMPLE_QUERY = (
    "SELECT a, COUNT(*) AS n FROM t WHERE b BETWEEN 1 AND 2 AND c LIKE '%x%' GROUP BY a ORDER BY n DESC"
)


class QueryTimeout(Exception):  # noqa: N818  (it becomes a fault)
    """The work took more than twice its fixed time."""


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """Deadlines under a policy, lengthened by the custodian's `slack` and this machine's `slowness`."""

    policy: Policy
    slack: float = 1.0
    slowness: float = 1.0

    def compute_fixed_time(self, plan: QueryPlan) -> float:
        """Return the fixed seconds from the start of a plan to its answer."""
        return WorkLimits(policy=self.policy, slack=self.slack).compute_fixed_time(plan) * self.slowness

    def run_until_deadline(
        self,
        plan: QueryPlan,
        compute: Callable[[], T],
        abandon: Callable[[Future[T]], object] = lambda work: None,
    ) -> T | LateResult[T]:
        """Return the result of `compute` at the fixed time, or as `LateResult` at twice that; never between.

        Work that is not done by then is passed to `abandon` and not waited for; `QueryTimeout` is raised.
        """
        fixed, began = self.compute_fixed_time(plan), time.monotonic()
        done = _start_in_thread(compute)
        if _is_done(done, began + fixed):
            _sleep_until(began + fixed)
            return done.result()
        if _is_done(done, began + 2 * fixed):
            _sleep_until(began + 2 * fixed)
            return LateResult(value=done.result())
        abandon(done)
        raise QueryTimeout(f"no answer within {2 * fixed:g} s; a larger slack of discreet serve allows more")


def _start_in_thread(compute: Callable[[], T]) -> Future[T]:
    """Start `compute` in a thread, so that the wait for it can end before it does."""
    future: Future[T] = Future()

    def run_and_store() -> None:
        try:
            future.set_result(compute())
        except BaseException as error:
            future.set_exception(error)

    # a daemon, as work that overran must not keep the server from ending
    Thread(target=run_and_store, daemon=True, name="discreet-work").start()
    return future


def _is_done(future: Future[T], until: float) -> bool:
    return bool(wait([future], max(0.0, until - time.monotonic())).done)


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def measure_slowness(policy: Policy, open_engine: Callable[[], Engine], slots: int) -> float:
    """Return the power of two by which deadlines are lengthened on this machine; at least 1."""
    pace = parse_engine_address(policy.engine).cost_model
    given = pace.minimum + ROWS * pace.per_row
    with ExitStack() as stack:
        engines = [stack.enter_context(open_engine()) for _ in range(slots)]
        pool = stack.enter_context(ThreadPoolExecutor(slots))
        # the quickest round: what disturbs another one says nothing about the machine
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
