"""What a plan claims of neighbours, checked on two prepared stores by running its statements on both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.sampling import Floats, Integers
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.refusal import Refusal
from discreet.sql.value_selection import ValueSelection
from tests.conftest import seeded
from tests.sql.tables import COLUMNS, Tables, extremes, neighbours, policy
from tests.sql.tampered_plans import replace_in_core

Key = tuple[Any, ...]
Numbers = dict[Key, int]
Histograms = dict[Key, dict[int, int]]
EPSILON, LEAK, TAIL = 1, 1e-6, 1e-6
ROUNDING = 1e-9


def engine(tables: Tables, folder: Path, terms: Policy) -> DuckDB:
    """An engine over the prepared store; all stores have the same key, as two states of one would."""
    for name in COLUMNS:
        rows, columns = tables.rows(name), list(terms.tables[name].columns)
        texts = {column: pa.array([row.get(column) for row in rows], pa.string()) for column in columns}
        pq.write_table(pa.table(texts), folder / f"{name}.parquet")
    return DuckDB(prepare_store(terms, None, random=seeded(7)))


@dataclass(frozen=True)
class World:
    """Two neighbours, and the policy of both."""

    relation: Relation
    policy: Policy
    engines: tuple[Engine, Engine]
    states: tuple[Tables, Tables]

    @classmethod
    def of(cls, states: tuple[Tables, Tables], relation: Relation, folder: Path) -> World:
        terms = policy(str(folder))
        engines = (engine(states[0], folder, terms), engine(states[1], folder, terms))
        return cls(relation, terms, engines, states)

    def close(self) -> None:
        for each in self.engines:
            each.close()

    def plan(self, text: str, *, tail: float, terms: Policy | None = None) -> QueryPlan | None:
        """The plan, or None for a refusal: the grammar writes more than can be answered."""
        promise = Promise(0.01, 0.05, secret=self.relation, tail=tail)
        try:
            return plan_query(text, terms or self.policy, promise, epsilon=EPSILON, leak=LEAK if tail else 0)
        except Refusal:
            return None


@contextmanager
def open_worlds(folder: Path, drawn: int) -> Iterator[list[World]]:
    """Yield the extreme worlds, and some that are drawn, of either relation in turn."""
    made = [World.of(states, relation, folder) for relation, states in extremes()]
    for seed in range(drawn):
        relation = (Relation.VALUE, Relation.PRESENCE)[seed % 2]
        made.append(World.of(neighbours(Random(seed).choice, relation), relation, folder))
    yield made
    for each in made:
        each.close()


@dataclass(frozen=True)
class Claims:
    """A plan, and what its statements say of two neighbours; `statements` may be a twin's."""

    plan: QueryPlan
    world: World
    twin: QueryPlan | None = None

    @property
    def _run(self) -> QueryPlan:
        return self.twin or self.plan

    @property
    def names(self) -> list[str]:
        return [column.name for column, _ in self.plan.core.question.keys]

    @cached_property
    def tables(self) -> list[pa.Table]:
        return [each.count(self._run.statement).secret for each in self.world.engines]

    def broken(self) -> Iterator[str]:
        """A line for each claim that does not hold."""
        yield from self._schema()
        for name, vector in self.plan.noisy_primitives.items():
            moved = _differences(*(self._numbers(table, name) for table in self.tables))
            l1, squared_l2 = sum(moved), sum(each**2 for each in moved)
            claimed = vector.primitive.sensitivity
            if l1 > claimed.l1 or squared_l2 > claimed.squared_l2:
                yield f"{vector.primitive.aggregate_sql} moves by {l1} and {squared_l2}, not {claimed}"
        yield from self._selection()
        for name, counted in self.plan.value_selections.items():
            loss = self.loss(counted, self._run.value_selections[name].statement)
            if loss > float(counted.guarantee.epsilon) * (1 + ROUNDING):
                yield f"{counted.mechanism} loses {loss}, not {counted.guarantee.epsilon}"

    def _schema(self) -> Iterator[str]:
        keys = [
            list(zip(*(_texts(table, name) for name in self.names), strict=True)) for table in self.tables
        ]
        if any(len(set(each)) < len(each) for each in keys):
            yield "a group stands twice"
        if not self.names and [len(table) for table in self.tables] != [1, 1]:
            yield "a question without groups has another number of rows than one"
        # -0.0 equals 0.0 but shows; declared groups are the same, in the same order
        if self.plan.partition_selection is None and list(map(repr, keys[0])) != list(map(repr, keys[1])):
            yield "the groups depend on the data"
        shown = [{key: repr(key) for key in each} for each in keys]
        if any(shown[0][key] != shown[1][key] for key in shown[0].keys() & shown[1].keys()):
            yield "how a group is written depends on the data"

    def _selection(self) -> Iterator[str]:
        if self.plan.partition_selection is None:
            return
        moved = _differences(*(self._numbers(table, "people") for table in self.tables))
        if max(moved, default=0) > 1 or sum(moved) > self.plan.partition_selection.groups_changed_per_person:
            yield (
                f"people of {moved} groups move, not "
                f"{self.plan.partition_selection.groups_changed_per_person}"
            )

    def loss(self, counted: ValueSelection, statement: str) -> float:
        """The largest loss of the exponential mechanism's exact law, over all groups together."""
        here, there = (self._histograms(each.count(statement).secret) for each in self.world.engines)
        groups = here.keys() | there.keys()
        return sum(_loss(counted, here.get(key, {}), there.get(key, {})) for key in groups)

    def _keys(self, table: pa.Table) -> list[Key]:
        if not self.names:
            return [()] * len(table)
        return list(zip(*(_texts(table, name) for name in self.names), strict=True))

    def _numbers(self, table: pa.Table, name: str) -> Numbers:
        return dict(zip(self._keys(table), map(int, table[name].to_pylist()), strict=True))

    def _histograms(self, table: pa.Table) -> Histograms:
        found: Histograms = defaultdict(Counter)
        values, counts = (map(int, table[name].to_pylist()) for name in ("v", "n"))
        for key, value, count in zip(self._keys(table), values, counts, strict=True):
            found[key][value] += count
        return found


