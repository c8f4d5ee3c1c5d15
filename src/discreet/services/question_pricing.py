"""Cost of a question at any epsilon, and the choice of its epsilon, from text and policy alone.

A plan depends on text, policy and epsilon only, so recent plans are cached: a repeated question is planned
once for each epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.accountant import Cost
from discreet.belief import Promise
from discreet.belief.wording import format_number_up
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP
from discreet.core.number_checks import Real, require_probability
from discreet.core.policy import Policy
from discreet.services.plans import Plan, compute_expected_errors
from discreet.sql.accuracy import find_least_epsilon
from discreet.sql.expression_tree import Scalar
from discreet.sql.planner import QueryPlan, plan_query

MAX_CACHED_PLANS = 64
EPSILON_PRECISION = 10**4
"""A suggested epsilon is rounded down to a multiple of 1 / PLACES."""


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
    ) -> Callable[[Real], QueryPlan]:
        """Return a function from epsilon to the question's plan."""
        weights = tuple((split or {}).items())
        # True == 1 would share a cache entry, but they are different SQL constants.
        typed = tuple((type(value), value) for value in values)

        def plan_at(epsilon: Real) -> QueryPlan:
            return self._cached_plan(sql, epsilon, leak, confidence, weights, least_rows, raw, typed)

        return plan_at

    def choose_epsilon(
        self,
        plan_at: Callable[[Real], QueryPlan],
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
            values=[value for _, value in values],
        )


def suggest_smaller_epsilon(proposal: Plan, remaining: Cost) -> str:
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
