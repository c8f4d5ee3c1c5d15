"""Curators of a server: one promise, one ledger, one store, and a curator for each analyst.

Isolation   Each analyst has an engine, so that no analyst waits for another.
In turn     One analyst's questions are answered one after the other, from all listeners. So a question asked
            twice at once waits for its first answer, and the time of one answer does not reveal how long
            another took. Over several servers the ledger ensures the same.
Admission   A question with a deadline begins when `admission` has a slot for it, or is refused.
Planning    Only a few plans are made at once: otherwise planning would slow down questions with a deadline.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa

from discreet.accounting.ledger import Ledger
from discreet.app import fault_log
from discreet.app.answers import Answer
from discreet.app.books import asking, opened
from discreet.app.curator import Curator
from discreet.app.engines import opener
from discreet.app.proposals import Proposal
from discreet.app.serve.admission import Admission
from discreet.app.serve.calibration import measure_slowness
from discreet.app.serve.deadlines import Deadlines
from discreet.app.source_digests import require_unchanged_sources
from discreet.app.work_limits import Late
from discreet.core.closeable import Closeable
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb import query_released_tables
from discreet.sql.plan_execution import Release

PLANNING = 2
MOMENT = 0.2


class Curators(Closeable):
    """The curators of all analysts; a context manager that closes them."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        engine: Callable[[], Engine],
        deadlines: Deadlines | None = None,
        admission: Admission | None = None,
    ) -> None:
        self.policy, self.ledger, self.deadlines = policy, ledger, deadlines
        self.admission = admission or Admission()
        self._open_engine = engine
        self._made: dict[str, Curator] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._making = threading.Lock()
        self._planning = threading.BoundedSemaphore(PLANNING)
        self._abandoned: dict[str, Future[Release]] = {}

    @classmethod
    def under(
        cls,
        policy: Policy,
        *,
        deadlines: Deadlines | None = None,
        admission: Admission | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Self:
        """Open the ledger and prepare the store; without deadlines, answers are not delayed."""
        ledger = opened(policy)
        try:
            require_unchanged_sources(policy)
            with fault_log.kept(policy.ledger):
                engine = opener(policy, progress=progress)
        except BaseException:
            ledger.close()
            raise
        _load()
        return cls(policy, ledger, engine, deadlines, admission)

    def of(self, analyst: str) -> Curator:
        """Return the curator of an analyst; planning with it is free and needs no turn."""
        with self._making:
            if analyst not in self._made:
                who, engine = asking(self.policy, analyst), self._open_engine()
                self._turns[analyst] = threading.Lock()
                self._made[analyst] = Curator(
                    self.policy,
                    ledger=self.ledger,
                    engine=engine,
                    analyst=who,
                    slack=1.0 if self.deadlines is None else self.deadlines.slack,
                )
            return self._made[analyst]

    def calibrate(self) -> None:
        """Lengthen deadlines by the measured slowness of this machine, before the first question."""
        if self.deadlines is not None:
            slowness = measure_slowness(self.policy, self._open_engine, self.admission.slots)
            self.deadlines = replace(self.deadlines, slowness=slowness)

    def engine(self) -> Engine:
        """Open another engine over the same tables, for the custodian; the caller closes it.

        No analyst waits for it, so that none can observe how long it took.
        """
        return self._open_engine()

    @contextmanager
    def turn(self, analyst: str) -> Iterator[Curator]:
        """Yield the analyst's curator, while no other question of this analyst runs."""
        curator = self.of(analyst)
        with self._turns[analyst]:
            yield curator

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Hold one of the few slots for planning within the context."""
        with self._planning:
            yield

    def plan(self, analyst: str, sql: str, **terms: Any) -> Proposal:
        """Return the proposal for a question; takes the arguments of `Curator.plan`."""
        curator = self.of(analyst)
        with self.planning():
            return curator.plan(sql, **terms)

    def ask(self, analyst: str, proposal: Proposal, wanted: Callable[[], bool] = lambda: True) -> Answer:
        """Return the answer to a proposal at its fixed time.

        Raises `BusyError` if it cannot begin in time, and `RequestError` if `should_continue` is false when
        its turn comes.
        """
        deadlines = self.deadlines
        if deadlines is None or proposal.repeated:
            with self.turn(analyst) as curator:
                _require_wanted(wanted)
                return curator.ask(proposal, watched=self._watched(curator, proposal))
        booking = self.admission.book(analyst, deadlines.seconds(proposal.plan))
        began = False

        def watched(work: Callable[[], Release]) -> Release | Late[Release]:
            nonlocal began
            began = True
            return self._watched(curator, proposal)(work)

        try:
            while (left := booking.begins - self.admission.clock()) > 0:
                time.sleep(min(left, MOMENT))
                _require_wanted(wanted)
            with self.turn(analyst) as curator:
                _require_wanted(wanted)
                return curator.ask(proposal, watched=watched)
        finally:
            if not began:
                self.admission.cancel(analyst, booking)

    def _watched(
        self, curator: Curator, proposal: Proposal
    ) -> Callable[[Callable[[], Release]], Release | Late[Release]]:
        """Return the function that runs the work on a question, to its deadline if there is one."""

        def watched(work: Callable[[], Release]) -> Release | Late[Release]:
            if self.deadlines is None:
                return work()
            return self.deadlines.padded(
                proposal.plan,
                lambda: self._work_alone(curator.analyst, work),
                lambda left: self._abandon(curator, left),
            )

        return watched

    def _work_alone(self, analyst: str, work: Callable[[], Release]) -> Release:
        """Run `compute` once the analyst's engine has finished an earlier overrun.

        The wait is part of the fixed time. Refusals and stored answers do not wait: the time of their arrival
        would reveal how long the overrun went on.
        """
        if (left := self._abandoned.pop(analyst, None)) is not None:
            wait([left])
        return work()

    def _abandon(self, curator: Curator, work: Future[Release]) -> None:
        """Interrupt work that overran, repeatedly until it ends; its engine is not used before."""
        self._abandoned[curator.analyst] = work

        def stop() -> None:
            while not wait([work], MOMENT).done:
                curator.stop_work()

        threading.Thread(target=stop, daemon=True, name="discreet-stop").start()

    def close(self) -> None:
        for curator in self._made.values():
            curator.close()
        self.ledger.close()


def _require_wanted(wanted: Callable[[], bool]) -> None:
    if not wanted():
        raise RequestError("ask: the question was cancelled before anything was charged.", hint="Ask again.")


def _load() -> None:
    """Run one empty answer: loading its libraries would take longer than the first deadline allows."""
    query_released_tables("SELECT n FROM released", {"released": pa.table({"n": [0]})})
