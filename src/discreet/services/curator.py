"""The curator: uses policy, ledger and engine in the one order that keeps the promise.

    plan (no data) → a stored answer to the same question is free → reserve, durably → engine counts
    → mechanisms → settle → answer

A request that is refused before the reservation costs nothing. After it every outcome keeps the charge; a
fault shows a constant text and suspends the analyst until the custodian clears it.

Belief      covers all answers. Where analysts divide the promise, each sees the belief that follows from
            that analyst's answers alone: other analysts' activity is not disclosed, by a refused budget
            either, and all analysts together keep the promise. The custodian's ledger states both.
Concurrent  a question that is repeated before its first answer is ready, in any thread, process or server
            of the same ledger, waits for that answer and is free.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Self, TypeVar

import pyarrow as pa

from discreet.accounting.entries import Entry, StoredAnswer
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_storage import MEMORY
from discreet.belief import Promise
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.engine import Closeable, Engine, Stoppable, ValidatesStatements
from discreet.core.engine_faults import log_fault, run_charged, run_guarded
from discreet.core.errors import EngineFault, RequestError, require_parameter
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import Real
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import query_released_tables
from discreet.services import fault_log, policy_engines
from discreet.services.answer_cache import AnswerCache, answer_from_bytes, answer_to_bytes
from discreet.services.answers import Answer, IntervalBounds
from discreet.services.budget_units import build_budget_refusal, compute_share
from discreet.services.check.check import check_at_opening, run_check
from discreet.services.check.check_request import make_check_request
from discreet.services.check.data_check import DataCheck
from discreet.services.frames import Frame
from discreet.services.ledgers import open_ledger
from discreet.services.plans import Budget, Plan, QuestionPricing, list_errors
from discreet.services.policies import get_promise, resolve_analyst
from discreet.services.policy_engines import (
    apply_tables,
    read_frames,
    require_unchanged_sources,
    set_session_version,
)
from discreet.services.policy_values import PolicyForm, parse_policy, require_mapping
from discreet.services.progress import ignore_progress
from discreet.services.question_request import QuestionRequest
from discreet.services.request_fields import make_request
from discreet.services.session_ledger import name_session_ledger
from discreet.services.work_limits import LateResult, WorkLimits
from discreet.sql.accuracy import find_measures_by_column, find_rank_error
from discreet.sql.expression_tree import Scalar
from discreet.sql.plan_execution import Release, execute_plan
from discreet.sql.planner import CONFIDENCE, QueryPlan
from discreet.sql.query_parameters import fill_parameters
from discreet.sql.query_parser import parse_statement

T = TypeVar("T")
MAX_FILE_NAME = 255
VERB = re.compile(r"^ask(?=[.:])")
"""The verb that the planner's refusals begin with."""


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
            if policy.is_embedded and policy.ledger != MEMORY and not read:
                check_at_opening(policy, progress or ignore_progress)
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
        self._work_limits = WorkLimits(policy=policy, slack=slack)
        self.promise = get_promise(policy)
        self._engine, self._random = engine, random or Randomness()
        self.answer_cache = AnswerCache.for_analyst(ledger, policy, analyst)
        self._fault_log = fault_log.open_fault_log(policy.ledger)
        self._pricing = QuestionPricing(policy, self.promise)

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

    def plan(
        self,
        sql: str,
        *,
        epsilon: Real | None = None,
        share: Real | str | None = None,
        within: Real | str | None = None,
        least_rows: int | None = None,
        split: Mapping[str, Real] | None = None,
        confidence: Real | str = CONFIDENCE,
        raw: bool = False,
        values: Sequence[Scalar | float] = (),
    ) -> Plan:
        """Return what a question would do and cost. Charges nothing, reads no data.

        `share` and `confidence` may be texts such as "5%". `within` is the largest error allowed for every
        measure; "2%" is a share of ranks. For AVG and MEDIAN it needs `least_rows`, the number of rows that
        every group is assumed to have. `split` gives columns weights for their part of epsilon. `values` are
        the values of the parameters $1, $2 ….
        """
        request = make_request(
            QuestionRequest,
            sql=sql,
            epsilon=epsilon,
            share=share,
            within=within,
            least_rows=least_rows,
            split=split,
            confidence=confidence,
            raw=raw,
            values=values,
        )
        return self.plan_question(request, verb="plan")

    def plan_question(self, request: QuestionRequest, *, verb: str = "ask") -> Plan:
        """Return the plan of a request; `verb` is what a refusal begins with."""
        try:
            return self._plan_question(request)
        except RequestError as refusal:
            message = VERB.sub(verb, refusal.message)
            raise type(refusal)(message, hint=refusal.hint) from None

    def _plan_question(self, request: QuestionRequest) -> Plan:
        spent = self.ledger.get_accountant(self.belief_scope)
        priced = self._pricing.plan_by_epsilon(request, leak=getattr(spent.limit, "delta", 0))
        made = self._find_former_plan(request, priced) or priced(
            self._pricing.choose_epsilon(request, priced, spent)
        )
        self._work_limits.require_within_limits(made)
        self._require_valid_statements(made)
        key = self.answer_cache.compute_question_key(made.release_key)
        stored = self.answer_cache.find(key)
        repeated = stored is not None
        before = spent.compute_belief()
        fits = repeated or self.ledger.has_room_for(self.analyst, made.guarantee)
        after = spent.spend(made.guarantee).compute_belief() if fits and not repeated else before
        return Plan(
            text=_write_question(request),
            query_plan=made,
            key=key,
            belief_before=before,
            belief_after=after,
            uncovered=self.ledger.describe_uncovered(),
            repeated=repeated,
            entry=None if stored is None else stored.entry.number,
            fits=fits,
            share=compute_share(spent.compute_cost(made.guarantee), spent.limit),
            plan_at=priced,
        )

    def _find_former_plan(
        self, request: QuestionRequest, plan_at: Callable[[Real], QueryPlan]
    ) -> QueryPlan | None:
        """Return the plan of a share as earlier versions read it, of epsilon, if its answer is stored.

        What was paid for stays free. Without a tail, a share of the promise is one of epsilon still.
        """
        if not request.share or not self.promise.tail or request.epsilon or request.within:
            return None
        former = plan_at(Fraction(self.promise.epsilon) * Fraction(request.share))
        stored = self.answer_cache.find(self.answer_cache.compute_question_key(former.release_key))
        return None if stored is None else former

    def ask(
        self,
        question: str | Plan,
        *,
        epsilon: Real | None = None,
        share: Real | str | None = None,
        within: Real | str | None = None,
        least_rows: int | None = None,
        split: Mapping[str, Real] | None = None,
        confidence: Real | str = CONFIDENCE,
        raw: bool = False,
        values: Sequence[Scalar | float] = (),
        run_with_deadline: Callable[[Callable[[], Release]], Release | LateResult[Release]] = lambda work: (
            work()
        ),
    ) -> Answer:
        """Return the answer to a question or a plan; the same analyst repeats a question for free.

        `run_with_deadline` runs the work on the data. If it raises, that is an engine fault; if it returns a
        `LateResult`, the analyst is suspended.
        """
        wanted = "a question in SQL, or a plan of it"
        require_parameter(isinstance(question, str | Plan), "ask", "question", question, wanted)
        if isinstance(question, Plan):
            proposal = self._require_own_plan(question)
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
                    raw=raw,
                    values=values,
                )
            )
        try:
            found = self.release_or_replay(
                proposal.key,
                proposal.text,
                proposal.query_plan.guarantee,
                lambda engine, random: run_with_deadline(
                    lambda: execute_plan(proposal.query_plan, engine, random, query_released_tables)
                ),
                lambda release: answer_to_bytes(release.table, release.intervals),
                {"confidence": proposal.query_plan.confidence},
            )
        except RequestError as refusal:
            raise build_budget_refusal(
                self.ledger,
                self.analyst,
                "ask",
                refusal,
                proposal.query_plan.guarantee,
                lambda epsilon: proposal.plan_at(epsilon).guarantee,
                lambda epsilon: list_errors(proposal.plan_at(epsilon)),
            ) from None
        if isinstance(found, StoredAnswer):
            table, intervals = answer_from_bytes(found.answer)
            return self._build_answer(proposal, table, intervals, found.entry.number, repeated=True)
        release, entry = found
        return self._build_answer(proposal, release.table, release.intervals, entry.number, repeated=False)

    def _require_own_plan(self, plan: Plan) -> Plan:
        """Return the plan if it was made under this policy and data version; otherwise refuse it.

        Its noise is scaled to the bounds of the policy that it was made under. Under wider bounds, one person
        would move the answer by more than is charged.
        """
        if plan.key != self.answer_cache.compute_question_key(plan.query_plan.release_key):
            raise RequestError(
                "ask: the plan was made under another policy or version of the data.",
                hint="Plan the question again.",
            )
        return plan

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
        return self._release_and_settle(entry, compute, serialize, metadata)

    def release_or_replay(
        self,
        key: str,
        text: str,
        guarantee: Guarantee,
        compute: Callable[[Engine, Randomness], T | LateResult[T]],
        serialize: Callable[[T], bytes],
        metadata: Mapping[str, object] | None = None,
    ) -> tuple[T, Entry] | StoredAnswer:
        """Return the analyst's stored release for `key`; otherwise charge and run `compute`."""
        found = self.answer_cache.find_or_reserve(key, text, guarantee)
        return (
            found
            if isinstance(found, StoredAnswer)
            else self._release_and_settle(found, compute, serialize, metadata)
        )

    def _release_and_settle(
        self,
        entry: Entry,
        compute: Callable[[Engine, Randomness], T | LateResult[T]],
        serialize: Callable[[T], bytes],
        metadata: Mapping[str, object] | None,
    ) -> tuple[T, Entry]:
        try:
            released = self._compute_charged(entry, compute)
            if isinstance(released, LateResult):
                # Suspend before settling, so that a process killed in between leaves the analyst suspended.
                self.ledger.suspend(self.analyst, log_fault(TimeoutError("the answer left late")).incident)
                released = released.value
            return released, self.ledger.settle(entry, serialize(released), metadata)
        finally:
            self.ledger.abandon(entry)

    def stop_work(self) -> None:
        """Cancel the statement that the engine is running, if the engine supports it."""
        if isinstance(self._engine, Stoppable):
            self._engine.stop()

    def _compute_charged(
        self, entry: Entry, compute: Callable[[Engine, Randomness], T | LateResult[T]]
    ) -> T | LateResult[T]:
        try:
            return run_charged(lambda: compute(self._engine, self._random))
        except EngineFault as fault:
            self.ledger.fault(entry, fault.incident)
            raise

    def inspect_data(self, inspect: Callable[[Engine], T]) -> T:
        """Return what `inspect` reads, for the custodian only; it is not released, so nothing is charged."""
        return run_guarded(lambda: inspect(self._engine))

    def _build_answer(
        self,
        proposal: Plan,
        table: pa.Table,
        intervals: Mapping[str, IntervalBounds],
        entry: int,
        *,
        repeated: bool,
    ) -> Answer:
        errors = proposal.query_plan.column_errors
        return Answer(
            table=table,
            # An answer stored by an earlier version may have intervals that this version knows to be invalid.
            intervals={
                name: ends for name, ends in intervals.items() if name in errors.measures_with_intervals
            },
            no_interval=errors.missing_reasons,
            confidence=proposal.query_plan.confidence,
            epsilon=proposal.cost,
            belief=self.ledger.compute_belief(analyst=self.belief_scope),
            entry=entry,
            repeated=repeated,
            sentence=self.ledger.describe_belief(analyst=self.belief_scope),
            rank_errors={
                name: found
                for name, each in find_measures_by_column(proposal.query_plan).items()
                if name in errors.measures_with_intervals
                and (found := find_rank_error(proposal.query_plan, each))
            },
        )

    def _require_valid_statements(self, plan: QueryPlan) -> None:
        """Refuse statements that the engine cannot run, before anything is charged."""
        if isinstance(self._engine, ValidatesStatements):
            for statement in (plan.statement, *(each.statement for each in plan.value_selections.values())):
                self._engine.validate(statement)

    @property
    def belief_scope(self) -> str | None:
        """The analyst whose answers belief covers; None for all answers, if the policy has one analyst."""
        return self.analyst if len(self.policy.analysts) > 1 else None

    def close(self) -> None:
        """Close the engine and the ledger."""
        fault_log.close_fault_log(self._fault_log)
        self._fault_log = None
        try:
            self._engine.close()
        finally:
            self.ledger.close()


def _write_question(request: QuestionRequest) -> str:
    """Return the question as the ledger records it, with the values of its parameters filled in."""
    if not request.values:
        return request.sql
    return fill_parameters(parse_statement(request.sql), request.values).sql("duckdb")
