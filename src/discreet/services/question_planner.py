"""Planning of one analyst's questions: cost, effect on belief, and whether a stored answer makes it free.

Nothing is charged and no data is read. What the engine cannot run, or what would take more work than is
allowed, is refused here, while a refusal costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from discreet.accounting.accountant import Accountant
from discreet.accounting.ledger import Ledger
from discreet.belief import Promise
from discreet.core.engine import Engine, ValidatesStatements
from discreet.core.errors import RequestError
from discreet.core.number_checks import Real
from discreet.core.policy import Policy
from discreet.engines.released_queries import ReleasedQueryTooLargeError, try_released_query
from discreet.services.answer_cache import AnswerCache
from discreet.services.bounded_cache import BoundedCache
from discreet.services.budget_units import compute_share
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.least_purchase import Purchase, find_least_purchase
from discreet.services.measurement_store import MeasurementStore
from discreet.services.plans import MAX_CACHED_PLANS, Plan, QuestionPricing
from discreet.services.question_request import QuestionRequest, Reuse
from discreet.services.work_limits import WorkLimits
from discreet.sql.plan_execution import build_empty_release
from discreet.sql.planner import QueryPlan, plan_finer_cores
from discreet.sql.query_parameters import fill_parameters
from discreet.sql.query_parser import parse_statement
from discreet.sql.released_table_types import build_released_schema
from discreet.sql.releases import Release

MAX_TRIED_QUERIES = 1_000
VERB = re.compile(r"^ask(?=[.:])")
"""The verb that the planner's refusals begin with."""


