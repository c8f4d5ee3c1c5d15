"""Planning of one analyst's questions: cost, effect on belief, and whether a stored answer makes it free.

Nothing is charged and no data is read. What the engine cannot run, or what would take more work than is
allowed, is refused here, while a refusal costs nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa

from discreet.accounting.accountant import Accountant
from discreet.accounting.ledger import Ledger
from discreet.belief import Promise
from discreet.core.engine import Engine, ValidatesStatements
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import Real, require_positive
from discreet.core.policy import Policy
from discreet.engines.released_queries import ReleasedQueryTooLargeError, try_released_query
from discreet.services.answer_cache import AnswerCache
from discreet.services.bounded_cache import BoundedCache
from discreet.services.finer_counts import FinerOffer, list_finer_offers
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.least_purchase import Purchase, find_least_purchase
from discreet.services.measurement_store import MeasurementStore
from discreet.services.plan_batches import MAX_QUESTIONS, PlanBatch, combine_parts, divide_measurements
from discreet.services.plan_price import PlanPrice
from discreet.services.plans import MAX_CACHED_PLANS, Plan, QuestionPricing
from discreet.services.question_request import QuestionRequest, Reuse
from discreet.services.work_limits import WorkLimits
from discreet.sql.accuracy import list_comparable_errors
from discreet.sql.plan_execution import build_empty_constant, build_empty_release
from discreet.sql.planner import QueryPlan, plan_finer_cores
from discreet.sql.query_parameters import fill_parameters
from discreet.sql.query_parser import parse_statement
from discreet.sql.refusal import format_snippet
from discreet.sql.released_table_types import build_released_schema
from discreet.sql.releases import Release

MAX_TRIED_QUERIES, MAX_TRIED_OFFERS = 1_000, 3
EPSILON_STEPS = 10**6
"""An epsilon that is divided between questions is rounded down to so many parts of 1."""
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

    def plan_batch(
        self,
        requests: Sequence[QuestionRequest],
        engine: Engine,
        *,
        verb: str,
        epsilon: Real | None = None,
    ) -> PlanBatch:
        """Return the plan of several questions together; `epsilon` is the most to spend for all of them.

        Each question gets the same part of it, as much as its price allows: what is measured for two of them
        costs once.
        """
        require_parameter(
            0 < len(requests) <= MAX_QUESTIONS, verb, "sql", len(requests), f"1 to {MAX_QUESTIONS} questions"
        )
        if epsilon is not None:
            require_positive(verb, "epsilon", epsilon)
        found = self._divide_epsilon(requests, engine, verb, epsilon)
        return self._choose_finer(requests, found, engine)

    def _divide_epsilon(
        self, requests: Sequence[QuestionRequest], engine: Engine, verb: str, epsilon: Real | None
    ) -> PlanBatch:
        """Return the plan of several questions that divide an epsilon, or have each their own."""
        if epsilon is None:
            return self._combine_plans(self._plan_all(requests, engine, verb))
        most = Fraction(str(epsilon)) if isinstance(epsilon, float) else Fraction(epsilon)
        part = most / len(requests)
        found = self._combine_plans(self._plan_all(_give_epsilon(requests, part), engine, verb))
        price = sum(found.charges, Fraction(0))
        if not 0 < price < most:
            return found
        larger = Fraction(math.floor(part * most / price * EPSILON_STEPS), EPSILON_STEPS)
        other = self._combine_plans(self._plan_all(_give_epsilon(requests, max(part, larger)), engine, verb))
        # stored measurements that are not precise enough for a larger epsilon are charged again
        return other if sum(other.charges, Fraction(0)) <= most else found

    def _choose_finer(
        self, requests: Sequence[QuestionRequest], found: PlanBatch, engine: Engine
    ) -> PlanBatch:
        """Return the plan in which some counts are sums of finer ones, if that costs less."""
        offers = [
            (offer.estimate_price(found.charges), place, offer)
            for place, offer in enumerate(list_finer_offers(found.plans, self._policy))
        ]
        base = found
        for _, _, offer in sorted(offers, key=lambda each: each[:2])[:MAX_TRIED_OFFERS]:
            plans = self._plan_finer(requests, base.plans, offer, engine)
            made = None if plans is None else self._combine_plans(plans)
            if made is not None and made.cost < found.cost:
                finer = frozenset(offer.statements)
                found = replace(made, costs_alone=base.costs_alone, finer_statements=finer)
        return found

    def _plan_finer(
        self, requests: Sequence[QuestionRequest], plans: Sequence[Plan], offer: FinerOffer, engine: Engine
    ) -> list[Plan] | None:
        """Return the plans with an offer taken; None if an error that is stated would be wider."""
        made = list(plans)
        for place, sql in offer.statements.items():
            update = {"sql": sql, "epsilon": offer.epsilon, "within": None}
            try:
                request = requests[place].model_copy(update=update)
                finer = self._plan(request, engine, plans[place].text)
            except RequestError:  # too many cells
                return None
            if not _states_no_wider(finer, plans[place]):
                return None
            made[place] = finer
        return made

    def _plan_all(self, requests: Sequence[QuestionRequest], engine: Engine, verb: str) -> list[Plan]:
        plans = []
        for place, request in enumerate(requests, 1):
            try:
                if request.fresh:
                    raise RequestError(
                        f"{verb}: `fresh=` is for a question alone.", hint="Plan it by itself."
                    )
                plans.append(self.plan(request, engine, verb=verb))
            except RequestError as refusal:
                message = refusal.message.replace(f"{verb}: ", f"{verb}: statement {place}: ", 1)
                raise type(refusal)(message, hint=refusal.hint) from None
        return plans

    def _combine_plans(self, plans: Sequence[Plan]) -> PlanBatch:
        """Return the plan of several questions, each of which is planned."""
        parts = divide_measurements(plans, self._measurement_store)
        spent = self._ledger.get_known_accountant(self._belief_scope)
        price = PlanPrice.from_ledger(self._ledger, self._analyst, spent, combine_parts(parts))
        return PlanBatch(
            plans=tuple(plans),
            parts=parts,
            charges=tuple(each.charge[0] for each in parts),
            costs_alone=tuple(each.cost for each in plans),
            **vars(price),
        )

    def _plan(self, request: QuestionRequest, engine: Engine, asked: str | None = None) -> Plan:
        """Return the plan of a request; `asked` is the question that the ledger records, if not its own."""
        spent = self._ledger.get_known_accountant(self._belief_scope)
        priced = self._pricing.plan_by_epsilon(request, leak=getattr(spent.limit, "delta", 0))
        if request.free and request.fresh:
            raise RequestError("ask: `free=` and `fresh=` exclude each other.", hint="Give one of them.")
        text = _write_question(request) if asked is None else asked
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
        charged, guarantee = made.compute_charge(missing) if missing else (Fraction(0), None)
        price = PlanPrice.from_ledger(self._ledger, self._analyst, spent, guarantee)
        made, stated = self._require_valid_post_processing(made, found, text)
        stored = self._find_stored_alone(made, text) if charged else None
        return Plan(
            text=text,
            query_plan=made,
            stated_plan=stated,
            stored_plan=None if stored is None else self._measurement_store.apply_noise(made, stored, text),
            stored_entries=() if stored is None else stored.entries,
            key=key,
            missing=missing,
            entries=entries,
            combined_entries=found.combined_entries if missing else (),
            reuse=reuse,
            bought=bought,
            charged=charged,
            plan_at=priced,
            **vars(price),
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
        constants = {name: each.sql for name, each in plan.split.constants.items()}
        tried = f"{plan.error_plan.query} {schemas} {list(plan.split.public_tables)} {constants}"
        self._tried_queries.get_or_compute(tried, lambda: _try_queries(plan))

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


def _try_queries(plan: QueryPlan) -> Release:
    """Return the empty answer of a plan; refuse what fails, and constants that are no numbers."""
    release = build_empty_release(plan, try_released_query)
    for name, constant in plan.split.constants.items():
        _require_number(build_empty_constant(plan, name, try_released_query), constant.written)
    return release


def _give_epsilon(requests: Sequence[QuestionRequest], epsilon: Fraction) -> list[QuestionRequest]:
    return [request.model_copy(update={"epsilon": epsilon}) for request in requests]


def _states_no_wider(finer: Plan, plan: Plan) -> bool:
    """Return True if a plan states the same errors as another, or narrower ones."""
    own, others = (list_comparable_errors(each.stated_plan) for each in (finer, plan))
    kinds = [each.stated_plan.column_errors.interval_kinds for each in (finer, plan)]
    return (
        own.keys() == others.keys()
        and kinds[0] == kinds[1]
        and all(error <= others[name] for name, error in own.items())
    )


def _require_number(table: pa.Table, written: str) -> None:
    """Refuse a constant of a condition that is not one number, from the empty answer of its query."""
    kinds = [each.type for each in table.schema]
    if len(kinds) != 1 or not any(
        is_kind(kinds[0]) for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    ):
        raise RequestError(
            f"ask: a condition on rows compares with numbers, and «{format_snippet(written)}» is none.",
            hint="Ask for it first, and write its value.",
        )


def _write_question(request: QuestionRequest) -> str:
    """Return the question as the ledger records it, with the values of its parameters filled in."""
    if not request.values:
        return request.sql
    return fill_parameters(parse_statement(request.sql), request.values).sql("duckdb")
