"""The curator: uses policy, ledger and engine in the one order that keeps the promise.

    plan (no data) → a stored answer to the same question is free → reserve, durably → engine counts
    → mechanisms → settle → answer

A request that is refused before the reservation costs nothing. After it every outcome keeps the charge; a
fault shows a constant text and suspends the analyst until the custodian clears it.

Belief      covers all answers. Where analysts divide the promise, each sees the belief that follows from
            that analyst's answers alone: other analysts' activity is not disclosed, by a refused budget
            either, and all analysts together keep the promise. The custodian's ledger states both. Where
            they share answers, each sees the belief that follows from all.
Concurrent  a question that is repeated before its first answer is ready, in any thread, process or server
            of the same ledger, waits for that answer and is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Self, TypeVar, Unpack, overload

import pyarrow as pa

from discreet.accounting.entries import Entry, StoredAnswer
from discreet.accounting.ledger import Ledger
from discreet.accounting.measurement_index import MeasurementIndex
from discreet.belief import Promise
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.engine import Closeable, Engine, Stoppable
from discreet.core.engine_faults import run_guarded
from discreet.core.errors import RequestError, require_parameter
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import DEFAULT_CONFIDENCE, Real
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.services import fault_log, policy_engines
from discreet.services.answer_batches import AnswerBatch
from discreet.services.answer_cache import AnswerCache, answer_from_bytes
from discreet.services.answers import Answer, build_answer
from discreet.services.batch_release import release_batch
from discreet.services.bounded_cache import BoundedCache
from discreet.services.budget_units import build_budget_refusal
from discreet.services.charged_release import release_and_settle, release_missing
from discreet.services.check.check import run_check, warn_at_opening
from discreet.services.check.check_report import DataCheck
from discreet.services.check.check_request import make_check_request
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.frames import Frame
from discreet.services.least_purchase import find_measurements
from discreet.services.ledgers import open_ledger
from discreet.services.measurement_store import MeasurementStore
from discreet.services.plan_batches import PlanBatch, find_after
from discreet.services.plans import Budget, Plan
from discreet.services.policies import get_promise, resolve_analyst
from discreet.services.policy_engines import (
    apply_tables,
    read_frames,
    require_unchanged_sources,
    set_session_version,
)
from discreet.services.policy_values import PolicyForm, parse_policy, require_mapping
from discreet.services.progress import ignore_progress
from discreet.services.question_measurement import measure_missing
from discreet.services.question_planner import QuestionPlanner
from discreet.services.question_request import (
    BatchOptions,
    QuestionOptions,
    QuestionRequest,
    Reuse,
    make_batch_requests,
)
from discreet.services.request_fields import make_request
from discreet.services.session_ledger import name_session_ledger
from discreet.services.work_limits import LateResult, WorkLimits
from discreet.sql.expression_tree import Scalar
from discreet.sql.plan_execution import compute_answer
from discreet.sql.planner import QueryPlan
from discreet.sql.releases import IntervalBounds, MeasuredCores, Release

T = TypeVar("T")
MAX_FILE_NAME = 255
MAX_CACHED_ANSWERS, MAX_CACHED_BYTES = 256, 1 << 20
CHARGED = "Epsilon {epsilon:g} was charged for what was measured (entry {entry}): asking about that is free."
ComputedAnswer = tuple[pa.Table, Mapping[str, IntervalBounds], Mapping[str, str]]
"""A table, the intervals of its columns, and their kinds."""
DeadlineRunner = Callable[[Callable[[], MeasuredCores]], MeasuredCores | LateResult[MeasuredCores]]


class Curator(Closeable):
    """Answers SQL questions under a policy.

    `policy` is a dict with the entries of a policy file, a `Policy`, or the path of a file; `tables` are the
    rows of its tables: frames of pandas, polars, Arrow, DuckDB or Spark, or paths. Without a `ledger`, here
    or in the policy, answers are charged to that of the session, which ends with the process. `engine` and
    `data_version` override the policy's entries. It is a context manager.

    >>> import pyarrow as pa
    >>> policy = {"promise": ("1%", "5%"), "tables": {"people": {"columns": {"age": (17, 90)}}}}
    >>> rows = pa.table({"age": [34, 61]})
    >>> with Curator(policy, tables={"people": rows}, ledger=":memory:") as curator:
    ...     answer = curator.ask("SELECT AVG(age) AS age FROM people", epsilon=0.5)
    ...     curator.budget
    <Budget: epsilon 0.5 spent, epsilon 1.15068 left>
    """

    policy: Policy
    ledger: Ledger
    analyst: str
    promise: Promise
    answer_cache: AnswerCache
    measurement_store: MeasurementStore

    def __init__(
        self,
        policy: PolicyForm,
        tables: Mapping[str, Frame | Path | str] | None = None,
        *,
        ledger: Path | str | None = None,
        data_version: str | None = None,
        analyst: str | None = None,
        engine: str | None = None,
        progress: Callable[[str], None] | None = None,
        random: Randomness | None = None,
    ) -> None:
        given = {} if tables is None else require_mapping("tables", tables)
        short = ledger is None or "://" in str(ledger) or len(Path(ledger).name) <= MAX_FILE_NAME
        require_parameter(short, "Curator", "ledger", ledger, "the path of a file, or an address")
        parsed = parse_policy(policy, ledger=ledger, engine=engine, data_version=data_version, tables=given)
        self._open(*apply_tables(parsed, given), analyst=analyst, progress=progress, random=random)

    @classmethod
    @refuse_wrong_types
    def open(
        cls,
        path: Path | str,
        *,
        analyst: str | None = None,
        engine: str | None = None,
        ledger: Path | str | None = None,
        tables: Mapping[str, Frame | Path | str] | None = None,
        progress: Callable[[str], None] | None = None,
        random: Randomness | None = None,
    ) -> Self:
        """Read a policy file, open its ledger, prepare its store if needed, and open the engine isolated."""
        return cls(
            path,
            tables,
            analyst=analyst,
            engine=engine,
            ledger=ledger,
            progress=progress,
            random=random,
        )

    @classmethod
    @refuse_wrong_types
    def open_policy(
        cls,
        policy: Policy,
        *,
        analyst: str | None = None,
        progress: Callable[[str], None] | None = None,
        random: Randomness | None = None,
        separate_promise: bool = False,
    ) -> Self:
        """Open a curator for a policy that has already been read.

        `separate_promise`: accept data that another ledger has marked.
        """
        curator = cls.__new__(cls)
        curator._open(
            policy, {}, analyst=analyst, progress=progress, random=random, separate_promise=separate_promise
        )
        return curator

    @classmethod
    def from_parts(
        cls,
        policy: Policy,
        *,
        ledger: Ledger,
        engine: Engine,
        analyst: str,
        random: Randomness | None = None,
        slack: float = 1.0,
    ) -> Self:
        """Return a curator over a ledger and an engine that are open already."""
        curator = cls.__new__(cls)
        curator._assemble(policy, ledger=ledger, engine=engine, analyst=analyst, random=random, slack=slack)
        return curator

    def _open(
        self,
        policy: Policy,
        frames: Mapping[str, Frame],
        *,
        analyst: str | None,
        progress: Callable[[str], None] | None,
        random: Randomness | None,
        separate_promise: bool = False,
    ) -> None:
        who, read = resolve_analyst(policy, analyst), read_frames(policy, frames)
        policy = set_session_version(policy, frames, read)
        with name_session_ledger(policy.ledger):
            ledger = open_ledger(policy, separate_promise=separate_promise, frames=frames)
        try:
            require_unchanged_sources(policy, read)
            with fault_log.log_faults(policy.ledger):
                engine = policy_engines.open_engine(policy, frames=read, progress=progress)
            warn_at_opening(policy, ledger, read, progress or ignore_progress)
        except BaseException:
            ledger.close()
            raise
        self._assemble(policy, ledger=ledger, engine=engine, analyst=who, random=random, frames=read)

    def _assemble(
        self,
        policy: Policy,
        *,
        ledger: Ledger,
        engine: Engine,
        analyst: str,
        random: Randomness | None,
        slack: float = 1.0,
        frames: Mapping[str, pa.Table] | None = None,
    ) -> None:
        self.frames = dict(frames or {})
        self.policy, self.ledger, self.analyst = policy, ledger, analyst
        self.promise = get_promise(policy)
        self._engine, self._random, self.public_engine = engine, random or Randomness(), engine
        if policy.share_answers:
            ledger.share_answers()
        self.answer_cache = AnswerCache.for_analyst(ledger, policy, analyst)
        self.measurement_store = MeasurementStore(
            index=MeasurementIndex(ledger, analyst, policy.share_answers), policy=policy
        )
        self._computed_answers: BoundedCache[Hashable, Release] = BoundedCache(MAX_CACHED_ANSWERS)
        self._fault_log = fault_log.open_fault_log(policy.ledger)
        self._planner = QuestionPlanner(
            policy=policy,
            promise=self.promise,
            ledger=ledger,
            analyst=analyst,
            belief_scope=self.belief_scope,
            answer_cache=self.answer_cache,
            measurement_store=self.measurement_store,
            work_limits=WorkLimits(policy=policy, slack=slack),
        )

    def __repr__(self) -> str:
        """Return tables, analyst and promise; the ledger may be closed already."""
        return f"<Curator of {', '.join(self.policy.tables)}: analyst {self.analyst}, {self.promise!r}>"

    @property
    def budget(self) -> Budget:
        """The budget of the analyst: `spent`, `left`, and the `belief` that follows from the answers."""
        return Budget(
            spent=self.ledger.get_total_spent(self.analyst),
            left=self.ledger.get_remaining_budget(self.analyst),
            belief=self.ledger.compute_belief(analyst=self.belief_scope),
            sentence=self.ledger.describe_belief(analyst=self.belief_scope),
        )

    def check(self, tables: Sequence[str] = (), *, accept: bool = False, despite: bool = False) -> DataCheck:
        """Return how the data fits the policy, for the custodian alone; `accept` it for analysts.

        Without `tables`, all are checked. Data that departs from the policy by more than its `at_most` is
        accepted only `despite` that.
        """
        request = make_check_request(tables, accept=accept, despite=despite)
        return run_check(self.policy, request, frames=self.frames, ledger=self.ledger)

    @overload
    def plan(self, sql: str, **options: Unpack[QuestionOptions]) -> Plan: ...

    @overload
    def plan(self, sql: list[str] | tuple[str, ...], **options: Unpack[BatchOptions]) -> PlanBatch: ...

    def plan(
        self,
        sql: str | list[str] | tuple[str, ...],
        *,
        epsilon: Real | Sequence[Real] | None = None,
        share: Real | str | None = None,
        within: Real | str | Sequence[Real | str] | None = None,
        least_rows: int | None = None,
        split: Mapping[str, Real] | None = None,
        confidence: Real | str = DEFAULT_CONFIDENCE,
        free: bool = False,
        fresh: bool = False,
        raw: bool = False,
        values: Sequence[Scalar | float] = (),
    ) -> Plan | PlanBatch:
        """Return what a question, or a list of questions, would do and cost. Charges nothing, reads no data.

        Questions of a list are planned together, for one price: `epsilon` is the most to spend for all of
        them, or a list with one for each; `within` holds for each, or is a list.

        `share` and `confidence` may be texts such as "5%". `within` is the largest error allowed for every
        measure; "2%" is a share of ranks. For AVG and MEDIAN it needs `least_rows`, the number of rows that
        every group is assumed to have. `free` refuses what was not released before, `fresh` measures all
        anew. `split` gives columns weights for their part of epsilon. `values` are the values of the
        parameters $1, $2 ….
        """
        fields = {
            "epsilon": epsilon,
            "share": share,
            "within": within,
            "least_rows": least_rows,
            "split": split,
            "confidence": confidence,
            "free": free,
            "fresh": fresh,
            "raw": raw,
            "values": values,
        }
        if isinstance(sql, list | tuple):
            requests, total = make_batch_requests(sql, fields)
            return self.plan_batch(requests, verb="plan", epsilon=total)
        return self.plan_question(make_request(QuestionRequest, sql=sql, **fields), verb="plan")

    def plan_batch(
        self, requests: Sequence[QuestionRequest], *, verb: str = "ask", epsilon: Real | None = None
    ) -> PlanBatch:
        """Return the plan of several requests together; `epsilon` is the most to spend for all of them."""
        return self._planner.plan_batch(requests, self._engine, verb=verb, epsilon=epsilon)

    def _ask_batch(self, batch: PlanBatch) -> AnswerBatch:
        for each in batch.plans:
            self._planner.require_own_plan(each)
        parts = release_batch(self.ledger, self.measurement_store, batch, self._engine, self._random)
        answers = []
        for part in parts:
            proposal, found = part.plan, find_after(part, self.measurement_store)
            charged = proposal.query_plan.compute_charge(part.names)[0] if part.names else Fraction(0)
            if found.missing:  # it compares rows with an answer, which is known by now
                bought = proposal.bought - {*part.names}
                answer = self.ask(replace(proposal, bought=bought))
                answers.append(replace(answer, epsilon=answer.epsilon + float(charged)))
            else:
                answers.append(self._answer(proposal, found, {}, charged=charged, entries=found.entries))
        belief, sentence = self.ledger.state_belief(analyst=self.belief_scope)
        return AnswerBatch(
            answers=tuple(answers),
            epsilon=math.fsum(each.epsilon for each in answers),
            entries=tuple(sorted({entry for each in answers for entry in each.entries})),
            belief=belief,
            sentence=sentence,
        )

    def plan_question(self, request: QuestionRequest, *, verb: str = "ask") -> Plan:
        """Return the plan of a request; `verb` is what a refusal begins with."""
        return self._planner.plan(request, self._engine, verb=verb)

    @overload
    def ask(
        self,
        question: str | Plan,
        *,
        run_with_deadline: DeadlineRunner = ...,
        **options: Unpack[QuestionOptions],
    ) -> Answer: ...

    @overload
    def ask(self, question: PlanBatch) -> AnswerBatch: ...

    def ask(
        self,
        question: str | Plan | PlanBatch,
        *,
        epsilon: Real | None = None,
        share: Real | str | None = None,
        within: Real | str | None = None,
        least_rows: int | None = None,
        split: Mapping[str, Real] | None = None,
        confidence: Real | str = DEFAULT_CONFIDENCE,
        free: bool = False,
        fresh: bool = False,
        raw: bool = False,
        values: Sequence[Scalar | float] = (),
        run_with_deadline: DeadlineRunner = lambda work: work(),
    ) -> Answer | AnswerBatch:
        """Return the answer to a question or a plan; the same analyst repeats a question for free.

        The answers to questions that were planned together are in their order; nothing is charged if one of
        them is refused, or if all of them do not fit.

        `run_with_deadline` runs the work on the data. If it raises, that is an engine fault; if it returns a
        `LateResult`, the analyst is suspended.
        """
        if isinstance(question, PlanBatch):
            return self._ask_batch(question)
        wanted = "a question in SQL, or a plan of it"
        require_parameter(isinstance(question, str | Plan), "ask", "question", question, wanted)
        if isinstance(question, Plan):
            proposal = self._planner.require_own_plan(question)
        else:
            proposal = self.plan_question(
                make_request(
                    QuestionRequest,
                    sql=question,
                    epsilon=epsilon,
                    share=share,
                    within=within,
                    least_rows=least_rows,
                    split=split,
                    confidence=confidence,
                    free=free,
                    fresh=fresh,
                    raw=raw,
                    values=values,
                )
            )
        plan = proposal.query_plan
        found = find_measurements(self.measurement_store, proposal)
        looks_back = found.missing and proposal.reuse is not Reuse.NOTHING
        former = self.answer_cache.find(proposal.key) if looks_back else None
        if former is not None:
            stored = answer_from_bytes(former.answer)
            return self._build_answer(plan, stored, charged=Fraction(0), entries=(former.entry.number,))
        charged, entries, measured = Fraction(0), found.entries, None
        if found.missing:
            found, measured, entry = release_missing(
                self.ledger,
                self.measurement_store,
                proposal,
                found,
                lambda found: run_with_deadline(
                    lambda: measure_missing(plan, found, self._engine, self._random, self.policy)
                ),
            )
            entries = (*found.entries, *([] if entry is None else [entry.number]))
            charged = plan.compute_charge(found.missing)[0] if measured is not None else charged
        return self._answer(proposal, found, measured or {}, charged=charged, entries=entries)

    def _answer(
        self,
        proposal: Plan,
        found: FoundMeasurements,
        measured: MeasuredCores,
        *,
        charged: Fraction,
        entries: tuple[int, ...],
    ) -> Answer:
        """Return the answer that follows from what is stored and what was measured now."""
        plan = self.measurement_store.apply_noise(proposal.query_plan, found, proposal.text)
        # before anything is computed: whether that fails depends on the cells, too
        self.measurement_store.note_shown(found, proposal.text)
        key = (
            proposal.key,
            plan.was_shown,
            found.sources,
            tuple(plan.constants.items()),
            max(entries) if measured else None,
        )
        try:
            release = self._computed_answers.get_or_compute(
                key,
                lambda: compute_answer(
                    plan, found.combine(measured), query_released_tables, self.public_engine
                ),
                is_kept=lambda computed: computed.table.nbytes <= MAX_CACHED_BYTES,
            )
        except RequestError as failure:
            if not charged:
                raise
            hint = f"{failure.hint} {CHARGED.format(epsilon=float(charged), entry=max(entries))}"
            raise type(failure)(failure.message, hint=hint) from None
        computed = release.table, dict(release.intervals), dict(release.interval_kinds)
        return self._build_answer(plan, computed, charged=charged, entries=entries)

    def _build_answer(
        self, plan: QueryPlan, computed: ComputedAnswer, *, charged: Fraction, entries: tuple[int, ...]
    ) -> Answer:
        belief, sentence = self.ledger.state_belief(analyst=self.belief_scope)
        return build_answer(
            plan,
            *computed,
            charged=charged,
            entries=entries,
            belief=belief,
            sentence=sentence,
        )

    def wait_for_others(self, proposal: Plan) -> None:
        """Wait while analysts who share answers measure what a plan lacks, which is free then."""
        index = self.measurement_store.index
        if index.is_shared:
            found = find_measurements(self.measurement_store, proposal)
            index.wait_for([found.identities[name] for name in found.missing])

    def charge_and_release(
        self,
        key: str,
        text: str,
        guarantee: Guarantee,
        compute: Callable[[Engine, Randomness], T],
        serialize: Callable[[T], bytes],
        metadata: Mapping[str, object] | None = None,
        *,
        verb: str,
    ) -> tuple[T, Entry]:
        """Reserve the guarantee, then return the release that `compute` makes with the engine.

        `serialize` turns the release into the bytes that the ledger stores. The charge stays even if
        `compute` fails. A refusal begins with the `verb`.
        """
        try:
            entry = self.ledger.reserve(self.analyst, key, text, guarantee)
        except RequestError as refusal:
            raise build_budget_refusal(self.ledger, self.analyst, verb, refusal, guarantee) from None
        return self._release(entry, compute, serialize, metadata)

    def release_or_replay(
        self,
        key: str,
        text: str,
        guarantee: Guarantee,
        compute: Callable[[Engine, Randomness], T | LateResult[T]],
        serialize: Callable[[T], bytes],
        metadata: Mapping[str, object] | None = None,
        *,
        identities: Collection[str] = (),
    ) -> tuple[T, Entry] | StoredAnswer:
        """Return the analyst's stored release for `key`; otherwise charge and run `compute`.

        `identities` are the measurements that it releases, for the measurement store.
        """
        found = self.answer_cache.find_or_reserve(key, text, guarantee)
        if isinstance(found, StoredAnswer):
            return found
        self.measurement_store.index.announce(found, identities)
        return self._release(found, compute, serialize, metadata)

    def _release(
        self,
        entry: Entry,
        compute: Callable[[Engine, Randomness], T | LateResult[T]],
        serialize: Callable[[T], bytes],
        metadata: Mapping[str, object] | None,
    ) -> tuple[T, Entry]:
        return release_and_settle(
            self.ledger, entry, lambda: compute(self._engine, self._random), serialize, metadata
        )

    def stop_work(self) -> None:
        """Cancel the statement that the engine is running, if the engine supports it."""
        if isinstance(self._engine, Stoppable):
            self._engine.stop()

    def inspect_data(self, inspect: Callable[[Engine], T]) -> T:
        """Return what `inspect` reads, for the custodian only; it is not released, so nothing is charged."""
        return run_guarded(lambda: inspect(self._engine))

    @property
    def belief_scope(self) -> str | None:
        """The analyst whose answers belief covers; None for all, if there is one analyst, or they share."""
        return None if len(self.policy.analysts) < 2 or self.policy.share_answers else self.analyst

    def close(self) -> None:
        """Close the engine and the ledger."""
        fault_log.close_fault_log(self._fault_log)
        self._fault_log = None
        try:
            self._engine.close()
        finally:
            self.ledger.close()