class QuestionPlanner:
    """Plans the questions of one analyst.

    `belief_scope` is the analyst whose answers belief covers, or None for all answers.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        promise: Promise,
        ledger: Ledger,
        analyst: str,
        belief_scope: str | None,
        answer_cache: AnswerCache,
        measurement_store: MeasurementStore,
        work_limits: WorkLimits,
    ) -> None:
        self._policy, self._promise, self._ledger = policy, promise, ledger
        self._analyst, self._belief_scope = analyst, belief_scope
        self._answer_cache, self._measurement_store = answer_cache, measurement_store
        self._work_limits = work_limits
        self._pricing = QuestionPricing(policy, promise)
        self._tried_queries: BoundedCache[str, Release] = BoundedCache(MAX_TRIED_QUERIES)
        self._prepared_plans: BoundedCache[QueryPlan, QueryPlan] = BoundedCache(MAX_CACHED_PLANS)

    def plan(self, request: QuestionRequest, engine: Engine, *, verb: str) -> Plan:
        """Return the plan of a request; `verb` is what a refusal begins with."""
        try:
            return self._plan(request, engine)
        except RequestError as refusal:
            message = VERB.sub(verb, refusal.message)
            raise type(refusal)(message, hint=refusal.hint) from None

    def _plan(self, request: QuestionRequest, engine: Engine) -> Plan:
        spent = self._ledger.get_known_accountant(self._belief_scope)
        priced = self._pricing.plan_by_epsilon(request, leak=getattr(spent.limit, "delta", 0))
        if request.free and request.fresh:
            raise RequestError("ask: `free=` and `fresh=` exclude each other.", hint="Give one of them.")
        text = _write_question(request)
        purchase = self._choose_purchase(request, priced, spent, text)
        reuse, bought = purchase.reuse, purchase.bought
        made = self._prepare(purchase.plan, engine)
        key = self._answer_cache.compute_question_key(made.release_key)
        found = self._measurement_store.find(made, text, reuse, bought=bought)
        entries, missing = found.entries, found.missing
        if missing and not request.fresh and (former := self._answer_cache.find(key)) is not None:
            entries, missing = (former.entry.number,), ()  # an answer of an earlier version
        if missing and request.free:
            raise RequestError(
                "ask: a part of the answer was never released, so it is not free.",
                hint="Without `free=` what is missing is charged.",
            )
        before = after = spent.compute_belief()
        charged, guarantee = made.compute_charge(missing) if missing else (Fraction(0), None)
        fits = guarantee is None or self._ledger.has_room_for(self._analyst, guarantee)
        share = Fraction(0)
        if guarantee is not None:
            share = compute_share(spent.compute_cost(guarantee), spent.limit)
            after = spent.spend(guarantee).compute_belief() if fits else before
        made, stated = self._require_valid_post_processing(made, found, text)
        stored = self._find_stored_alone(made, text) if charged else None
        return Plan(
            text=text,
            query_plan=made,
            stated_plan=stated,
            stored_plan=None if stored is None else self._measurement_store.apply_noise(made, stored, text),
            stored_entries=() if stored is None else stored.entries,
            key=key,
            belief_before=before,
            belief_after=after,
            uncovered=self._ledger.describe_uncovered(),
            missing=missing,
            entries=entries,
            combined_entries=found.combined_entries if missing else (),
            reuse=reuse,
            bought=bought,
            charged=charged,
            fits=fits,
            share=share,
            plan_at=priced,
        )

    def _prepare(self, plan: QueryPlan, engine: Engine) -> QueryPlan:
        """Return the plan as it is measured; refuse one that takes too long or cannot run."""
        prepared = self._prepared_plans.get_or_compute(plan, lambda: self._prepare_anew(plan, engine))
        _require_valid_statements(prepared, engine)
        return prepared

    def _prepare_anew(self, plan: QueryPlan, engine: Engine) -> QueryPlan:
        self._work_limits.require_within_limits(plan)
        _require_valid_statements(plan, engine)
        return self._measure_finer(plan, engine)

    def _measure_finer(self, plan: QueryPlan, engine: Engine) -> QueryPlan:
        """Return the plan with finer cores to measure, if these can be, in the time of the plan itself."""
        finer = plan_finer_cores(plan, self._policy)
        limits = self._work_limits
        if not finer.finer_cores or limits.compute_fixed_time(finer) > limits.compute_fixed_time(plan):
            return plan
        try:
            limits.require_within_limits(finer)
            _require_valid_statements(finer, engine)
        except RequestError:
            return plan
        return finer

    def _choose_purchase(
        self,
        request: QuestionRequest,
        priced: Callable[[Real], QueryPlan],
        spent: Accountant,
        text: str,
    ) -> Purchase:
        """Return the plan that is asked, and how far it uses the store."""
        former = self._find_former_plan(request, priced)
        if former is not None:
            return Purchase(plan=former, reuse=request.reuse)
        made = priced(self._pricing.choose_epsilon(request, priced, spent))
        if request.within is None or request.reuse is not Reuse.PRECISE or not made.cores:
            return Purchase(plan=made, reuse=request.reuse)
        return find_least_purchase(request.within, made, priced, self._measurement_store, text)

    def _require_valid_post_processing(
        self, plan: QueryPlan, found: FoundMeasurements, text: str
    ) -> tuple[QueryPlan, QueryPlan]:
        """Refuse post-processing that fails over empty tables, before anything is charged.

        Return the plan, and with the noise of its measurements; both without errors if only the query that
        carries them fails.
        """
        stated = self._measurement_store.apply_noise(plan, found, text)
        if plan.question is not None:
            return plan, stated  # typed, stage by stage
        try:
            self._try_over_empty_tables(stated)
        except ReleasedQueryTooLargeError:
            raise  # it would take as long without errors
        except RequestError:
            plan, stated = (replace(each, carries_errors=False) for each in (plan, stated))
            self._try_over_empty_tables(stated)
        return plan, stated

    def _try_over_empty_tables(self, plan: QueryPlan) -> None:
        """Raise the error of post-processing that fails; what does not is tried once."""
        schemas = [build_released_schema(core) for core in plan.split.cores.values()]
        tried = f"{plan.error_plan.query} {schemas} {list(plan.split.public_tables)}"
        self._tried_queries.get_or_compute(tried, lambda: build_empty_release(plan, try_released_query))

    def _find_stored_alone(self, plan: QueryPlan, text: str) -> FoundMeasurements | None:
        """Return the stored measurements that answer a question, however wide their noise; None without."""
        stored = self._measurement_store.find(plan, text, Reuse.ANY)
        return None if stored.missing else stored

    def _find_former_plan(
        self, request: QuestionRequest, plan_at: Callable[[Real], QueryPlan]
    ) -> QueryPlan | None:
        """Return the plan of a share as earlier versions read it, of epsilon, if its answer is stored.

        What was paid for stays free. Without a tail, a share of the promise is one of epsilon still.
        """
        if not request.share or not self._promise.tail or request.epsilon or request.within:
            return None
        former = plan_at(Fraction(self._promise.epsilon) * Fraction(request.share))
        stored = self._answer_cache.find(self._answer_cache.compute_question_key(former.release_key))
        return None if stored is None else former

    def require_own_plan(self, plan: Plan) -> Plan:
        """Return the plan if it was made under this policy and data version; otherwise refuse it.

        Its noise is scaled to the bounds of the policy that it was made under. Under wider bounds, one person
        would move the answer by more than is charged.
        """
        if plan.key != self._answer_cache.compute_question_key(plan.query_plan.release_key):
            raise RequestError(
                "ask: the plan was made under another policy or version of the data.",
                hint="Plan the question again.",
            )
        return plan


def _require_valid_statements(plan: QueryPlan, engine: Engine) -> None:
    """Refuse statements that the engine cannot run, before anything is charged."""
    if isinstance(engine, ValidatesStatements):
        for statement in plan.statements:
            engine.validate(statement)


def _write_question(request: QuestionRequest) -> str:
    """Return the question as the ledger records it, with the values of its parameters filled in."""
    if not request.values:
        return request.sql
    return fill_parameters(parse_statement(request.sql), request.values).sql("duckdb")
