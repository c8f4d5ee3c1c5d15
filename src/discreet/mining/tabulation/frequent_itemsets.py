"""Frequent itemsets in the central model: which items occur together in many rows.

    items (columns that are true or false) → the most frequent ones → all their combinations → supports

Basis       a few items are picked one after the other by the exponential mechanism, scored by how many rows
            have them, for half of the budget [LQSC12].
Supports    of all sets of up to `largest` basis items: a workload over the combinations of the basis, with
            the strategy of least expected error, for the other half.
Frequent    a set whose support passes the threshold by `SURE` deviations of its noise; so one that is listed
            is hardly below it, and one that is not may be close.
Rows        a row is a basket; NULL counts as an item that is not in it.

[LQSC12]    Li, Qardaji, Su & Cao, PrivBasis: Frequent Itemset Mining with Differential Privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

import numpy as np

from discreet.core.column_entry import ColumnType
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import require_count, require_probability
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.mining.attributes import Attribute
from discreet.mining.bin_counters import Counter, EngineCounter
from discreet.mining.schema import Schema
from discreet.mining.tabulation import workloads
from discreet.mining.tabulation.noise_budget import NoiseBudget
from discreet.mining.tabulation.workloads import Workload, WorkloadPlan, get_declared_table

BASIS, LARGEST = 8, 3
MAX_BASIS = 10
SURE = 2.0
SELECTION_SHARE = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemsetPlan:
    """The candidate items, the size of the basis, and the measurement of its combinations."""

    table: str
    schema: Schema
    basis: int
    largest: int
    threshold: float
    budget: NoiseBudget
    workload: Workload

    @property
    def guarantee(self) -> PureDP | ZeroConcentratedDP:
        return self.budget.guarantee

    @property
    def support_budget(self) -> NoiseBudget:
        """The budget of the supports: everything if all items are taken without selection."""
        return self.budget.take_share(1 if self.basis == len(self.schema.attributes) else 1 - SELECTION_SHARE)

    @cached_property
    def support_plan(self) -> WorkloadPlan:
        """The measurement of the supports, here of the first items: it is the same for any basis.

        It is found while the plan is made, so that nothing is left to find once it is charged.
        """
        picked = Schema(attributes=self.schema.attributes[: self.basis])
        return WorkloadPlan.choose_strategy(self.table, picked, self.workload, self.support_budget)

    @property
    def deviation(self) -> float:
        """The largest standard deviation of a set's count."""
        return float(self.support_plan.deviations.max())


@dataclass(frozen=True, kw_only=True)
class Itemset:
    """Items that occur together, their share of all rows, and the deviation of its noise."""

    items: tuple[str, ...]
    support: float
    deviation: float


def plan_itemsets(
    policy: Policy,
    table: str,
    budget: PureDP | ZeroConcentratedDP,
    *,
    items: Sequence[str] | None = None,
    threshold: float = 0.1,
    basis: int = BASIS,
    largest: int = LARGEST,
) -> ItemsetPlan:
    """Return the plan of a search for frequent itemsets, or refuse; reads no data."""
    declared = get_declared_table(policy, table)
    known = [name for name, column in declared.columns.items() if column.type is ColumnType.BOOLEAN]
    chosen = list(dict.fromkeys(items)) if items is not None else known
    if not chosen or not set(chosen) <= set(known):
        raise RequestError(
            "itemsets: items must be columns that are true or false.",
            hint=f"{table} has {', '.join(known) or 'none'}.",
        )
    require_probability("itemsets", "threshold", threshold)
    require_count("itemsets", "basis", basis)
    require_count("itemsets", "largest", largest)
    if basis > MAX_BASIS:
        raise RequestError(f"itemsets: a basis of {basis} items is too large.", hint=f"Use {MAX_BASIS}.")
    attributes = tuple(
        Attribute(name=name, kind=ColumnType.BOOLEAN, values=("false", "true"), has_missing_bin=False)
        for name in chosen
    )
    picked = min(basis, len(chosen))
    return ItemsetPlan(
        table=table,
        schema=Schema(attributes=attributes),
        basis=picked,
        largest=min(largest, picked),
        threshold=threshold,
        budget=NoiseBudget.from_guarantee(budget, rows_per_person=declared.rows_per_person),
        workload=_build_workload(picked, min(largest, picked)),
    )


def find_itemsets(plan: ItemsetPlan, policy: Policy, engine: Engine, random: Randomness) -> list[Itemset]:
    """Return the frequent itemsets, the most frequent first, by two statements."""
    return find_itemsets_from_counter(
        plan, EngineCounter.from_table(engine, policy, plan.table, plan.schema), random
    )


def find_itemsets_from_counter(plan: ItemsetPlan, counter: Counter, random: Randomness) -> list[Itemset]:
    """Return the frequent itemsets from any counter."""
    plan.budget.require_bounded(counter.rows_per_person)
    places = _select_basis(plan, counter, random)
    schema = Schema(attributes=tuple(plan.schema.attributes[place] for place in places))
    measured = replace(plan.support_plan, schema=schema)
    found = workloads.answer_from_counter(measured, counter, random)
    names, rows = [each.name for each in schema.attributes], max(1.0, float(found.answers[0]))
    sets = list(zip(_list_sets(plan.basis, plan.largest), found.answers, measured.deviations, strict=True))[
        1:
    ]
    frequent = [
        Itemset(items=tuple(names[place] for place in each), support=count / rows, deviation=deviation / rows)
        for each, count, deviation in sets
        if count - SURE * deviation >= plan.threshold * rows
    ]
    return sorted(frequent, key=lambda each: -each.support)


def _select_basis(plan: ItemsetPlan, counter: Counter, random: Randomness) -> list[int]:
    """Select the basis, in the order of the schema; nothing is spent if all items are taken."""
    number = len(plan.schema.attributes)
    if plan.basis == number:
        return list(range(number))
    tables = counter.count_marginals([(each.name,) for each in plan.schema.attributes]).secret
    scores = np.array([table[1] for table in tables], np.int64)
    choice = plan.budget.take_share(SELECTION_SHARE / plan.basis).make_selection(plan.budget.rows_per_person)
    # everybody's items only add to counts, so that all scores rise or all fall with a person
    monotone = replace(choice, monotone=plan.budget.relation is Relation.PRESENCE)
    left = list(range(number))
    for _ in range(plan.basis):
        place = monotone.release(Exact(scores[left]), random).value
        left.pop(place)
    return [place for place in range(number) if place not in left]


def _list_sets(basis: int, largest: int) -> list[tuple[int, ...]]:
    """Return the empty set, whose support is every row, and all others up to the largest size."""
    return [each for size in range(largest + 1) for each in combinations(range(basis), size)]


def _build_workload(basis: int, largest: int) -> Workload:
    cells = np.array(list(product((0, 1), repeat=basis)), np.int64)
    rows = [cells[:, list(each)].all(axis=1) for each in _list_sets(basis, largest)]
    return Workload(shape=(2,) * basis, questions=np.array(rows, np.int64))
