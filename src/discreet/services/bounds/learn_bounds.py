"""Learn the bounds or the frequent values of a column privately, charged like a question.

    request + policy → plan (no data) → charged, or replayed for free → engine counts (one statement)
    → mechanism → bounds that the policy may declare

Bounds      one noisy histogram over bins of powers of two (`mechanisms.approximate_bounds`); a person has at
            most the declared rows in it. Noise is Laplace, or under a promise with a tail Gaussian of the
            same cost where that has the lower threshold.
Values      partition selection (`mechanisms.partition_selection`), which needs a promise with a tail: a value
            is learned if enough people have it.
Undeclared  only columns without bounds or values are measured, so that what was declared or learned before
            does not clamp what is counted. For a column that was learned already, the same request is
            replayed from the ledger that it names, and others are refused.
Identity    a release depends on the table, on how its people and this column are read, and on nothing else of
            the policy: after the bounds are written into it the same request is still the same.
Outcome     no bin or value passing is noise like any other outcome; the charge stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from discreet.accounting.guarantee_json import guarantee_to_json
from discreet.belief import Belief
from discreet.belief.wording import ATTACKER, format_count, format_percent
from discreet.core.column_entry import BOUNDS, Column, ColumnType, LearnedFrom, Role
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import Guarantee
from discreet.core.html_summary import build_facts, build_note, build_summary
from discreet.core.number_checks import Real
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.mechanisms import get_mechanism_name
from discreet.mechanisms.approximate_bounds import ApproximateBounds
from discreet.mechanisms.partition_selection import GroupCounts, GroupSelection
from discreet.mechanisms.sensitivity import ContributionBounds
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.schema import Schema
from discreet.services.answer_cache import table_from_bytes, table_to_bytes
from discreet.services.bounds.bounds_request import BoundsRequest
from discreet.services.bounds.value_scale import Bound, ValueScale, format_bound
from discreet.services.curator import Curator
from discreet.services.released_tables import ReleasedTable, describe_cost
from discreet.services.stored_releases import compute_release_key, release_or_replay, resolve_epsilon
from discreet.sql.plan_execution import get_key_columns
from discreet.sql.planner import combine_guarantees, plan_query

VERB = "bounds"
Measure = Callable[[Engine, Randomness], pa.Table]


@dataclass(frozen=True, kw_only=True)
class BoundsPlan:
    """A planned measurement and its price, from the request and the policy alone.

    `repeated` if it was charged before, so that it is free; `fits_budget` if it is, or the budget allows it.
    """

    request: BoundsRequest
    scale: ValueScale
    epsilon: Real
    mechanism: ApproximateBounds | GroupSelection
    guarantee: Guarantee
    terms: Mapping[str, object]
    scope: Policy = field(repr=False)
    measure: Measure = field(repr=False)
    belief_before: Belief
    belief_after: Belief
    repeated: bool
    fits_budget: bool

    @property
    def ledger_text(self) -> str:
        """The request as the ledger shows it."""
        option = " --values" if self.request.values else ""
        if self.scale.is_time:
            option = f" --origin {self.request.origin.isoformat()}"
        return f"{VERB} {self.request.table} {self.request.column}{option}"

    @property
    def price(self) -> str:
        """The price of learning, in words: values that may be lost, and the chance of too wide a bound."""
        if isinstance(self.mechanism, GroupSelection):
            least = format_count(self.mechanism.threshold + 1, "person has", "people have")
            return f"Values that fewer than {least} may be left out."
        return (
            f"Values that fewer than {format_count(self.mechanism.threshold, 'row has', 'rows have')} may be "
            "clamped; the chance that a bound is wider than all values is at most "
            f"{format_percent(float(self.mechanism.false_positives))}."
        )

    @cached_property
    def certificate(self) -> dict[str, object]:
        """The certificate to publish with what is learned: parameters, and nothing of the result."""
        described: dict[str, object] = {"threshold": self.mechanism.threshold}
        if isinstance(self.mechanism, ApproximateBounds):
            noise = get_mechanism_name(type(self.mechanism.noise))
            described |= {
                "noise": noise,
                "bins": self.mechanism.bins.size,
                "false_positives": float(self.mechanism.false_positives),
            }
        return {
            "kind": f"differentially private {'values' if self.request.values else 'bounds'}",
            "table": self.request.table,
            "column": self.request.column,
            "mechanism": get_mechanism_name(type(self.mechanism)),
            **described,
            "price": self.price,
            "relation": self.guarantee.relation.value,
            "epsilon": float(self.epsilon),
            "guarantee": json.loads(guarantee_to_json(self.guarantee)),
            "attacker": ATTACKER,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LearnedBounds(ReleasedTable):
    """Bounds or values that a policy may declare, and their cost; None where nothing was learned.

    `rows` is the noisy count of each bin, or the noisy number of people with each value.
    """

    plan: BoundsPlan
    low: Bound | None
    high: Bound | None
    values: tuple[str, ...] | None
    rows: pa.Table
    learned: LearnedFrom
    belief: Belief
    sentence: str
    repeated: bool

    @property
    def entry(self) -> int:
        """The number of the ledger entry."""
        return self.learned.entry

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was learned: no bin, or no value, passed the threshold."""
        return self.low is None and not self.values

    def describe(self) -> str:
        """Return what was learned, in words."""
        name = self.plan.request.column
        if self.is_empty:
            what = "value" if self.plan.request.values else "range of values"
            return f"No {what} of {name} passed the threshold of {self.plan.mechanism.threshold:,}."
        if self.values is not None:
            return f"{name}: {', '.join(self.values)}"
        return f"{name}: from {format_bound(self.low)} to {format_bound(self.high)}"

    def to_arrow(self) -> pa.Table:
        """Return the noisy counts as an Arrow table."""
        return self.rows

    def _describe_cost(self) -> str:
        return describe_cost(self.plan.epsilon, 0, self.entry, repeated=self.repeated)

    def __repr__(self) -> str:
        return f"<LearnedBounds of {self.plan.request.table}, {self.describe()}: {self._describe_cost()}>"

    def _repr_html_(self) -> str:
        facts = [
            ("learned", self.describe()),
            ("price", self.plan.price),
            ("cost", self._describe_cost()),
            ("belief", self.sentence),
        ]
        caption = f"Bounds of {self.plan.request.table}.{self.plan.request.column}"
        if self.values is not None:
            return self._summarize_rows(caption, facts)
        # most of its ranges are far from all values, and their counts are noise
        return build_summary(
            build_facts(facts, caption=caption),
            build_note("to_pandas() has the noisy count of each range that was tried."),
        )


