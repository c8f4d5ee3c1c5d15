"""Core planning: the measurements of one aggregation over people's rows, their noise, and what counts them.

    bound contributions → decompose into primitives → split the budget → choose noise → compile

Budget      equal shares of epsilon, or weighted by the `split` option; see `budget_split`. Several cores of a
            query get as many parts of it as each has measurements.
Noise       discrete Laplace; if the promise has a tail, discrete Gaussian of the same zCDP cost where its
            interval is narrower, as it is with many groups.
Groups      declared domains give every group. If a key's domain is not declared, partition selection chooses
            the groups privately, which needs a tail; with tail 0 such a query is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from discreet.belief import Promise
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import DEFAULT_CONFIDENCE, Real
from discreet.core.policy import Policy
from discreet.mechanisms.combined_noise import CombinedNoise, ReleasedNoise, describe_error, get_looks
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.linear_combinations import LinearCombination
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.partition_selection import GroupSelection
from discreet.mechanisms.sampling import Integers
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.sql import key_domains
from discreet.sql import sql_compiler as compiled
from discreet.sql.aggregates.selection import SelectedAggregate
from discreet.sql.budget_split import GROUPS, split_budget
from discreet.sql.contribution_bounding import BoundedQuery, bound_contributions
from discreet.sql.declared_literals import require_declared_literals
from discreet.sql.expression_tree import Column
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.measure_decomposition import DecomposedMeasure, decompose_measures
from discreet.sql.measurement_identity import CoreIdentity, MeasurementIdentity, identify_core
from discreet.sql.primitives import Primitive, PrimitiveBuilder
from discreet.sql.query import Query
from discreet.sql.query_size import require_moderate_size
from discreet.sql.refusal import refuse_query
from discreet.sql.relational_algebra import PrivacyUnit
from discreet.sql.released_schema import ReleasedSchema
from discreet.sql.repeated_looks import divide_confidence
from discreet.sql.value_selection import ValueSelection, plan_value_selection

SMALLEST = Fraction(1, 1 << 64)  # a smaller share of epsilon would give noise without any information
SHARE_OF_LEAK = Fraction(1, 100)  # of the total delta, for the partition selection of one query


@dataclass(frozen=True, kw_only=True)
class NoisyPrimitive:
    """One primitive over all groups, and the noise added to it: drawn, or that of what is stored."""

    primitive: Primitive
    noise: ReleasedNoise

    @property
    def mechanism(self) -> IntegerNoise:
        """The mechanism that draws the noise of a primitive that is measured."""
        assert not isinstance(self.noise, CombinedNoise)
        return self.noise

    def to_released(self, numbers: Integers) -> ReleasedPrimitive:
        """Return noisy numbers together with the law of their noise."""
        return ReleasedPrimitive(
            numbers=numbers, noise=self.noise, weight_denominator=self.primitive.weight_denominator
        )

    @property
    def error(self) -> LinearCombination:
        """The law of the noise, in the measure's units."""
        return describe_error(self.noise, unit=self.primitive.unit / self.primitive.weight_denominator)

    def restate(self, released: ReleasedPrimitive) -> NoisyPrimitive:
        """Return the primitive with the noise and the steps of released numbers, which take its place."""
        primitive = self.primitive
        if released.weight_denominator != primitive.weight_denominator:
            primitive = replace(primitive, weight_denominator=released.weight_denominator)
        return NoisyPrimitive(primitive=primitive, noise=released.noise)

    def half_width(self, confidence: float) -> Fraction:
        """Return the half-width of a number's interval in steps, with row weights divided out."""
        return Fraction(self.noise.half_width(confidence), self.primitive.weight_denominator)


