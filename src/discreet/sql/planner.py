"""Query planner: what a query would run and cost, from text and policy alone.

    parse → resolve → bound contributions → decompose into primitives → split the budget → choose noise →
    compile

Budget      equal shares of epsilon, or weighted by the `split` option; see `budget_split`.
Noise       discrete Laplace; if the promise has a tail, discrete Gaussian of the same zCDP cost where its
            interval is narrower, as it is with many groups.
Groups      declared domains give every group. If a key's domain is not declared, partition selection chooses
            the groups privately, which needs a tail; with tail 0 such a query is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.belief import Promise
from discreet.core.errors import require_parameter
from discreet.core.guarantees import Guarantee, PureDP, ZeroConcentratedDP
from discreet.core.number_checks import Real, require_count, require_positive, require_probability
from discreet.core.policy import Policy
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.partition_selection import GroupSelection
from discreet.mechanisms.sampling import Integers
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.sql import key_domains
from discreet.sql import sql_compiler as compiled
from discreet.sql.aggregates.selection import SelectedAggregate
from discreet.sql.budget_split import GROUPS, split_budget
from discreet.sql.contribution_bounding import BoundedQuery, bound_contributions
from discreet.sql.error_tracking import ColumnErrors, track_errors
from discreet.sql.expression_tree import Scalar
from discreet.sql.interval_estimates import Noise, ReleasedPrimitive
from discreet.sql.measure_decomposition import DecomposedMeasure, decompose_measures
from discreet.sql.primitives import Primitive, PrimitiveBuilder
from discreet.sql.query_parser import parse_query
from discreet.sql.query_size import require_moderate_size
from discreet.sql.refusal import refuse_query
from discreet.sql.relational_algebra import PrivacyUnit
from discreet.sql.resolver import Query, resolve_query
from discreet.sql.value_selection import ValueSelection, plan_value_selection

__all__ = [
    "CONFIDENCE",
    "DecomposedMeasure",
    "NoisyPrimitive",
    "QueryPlan",
    "combine_guarantees",
    "plan_query",
]

CONFIDENCE = 0.95
SUREST = 1 - 1e-9
SMALLEST = Fraction(1, 1 << 64)  # a smaller share of epsilon would give noise without any information
SHARE_OF_LEAK = Fraction(1, 100)  # of the total delta, for the partition selection of one query


@dataclass(frozen=True, kw_only=True)
class NoisyPrimitive:
    """One primitive over all groups, and the noise added to it."""

    primitive: Primitive
    noise: Noise

    def to_released(self, numbers: Integers) -> ReleasedPrimitive:
        """Return noisy numbers together with the law of their noise."""
        return ReleasedPrimitive(
            numbers=numbers, noise=self.noise, weight_denominator=self.primitive.weight_denominator
        )

    def half_width(self, confidence: float) -> Fraction:
        """Return the half-width of a number's interval in steps, with row weights divided out."""
        return Fraction(self.noise.half_width(confidence), self.primitive.weight_denominator)


@dataclass(frozen=True, kw_only=True)
class QueryPlan:
    """Everything about a query except its answer: statements, noise, cost and post-processing."""

    question: Query
    promise: Promise
    epsilon: Fraction
    bounding: BoundedQuery
    noisy_primitives: dict[str, NoisyPrimitive]
    value_selections: dict[str, ValueSelection]
    outputs: tuple[DecomposedMeasure, ...]
    partition_selection: GroupSelection | None
    group_count: int | None
    statement: str
    post_processing: str
    confidence: float
    shares: Mapping[str, Fraction]
    least_rows: int | None = None
    raw: bool = False

    @property
    def guarantee(self) -> Guarantee:
        """Privacy cost of everything that is released for this query."""
        return combine_guarantees(
            [each.noise.guarantee for each in self.noisy_primitives.values()]
            + [each.guarantee for each in self.value_selections.values()]
            + ([self.partition_selection.guarantee] if self.partition_selection else []),
            self.promise,
        )

    @cached_property
    def column_errors(self) -> ColumnErrors:
        """Columns of the answer that have an error bar, and the reasons why others have none."""
        return track_errors(self.question)

    @property
    def release_key(self) -> str:
        """Identity of the release: equal for the same query, epsilon, noise and bounds, however it was
        written.

        Built from `repr`: renaming a class or field in it would change the keys of stored releases.
        """
        meaning = (self.question, self.epsilon, self.bounding.rule, self.confidence, self.raw)
        noise = tuple((name, each.noise) for name, each in sorted(self.noisy_primitives.items()))
        return hashlib.sha256(
            repr((meaning, noise, tuple(self.value_selections.items()))).encode()
        ).hexdigest()


