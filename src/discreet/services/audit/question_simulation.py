"""Simulation of many runs of a question on two neighboring databases, with the privacy loss of every run.

Runs        the engine counts once for each neighbor; the noise of all runs is drawn together, by the plan's
            own mechanisms, and estimates use the same formulas as any answer.
Output      everything released about each group: noisy integers, picked values, presence of the group; and
            the estimates and intervals computed from them. Post-processing of the released table is left
            out, as it can only reveal less.
Loss        the log-likelihood ratio of an output between the two neighbors, by the mechanisms' stated
            distributions. If the mechanisms are correct, thresholds on the loss are the most powerful
            events. If they are not, the other columns of the output still show it.
Groups      that are equal on both neighbors get identically distributed noise; all but a few are left out.
Distance    how well the mechanisms can tell the two neighbors apart decides which pair to audit. For noise it
            is the distance of the exact counts in units of the noise, over all groups: for discrete Laplace
            noise, the largest privacy loss. For picks it is the lower bound on epsilon that an audit can
            expect from the best event: picking one of the values whose likelihood ratio exceeds a threshold.
            A larger loss at a value that is hardly ever picked could not be observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.distinguishing_events import Columns, compute_epsilon_lower_bound
from discreet.attacks.privacy_audit import Sampler
from discreet.core.engine import Engine
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.partition_selection import GroupCounts
from discreet.mechanisms.quantile import Quantile, ValueCounts
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.plan_execution import estimate_measure
from discreet.sql.planner import QueryPlan
from discreet.sql.value_selection import ValueSelection

Key = tuple[object, ...]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]
LOSS = ("loss",)
MAX_EQUAL_GROUPS = 4
NO_VALUES = np.zeros(0, np.int64)
ERROR_RATE = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactCounts:
    """The exact counts of one neighbor, by measure and group, and the frequencies of its values."""

    numbers: Mapping[str, Mapping[Key, int]]
    values: Mapping[str, Mapping[Key, ValueCounts]]

    def differs_from(self, other: ExactCounts, key: Key) -> bool:
        """Return True if a group has other counts or values on the other neighbor."""
        for name, known in self.numbers.items():
            if known.get(key, 0) != other.numbers[name].get(key, 0):
                return True
        return any(
            not _are_equal(known.get(key), other.values[name].get(key)) for name, known in self.values.items()
        )


def count_exactly(plan: QueryPlan, engine: Engine) -> ExactCounts:
    """Return the exact counts of a plan on one neighbor."""
    table = engine.count(plan.statement).secret
    names = [*plan.noisy_primitives, *(["people"] if plan.partition_selection else [])]
    keys = _read_group_keys(plan, table)
    return ExactCounts(
        numbers={name: dict(zip(keys, map(int, table[name].to_pylist()), strict=True)) for name in names},
        values={
            name: _read_value_counts(plan, engine.count(counted.statement).secret)
            for name, counted in plan.value_selections.items()
        },
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class NeighborCounts:
    """A plan, and its exact counts on two neighboring databases."""

    plan: QueryPlan
    counts: ExactCounts
    neighbor_counts: ExactCounts
    random: Randomness = field(repr=False)

    @property
    def groups(self) -> list[Key]:
        """The simulated groups: those that differ between the neighbors, and a few others."""
        sides = (self.counts, self.neighbor_counts)
        known = [key for side in sides for each in side.numbers.values() for key in each]
        known += [key for side in sides for each in side.values.values() for key in each]
        every = list(dict.fromkeys(known)) or [()]
        apart = [key for key in every if self.counts.differs_from(self.neighbor_counts, key)]
        return [*apart, *[key for key in every if key not in apart][:MAX_EQUAL_GROUPS]]

    @property
    def samplers(self) -> tuple[Sampler, Sampler]:
        """Functions that simulate outputs, one for each neighbor."""
        return lambda runs: self.simulate_outputs(self.counts, runs), lambda runs: self.simulate_outputs(
            self.neighbor_counts, runs
        )

    def simulate_outputs(self, truth: ExactCounts, runs: int) -> Columns:
        """Return the outputs of all runs in columns, the privacy loss first."""
        groups = self.groups
        shown = self._select_groups(truth, groups, runs)
        loss = self._compute_selection_loss(groups, shown)
        columns: Columns = {}
        released: dict[str, ReleasedPrimitive] = {}
        for name, vector in self.plan.noisy_primitives.items():
            numbers = _add_noise(vector.mechanism, get_exact_counts(truth, name, groups), runs, self.random)
            released[name] = vector.to_released(numbers.ravel())
            columns |= _label_columns("released", name, groups, numbers, shown)
            laws = (get_exact_counts(side, name, groups) for side in (self.counts, self.neighbor_counts))
            loss += np.where(shown, _compute_noise_loss(vector.mechanism, numbers, *laws), 0).sum(axis=1)
        for name, counted in self.plan.value_selections.items():
            picked = _pick_values(counted, name, truth, groups, shown, self.random)
            columns |= _label_columns("picked", name, groups, picked, shown)
            gained = _compute_pick_loss(counted, name, picked, groups, self.counts, self.neighbor_counts)
            loss += np.where(shown, gained, 0).sum(axis=1)
        return {LOSS: loss, **columns, **self._compute_estimates(released, groups, shown)}

    def _select_groups(self, truth: ExactCounts, groups: list[Key], runs: int) -> Booleans:
        shown = np.ones((runs, len(groups)), np.bool_)
        if self.plan.partition_selection is not None:
            people = np.tile(get_exact_counts(truth, "people", groups), runs)
            kept = self.plan.partition_selection.release(
                Exact(GroupCounts(keys=np.arange(people.size), people=people)), self.random
            )
            shown = np.isin(np.arange(people.size), kept.value.keys).reshape(runs, len(groups))
        return shown

    def _compute_selection_loss(self, groups: list[Key], is_selected: Booleans) -> Floats:
        selection = self.plan.partition_selection
        if selection is None:
            return np.zeros(len(is_selected))
        chances = [
            np.array(
                [
                    selection.selection_probability(int(people))
                    for people in get_exact_counts(side, "people", groups)
                ]
            )
            for side in (self.counts, self.neighbor_counts)
        ]
        seen, other = (np.where(is_selected, chance, 1 - chance) for chance in chances)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(seen == other, 0.0, np.log(seen) - np.log(other)).sum(axis=1))

    def _compute_estimates(
        self, released: Mapping[str, ReleasedPrimitive], groups: list[Key], is_selected: Booleans
    ) -> Columns:
        columns: Columns = {}
        for output in self.plan.outputs:
            if not output.selects_value:
                found = estimate_measure(output, released, self.plan.confidence, raw=self.plan.raw)
                for end in ("values", "low", "high"):
                    numbers = np.asarray(getattr(found, end), np.float64).reshape(is_selected.shape)
                    columns |= _label_columns(end, output.column, groups, numbers, is_selected)
        return columns


def _add_noise(noise: IntegerNoise, truth: Integers, runs: int, random: Randomness) -> Integers:
    """Return `runs` noisy copies of a vector; an integer's noise does not depend on the vector's length."""
    # it releases at most `places` integers, and here these are the integers of all runs
    if isinstance(noise, DiscreteGaussian):
        noise = replace(noise, places=max(noise.places, runs * truth.size))
    exact = Exact(np.tile(truth, runs))
    return noise.release_many(exact, random).value.reshape(runs, truth.size)


def _compute_noise_loss(noise: IntegerNoise, numbers: Integers, here: Integers, there: Integers) -> Floats:
    ours, theirs = ((numbers - truth).astype(np.float64) for truth in (here, there))
    if isinstance(noise, DiscreteGaussian):
        return np.asarray((theirs**2 - ours**2) / (2 * float(noise.variance)))
    return np.asarray((np.abs(theirs) - np.abs(ours)) * float(noise.rate))


def _pick_values(
    counted: ValueSelection,
    name: str,
    truth: ExactCounts,
    groups: list[Key],
    is_selected: Booleans,
    random: Randomness,
) -> Integers:
    picked = np.zeros(is_selected.shape, np.int64)
    for place, key in enumerate(groups):
        rows = get_value_counts(truth, name, key)
        for run in np.flatnonzero(is_selected[:, place]):
            picked[run, place] = counted.select_value(rows.values, rows.counts, random)
    return picked


def _compute_pick_loss(
    counted: ValueSelection,
    name: str,
    picked: Integers,
    groups: list[Key],
    here: ExactCounts,
    there: ExactCounts,
) -> Floats:
    sides = []
    for side in (here, there):
        told = [
            compute_pick_log_probabilities(counted, get_value_counts(side, name, key), picked[:, i])
            for i, key in enumerate(groups)
        ]
        sides.append(np.stack(told, axis=1))
    return np.asarray(sides[0] - sides[1])


def compute_pick_log_probabilities(counted: ValueSelection, rows: ValueCounts, picked: Integers) -> Floats:
    """Return the log-probability of each pick."""
    mechanism = counted.mechanism
    if isinstance(mechanism, Quantile):
        alone = counted.grid is not None and counted.grid.low == counted.grid.high
        return np.zeros(len(picked)) if alone else mechanism.log_likelihoods(picked, rows)
    scores = np.zeros(len(counted.domain), np.int64)
    scores[rows.values] = rows.counts
    return np.asarray(np.log(mechanism.probabilities(scores))[picked])


def _label_columns(
    output_kind: str, name: str, groups: list[Key], numbers: NDArray[Any], is_selected: Booleans
) -> Columns:
    told = np.where(is_selected, numbers.astype(np.float64), np.nan)
    return {(output_kind, name, *key): told[:, place] for place, key in enumerate(groups)}


def get_value_counts(side: ExactCounts, name: str, key: Key) -> ValueCounts:
    """Return the values that a measure picks from in one group."""
    return side.values[name].get(key, ValueCounts(NO_VALUES, NO_VALUES))


def get_exact_counts(side: ExactCounts, name: str, groups: list[Key]) -> Integers:
    """Return the exact counts of a measure in some groups."""
    return np.array([side.numbers[name].get(key, 0) for key in groups], np.int64)


def _read_group_keys(plan: QueryPlan, table: pa.Table) -> list[Key]:
    names = [column.name for column, _ in plan.core.question.keys]
    if not names:
        return [()] * table.num_rows
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def _read_value_counts(plan: QueryPlan, table: pa.Table) -> dict[Key, ValueCounts]:
    found: dict[Key, list[int]] = {}
    for place, key in enumerate(_read_group_keys(plan, table)):
        found.setdefault(key, []).append(place)
    values, counts = (table[name].to_numpy().astype(np.int64) for name in ("v", "n"))
    return {key: ValueCounts(values[places], counts[places]) for key, places in found.items()}


def _are_equal(rows: ValueCounts | None, others: ValueCounts | None) -> bool:
    if rows is None or others is None:
        return rows is others
    return np.array_equal(rows.values, others.values) and np.array_equal(rows.counts, others.counts)


def estimate_distinguishability(neighbor_counts: NeighborCounts, runs: int) -> float:
    """Estimate the lower bound on epsilon that `runs` runs can show."""
    groups = neighbor_counts.groups
    told = sum(
        _compute_noise_weight(each.mechanism) * _compute_distance(neighbor_counts, name, groups)
        for name, each in neighbor_counts.plan.noisy_primitives.items()
    )
    if neighbor_counts.plan.partition_selection is not None:
        told += float(neighbor_counts.plan.partition_selection.rate) * _compute_distance(
            neighbor_counts, "people", groups
        )
    for name, counted in neighbor_counts.plan.value_selections.items():
        told += sum(_estimate_pick_bound(neighbor_counts, name, counted, key, runs) for key in groups)
    return float(told)


def _compute_noise_weight(noise: IntegerNoise) -> float:
    return float(noise.rate) if isinstance(noise, DiscreteLaplace) else float(noise.variance) ** -0.5


def _compute_distance(neighbor_counts: NeighborCounts, name: str, groups: list[Key]) -> float:
    here, there = (
        get_exact_counts(side, name, groups)
        for side in (neighbor_counts.counts, neighbor_counts.neighbor_counts)
    )
    return float(np.abs(here - there).sum())


def _estimate_pick_bound(
    neighbor_counts: NeighborCounts, name: str, counted: ValueSelection, key: Key, runs: int
) -> float:
    sides = [
        get_value_counts(side, name, key)
        for side in (neighbor_counts.counts, neighbor_counts.neighbor_counts)
    ]
    mechanism = counted.mechanism
    if isinstance(mechanism, Quantile):
        starts = [mechanism.candidate_runs(rows)[0] for rows in sides]
        outputs = np.unique(np.concatenate(starts))
        outputs = outputs[outputs <= mechanism.high]
        many = np.diff(outputs, append=mechanism.high + 1)
    else:
        outputs = np.arange(len(counted.domain))
        many = np.ones(outputs.size, np.int64)
    ours, theirs = (compute_pick_log_probabilities(counted, rows, outputs) for rows in sides)
    return _find_best_bound(ours, theirs, many, runs)


def _find_best_bound(ours: Floats, theirs: Floats, many: Integers, runs: int) -> float:
    """Return the best bound over the events that are thresholds on the loss, in either direction."""
    order = np.argsort(theirs - ours, kind="stable")
    masses = [np.exp(side[order]) * many[order] for side in (ours, theirs)]
    ahead = [np.minimum(np.cumsum(mass), 1) for mass in masses]
    behind = [np.minimum(np.cumsum(mass[::-1]), 1) for mass in masses]
    return max(
        compute_epsilon_lower_bound(int(more * runs), int(fewer * runs), runs, error_rate=ERROR_RATE)
        for likelier, rarer in (ahead, behind[::-1])
        for more, fewer in zip(likelier, rarer, strict=True)
    )