@dataclass(frozen=True, kw_only=True)
class CorePlan:
    """One aggregation over people's rows: the measurements that it needs, and the statement that counts them.

    It is released as the table `table`; `prefix` tells its names from those of other cores of the plan.
    `question` has its bounded rows, keys and measures; `domain` the groups that the policy declares.
    `key_orders` has the declared values of keys that are sorted in the order in which they are declared.
    `shown_cells` is the number of cells among which those of this core may have been chosen after they were
    seen, if these are more than its own; `has_chosen_cells` says that these were any cells, so that a total
    over all of them is none over cells that agree in some keys.
    """

    table: str
    prefix: str
    question: Query
    bounding: BoundedQuery
    noisy_primitives: dict[str, NoisyPrimitive]
    value_selections: dict[str, ValueSelection]
    outputs: tuple[DecomposedMeasure, ...]
    partition_selection: GroupSelection | None
    domain: key_domains.GroupDomain | None
    key_orders: Mapping[str, tuple[str, ...]]
    shown_cells: int = 0
    has_chosen_cells: bool = False

    @property
    def group_count(self) -> int | None:
        """The number of groups, if the policy declares them."""
        return None if self.domain is None else self.domain.size

    @property
    def charged_names(self) -> tuple[str, ...]:
        """The names of its measurements: primitives and selected values."""
        return (*self.noisy_primitives, *self.value_selections)

    @property
    def guarantees(self) -> list[Guarantee]:
        """The guarantees of everything that is released for it."""
        return self.list_guarantees(self.charged_names)

    def list_guarantees(self, names: Iterable[str]) -> list[Guarantee]:
        """Return the guarantees of some of its measurements, and of the selection of their groups."""
        found: list[Guarantee] = [
            self.noisy_primitives[name].mechanism.guarantee
            if name in self.noisy_primitives
            else self.value_selections[name].guarantee
            for name in names
        ]
        return [*found, self.partition_selection.guarantee] if found and self.partition_selection else found

    @cached_property
    def statement(self) -> str:
        """The SQL of one row per group: keys and primitives."""
        return self.compile_counts(self.noisy_primitives)

    def compile_counts(self, names: Iterable[str]) -> str:
        """Return the SQL of one row per group: its keys, and some of the primitives."""
        aggregates = {name: self.noisy_primitives[name].primitive.aggregate_sql for name in names}
        if self.partition_selection is not None:
            aggregates["people"] = _compile_people_count(self.question)
        # a query that only selects values has no primitives, but still needs its groups
        groups = None if self.domain is None else self.domain.statement
        return compiled.compile_grouped_counts(self.question, aggregates or {"one": "1"}, groups)

    @cached_property
    def identity(self) -> CoreIdentity:
        """The identity of its rows and groups."""
        return identify_core(self.bounding, selection=self.partition_selection)

    @cached_property
    def identities(self) -> dict[str, MeasurementIdentity]:
        """The identity of each measurement: of primitives by name, of selected values by column."""
        primitives = {
            name: self.identity.identify_primitive(each.primitive.meaning)
            for name, each in self.noisy_primitives.items()
        }
        selections = {
            output.column: self.identity.identify_selection(output.measure, output.grid)
            for output in self.outputs
            if isinstance(output.measure, SelectedAggregate)
        }
        return {**primitives, **selections}

    def describe_release(self, name: str) -> ReleasedSchema:
        """Return the released table under a name, without the prefix of this core."""
        primitives = {each: noisy.primitive for each, noisy in self.noisy_primitives.items()}
        return ReleasedSchema(
            name=name,
            keys=tuple(column.name for column, _ in self.question.keys),
            measures={
                each.column.removeprefix(self.prefix): each.measure.describe_form(each, primitives)
                for each in self.outputs
            },
            noises={each: noisy.error for each, noisy in self.noisy_primitives.items()},
            looks={each: get_looks(noisy.noise) for each, noisy in self.noisy_primitives.items()},
            is_complete=self.partition_selection is None,
            row_count=self.group_count,
            shown_cells=self.shown_cells,
            key_sizes={} if self.domain is None else key_domains.find_key_sizes(self.domain),
            has_chosen_cells=self.has_chosen_cells,
        )

    def find_confidence(self, output: DecomposedMeasure, confidence: float) -> float:
        """Return the confidence at which a measure's intervals are computed (`sql.repeated_looks`)."""
        looks = [get_looks(self.noisy_primitives[name].noise) for name in output.primitive_names]
        return divide_confidence(confidence, frozenset[int]().union(*looks))

    def replan_selection(self, column: str, epsilon: Fraction, policy: Policy) -> ValueSelection:
        """Return the selection of a measure's values at another epsilon."""
        output = next(each for each in self.outputs if each.column == column)
        assert isinstance(output.measure, SelectedAggregate)
        return plan_value_selection(
            output.measure, output.grid, epsilon, self.bounding, self.question, policy
        )


# -- Planning ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PreparedCore:
    """A core before its part of epsilon is known."""

    table: str
    prefix: str
    bounding: BoundedQuery
    domain: key_domains.GroupDomain | None
    primitives: Mapping[str, Primitive]
    outputs: tuple[DecomposedMeasure, ...]
    shares: Mapping[str, Fraction]


def prepare_core(
    question: Query, table: str, policy: Policy, promise: Promise, split: Mapping[str, Real], *, prefix: str
) -> PreparedCore:
    """Return a core with bounded contributions and its primitives, or refuse it."""
    question = _add_prefix(question, prefix)
    require_moderate_size(question)
    require_declared_literals(question, policy)
    known = key_domains.derive_group_domain(question, policy)
    by_groups, declared = promise.tail > 0, known is not None
    bounding = bound_contributions(
        question, policy, promise.secret, bounds_groups=by_groups, has_declared_groups=declared
    )
    question = bounding.question
    if known is not None and known.size > key_domains.LARGEST:
        refuse_query(
            f"the declared keys make {known.size:,} groups.",
            f"Group by fewer or coarser keys: at most {key_domains.LARGEST:,}.",
        )
    reader = PrimitiveBuilder(
        contribution=bounding.contribution,
        is_ungrouped=not question.keys,
        weight_denominator=bounding.weight_denominator,
    )
    primitives, outputs = decompose_measures(bounding, reader, policy, prefix=prefix)
    return PreparedCore(
        table=table,
        prefix=prefix,
        bounding=bounding,
        domain=known,
        primitives=primitives,
        outputs=tuple(outputs),
        shares=split_budget(question, outputs, split, selects_partitions=not declared),
    )


