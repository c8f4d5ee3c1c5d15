"""The plan of a question and the budget, as an analyst sees them before anything is spent.

`QuestionPricing` chooses the epsilon. A plan depends on text, policy and epsilon only, so recent plans are
cached: a repeated question is planned once for each epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

from discreet.accounting.accountant import Accountant
from discreet.accounting.amounts import Cost, format_amount
from discreet.belief import Belief, Promise
from discreet.belief.wording import format_number, format_number_up, format_percent
from discreet.core.errors import RequestError, require_parameter
from discreet.core.html_summary import build_facts, build_summary, build_table
from discreet.core.number_checks import Real
from discreet.core.policy import Policy
from discreet.mechanisms.combined_noise import find_mechanism
from discreet.services.budget_units import find_epsilon_for_share, format_share
from discreet.services.plan_price import PlanPrice
from discreet.services.question_request import QuestionRequest, Reuse
from discreet.services.released_tables import name_entries
from discreet.sql.accuracy import (
    DEPENDS,
    describe_open_error,
    find_column_errors,
    find_error_bound,
    find_least_epsilon,
    find_rank_error,
)
from discreet.sql.error_plan import ALL_ROWS
from discreet.sql.error_tracking import UNSHOWN
from discreet.sql.expression_tree import Column, Scalar
from discreet.sql.planner import DecomposedMeasure, QueryPlan, plan_query

MAX_CACHED_PLANS = 64
SHARED_NOISE_NOTE = "add to more than 100%, as measures that use the same noisy total pay for it once"
COMPUTED = "computed"
COMPARED = " (compared with)"
"""What is behind the name of a measure that is not shown, but that rows are compared with."""


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """Expected error of one measure, or of one column that is computed from measures.

    It is ± `error95` if the plan alone determines it, and `note` says why otherwise. Both refer to what the
    answer shows: the measure's own column, if there is one, in rows that noise may have selected.

    `share` is the part of epsilon spent on its primitives; a primitive shared by measures counts for each.
    `rows95` is by how many rows a value picked by rank may miss its rank, or from how many rows on a decision
    such as BOOL_OR is right. `interval_kind` is "per_row" or "all_rows", as in the answer.
    """

    name: str
    mechanism: str
    share: float
    error95: float | None
    rows95: float | None = None
    interval_kind: str | None = None
    note: str = ""

    @property
    def description(self) -> str:
        """The ±, or the note where there is none."""
        if self.error95 is None:
            return self.note
        together = ", all rows together" if self.interval_kind == ALL_ROWS else ""
        return f"± {format_number_up(self.error95)}{together}"


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One way to answer a question: the epsilon, the errors by measure, and the entries used."""

    epsilon: float
    errors: Mapping[str, float | None]
    entries: tuple[int, ...]

    def to_json(self) -> dict[str, object]:
        """Return the JSON object; `error95` is the error of the first measure that has one."""
        known = [error for error in self.errors.values() if error is not None]
        return {
            "epsilon": self.epsilon,
            "error95": known[0] if known else None,
            "errors": dict(self.errors),
            "entries": list(self.entries),
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(PlanPrice):
    """The plan of a question: its cost, its effect on belief, and the expected error of the answer.

    `missing` names the measurements that are not stored: they cost `charged`, a part of the question's
    epsilon, and nothing else does. `entries` are the ledger entries that have stored the others, or that
    what is bought is combined with: these are `combined_entries`. `reuse` says which of them may serve,
    `bought` what is bought although it is stored, since the mean is to be within an error.
    `uncovered` names the releases that no bound on belief covers, in sentences. `fits` is whether the
    remaining budget allows it, `share` the share of the promise that it costs. `plan_at` returns the same
    question's plan for another epsilon.
    """

    text: str
    query_plan: QueryPlan
    stated_plan: QueryPlan = field(repr=False)
    """The plan with the noise of stored measurements, from which errors are stated."""
    stored_plan: QueryPlan | None = field(repr=False)
    """The plan with the noise of stored measurements alone, if the question costs but need not."""
    stored_entries: tuple[int, ...]
    key: str
    missing: tuple[str, ...]
    entries: tuple[int, ...]
    combined_entries: tuple[int, ...]
    charged: Fraction
    reuse: Reuse
    bought: frozenset[str]
    plan_at: Callable[[Real], QueryPlan] = field(repr=False, compare=False)

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """Offers to answer the question: from the store alone if possible, and as planned."""
        errors = list_error_bounds(self.stated_plan)
        planned = Offer(epsilon=self.cost, errors=errors, entries=self.entries)
        if self.stored_plan is None:
            return (planned,)
        errors = list_error_bounds(self.stored_plan)
        return Offer(epsilon=0, errors=errors, entries=self.stored_entries), planned

    @property
    def entry(self) -> int | None:
        """The newest entry that it is answered from; None if it is not free."""
        return max(self.entries, default=None) if self.repeated else None

    def __repr__(self) -> str:
        """Return measures with their errors, cost and belief after it; nothing here depends on data."""
        names = ", ".join(
            each.name if each.error95 is None else f"{each.name} {each.description}"
            for each in self.expected_errors
        )
        spent = "stored, free" if self.repeated else f"epsilon {format_number(self.cost)}"
        return f"<Plan of {names}: {spent}, belief {self._describe_belief()}>"

    def _repr_html_(self) -> str:
        rows = [
            [each.name, each.mechanism, format_percent(each.share), each.description]
            for each in self.expected_errors
        ]
        columns = [
            "measure",
            "noise",
            "share of epsilon",
            f"error, {format_percent(self.query_plan.confidence)}",
        ]
        return build_summary(build_table(columns, rows, caption="Plan"), build_facts(self.list_facts()))

    def list_facts(self) -> list[tuple[str, str]]:
        """Return cost, belief before and after, and neighbor relation, each with its name."""
        promise = self.query_plan.promise
        return [
            ("cost", self.cost_sentence),
            *([("or free", self.free_offer_sentence)] if self.free_offer_sentence else []),
            ("belief", f"{self._describe_belief()} (promise: {format_percent(promise.posterior)})"),
            *([("not covered", self.uncovered.removeprefix("But "))] if self.uncovered else []),
            *([("shares", SHARED_NOISE_NOTE)] if self._measures_share_noise else []),
            ("neighbours", f"{promise.secret.neighbours} ({promise.secret.value})"),
        ]

    @property
    def _measures_share_noise(self) -> bool:
        return sum(each.share for each in self.expected_errors) > 1 + 1e-9

    @property
    def cost_sentence(self) -> str:
        """The cost in epsilon and as a share of the promise, in a few words."""
        if not self.query_plan.cores:
            return "nothing: it follows from the question and the policy"
        if self.repeated:
            return f"nothing: everything that it needs was released before ({name_entries(self.entries)})"
        promise, share = self.query_plan.promise, format_share(self.share, up=True)
        whole = f" of {format_number(promise.epsilon)}" if promise.tail == 0 else ""
        known, rest = "", tuple(each for each in self.entries if each not in self.combined_entries)
        if rest:
            known += f"; the rest was released before ({name_entries(rest)})"
        if self.combined_entries:
            known += f"; combined with what was released before ({name_entries(self.combined_entries)})"
        return f"epsilon {format_number(self.cost)}{whole}, {share} of the promise{known}"

    @property
    def free_offer_sentence(self) -> str:
        """The errors that what was released before gives by itself, and its entries; empty if it does not."""
        free = self.offers[0]
        if len(self.offers) < 2:
            return ""
        told = [f"{name} ± {format_number_up(error)}" for name, error in free.errors.items() if error]
        return f"{', '.join(told) or 'its errors follow from the data'} ({name_entries(free.entries)})"

    @property
    def cost(self) -> float:
        """The epsilon that is charged for this question: 0 if it is free."""
        return float(self.charged)

    @property
    def expected_errors(self) -> list[ExpectedError]:
        """The expected error of each measure, as far as text and policy determine it."""
        return compute_expected_errors(self.stated_plan)

    def to_json(self) -> dict[str, object]:
        """Return the plan as a JSON object."""
        return {
            "epsilon": self.cost,
            "of": self.query_plan.promise.epsilon,
            "share": float(self.share),
            "measures": [vars(each) for each in self.expected_errors],
            "groups": self.query_plan.group_count,
            "least_rows": self.query_plan.least_rows,
            "bounding": self.query_plan.bounding_rule,
            "relation": self.query_plan.promise.secret.value,
            "confidence": self.query_plan.confidence,
            "repeated": self.repeated,
            "entries": list(self.entries),
            "offers": [each.to_json() for each in self.offers],
            "fits": self.fits,
            "belief": self._belief_to_json(),
        }


def compute_expected_errors(plan: QueryPlan) -> list[ExpectedError]:
    """Return the expected error of each measure, then of each column computed from measures.

    It is known as far as text and policy determine it.
    """
    measures = [_compute_expected_error(plan, output) for output in plan.outputs]
    kinds, known = plan.column_errors.interval_kinds, find_column_errors(plan)
    missing = plan.column_errors.missing_reasons
    computed = [each.name for each in plan.error_plan.noisy_columns if each.measure is None]
    return measures + [
        ExpectedError(
            name=name,
            mechanism=COMPUTED,
            share=0.0,
            error95=known.get(name),
            interval_kind=kinds.get(name),
            note=missing.get(name) or (DEPENDS if known.get(name) is None else ""),
        )
        for name in computed
    ]


def list_error_bounds(plan: QueryPlan) -> dict[str, float | None]:
    """Return the error of each measure, or None where it depends on the data."""
    return {each.name: each.error95 for each in compute_expected_errors(plan)}


def _compute_expected_error(plan: QueryPlan, output: DecomposedMeasure) -> ExpectedError:
    around = () if plan.question is None else plan.question.post_processing[0].outputs
    names = {expression.name: name for name, expression in around if isinstance(expression, Column)}
    missing = plan.column_errors.explain_missing(output.column)
    is_compared = missing == UNSHOWN and plan.compares_with(output)
    missing = None if is_compared else missing
    error, rows = (
        (find_error_bound(plan, output), find_rank_error(plan, output)) if missing is None else (None, None)
    )
    shown = plan.column_errors.measures_with_intervals
    kinds = [plan.column_errors.interval_kinds[name] for name, each in shown.items() if each == output.column]
    return ExpectedError(
        name=f"{output.measure.name}{COMPARED}"
        if is_compared
        else names.get(output.column, output.measure.name),
        mechanism=_find_mechanism(plan, output).__name__,
        share=float(sum(plan.shares[name] for name in output.charged_names)),
        error95=None if error is None else float(error),
        rows95=None if rows is None else float(rows.rows),
        interval_kind=min(kinds, default=None),
        note=missing or (describe_open_error(plan, output) if error is None else ""),
    )


def _find_mechanism(plan: QueryPlan, output: DecomposedMeasure) -> type:
    if output.column in plan.value_selections:
        return type(plan.value_selections[output.column].mechanism)
    return find_mechanism(plan.noisy_primitives[output.primitive_names[0]].noise)


@dataclass(frozen=True, kw_only=True, repr=False)
class Budget:
    """The privacy budget of an analyst: what is spent and left, and the belief that all answers allow."""

    spent: Cost
    left: Cost
    belief: Belief
    sentence: str

    def __repr__(self) -> str:
        spent, left = format_amount(self.spent, up=True), format_amount(self.left)
        return f"<Budget: {spent} spent, {left} left>"

    def _repr_html_(self) -> str:
        facts = [
            ("spent", format_amount(self.spent, up=True)),
            ("left", format_amount(self.left)),
            ("belief", self.sentence),
        ]
        return build_summary(build_facts(facts, caption="Budget"))


class QuestionPricing:
    """Plans and epsilons of questions under one policy."""

    def __init__(self, policy: Policy, promise: Promise) -> None:
        self._policy, self._promise = policy, promise
        self._cached_plan = lru_cache(MAX_CACHED_PLANS, typed=True)(self._plan)

    def plan_by_epsilon(self, request: QuestionRequest, *, leak: Real) -> Callable[[Real], QueryPlan]:
        """Return a function from epsilon to the question's plan."""
        weights = tuple(request.split.items())
        # True == 1, 0.5 == 0.50 and equal times of two zones would share a cache entry, but are different SQL
        # constants, which a question may tell apart as text.
        typed = tuple((type(value), repr(value), value) for value in request.values)
        accuracy = (request.confidence, weights, request.least_rows, request.raw)

        def plan_at(epsilon: Real) -> QueryPlan:
            return self._cached_plan(request.sql, epsilon, leak, *accuracy, typed)

        return plan_at

    def choose_epsilon(
        self, request: QuestionRequest, plan_at: Callable[[Real], QueryPlan], accountant: Accountant
    ) -> Real:
        """Return the epsilon: as given, as a share of the promise, from an error, or the policy's default."""
        given = [name for name in ("epsilon", "share", "within") if getattr(request, name) is not None]
        if len(given) > 1:
            named = " and ".join(f"`{name}=`" for name in given)
            raise RequestError(f"ask: {named} were given.", hint="Give one of them.")
        if not given or request.epsilon is None:
            # a misspelled name is refused first: no epsilon would help it
            made = plan_at(self._promise.epsilon) if self._policy.epsilon is None or given else None
            if made is not None and not made.cores:
                return self._promise.epsilon  # nothing is measured, and nothing charged
        if request.within is not None:
            return find_least_epsilon(request.within, plan_at)
        if request.share is not None:
            require_parameter(0 < request.share <= 1, "ask", "share", request.share, "above 0 and at most 1")
            return find_epsilon_for_share(
                accountant, request.share, lambda epsilon: plan_at(epsilon).guarantee
            )
        epsilon = self._policy.epsilon if request.epsilon is None else request.epsilon
        if epsilon is None and request.free:
            return self._promise.epsilon  # nothing is charged, and stored measurements have their own noise
        if epsilon is None:
            raise RequestError(
                "ask: no epsilon is given.",
                hint='Give `epsilon=0.1`, `share="5%"` or `within=`, or set epsilon in the policy.',
            )
        return epsilon

    def _plan(
        self,
        sql: str,
        epsilon: Real,
        leak: Real,
        confidence: float,
        split: tuple[tuple[str, Real], ...],
        least_rows: int | None,
        raw: bool,
        values: tuple[tuple[type, str, Scalar | float], ...],
    ) -> QueryPlan:
        return plan_query(
            sql,
            self._policy,
            self._promise,
            epsilon=epsilon,
            leak=leak,
            confidence=confidence,
            split=dict(split),
            least_rows=least_rows,
            raw=raw,
            values=[value for _, _, value in values],
        )


def list_errors(plan: QueryPlan) -> str:
    """Return the errors of a plan's measures behind an arrow; empty if none is known before the answer."""
    errors = [f"±{format_number_up(each.error95)}" for each in compute_expected_errors(plan) if each.error95]
    return f" → {', '.join(errors)}" if errors else ""
