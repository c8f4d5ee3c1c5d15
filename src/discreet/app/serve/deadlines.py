"""When an answer leaves: a time that plan and policy fix, so that how long the engine took tells nothing.

Class       the worst case of the plan on the declared rows, rounded up to a power of two of the shortest
            time; see `app.work_limits`. A machine on which made-up rows take longer lengthens all of them
            by the same power of two; see `calibration`.
Early       What is ready waits, an answer or a fault, and is settled in the ledger afterwards: whoever plans
            the same question or reads the ledger meanwhile, at this server or another, sees it under way.
Late        An overrun is charged, withheld until the next fixed time, one class later, and suspends the
            analyst. What is done by then leaves at that time. What is not is stopped, and is a fault at that
            time, whenever the work would have ended. So a question tells of its work which of three things
            came of it, and two of them suspend: the custodian decides whether there is a next one.
Free        A stored answer and a refusal do not wait: whether there is one is the analyst's own doing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

from discreet.app.work_limits import Late, WorkLimits
from discreet.core.policy import Policy
from discreet.sql.planner import Plan

T = TypeVar("T")


class Overrun(Exception):  # noqa: N818  (it becomes a fault)
    """The work was not done one class after its time."""


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """Deadlines under a policy; `slack` and `slowness`, how slow this machine is, make all of them longer."""

    policy: Policy
    slack: float = 1.0
    slowness: float = 1.0

    def seconds(self, plan: Plan) -> float:
        """How long after it was begun the answer of a plan leaves."""
        return WorkLimits(policy=self.policy, slack=self.slack).fixed_time(plan) * self.slowness

    def padded(
        self,
        plan: Plan,
        work: Callable[[], T],
        abandon: Callable[[Future[T]], object] = lambda work: None,
    ) -> T | Late[T]:
        """Let what comes of the work be there at its time, or one class later, and at no other time.

        Work that is not done by then is handed to `abandon`, and not waited for.
        """
        fixed, began = self.seconds(plan), time.monotonic()
        done = _started(work)
        if _is_done(done, began + fixed):
            _sleep_until(began + fixed)
            return done.result()
        if _is_done(done, began + 2 * fixed):
            _sleep_until(began + 2 * fixed)
            return Late(value=done.result())
        abandon(done)
        raise Overrun(f"no answer within {2 * fixed:g} s; a larger --slack allows more")


def _started(work: Callable[[], T]) -> Future[T]:
    """The work in a thread of its own, so that the wait for it can end before it does."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True, name="discreet-work").start()
    return future


def _is_done(future: Future[T], until: float) -> bool:
    return bool(wait([future], max(0.0, until - time.monotonic())).done)


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
