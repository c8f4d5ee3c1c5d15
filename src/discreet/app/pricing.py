"""What a question would cost, from its text and the policy alone: at any epsilon, at the one that is meant.

A plan follows from text, policy and epsilon, so that the last ones are kept: a question that is repeated, or
priced at several epsilons, is planned once at each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.budget_amounts import Cost
from discreet.app.proposals import Proposal, expected
from discreet.belief import Promise
from discreet.belief.wording import format_number_up
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP
from discreet.core.number_checks import Real, require_probability
from discreet.core.policy import Policy
from discreet.sql.accuracy import find_least_epsilon
from discreet.sql.expression_tree import Scalar
from discreet.sql.planner import Plan, plan_query

KEPT_PLANS = 64
PLACES = 10**4
"""An epsilon that would still fit is said in so many parts of 1."""


class Pricing:
    """The prices of questions under one policy."""

    def __init__(self, policy: Policy, promise: Promise) -> None:
        self._policy, self._promise = policy, promise
        self._planned = lru_cache(KEPT_PLANS, typed=True)(self._plan)

    def of(
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
        """A question's plan at any epsilon."""
        weights = tuple((split or {}).items())
        # True and 1 are the same key, and are not the same constant
        typed = tuple((type(value), value) for value in values)

        def priced(epsilon: Real) -> Plan:
            return self._planned(sql, epsilon, leak, confidence, weights, least_rows, raw, typed)

        return priced

    def epsilon(
        self,
        priced: Callable[[Real], Plan],
        *,
        epsilon: Real | None,
        share: Real | None,
        within: Real | str | None,
    ) -> Real:
        """The epsilon that is meant: said, as a share of the promise, by an error, or by the policy."""
        asked = (("epsilon", epsilon), ("share", share), ("within", within))
        given = [name for name, value in asked if value is not None]
        if len(given) > 1:
            raise RequestError(f"ask: {' and '.join(given)} were given.", hint="Give one of them.")
        if within is not None:
            return find_least_epsilon(within, priced)
        if share is not None:
            require_probability("ask", "share", share)
            return Fraction(self._promise.epsilon) * Fraction(share)
        if epsilon is not None:
            return epsilon
        if self._policy.epsilon is not None:
            return self._policy.epsilon
        raise RequestError(
            "ask: nothing says how much the question may cost.",
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


def smaller(proposal: Proposal, left: Cost) -> str:
    """What would still fit into what is left, where the promise counts in epsilon."""
    if not isinstance(left, PureDP) or left.epsilon <= 0:
        return ""
    fits = Fraction(math.floor(Fraction(left.epsilon) * PLACES), PLACES)
    if Fraction(float(fits)) > left.epsilon:  # what is read from 0.1 is above 1/10
        fits -= Fraction(1, PLACES)
    if fits <= 0:
        return ""
    errors = ", ".join(
        f"±{format_number_up(each.error95)}" for each in expected(proposal.priced(fits)) if each.error95
    )
    return f"What would still fit: --epsilon {float(fits)}" + (f" → {errors}." if errors else ".")