def plan_query(
    text: str,
    policy: Policy,
    promise: Promise,
    *,
    epsilon: Real,
    leak: Real = 0,
    confidence: float = CONFIDENCE,
    split: Mapping[str, Real] | None = None,
    least_rows: int | None = None,
    raw: bool = False,
    values: Sequence[Scalar | float] = (),
) -> QueryPlan:
    """Return the plan of a query, or raise a refusal; reads no data.

    `values` are the values of its parameters $1, $2 …. `leak` is the delta that the ledger allows in total.
    `raw` shows negative counts unchanged. `least_rows` is the analyst's assumption on the size of every
    group: only the stated errors depend on it.
    """
    require_positive("ask", "epsilon", epsilon)
    require_probability("ask", "confidence", confidence)
    require_parameter(confidence <= SUREST, "ask", "confidence", confidence, f"at most {SUREST}")
    if least_rows is not None:
        require_count("ask", "least_rows", least_rows)
    budget = Fraction(epsilon)
    question = resolve_query(parse_query(text, values), policy)
    require_moderate_size(question)
    if question.rows.people is PrivacyUnit.NOBODY:
        refuse_query(
            "the question reads only public tables.", "Read them directly; they need no privacy budget."
        )
    known = key_domains.derive_group_domain(question, policy)
    by_groups, declared = promise.tail > 0, known is not None
    bounding = bound_contributions(
        question, policy, promise.secret, bounds_groups=by_groups, has_declared_groups=declared
    )
    question = bounding.question
    groups = None if known is None else known.size
    if groups is not None and groups > key_domains.LARGEST:
        refuse_query(
            f"the declared keys make {groups:,} groups.",
            f"Group by fewer or coarser keys: at most {key_domains.LARGEST:,}.",
        )
    reader = PrimitiveBuilder(
        contribution=bounding.contribution,
        is_ungrouped=not question.keys,
        weight_denominator=bounding.weight_denominator,
    )
    primitives, outputs = decompose_measures(question, reader, policy)
    part = split_budget(question, outputs, split or {}, selects_partitions=not declared)
    _require_meaningful_shares(budget, part)
    selection = (
        None if declared else _plan_partition_selection(promise, budget * part[GROUPS], leak, bounding)
    )
    vectors = {
        name: NoisyPrimitive(
            primitive=each, noise=_choose_noise(each.sensitivity, budget * part[name], promise, groups)
        )
        for name, each in primitives.items()
    }
    by_values = {
        each.column: plan_value_selection(
            each.measure, each.grid, budget * part[each.column], bounding, question, policy
        )
        for each in outputs
        if isinstance(each.measure, SelectedAggregate)
    }
    aggregates = {name: each.aggregate_sql for name, each in primitives.items()}
    if selection is not None:
        aggregates["people"] = _compile_people_count(question)
    return QueryPlan(
        question=question,
        promise=promise,
        epsilon=budget,
        bounding=bounding,
        noisy_primitives=vectors,
        value_selections=by_values,
        outputs=tuple(outputs),
        partition_selection=selection,
        group_count=groups,
        # a query that only selects values has no primitives, but still needs its groups
        statement=compiled.compile_grouped_counts(question, aggregates or {"one": "1"}, known),
        post_processing=compiled.compile_post_processing(
            question.post_processing, track_errors(question).measures_with_intervals
        ),
        confidence=confidence,
        shares=part,
        least_rows=least_rows,
        raw=raw,
    )


def combine_guarantees(guarantees: list[Guarantee], promise: Promise) -> Guarantee:
    """Return the joint guarantee of several releases: the sum of their epsilons, or of their zCDP costs."""
    if all(isinstance(each, PureDP) for each in guarantees):
        total = sum((Fraction(each.epsilon) for each in guarantees if isinstance(each, PureDP)), Fraction(0))
        return PureDP(epsilon=total, relation=promise.secret)
    costs: list[ZeroConcentratedDP] = [each.zcdp for each in guarantees]  # type: ignore[attr-defined]
    return ZeroConcentratedDP(
        rho=sum((Fraction(each.rho) for each in costs), Fraction(0)),
        delta=sum((Fraction(each.delta) for each in costs), Fraction(0)),
        relation=promise.secret,
    )


def _require_meaningful_shares(epsilon: Fraction, part: Mapping[str, Fraction]) -> None:
    if any(0 < each * epsilon < SMALLEST for each in part.values()):
        refuse_query(
            "a measure would get too small a part of epsilon for its answer to mean anything.",
            "Give a larger epsilon, or weights in split that are closer to each other.",
        )


def _choose_noise(moved: Sensitivity, epsilon: Fraction, promise: Promise, groups: int | None) -> Noise:
    laplace = DiscreteLaplace(epsilon=epsilon, sensitivity=moved.l1, relation=promise.secret)
    if promise.tail == 0:
        return laplace
    gaussian = DiscreteGaussian.from_rho(
        laplace.guarantee.zcdp.rho,
        squared_sensitivity=moved.squared_l2,
        places=groups or 1 << 31,
        relation=promise.secret,
    )
    narrower = gaussian.half_width(CONFIDENCE) < laplace.half_width(CONFIDENCE)
    return gaussian if narrower else laplace


def _plan_partition_selection(
    promise: Promise, epsilon: Fraction, leak: Real, bounding: BoundedQuery
) -> GroupSelection:
    if promise.tail == 0 or leak <= 0:
        refuse_query(
            "a key's values are not declared, so groups would have to be selected privately, and a promise "
            "with tail 0 does not allow that.",
            "Declare the column's values (or low and high) in the policy, or promise with a small tail.",
        )
    groups = bounding.contribution.rows * bounding.contribution.groups
    if bounding.question.rows.people is PrivacyUnit.COLUMN and bounding.contribution.groups > 1:
        groups = bounding.contribution.groups
    return GroupSelection(
        epsilon=epsilon,
        delta=Fraction(leak) * SHARE_OF_LEAK,
        groups_per_person=groups,
        relation=promise.secret,
    )


def _compile_people_count(question: Query) -> str:
    if question.rows.people is PrivacyUnit.COLUMN:
        return 'count(DISTINCT "_discreet_person")'
    return "count(*)"