def _add_prefix(question: Query, prefix: str) -> Query:
    """Return a core whose measures have names that no other core of the plan has."""
    measures = tuple(
        (replace(column, name=f"{prefix}{column.name}"), measure) for column, measure in question.measures
    )
    return replace(question, measures=measures) if prefix else question


def combine_shares(prepared: Sequence[PreparedCore]) -> dict[str, Fraction]:
    """Return the shares of epsilon of all cores: as many parts as each core has names to charge."""
    if len(prepared) == 1:
        return dict(prepared[0].shares)
    counts = [sum(share > 0 for share in each.shares.values()) for each in prepared]
    return {
        f"{each.prefix}{GROUPS}" if name == GROUPS else name: share * count / sum(counts)
        for each, count in zip(prepared, counts, strict=True)
        for name, share in each.shares.items()
    }


def plan_core(
    prepared: PreparedCore,
    shares: Mapping[str, Fraction],
    policy: Policy,
    promise: Promise,
    epsilon: Fraction,
    leak: Fraction,
) -> CorePlan:
    """Return the plan of a core at its shares of epsilon."""
    bounding, question = prepared.bounding, prepared.bounding.question
    groups = None if prepared.domain is None else prepared.domain.size
    selection = None
    if groups is None:
        chosen = epsilon * shares[f"{prepared.prefix}{GROUPS}"]
        selection = _plan_partition_selection(promise, chosen, leak, bounding)
    return CorePlan(
        table=prepared.table,
        prefix=prepared.prefix,
        question=question,
        bounding=bounding,
        noisy_primitives={
            name: NoisyPrimitive(
                primitive=each, noise=_choose_noise(each.sensitivity, epsilon * shares[name], promise, groups)
            )
            for name, each in prepared.primitives.items()
        },
        value_selections={
            each.column: plan_value_selection(
                each.measure, each.grid, epsilon * shares[each.column], bounding, question, policy
            )
            for each in prepared.outputs
            if isinstance(each.measure, SelectedAggregate)
        },
        outputs=prepared.outputs,
        partition_selection=selection,
        domain=prepared.domain,
        key_orders=_find_key_orders(question, policy),
    )


def plan_finer_core(
    core: CorePlan,
    question: Query,
    domain: key_domains.GroupDomain,
    policy: Policy,
    promise: Promise,
    epsilon: Fraction,
    shares: Mapping[str, Fraction],
) -> CorePlan:
    """Return the plan of the same measures as a core's over finer groups, at the same shares of epsilon.

    `question` has rows that are bounded as those of the core, and `domain` its groups.
    """
    bounding = replace(core.bounding, question=question)
    builder = PrimitiveBuilder(
        contribution=bounding.contribution,
        is_ungrouped=False,
        weight_denominator=bounding.weight_denominator,
    )
    primitives, outputs = decompose_measures(bounding, builder, policy, prefix=core.prefix)
    return replace(
        core,
        question=question,
        bounding=bounding,
        noisy_primitives={
            name: NoisyPrimitive(
                primitive=each,
                noise=_choose_noise(each.sensitivity, epsilon * shares[name], promise, domain.size),
            )
            for name, each in primitives.items()
            if name in shares
        },
        outputs=tuple(outputs),
        domain=domain,
        key_orders=_find_key_orders(question, policy),
    )


def require_meaningful_shares(epsilon: Fraction, part: Mapping[str, Fraction]) -> None:
    """Refuse shares of epsilon that are too small for an answer."""
    if any(0 < each * epsilon < SMALLEST for each in part.values()):
        refuse_query(
            "a measure would get too small a part of epsilon for its answer to mean anything.",
            "Give a larger epsilon, or weights in split that are closer to each other.",
        )


def _find_key_orders(question: Query, policy: Policy) -> dict[str, tuple[str, ...]]:
    """Return the declared values of the keys that are columns with declared values."""
    found = {}
    for column, key in question.keys:
        declared = (
            key_domains.find_declared_column(key, question.rows, policy) if isinstance(key, Column) else None
        )
        if declared is not None and declared.values is not None:
            found[column.name] = tuple(declared.values)
    return found


def _choose_noise(
    moved: Sensitivity, epsilon: Fraction, promise: Promise, groups: int | None
) -> IntegerNoise:
    laplace = DiscreteLaplace(epsilon=epsilon, sensitivity=moved.l1, relation=promise.secret)
    if promise.tail == 0:
        return laplace
    gaussian = DiscreteGaussian.from_rho(
        laplace.guarantee.zcdp.rho,
        squared_sensitivity=moved.squared_l2,
        places=groups or 1 << 31,
        relation=promise.secret,
    )
    narrower = gaussian.half_width(DEFAULT_CONFIDENCE) < laplace.half_width(DEFAULT_CONFIDENCE)
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
