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
from discreet.mining.bin_counters import Counter, EngineCounter
from discreet.mining.stream import median_mechanism
from discreet.mining.stream.median_mechanism import CandidateDatabases
from discreet.mining.stream.multiplicative_weights import MultiplicativeWeights
from discreet.mining.stream.sparse_vector import SparseVectorRun
from discreet.mining.stream.stream_plan import CONFIDENCE, StreamPlan
from discreet.mining.stream.universe import CountingQuery
from discreet.mining.tabulation.noise_budget import compute_deviation
from discreet.sql.releases import PostProcessor


class Knowledge(Protocol):
    """An estimate of the cells from released answers."""

    def estimate_count(self, query: Booleans) -> int:
        """Return the estimated answer."""

    def compute_hardness(self, query: Booleans, count: int) -> int:
        """Return the error of the estimate for the exact count; it is not released."""

    def update(self, query: Booleans, answer: int) -> None:
        """Update with a released count."""


@dataclass(frozen=True, kw_only=True)
class StreamAnswer:
    """A released count; `is_fresh` if it was counted for this query, with its `error95`."""

    count: int
    is_fresh: bool
    error95: int


class OnlineAnswerer:
    """An answerer of counting queries over one table, one after the other."""

    def __init__(self, plan: StreamPlan, counts: Exact[Integers], random: Randomness) -> None:
        self.plan, self.asked, self.updates = plan, 0, 0
        self._counts, self._random = Exact(counts.secret[plan.universe.possible]), random
        self._lock, self._process = threading.Lock(), os.getpid()
        self._answers: dict[bytes, StreamAnswer] = {}
        self._known: Knowledge | None = None
        self._watch: SparseVectorRun | None = None
        if plan.sparse_vector is not None:
            self._known = self._make_knowledge()
            threshold = median_mechanism.HARDNESS_THRESHOLD if plan.method == "median" else plan.width
            self._watch = SparseVectorRun(plan.sparse_vector, threshold, random)

    @classmethod
    def open(cls, plan: StreamPlan, policy: Policy, engine: Engine, random: Randomness) -> OnlineAnswerer:
        """Open a stream over a table of the policy, by one statement."""
        counter = EngineCounter.from_table(engine, policy, plan.table, plan.universe.schema)
        return cls.from_counter(plan, counter, random)

    @classmethod
    def from_counter(cls, plan: StreamPlan, counter: Counter, random: Randomness) -> OnlineAnswerer:
        """Open a stream over any counter."""
        plan.budget.require_bounded(counter.rows_per_person)
        (counts,) = counter.count_marginals(
            [tuple(each.name for each in plan.universe.schema.attributes)]
        ).secret
        return cls(plan, Exact(counts.reshape(-1)), random)

    @property
    def end_reason(self) -> str:
        """The reason why no further query is answered; empty while the stream is open."""
        plan = self.plan
        if self.asked >= plan.questions:
            return f"all {plan.questions:,} questions of the stream are asked"
        if self._watch is not None and self._watch.is_exhausted:
            return f"all {plan.updates:,} updates of the stream are used"
        return ""

    def ask(self, query: CountingQuery, run_sql: PostProcessor) -> StreamAnswer:
        """Answer a query in SQL, or refuse it at no cost."""
        return self.answer_cells(self.plan.universe.find_cells(query, run_sql))

    def answer_cells(self, cells: Booleans) -> StreamAnswer:
        """Return the number of rows in these combinations of bins, given as a mask."""
        flat = cells.reshape(-1)[self.plan.universe.possible]
        if not flat.any():
            return StreamAnswer(count=0, is_fresh=False, error95=0)
        key = hashlib.sha256(np.packbits(flat).tobytes()).digest()
        if self._process != os.getpid():
            raise RequestError(
                "stream: it was opened before a fork.", hint="Ask it in the process that opened it."
            )
        with self._lock:
            if key not in self._answers:
                self._require_open()
                self.asked += 1
                self._answers[key] = self._compute_answer(flat)
            return self._answers[key]

    def _require_open(self) -> None:
        if self.end_reason:
            raise BudgetError(
                f"stream: {self.end_reason}.", hint="Open another stream, with a budget of its own."
            )

    def _compute_answer(self, cells: Booleans) -> StreamAnswer:
        plan, count = self.plan, Exact(int(self._counts.secret[cells].sum()))
        if self._known is None or self._watch is None:
            return self._release_count(count)
        hard = self._watch.test_score(Exact(self._known.compute_hardness(cells, count.secret)))
        if not hard:
            return StreamAnswer(count=self._known.estimate_count(cells), is_fresh=False, error95=plan.error95)
        self.updates += 1
        found = self._release_count(count)
        self._known.update(cells, found.count)
        return found

    def _release_count(self, count: Exact[int]) -> StreamAnswer:
        noisy = self.plan.answer_noise.release(count, self._random).value
        return StreamAnswer(count=max(0, noisy), is_fresh=True, error95=self.plan.fresh_error95)

    def _make_knowledge(self) -> Knowledge:
        """Return the initial knowledge: the cells, and the number of rows."""
        plan = self.plan
        rows = plan.rows
        if rows is None:
            assert plan.row_count_noise is not None
            total = Exact(int(self._counts.secret.sum()))
            rows = max(1, plan.row_count_noise.release(total, self._random).value)
        if plan.method == "weights":
            return MultiplicativeWeights(
                plan.universe.cells, rows=rows, deviation=compute_deviation(plan.answer_noise)
            )
        sure = 1 - (1 - CONFIDENCE) / plan.updates
        band = float(plan.answer_noise.half_width(sure))
        return CandidateDatabases(plan.universe.cells, size=plan.size, rows=rows, width=plan.width, band=band)
