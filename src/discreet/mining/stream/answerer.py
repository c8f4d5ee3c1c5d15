"""The online answerer: each query of a stream is answered before the next one is known.

    the same question again → the same answer, for nothing
    nothing that it counts is possible   → 0, for nothing
    test: does what is known answer it?  yes → the known answer     no → a noisy count, which is learned from

Reads       one histogram over the universe, by one statement, when it is opened. It stays `Exact`.
Guarantee   that of the plan. The number of rows, the test and the noisy counts are its `parts`; each is
            private whatever was released before, so they add up. What is known follows from the released.
End         after the planned number of queries or updates; the refusal reveals no more than the answers
            did, so it is the same on neighbors.
Threads     ask one after the other, under one lock: what is known, what was asked and what passed are one
            state, and each answer is drawn after it was counted. A child process has a copy of that state,
            which would pay for every answer once and give it twice: a stream is not asked after a fork.
"""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, RequestError
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Booleans, Integers
from discreet.mining.counting import Counter, EngineCounter
from discreet.mining.stream import candidates
from discreet.mining.stream.candidates import Candidates
from discreet.mining.stream.plan import CONFIDENCE, StreamPlan
from discreet.mining.stream.questions import Asked
from discreet.mining.stream.sparse_vector import Watch
from discreet.mining.stream.weights import Weights
from discreet.mining.tabulation.budget import deviation
from discreet.sql.plan_execution import Afterwards


class Knowledge(Protocol):
    """An estimate of the cells from released answers."""

    def guess(self, asked: Booleans) -> int:
        """Return the estimated answer."""

    def hardness(self, asked: Booleans, count: int) -> int:
        """Return the error of the estimate for the exact count; it is not released."""

    def learn(self, asked: Booleans, answer: int) -> None:
        """Update with a released count."""


@dataclass(frozen=True, kw_only=True)
class StreamAnswer:
    """A released count; `fresh` if it was counted for this query, with its `error95`."""

    count: int
    fresh: bool
    error95: int


class OnlineAnswerer:
    """An answerer of counting queries over one table, one after the other."""

    def __init__(self, plan: StreamPlan, counts: Exact[Integers], random: Randomness) -> None:
        self.plan, self.asked, self.updates = plan, 0, 0
        self._counts, self._random = Exact(counts.secret[plan.universe.possible]), random
        self._lock, self._process = threading.Lock(), os.getpid()
        self._told: dict[bytes, StreamAnswer] = {}
        self._known: Knowledge | None = None
        self._watch: Watch | None = None
        if plan.testing is not None:
            self._known = self._knowledge()
            threshold = candidates.HARD if plan.method == "median" else plan.width
            self._watch = Watch(plan.testing, threshold, random)

    @classmethod
    def open(cls, plan: StreamPlan, policy: Policy, engine: Engine, random: Randomness) -> OnlineAnswerer:
        """Open a stream over a table of the policy, by one statement."""
        counter = EngineCounter.of_table(engine, policy, plan.table, plan.universe.schema)
        return cls.from_counter(plan, counter, random)

    @classmethod
    def from_counter(cls, plan: StreamPlan, counter: Counter, random: Randomness) -> OnlineAnswerer:
        """Open a stream over any counter."""
        plan.budget.require_bounded(counter.rows_per_person)
        (counts,) = counter.marginals([tuple(each.name for each in plan.universe.schema.attributes)]).secret
        return cls(plan, Exact(counts.reshape(-1)), random)

    @property
    def over(self) -> str:
        """The reason why no further query is answered; empty while the stream is open."""
        plan = self.plan
        if self.asked >= plan.questions:
            return f"all {plan.questions:,} questions of the stream are asked"
        if self._watch is not None and self._watch.over:
            return f"all {plan.updates:,} updates of the stream are used"
        return ""

    def ask(self, question: Asked, run: Afterwards) -> StreamAnswer:
        """Answer a query in SQL, or refuse it at no cost."""
        return self.answer(self.plan.universe.predicate(question, run))

    def answer(self, cells: Booleans) -> StreamAnswer:
        """Return the number of rows in these combinations of bins, given as a mask."""
        flat = cells.reshape(-1)[self.plan.universe.possible]
        if not flat.any():
            return StreamAnswer(count=0, fresh=False, error95=0)
        key = hashlib.sha256(np.packbits(flat).tobytes()).digest()
        if self._process != os.getpid():
            raise RequestError(
                "stream: it was opened before a fork.", hint="Ask it in the process that opened it."
            )
        with self._lock:
            if key not in self._told:
                self._require_open()
                self.asked += 1
                self._told[key] = self._answered(flat)
            return self._told[key]

    def _require_open(self) -> None:
        if self.over:
            raise BudgetError(f"stream: {self.over}.", hint="Open another stream, with a budget of its own.")

    def _answered(self, cells: Booleans) -> StreamAnswer:
        plan, count = self.plan, Exact(int(self._counts.secret[cells].sum()))
        if self._known is None or self._watch is None:
            return self._fresh(count)
        hard = self._watch.passes(Exact(self._known.hardness(cells, count.secret)))
        if not hard:
            return StreamAnswer(count=self._known.guess(cells), fresh=False, error95=plan.error95)
        self.updates += 1
        found = self._fresh(count)
        self._known.learn(cells, found.count)
        return found

    def _fresh(self, count: Exact[int]) -> StreamAnswer:
        noisy = self.plan.answering.release(count, self._random).value
        return StreamAnswer(count=max(0, noisy), fresh=True, error95=self.plan.fresh95)

    def _knowledge(self) -> Knowledge:
        """Return the initial knowledge: the cells, and the number of rows."""
        plan = self.plan
        rows = plan.rows
        if rows is None:
            assert plan.counting is not None
            total = Exact(int(self._counts.secret.sum()))
            rows = max(1, plan.counting.release(total, self._random).value)
        if plan.method == "weights":
            return Weights(plan.universe.cells, rows=rows, deviation=deviation(plan.answering))
        sure = 1 - (1 - CONFIDENCE) / plan.updates
        band = float(plan.answering.half_width(sure))
        return Candidates(plan.universe.cells, size=plan.size, rows=rows, width=plan.width, band=band)