def plan_bounds(curator: Curator, request: BoundsRequest) -> BoundsPlan:
    """Return what would be measured and its effect on belief, or refuse; reads no data."""
    table, column = _find_column(curator.policy, request)
    _require_learnable(column, request, curator)
    epsilon = resolve_epsilon(curator, request.epsilon, VERB)
    scope = _select_scope(curator.policy, request)
    scale = ValueScale.from_column(column, request.origin)
    mechanism: ApproximateBounds | GroupSelection
    if request.values:
        mechanism, measure = _plan_values(curator, request, scope, epsilon)
    else:
        mechanism, measure = _plan_histogram(curator, request, table, scale, epsilon)
    guarantee = combine_guarantees([mechanism.guarantee], curator.promise)
    terms = _list_terms(request, scale, epsilon)
    key = compute_release_key(curator, VERB, terms, scope)
    repeated = curator.answer_cache.find(key) is not None
    _require_undeclared(column, request, repeated=repeated)
    spent = curator.ledger.get_known_accountant(curator.belief_scope)
    fits = repeated or curator.ledger.has_room_for(curator.analyst, guarantee)
    before = spent.compute_belief()
    return BoundsPlan(
        request=request,
        scale=scale,
        epsilon=epsilon,
        mechanism=mechanism,
        guarantee=guarantee,
        terms=terms,
        scope=scope,
        measure=measure,
        belief_before=before,
        belief_after=spent.spend(guarantee).compute_belief() if fits and not repeated else before,
        repeated=repeated,
        fits_budget=fits,
    )


def learn_bounds(curator: Curator, request: BoundsRequest) -> LearnedBounds:
    """Charge the request and return what was learned; repeating the same request is free."""
    plan = plan_bounds(curator, request)
    found = release_or_replay(
        curator,
        VERB,
        plan.ledger_text,
        plan.terms,
        plan.guarantee,
        plan.measure,
        serialize=table_to_bytes,
        deserialize=table_from_bytes,
        policy=plan.scope,
    )
    low, high, values = _read_release(plan, found.release)
    low, high = _clip_to_hierarchy(curator.policy, request, low, high)
    mark = curator.ledger.read_mark()
    return LearnedBounds(
        plan=plan,
        low=low,
        high=high,
        values=values,
        rows=found.release,
        learned=LearnedFrom(
            entry=found.entry,
            ledger=mark.place.rstrip("/").rpartition("/")[2] or mark.place,
            identity=mark.ledger,
            epsilon=float(plan.epsilon),
            analyst=None if curator.ledger.shares_answers else curator.belief_scope,
        ),
        belief=curator.ledger.compute_belief(analyst=curator.belief_scope),
        sentence=curator.ledger.describe_belief(analyst=curator.belief_scope),
        repeated=found.repeated,
    )


