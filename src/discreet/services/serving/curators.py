"""Curators of a server: one promise, one ledger, one store, and a curator for each analyst.

Isolation   Each analyst has an engine, so that no analyst waits for another, and one more for public tables,
            which are free: the first may still be busy with work that overran its deadline.
In turn     One analyst's questions are answered one after the other, from all listeners. So a question asked
            twice at once waits for its first answer, and the time of one answer does not reveal how long
            another took. Over several servers the ledger ensures the same.
Admission   A question with a deadline begins when `admission` has a slot for it, or is refused.
Marks       A server of a shared ledger writes its marks forward every few seconds, to what others charged.
Accepted    Nobody is answered before the custodian has accepted the data (`check.acceptance`).
Planning    Only a few plans are made at once: otherwise planning would slow down questions with a deadline.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Self

import pyarrow as pa

from discreet.accounting.data_acceptance import TableState
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_storage import is_database_address
from discreet.core.engine import Closeable, Engine
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.engines.released_queries import query_released_tables
from discreet.services import fault_log
from discreet.services.answers import Answer
from discreet.services.check.acceptance import NotAcceptedError, find_table_states, list_unaccepted
from discreet.services.check.check import CheckSummary, check_at_opening
from discreet.services.curator import Curator
from discreet.services.ledgers import open_ledger
from discreet.services.plan_batches import PlanBatch
from discreet.services.plans import Plan
from discreet.services.policies import resolve_analyst
from discreet.services.policy_engines import make_engine_opener, require_unchanged_sources
from discreet.services.progress import ignore_progress
from discreet.services.question_request import QuestionRequest
from discreet.services.serving.admission import Admission
from discreet.services.serving.query_timeouts import Deadlines, measure_slowness
from discreet.services.work_limits import LateResult
from discreet.sql.releases import MeasuredCores

MAX_CONCURRENT_PLANS = 2
POLL_INTERVAL = 0.2
MARK_INTERVAL = 5.0
"""Seconds by which the marks of a server may be behind what other servers have charged to their ledger."""
CLOSE_TIMEOUT = 10.0


class Curators(Closeable):
    """The curators of all analysts; a context manager that closes them."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        open_engine: Callable[[], Engine],
        deadlines: Deadlines | None = None,
        admission: Admission | None = None,
    ) -> None:
        self.policy, self.ledger, self.deadlines = policy, ledger, deadlines
        self.admission = admission or Admission()
        self._open_engine = open_engine
        self._curators: dict[str, Curator] = {}
        self._analyst_locks: dict[str, threading.Lock] = {}
        self._creation_lock = threading.Lock()
        self._planning_slots = threading.BoundedSemaphore(MAX_CONCURRENT_PLANS)
        self._abandoned_work: dict[str, Future[MeasuredCores]] = {}
        self._closing = threading.Event()
        self._is_accepted = False
        self._running_questions = 0
        self.check_summaries: list[CheckSummary] = []
        self._marks_thread: threading.Thread | None = None
        # only a ledger in a database is shared by servers that have marks of their own
        if is_database_address(ledger.storage.place):
            self._marks_thread = threading.Thread(
                target=self._refresh_marks, daemon=True, name="discreet-marks"
            )
            self._marks_thread.start()

    @classmethod
    def open_policy(
        cls,
        policy: Policy,
        *,
        deadlines: Deadlines | None = None,
        admission: Admission | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Self:
        """Open the ledger, prepare the store, check the data; without deadlines, answers are not delayed."""
        ledger = open_ledger(policy)
        try:
            require_unchanged_sources(policy)
            with fault_log.log_faults(policy.ledger):
                engine = make_engine_opener(policy, progress=progress)
            summaries = check_at_opening(policy, progress or ignore_progress)
        except BaseException:
            ledger.close()
            raise
        _load_answer_libraries()
        curators = cls(policy, ledger, engine, deadlines, admission)
        curators.check_summaries = summaries
        return curators

    def for_analyst(self, analyst: str) -> Curator:
        """Return the curator of an analyst; planning with it is free and needs no turn."""
        with self._creation_lock:
            if analyst not in self._curators:
                # an engine for each, so that nobody's statement waits for another analyst's
                who, engine = resolve_analyst(self.policy, analyst), self._open_engine()
                self._analyst_locks[analyst] = threading.Lock()
                self._curators[analyst] = Curator.from_parts(
                    self.policy,
                    ledger=self.ledger,
                    engine=engine,
                    analyst=who,
                    slack=1.0 if self.deadlines is None else self.deadlines.slack,
                )
                self._curators[analyst].public_engine = LazyEngine(self._open_engine)
            return self._curators[analyst]

    @cached_property
    def table_states(self) -> dict[str, TableState]:
        """The state of each table that is served, to which the custodian's acceptance is bound."""
        return find_table_states(self.policy)

    def require_accepted(self) -> None:
        """Refuse a question as long as the custodian has not accepted the data, whatever is asked."""
        if not self._is_accepted:
            if list_unaccepted(self.ledger, self.table_states):
                raise NotAcceptedError
            self._is_accepted = True

    def calibrate(self) -> None:
        """Lengthen deadlines by the measured slowness of this machine, before the first question."""
        if self.deadlines is not None:
            slowness = measure_slowness(self.policy, self._open_engine, self.admission.slots)
            self.deadlines = replace(self.deadlines, slowness=slowness)

    def open_engine(self) -> Engine:
        """Open another engine over the same tables, for the custodian; the caller closes it.

        No analyst waits for it, so that none can observe how long it took.
        """
        return self._open_engine()

    @contextmanager
    def take_turn(self, analyst: str) -> Iterator[Curator]:
        """Yield the analyst's curator, while no other question of this analyst runs."""
        curator = self.for_analyst(analyst)
        with self._analyst_locks[analyst]:
            yield curator

    @contextmanager
    def hold_planning_slot(self) -> Iterator[None]:
        """Hold one of the few slots for planning within the context."""
        with self._planning_slots:
            yield

    def plan(self, analyst: str, request: QuestionRequest, *, verb: str = "ask") -> Plan:
        """Return the proposal for a question; a refusal begins with the verb."""
        with self._count_question():
            curator = self.for_analyst(analyst)
            with self.hold_planning_slot():
                return curator.plan_question(request, verb=verb)

    def plan_batch(
        self, analyst: str, requests: Sequence[QuestionRequest], *, verb: str = "ask"
    ) -> PlanBatch:
        """Return the plan of several questions together; a refusal begins with the verb."""
        with self._count_question():
            curator = self.for_analyst(analyst)
            with self.hold_planning_slot():
                return curator.plan_batch(requests, verb=verb)

    def ask(self, analyst: str, proposal: Plan, should_continue: Callable[[], bool] = lambda: True) -> Answer:
        """Return the answer to a proposal at its fixed time.

        Raises `BusyError` if it cannot begin in time, `NotAcceptedError` before the custodian has accepted
        the data, and `RequestError` if `should_continue` is false when its turn comes.
        """
        with self._count_question():
            self.require_accepted()
            return self._ask_in_turn(analyst, proposal, should_continue)

    def _ask_in_turn(self, analyst: str, proposal: Plan, should_continue: Callable[[], bool]) -> Answer:
        deadlines = self.deadlines
        # a stored answer reads no data, so that its time reveals nothing
        if deadlines is None or proposal.repeated:
            with self.take_turn(analyst) as curator:
                _require_not_cancelled(should_continue)
                return curator.ask(proposal, run_with_deadline=self._make_deadline_runner(curator, proposal))
        # before a slot is booked, which is not to be over when the rest is measured
        self.for_analyst(analyst).wait_for_others(proposal)
        booking = self.admission.book(analyst, deadlines.compute_fixed_time(proposal.query_plan))
        began = False

        def run_with_deadline(
            compute: Callable[[], MeasuredCores],
        ) -> MeasuredCores | LateResult[MeasuredCores]:
            nonlocal began
            began = True
            return self._make_deadline_runner(curator, proposal)(compute)

        try:
            while (left := booking.begins - self.admission.clock()) > 0:
                time.sleep(min(left, POLL_INTERVAL))
                _require_not_cancelled(should_continue)
            with self.take_turn(analyst) as curator:
                _require_not_cancelled(should_continue)
                return curator.ask(proposal, run_with_deadline=run_with_deadline)
        finally:
            if not began:
                self.admission.cancel(analyst, booking)

    def _make_deadline_runner(
        self, curator: Curator, proposal: Plan
    ) -> Callable[[Callable[[], MeasuredCores]], MeasuredCores | LateResult[MeasuredCores]]:
        """Return the function that runs the work on a question, to its deadline if there is one."""

        def run_with_deadline(
            compute: Callable[[], MeasuredCores],
        ) -> MeasuredCores | LateResult[MeasuredCores]:
            if self.deadlines is None:
                return compute()
            return self.deadlines.run_until_deadline(
                proposal.query_plan,
                lambda: self._run_after_overrun(curator.analyst, compute),
                lambda left: self._abandon_work(curator, left),
            )

        return run_with_deadline

    def _run_after_overrun(self, analyst: str, compute: Callable[[], MeasuredCores]) -> MeasuredCores:
        """Run `compute` once the analyst's engine has finished an earlier overrun.

        The wait is part of the fixed time. Refusals and stored answers do not wait: the time of their arrival
        would reveal how long the overrun went on.
        """
        if (left := self._abandoned_work.pop(analyst, None)) is not None:
            wait([left])
        return compute()

    def _abandon_work(self, curator: Curator, work: Future[MeasuredCores]) -> None:
        """Interrupt work that overran, repeatedly until it ends; its engine is not used before."""
        self._abandoned_work[curator.analyst] = work

        def interrupt_until_done() -> None:
            while not wait([work], POLL_INTERVAL).done:
                curator.stop_work()

        threading.Thread(target=interrupt_until_done, daemon=True, name="discreet-stop").start()

    def _refresh_marks(self) -> None:
        """Write this server's marks forward to what other servers have charged, until it is closed."""
        while not self._closing.wait(MARK_INTERVAL):
            with suppress(DiscreetError):  # the next question says what is wrong with the ledger
                self.ledger.refresh_marks()

    @contextmanager
    def _count_question(self) -> Iterator[None]:
        """Count a question that runs within the context."""
        with self._creation_lock:
            self._running_questions += 1
        try:
            yield
        finally:
            with self._creation_lock:
                self._running_questions -= 1

    def close_if_idle(self) -> bool:
        """Close curators that another policy has replaced, if none of their questions runs any more."""
        with self._creation_lock:
            if self._running_questions or any(not each.done() for each in self._abandoned_work.values()):
                return False
        self.close()
        return True

    def close(self) -> None:
        self._closing.set()
        if self._marks_thread is not None:
            self._marks_thread.join(CLOSE_TIMEOUT)
        for curator in self._curators.values():
            curator.public_engine.close()
            curator.close()
        self.ledger.close()


class LazyEngine(Closeable):
    """An engine that is opened by the first statement."""

    def __init__(self, open_engine: Callable[[], Engine]) -> None:
        self._open_engine = open_engine
        self._engine: Engine | None = None

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT."""
        if self._engine is None:
            self._engine = self._open_engine()
        return self._engine.count(sql)

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()


def _require_not_cancelled(should_continue: Callable[[], bool]) -> None:
    if not should_continue():
        raise RequestError("ask: the question was cancelled before anything was charged.", hint="Ask again.")


def _load_answer_libraries() -> None:
    """Run one empty answer: loading its libraries would take longer than the first deadline allows."""
    query_released_tables("SELECT n FROM released", {"released": pa.table({"n": [0]})})
