"""What `within` buys: the least that, with what is stored, has an error no wider than allowed.

Stored     Where what is stored is within the error already, nothing is bought.
Missing    What is stored precisely enough for the error is not bought. The others are bought
           at the least epsilon at which their means with what is stored are within the error: less than
           what they would cost alone, or as much where no mean helps.
Anew       What another question showed has a wider interval (`sql.error_plan`). Where that is wider than
           allowed, everything is measured anew.

All of this follows from public laws. What is chosen is bought when the plan is asked, unless what is stored
by then is within the planned error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.number_checks import Real
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.measurement_store import MeasurementStore
from discreet.services.question_request import Reuse
from discreet.sql.accuracy import (
    FINEST,
    is_within,
    list_comparable_errors,
    search_epsilon,
)
from discreet.sql.refusal import Refusal

if TYPE_CHECKING:
    from discreet.services.plans import Plan
    from discreet.sql.planner import QueryPlan


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """The plan that is asked, how far it uses the store, and what it buys although it is stored."""

    plan: QueryPlan
    reuse: Reuse
    bought: frozenset[str] = frozenset()


def find_least_purchase(
    within: Real | str,
    alone: QueryPlan,
    plan_at: Callable[[Real], QueryPlan],
    store: MeasurementStore,
    question: str,
) -> Purchase:
    """Return the purchase that costs least among those whose stated error is within the allowed one.

    `alone` is the plan at the least epsilon that is enough without what is stored.
    """
    policy = store.policy
    found = store.find(alone, question)
    if not found.known_entries and not found.stored:
        return Purchase(plan=alone, reuse=Reuse.PRECISE)
    stored = store.find(alone, question, Reuse.ANY)
    if not stored.missing and _states_within(store.apply_noise(alone, stored, question), within):
        return Purchase(plan=alone, reuse=Reuse.ANY)

    def is_enough(epsilon: Fraction, bought: frozenset[str]) -> bool:
        made = plan_at(epsilon)
        combined = store.find(made, question, Reuse.ANY, bought=bought)
        return _states_within(combined.apply_noise(made, policy, question), within)

    bought = frozenset(found.missing)
    for name in sorted(found.missing):
        # it may be stored well enough for this error, though not as well as its part of epsilon would buy
        if name in stored.stored and is_enough(alone.epsilon, bought - {name}):
            bought -= {name}
    if not bought or not is_enough(alone.epsilon, bought):
        return Purchase(plan=alone, reuse=Reuse.NOTHING)
    least = search_epsilon(lambda epsilon: is_enough(epsilon, bought), FINEST, alone.epsilon)
    return Purchase(plan=plan_at(least), reuse=Reuse.ANY, bought=bought)


def _states_within(plan: QueryPlan, within: Real | str) -> bool:
    """Return True if a plan with the noise of stored measurements states errors within the allowed one."""
    try:
        return is_within(plan, within)
    except Refusal:
        return False  # the error of what another question showed may depend on the data


def find_measurements(store: MeasurementStore, proposal: Plan) -> FoundMeasurements:
    """Return what serves a plan now, and what it buys: nothing if what is stored is as good as it states."""
    plan, question = proposal.query_plan, proposal.text
    found = store.find(plan, question, proposal.reuse, bought=proposal.bought)
    if not proposal.bought:
        return found
    stored = store.find(plan, question, Reuse.ANY)
    if stored.missing:
        return found
    now = list_comparable_errors(store.apply_noise(plan, stored, question))
    planned = list_comparable_errors(proposal.stated_plan)
    is_enough = now.keys() == planned.keys() and all(now[name] <= planned[name] for name in now)
    return stored if is_enough else found