def halved(plan: QueryPlan) -> QueryPlan:
    """The plan with claims of half the size, which must be found wrong."""
    vectors = {}
    for name, vector in plan.noisy_primitives.items():
        claimed = vector.primitive.sensitivity
        less = replace(claimed, l1=max(1, claimed.l1 // 2), squared_l2=max(1, claimed.squared_l2 // 4))
        vectors[name] = replace(vector, primitive=replace(vector.primitive, sensitivity=less))
    return replace_in_core(plan, noisy_primitives=vectors)


def _texts(table: pa.Table, name: str) -> list[Any]:
    column = table[name]
    return list((column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column).to_pylist())


def _differences(here: Numbers, there: Numbers) -> list[int]:
    return [abs(here.get(key, 0) - there.get(key, 0)) for key in here.keys() | there.keys()]


def _loss(counted: ValueSelection, here: dict[int, int], there: dict[int, int]) -> float:
    mechanism = counted.mechanism
    if isinstance(mechanism, Exponential):
        scores = [np.array([each.get(i, 0) for i in range(len(counted.domain))]) for each in (here, there)]
        return _law_loss([each * float(mechanism.rate) for each in scores], np.ones(len(counted.domain)))
    inside = {
        at
        for each in (here, there)
        for v in each
        for at in (v, v + 1)
        if mechanism.low < at <= mechanism.high
    }
    starts = sorted({mechanism.low, *inside})
    lengths = np.diff([*starts, mechanism.high + 1])
    weights = [
        np.array([-_distance(mechanism, each, start) * float(mechanism.rate) for start in starts])
        for each in (here, there)
    ]
    return _law_loss(weights, lengths)


def _distance(mechanism: Quantile, rows: dict[int, int], at: int) -> int:
    """By how many rows a candidate misses the wanted rank, times the probability's denominator."""
    b, a = mechanism.probability.numerator, mechanism.probability.denominator
    n, o = sum(rows.values()), mechanism.offset
    below = sum(count for value, count in rows.items() if value < at)
    above = sum(count for value, count in rows.items() if value > at)
    return max(a * (below - o) - b * n, a * (above + o) - (a - b) * n)


def _law_loss(weights: list[Floats], lengths: Floats | Integers) -> float:
    """max |ln p / p'| where the log-weights of runs of so many candidates are given, here and there."""
    laws = [each - np.logaddexp.reduce(each + np.log(lengths)) for each in weights]
    return float(np.abs(laws[0] - laws[1]).max())
