"""Query timeouts: answers leave at a time fixed by plan and policy, which reveals nothing about the data.

Fixed time  The worst case of the plan on the declared rows, rounded up to a power of two times the shortest
            time; see `work_limits`. A slower machine lengthens all times by the same power of two; see
            `timeout_calibration`.
Early       An answer or fault that is ready waits, and is settled in the ledger afterwards: until then, plans
            of the same question and views of the ledger, at any server, show it as running.
Late        An overrun is charged, withheld until twice the fixed time, and suspends the analyst. Work that is
            done by then is answered at that time. Other work is stopped and is a fault at that time. So a
            question reveals one of three outcomes of its work, two of which suspend the analyst until the
            custodian decides.
Exempt      Stored answers and refusals do not wait: they depend on the analyst's own questions alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

from discreet.core.policy import Policy
from discreet.services.work_limits import LateResult, WorkLimits
from discreet.sql.planner import QueryPlan

T = TypeVar("T")


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
        """Return the result of `compute` at the fixed time, or a `LateResult` at twice that time.

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
        raise QueryTimeout(f"no answer within {2 * fixed:g} s; a larger --slack allows more")


def _start_in_thread(compute: Callable[[], T]) -> Future[T]:
    """Start `compute` in a thread, so that the wait for it can end before it does."""
    future: Future[T] = Future()

    def run_and_store() -> None:
        try:
            future.set_result(compute())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run_and_store, daemon=True, name="discreet-work").start()
    return future


def _is_done(future: Future[T], until: float) -> bool:
    return bool(wait([future], max(0.0, until - time.monotonic())).done)


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