def _clip_to_hierarchy(
    policy: Policy, request: BoundsRequest, low: Bound | None, high: Bound | None
) -> tuple[Bound | None, Bound | None]:
    """Return the bounds within those of the column's hierarchy, which are public, if both overlap."""
    column = policy.tables[request.table].columns[request.column]
    entry = policy.hierarchies.get(column.hierarchy or request.column)
    ends = (None, None) if entry is None else (entry.low, entry.high)
    try:
        first = low if ends[0] is None else max(low, ends[0])  # type: ignore[type-var]
        last = high if ends[1] is None else min(high, ends[1])  # type: ignore[type-var]
        return (first, last) if first <= last else (low, high)  # type: ignore[operator]
    except TypeError:  # nothing was learned, or the hierarchy is not of the column's type
        return low, high


def _find_column(policy: Policy, request: BoundsRequest) -> tuple[Table, Column]:
    table = policy.tables.get(request.table)
    if table is None:
        raise RequestError(
            f"{VERB}: the policy has no table {request.table}.", hint=f"It has {', '.join(policy.tables)}."
        )
    if table.person == "none":
        raise RequestError(
            f"{VERB}: {request.table} is about nobody.", hint="Read its bounds directly, and declare them."
        )
    column = table.columns.get(request.column)
    if column is None:
        raise RequestError(
            f"{VERB}: {request.table} has no column {request.column}.",
            hint=f"It has {', '.join(table.columns)}.",
        )
    if column.role is Role.IDENTIFIER or request.column == table.person_column:
        raise RequestError(
            f"{VERB}: {request.column} identifies people, so nothing of it is released.",
            hint="Name another column.",
        )
    return table, column


def _require_learnable(column: Column, request: BoundsRequest, curator: Curator) -> None:
    """Refuse a column whose type has no bounds or no values, or a promise that does not allow it."""
    if request.values and column.type is not ColumnType.CATEGORY:
        raise RequestError(
            f"{VERB}: {request.column} is of type {column.type.value}, which declares no values.",
            hint="Leave out `values=`, or declare it as a category.",
        )
    if request.values and curator.promise.tail == 0:
        raise RequestError(
            f"{VERB}: values are learned only under a promise with a tail; this one has tail 0.",
            hint="Declare the values in the policy, or promise with a small tail.",
        )
    if not request.values and column.type not in BOUNDS:
        raise RequestError(
            f"{VERB}: {request.column} is of type {column.type.value}, which has no bounds.",
            hint="Name a number or a date, or learn the values of a category by `values=True`.",
        )
    if column.type is ColumnType.DECIMAL and column.resolution is None:
        raise RequestError(
            f"{VERB}: {request.column} is a decimal and declares no resolution.",
            hint="Add one to the policy, such as resolution: 0.01.",
        )


def _list_terms(request: BoundsRequest, scale: ValueScale, epsilon: Real) -> dict[str, object]:
    """Return the identity of a release, beside the part of the policy that it depends on."""
    asked: dict[str, object] = {"table": request.table, "column": request.column, "epsilon": epsilon}
    if request.values:
        return asked | {"values": True}
    origin = {"origin": request.origin.isoformat()} if scale.is_time else {}
    return asked | {"false_positives": request.false_positives} | origin


def _require_undeclared(column: Column, request: BoundsRequest, *, repeated: bool) -> None:
    """Refuse a column that declares bounds or values, unless this request is the one they come from."""
    if column.low is None and column.values is None:
        return
    declared = "values" if request.values else "low and high"
    if column.learned is None:
        raise RequestError(
            f"{VERB}: {request.column} declares {declared} already.",
            hint="Remove them from the policy to learn others.",
        )
    if not repeated:
        raise RequestError(
            f"{VERB}: {declared} of {request.column} were learned already, by entry "
            f"{column.learned.entry} of {column.learned.ledger}.",
            hint=f"Remove {declared} and learned from the policy to learn others.",
        )


