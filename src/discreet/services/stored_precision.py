"""Whether stored measurements may serve for what is planned, alone, together or as sums of cells.

All of this follows from public laws: widths of intervals are compared at the level of the answer, of one row
or of all rows at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.policy import Policy
from discreet.mechanisms.combined_noise import get_looks
from discreet.mechanisms.simultaneous_bounds import split_miss_probability
from discreet.services.derived_measurements import DerivedGroups
from discreet.services.found_measurements import NO_NUMBERS, FoundMeasurements, describe_mean
from discreet.services.question_request import Reuse
from discreet.services.stored_measurements import StoredMeasurements
from discreet.sql.accuracy import list_comparable_errors
from discreet.sql.error_plan import ALL_ROWS
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.measurement_slices import SLACK
from discreet.sql.repeated_looks import share_of_look

if TYPE_CHECKING:
    from discreet.sql.core_planning import NoisyPrimitive
    from discreet.sql.planner import QueryPlan


def find_comparison_level(plan: QueryPlan) -> float:
    """Return the miss probability of one interval, for comparing noises: that of a row, or of all rows."""
    beta, groups = 1 - plan.confidence, plan.group_count
    if groups is not None and ALL_ROWS in plan.column_errors.interval_kinds.values():
        return split_miss_probability(beta, max(1, groups))
    return beta


def is_mean_enough(plan: QueryPlan, name: str, parts: tuple[StoredMeasurements, ...], identity: str) -> bool:
    """Return True if the mean of stored measurements has an interval no wider than the planned noise."""
    planned, beta = plan.noisy_primitives[name], find_comparison_level(plan)
    mean = describe_mean(parts, identity, None)
    return find_shown_half_width(planned, mean, beta) <= find_shown_half_width(
        planned, planned.to_released(NO_NUMBERS), beta
    )


def is_precise(plan: QueryPlan, name: str, groups: DerivedGroups, question: str, reuse: Reuse) -> bool:
    """Return True if groups of stored cells may serve: any, or those with noise as narrow as the planned.

    A group of several cells has no wider interval than what is planned, also where it may have been chosen
    because of the noise of these cells.
    """
    if reuse is Reuse.ANY:
        return True
    planned, released = plan.noisy_primitives[name], groups.get_released()
    if groups.most_cells <= 1:
        return float(released.noise.variance) <= float(planned.noise.variance) * SLACK
    beta = find_comparison_level(plan)
    share = beta
    if groups.part.was_shown(question):
        share = split_miss_probability(1 - plan.confidence, groups.part.choices)
    return find_shown_half_width(planned, released, share) <= find_shown_half_width(
        planned, planned.to_released(NO_NUMBERS), beta
    )


def choose_means(
    plan: QueryPlan,
    policy: Policy,
    question: str,
    found: FoundMeasurements,
    candidates: Mapping[str, tuple[StoredMeasurements, ...]],
) -> frozenset[str]:
    """Return the names of the measurements for which the mean has a narrower interval than the best alone.

    Then no column of the answer may have a wider interval than without means, as where a stored measurement
    was shown by another question.
    """
    alone = found.apply_noise(plan, policy, question)
    beta, means = find_comparison_level(alone), dict[str, tuple[StoredMeasurements, ...]]()
    for name, parts in candidates.items():
        identity, planned = found.identities[name], plan.noisy_primitives[name]
        bought = planned if name in found.missing else None
        singles = [each.primitives[identity] for each in parts]
        if bought is not None:
            singles.append(bought.to_released(NO_NUMBERS))
        width = find_shown_half_width(planned, describe_mean(parts, identity, bought), beta)
        if width < min(find_shown_half_width(planned, each, beta) for each in singles):
            means[name] = parts
    if not means:
        return frozenset()
    with_means = replace(found, stored={**found.stored, **means})
    before, after = (
        list_comparable_errors(each) for each in (alone, with_means.apply_noise(plan, policy, question))
    )
    is_narrower = before.keys() == after.keys() and all(
        after[name] <= error * SLACK for name, error in before.items()
    )
    return frozenset(means) if is_narrower else frozenset()


def find_shown_half_width(planned: NoisyPrimitive, released: ReleasedPrimitive, beta: float) -> Fraction:
    """Return the half-width of the interval that is shown, with the rounding of whole numbers."""
    confidence = 1 - share_of_look(beta, get_looks(released.noise))
    half = Fraction(released.noise.half_width(confidence), released.weight_denominator)
    is_rounded = planned.primitive.unit == 1 and released.weight_denominator > 1
    return half + Fraction(1, 2) if is_rounded else half
