"""A proposal: a plan with its cost, before anything is spent; and the choice of a question's epsilon.

A plan depends on text, policy and epsilon only, so recent plans are cached: a repeated question is planned
once for each epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.accountant import Cost
from discreet.belief import Belief, Promise
from discreet.belief.wording import format_number_up
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP
from discreet.core.number_checks import Real, require_probability
from discreet.core.policy import Policy
from discreet.sql.accuracy import describe_open_error, find_error_bound, find_least_epsilon, find_rank_error
from discreet.sql.expression_tree import Column, Scalar
from discreet.sql.planner import DecomposedMeasure, Plan, plan_query

MAX_CACHED_PLANS = 64
EPSILON_PRECISION = 10**4
"""A suggested epsilon is rounded down to a multiple of 1 / PLACES."""


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """Expected error of one measure: ± `error95` if the plan alone determines it, `note` otherwise.

    Both refer to the output column that shows the measure. If there is none, or its rows are selected by
    noisy values, `note` says so.

    `share` is the part of epsilon spent on its primitives; a primitive shared by measures counts for each.
    `rows95` is by how many rows a value picked by rank may miss its rank, or from how many rows on a decision
    such as BOOL_OR is right.
    """

    name: str
    mechanism: str
    share: float
    error95: float | None
    rows95: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A plan with its cost, its effect on belief, and the expected error of the answer.

    `uncovered` names the releases that no bound on belief covers, in sentences. `fits` is whether the
    remaining budget allows it; `plan_at` returns the same question's plan for another
    epsilon.
    """

    text: str
    plan: Plan
    key: str
    belief_before: Belief
    belief_after: Belief
    repeated: bool
    fits: bool
    uncovered: str = ""
    plan_at: Callable[[Real], Plan] = field(repr=False, compare=False)

    @property
    def cost(self) -> float:
        """The epsilon of this question."""
        return float(self.plan.epsilon)

    @property
    def expected_errors(self) -> list[ExpectedError]:
        return compute_expected_errors(self.plan)

    def to_json(self) -> dict[str, object]:
        return {
            "epsilon": self.cost,
            "of": self.plan.promise.epsilon,
            "measures": [vars(each) for each in self.expected_errors],
            "groups": self.plan.group_count,
            "least_rows": self.plan.least_rows,
            "bounding": self.plan.bounding.rule,
            "relation": self.plan.promise.secret.value,
            "confidence": self.plan.confidence,
            "repeated": self.repeated,
            "fits": self.fits,
            "belief": {
                "prior": self.belief_before.prior,
                "before": self.belief_before.highest,
                "after": self.belief_after.highest,
                "uncovered": self.uncovered or None,
            },
        }


def compute_expected_errors(plan: Plan) -> list[ExpectedError]:
    """Return the expected error of each measure, as far as text and policy determine it."""
    return [_compute_expected_error(plan, output) for output in plan.outputs]


def _compute_expected_error(plan: Plan, output: DecomposedMeasure) -> ExpectedError:
    around = plan.question.post_processing[0].outputs
    names = {expression.name: name for name, expression in around if isinstance(expression, Column)}
    missing = plan.column_errors.explain_missing(output.column)
    error, rows = (
        (find_error_bound(plan, output), find_rank_error(plan, output)) if missing is None else (None, None)
    )
    return ExpectedError(
        name=names.get(output.column, output.measure.name),
        mechanism=type(_find_mechanism(plan, output)).__name__,
        share=float(sum(plan.shares[name] for name in output.charged_names)),
        error95=None if error is None else float(error),
        rows95=None if rows is None else float(rows.rows),
        note=missing or (describe_open_error(plan, output) if error is None else ""),
    )


def _find_mechanism(plan: Plan, output: DecomposedMeasure) -> object:
    if output.column in plan.value_selections:
        return plan.value_selections[output.column].mechanism
    return plan.noisy_primitives[output.primitive_names[0]].noise


class QuestionPricing:
    """Plans and epsilons of questions under one policy."""

    def __init__(self, policy: Policy, promise: Promise) -> None:
        self._policy, self._promise = policy, promise
        self._cached_plan = lru_cache(MAX_CACHED_PLANS, typed=True)(self._plan)

    def plan_by_epsilon(
        self,
        sql: str,
        *,
        leak: Real,
        confidence: float,
        split: Mapping[str, Real] | None,
        least_rows: int | None,
        raw: bool,
        values: Sequence[Scalar | float],
    ) -> Callable[[Real], Plan]:
        """Return a function from epsilon to the question's plan."""
        weights = tuple((split or {}).items())
        # True == 1 would share a cache entry, but they are different SQL constants.
        typed = tuple((type(value), value) for value in values)

        def plan_at(epsilon: Real) -> Plan:
            return self._cached_plan(sql, epsilon, leak, confidence, weights, least_rows, raw, typed)

        return plan_at

    def choose_epsilon(
        self,
        plan_at: Callable[[Real], Plan],
        *,
        epsilon: Real | None,
        share: Real | None,
        within: Real | str | None,
    ) -> Real:
        """Return the epsilon: as given, as a share of the promise, from an error, or the policy's default."""
        asked = (("epsilon", epsilon), ("share", share), ("within", within))
        given = [name for name, value in asked if value is not None]
        if len(given) > 1:
            raise RequestError(f"ask: {' and '.join(given)} were given.", hint="Give one of them.")
        if within is not None:
            return find_least_epsilon(within, plan_at)
        if share is not None:
            require_probability("ask", "share", share)
            return Fraction(self._promise.epsilon) * Fraction(share)
        if epsilon is not None:
            return epsilon
        if self._policy.epsilon is not None:
            return self._policy.epsilon
        raise RequestError(
            "ask: no epsilon is given.",
            hint="Give --epsilon 0.1, --share 5% or --within, or set epsilon in the policy.",
        )

    def _plan(
        self,
        sql: str,
        epsilon: Real,
        leak: Real,
        confidence: float,
        split: tuple[tuple[str, Real], ...],
        least_rows: int | None,
        raw: bool,
        values: tuple[tuple[type, Scalar | float], ...],
    ) -> Plan:
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
            values=[value for _, value in values],
        )


def suggest_smaller_epsilon(proposal: Proposal, remaining: Cost) -> str:
    """Return a hint with the largest epsilon that still fits; empty unless the budget is in epsilon."""
    if not isinstance(remaining, PureDP) or remaining.epsilon <= 0:
        return ""
    fits = Fraction(math.floor(Fraction(remaining.epsilon) * EPSILON_PRECISION), EPSILON_PRECISION)
    if Fraction(float(fits)) > remaining.epsilon:  # the float 0.1 is slightly above 1/10
        fits -= Fraction(1, EPSILON_PRECISION)
    if fits <= 0:
        return ""
    errors = ", ".join(
        f"±{format_number_up(each.error95)}"
        for each in compute_expected_errors(proposal.plan_at(fits))
        if each.error95
    )
    return f"What would still fit: --epsilon {float(fits)}" + (f" → {errors}." if errors else ".")