def _select_scope(policy: Policy, request: BoundsRequest) -> Policy:
    """Return the part of a policy that the counts depend on: how the people and the column are read."""
    tables, name, column = {}, request.table, request.column
    while True:
        table = policy.tables[name]
        kept = {column, table.person_column, table.person_link}
        columns = {each: facts for each, facts in table.columns.items() if each in kept}
        if name == request.table:
            undeclared: dict[str, object] = dict.fromkeys(
                ("low", "high", "values", "nulls", "hierarchy", "missing", "scale", "learned")
            )
            columns[column] = columns[column].model_copy(update=undeclared | {"role": Role.OTHER})
        links = {each: link for each, link in table.links.items() if each == table.person_link}
        update = {"columns": columns, "links": links, "rows": None, "impossible": ()}
        tables[name] = table.model_copy(update=update)
        owner = policy.find_person_table(name)
        if owner is None:
            return policy.model_copy(update={"tables": tables, "hierarchies": {}})
        name, column = owner, links[str(table.person_link)].column


def _plan_histogram(
    curator: Curator, request: BoundsRequest, table: Table, scale: ValueScale, epsilon: Real
) -> tuple[ApproximateBounds, Measure]:
    attribute = scale.make_attribute(request.column)
    contribution = ContributionBounds(rows=table.rows_per_person, relation=curator.promise.secret)
    mechanism = ApproximateBounds(
        epsilon=Fraction(epsilon),
        sensitivity=contribution.count_sensitivity(),
        bins=scale.bins,
        false_positives=Fraction(request.false_positives),
        relation=curator.promise.secret,
    )
    gaussian = replace(mechanism, is_gaussian=True)
    if curator.promise.tail > 0 and gaussian.threshold < mechanism.threshold:
        mechanism = gaussian

    def count_bins(engine: Engine, random: Randomness) -> pa.Table:
        counter = EngineCounter.from_table(
            engine, curator.policy, request.table, Schema(attributes=(attribute,))
        )
        assert counter.rows_per_person <= table.rows_per_person
        (counts,) = counter.count_marginals([(request.column,)]).secret
        # the last bin is that of missing values, which no bound depends on
        released = mechanism.release(Exact(counts[: mechanism.bins.size]), random).value
        places = range(mechanism.bins.size)
        return pa.table(
            {
                "low": [format_bound(scale.get_low(place)) for place in places],
                "high": [format_bound(scale.get_high(place)) for place in places],
                "noisy": pa.array(released.noisy, pa.int64()),
            }
        )

    return mechanism, count_bins


def _plan_values(
    curator: Curator, request: BoundsRequest, scope: Policy, epsilon: Real
) -> tuple[GroupSelection, Measure]:
    name = quote_identifier(request.column)
    question = f"SELECT {name}, COUNT(*) FROM {quote_identifier(request.table)} GROUP BY {name}"
    limit = curator.ledger.get_accountant(curator.belief_scope).limit
    planned = plan_query(
        question, scope, curator.promise, epsilon=epsilon, leak=getattr(limit, "delta", Fraction(0))
    )
    assert planned.partition_selection is not None, "the scope declares no values"
    # the count that the statement has beside the number of people is not released
    mechanism = replace(planned.partition_selection, epsilon=Fraction(epsilon))

    def select_values(engine: Engine, random: Randomness) -> pa.Table:
        counts = engine.count(planned.statement).secret
        (keys,) = get_key_columns(planned.core, counts).values()
        known = keys.is_valid()
        groups = GroupCounts(
            keys=np.array(keys.filter(known).to_pylist(), dtype=str),
            people=np.asarray(counts["people"].filter(known).to_numpy(), np.int64),
        )
        shown = mechanism.release(Exact(groups), random).value
        return pa.table({"value": pa.array(shown.keys.tolist(), pa.string()), "people": shown.people})

    return mechanism, select_values


def _read_release(
    plan: BoundsPlan, released: pa.Table
) -> tuple[Bound | None, Bound | None, tuple[str, ...] | None]:
    """Return the bounds, or the values, that released counts mean."""
    if isinstance(plan.mechanism, GroupSelection):
        return None, None, tuple(released["value"].to_pylist())
    found = plan.mechanism.find_range(np.asarray(released["noisy"].to_numpy(), np.int64))
    if found.first is None or found.last is None:
        return None, None, None
    return plan.scale.get_low(found.first), plan.scale.get_high(found.last), None
