"""Histograms and contingency tables: how many rows have each combination of some columns' bins.

    columns → plan → engine counts (one statement) → noise on every combination → consistent counts

Domain      every combination of declared bins, whether or not a row has it: which ones occur is not shown.
            A row without a value that the policy says is never missing is not counted, as in a question.
Noise       a person is in the table with at most R rows, so all combinations together have the sensitivity
            of one histogram. Combinations that the policy declares impossible are 0, without noise.
Consistent  `noisy` is unbiased and may be negative; `counts` are the nearest counts of at least 0 with the
            same total (a public one where the policy declares it and values are the secret).
Ranges      of an ordered column are better asked as a workload, which measures runs of bins too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.simplex import project_to_simplex
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sampling import Booleans, Floats, Integers
from discreet.mining.attributes import DEFAULT_BINS
from discreet.mining.bin_counters import Counter, EngineCounter
from discreet.mining.schema import Schema
from discreet.mining.tabulation.cells import cut_at_impossible_ranges, find_impossible_cells
from discreet.mining.tabulation.noise_budget import NoiseBudget
from discreet.mining.tabulation.workloads import get_declared_table

CONFIDENCE = 0.95
MAX_CELLS = 10_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class ContingencyPlan:
    """A contingency table over columns of a table; with one column, a histogram."""

    table: str
    schema: Schema
    budget: NoiseBudget
    possible: Booleans = field(repr=False)
    rows: int | None

    @property
    def guarantee(self) -> PureDP | ZeroConcentratedDP:
        return self.budget.guarantee

    @property
    def noise(self) -> IntegerNoise:
        return self.budget.make_noise()

    @property
    def error95(self) -> int:
        """The error that 95% of the noisy counts do not exceed."""
        return self.noise.half_width(CONFIDENCE)


@dataclass(frozen=True, kw_only=True, eq=False)
class ContingencyTable:
    """Released counts, with an axis for every column."""

    plan: ContingencyPlan
    noisy: Integers
    counts: Floats

    def to_arrow(self) -> pa.Table:
        """Return a row for every combination: its labels, the consistent count, and the noisy one."""
        attributes = self.plan.schema.attributes
        places = np.indices(self.counts.shape).reshape(len(attributes), -1)
        labels = {
            each.name: np.array(each.labels)[place] for each, place in zip(attributes, places, strict=True)
        }
        return pa.table({**labels, "count": self.counts.reshape(-1), "noisy": self.noisy.reshape(-1)})


def plan_contingency(
    policy: Policy,
    table: str,
    columns: Sequence[str],
    budget: PureDP | ZeroConcentratedDP,
    *,
    bins: int | Mapping[str, int] = DEFAULT_BINS,
    logarithmic: Collection[str] = (),
) -> ContingencyPlan:
    """Return the plan of a histogram or contingency table, or refuse; reads no data."""
    declared = get_declared_table(policy, table)
    schema = cut_at_impossible_ranges(
        Schema.from_table(declared, features=columns, bins=bins, logarithmic=logarithmic), declared
    )
    shape = tuple(each.bins for each in schema.attributes)
    hint = "Name fewer columns, or give them fewer bins."
    cells, most = prod(shape), f"{MAX_CELLS:,} cells or less"
    require_parameter(cells <= MAX_CELLS, "tabulate", "columns", f"{cells:,}", most, hint=hint)
    possible = np.ones(shape, np.bool_)
    for places, never in find_impossible_cells(schema, declared.impossible).items():
        wide = [size if place in places else 1 for place, size in enumerate(shape)]
        possible &= np.isfinite(never).reshape(wide)
    return ContingencyPlan(
        table=table,
        schema=schema,
        budget=NoiseBudget.from_guarantee(budget, rows_per_person=declared.rows_per_person),
        possible=possible,
        rows=declared.rows if budget.relation is Relation.VALUE else None,
    )


def release_contingency(
    plan: ContingencyPlan, policy: Policy, engine: Engine, random: Randomness
) -> ContingencyTable:
    """Release the planned table, by one statement."""
    return release_from_counter(plan, make_counter(plan, policy, engine), random)


def make_counter(plan: ContingencyPlan, policy: Policy, engine: Engine) -> EngineCounter:
    """Return the counter of a planned table over a table of the policy."""
    counter = EngineCounter.from_table(engine, policy, plan.table, plan.schema)
    return replace(counter, leaves_out_missing=True)


def release_from_counter(plan: ContingencyPlan, counter: Counter, random: Randomness) -> ContingencyTable:
    """Release the planned table from any counter."""
    plan.budget.require_bounded(counter.rows_per_person)
    (exact,) = counter.count_marginals([tuple(each.name for each in plan.schema.attributes)]).secret
    noisy = np.zeros(exact.shape, np.int64)
    noisy[plan.possible] = plan.noise.release_many(Exact(exact[plan.possible]), random).value
    return build_contingency_table(plan, noisy)


def build_contingency_table(plan: ContingencyPlan, noisy: Integers) -> ContingencyTable:
    """Return the released table of noisy counts, by post-processing alone."""
    released = noisy[plan.possible]
    total = float(max(0, released.sum())) if plan.rows is None else float(plan.rows)
    counts = np.zeros(noisy.shape)
    counts[plan.possible] = project_to_simplex(released.astype(np.float64), total)
    return ContingencyTable(plan=plan, noisy=noisy, counts=counts)
