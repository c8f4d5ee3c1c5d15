"""One promise, one ledger, one store, and a curator for each analyst who asks.

Apart       Analysts have engines of their own, so that one does not wait for another.
In turn     One analyst's questions are answered one after the other, from whichever door they come. So a
            question that is asked twice at once waits for its first answer; and how long one took cannot be
            told from when another was answered. Over several servers the ledger sees to the same.
Admitted    questions that wait for their time begin when `admission` has a slot for them, or are refused.
Planning    is done a few at a time: were it not, a crowd that plans would keep those waiting whose time runs.
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
    """Hands out curators; a context manager that closes them all."""

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
        """Open the ledger and prepare the store, once for all; without deadlines, answers do not wait."""
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
        """The curator of one analyst: what it plans is free, and needs no turn."""
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
        """Lengthen deadlines by how slow this machine is on made-up rows; before anybody asks."""
        if self.deadlines is not None:
            slowness = measure_slowness(self.policy, self._open_engine, self.admission.slots)
            self.deadlines = replace(self.deadlines, slowness=slowness)

    def engine(self) -> Engine:
        """One more engine over the same tables, for what the custodian looks at; its taker closes it.

        No analyst waits for it, so that none can tell how long it took.
        """
        return self._open_engine()

    @contextmanager
    def turn(self, analyst: str) -> Iterator[Curator]:
        """The same, while nobody else asks in this analyst's name."""
        curator = self.of(analyst)
        with self._turns[analyst]:
            yield curator

    @contextmanager
    def planning(self) -> Iterator[None]:
        """A place among the few who plan at once."""
        with self._planning:
            yield

    def plan(self, analyst: str, sql: str, **terms: Any) -> Proposal:
        """What a question would do and cost; takes the arguments of `Curator.plan`."""
        curator = self.of(analyst)
        with self.planning():
            return curator.plan(sql, **terms)

    def ask(self, analyst: str, proposal: Proposal, wanted: Callable[[], bool] = lambda: True) -> Answer:
        """The answer to a proposal, at its time; one that is not `wanted` when its turn comes is left.

        Raises `BusyError` where it cannot begin in time.
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
        """How the work on a question is done: at its time, where there is one."""

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
        """Do the work once the engine is free of what overran, within the time that hides both.

        Nothing else waits for that: when a refusal or a stored answer came would tell how long it went on.
        """
        if (left := self._abandoned.pop(analyst, None)) is not None:
            wait([left])
        return work()

    def _abandon(self, curator: Curator, work: Future[Release]) -> None:
        """Stop what is not done in time, again and again until it ends; its engine is not used before."""
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
        raise RequestError("ask: this was cancelled before anything was charged.", hint="Ask again.")


def _load() -> None:
    """What the first answer needs takes longer to load than its deadline leaves: it would be a fault."""
    query_released_tables("SELECT n FROM released", {"released": pa.table({"n": [0]})})
