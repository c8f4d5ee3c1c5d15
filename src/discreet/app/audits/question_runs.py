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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.audit import Draw
from discreet.attacks.events import Columns
from discreet.core.engine import Engine
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.partition_selection import GroupCounts
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.value_counts import ValueCounts
from discreet.sql.interval_estimates import Noise, ReleasedPrimitive
from discreet.sql.plan_execution import estimate_measure
from discreet.sql.planner import Plan
from discreet.sql.value_selection import ValueSelection

Key = tuple[object, ...]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]

LOSS = ("loss",)
ALIKE = 4
NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """The exact counts of one neighbor, by measure and group, and the frequencies of its values."""

    numbers: Mapping[str, Mapping[Key, int]]
    values: Mapping[str, Mapping[Key, ValueCounts]]

    def differ(self, other: Counts, key: Key) -> bool:
        """Return True if a group has other counts or values on the other neighbor."""
        for name, known in self.numbers.items():
            if known.get(key, 0) != other.numbers[name].get(key, 0):
                return True
        return any(
            not _equal(known.get(key), other.values[name].get(key)) for name, known in self.values.items()
        )


def count(plan: Plan, engine: Engine) -> Counts:
    """Return the exact counts of a plan on one neighbor."""
    table = engine.count(plan.statement).secret
    names = [*plan.noisy_primitives, *(["people"] if plan.partition_selection else [])]
    keys = _keys(plan, table)
    return Counts(
        numbers={name: dict(zip(keys, map(int, table[name].to_pylist()), strict=True)) for name in names},
        values={
            name: _values(plan, engine.count(counted.statement).secret)
            for name, counted in plan.value_selections.items()
        },
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Worlds:
    """A plan, and its exact counts on two neighboring databases."""

    plan: Plan
    here: Counts
    there: Counts
    random: Randomness = field(repr=False)

    @property
    def groups(self) -> list[Key]:
        """The simulated groups: those that differ between the neighbors, and a few others."""
        sides = (self.here, self.there)
        known = [key for side in sides for each in side.numbers.values() for key in each]
        known += [key for side in sides for each in side.values.values() for key in each]
        every = list(dict.fromkeys(known)) or [()]
        apart = [key for key in every if self.here.differ(self.there, key)]
        return [*apart, *[key for key in every if key not in apart][:ALIKE]]

    @property
    def draws(self) -> tuple[Draw, Draw]:
        """Functions that simulate outputs, one for each neighbor."""
        return lambda runs: self.outputs(self.here, runs), lambda runs: self.outputs(self.there, runs)

    def outputs(self, truth: Counts, runs: int) -> Columns:
        """Return the outputs of all runs in columns, the privacy loss first."""
        groups = self.groups
        shown = self._shown(truth, groups, runs)
        loss = self._loss_of_showing(groups, shown)
        columns: Columns = {}
        released: dict[str, ReleasedPrimitive] = {}
        for name, vector in self.plan.noisy_primitives.items():
            numbers = _noisy(vector.noise, numbers_of(truth, name, groups), runs, self.random)
            released[name] = vector.to_released(numbers.ravel())
            columns |= _named("released", name, groups, numbers, shown)
            laws = (numbers_of(side, name, groups) for side in (self.here, self.there))
            loss += np.where(shown, _loss_of_noise(vector.noise, numbers, *laws), 0).sum(axis=1)
        for name, counted in self.plan.value_selections.items():
            picked = _picks(counted, name, truth, groups, shown, self.random)
            columns |= _named("picked", name, groups, picked, shown)
            gained = _loss_of_picks(counted, name, picked, groups, self.here, self.there)
            loss += np.where(shown, gained, 0).sum(axis=1)
        return {LOSS: loss, **columns, **self._estimates(released, groups, shown)}

    def _shown(self, truth: Counts, groups: list[Key], runs: int) -> Booleans:
        shown = np.ones((runs, len(groups)), np.bool_)
        if self.plan.partition_selection is not None:
            people = np.tile(numbers_of(truth, "people", groups), runs)
            kept = self.plan.partition_selection.release(
                Exact(GroupCounts(keys=np.arange(people.size), people=people)), self.random
            )
            shown = np.isin(np.arange(people.size), kept.value.keys).reshape(runs, len(groups))
        return shown

    def _loss_of_showing(self, groups: list[Key], shown: Booleans) -> Floats:
        selection = self.plan.partition_selection
        if selection is None:
            return np.zeros(len(shown))
        chances = [
            np.array(
                [
                    selection.selection_probability(int(people))
                    for people in numbers_of(side, "people", groups)
                ]
            )
            for side in (self.here, self.there)
        ]
        seen, other = (np.where(shown, chance, 1 - chance) for chance in chances)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(seen == other, 0.0, np.log(seen) - np.log(other)).sum(axis=1))

    def _estimates(
        self, released: Mapping[str, ReleasedPrimitive], groups: list[Key], shown: Booleans
    ) -> Columns:
        columns: Columns = {}
        for output in self.plan.outputs:
            if not output.selects_value:
                found = estimate_measure(output, released, self.plan.confidence, raw=self.plan.raw)
                for end in ("values", "low", "high"):
                    numbers = np.asarray(getattr(found, end), np.float64).reshape(shown.shape)
                    columns |= _named(end, output.column, groups, numbers, shown)
        return columns


def _noisy(noise: Noise, truth: Integers, runs: int, random: Randomness) -> Integers:
    """Return `runs` noisy copies of a vector; an integer's noise does not depend on the vector's length."""
    if isinstance(noise, DiscreteGaussian):
        noise = replace(noise, places=max(noise.places, runs * truth.size))
    exact = Exact(np.tile(truth, runs))
    return noise.release_many(exact, random).value.reshape(runs, truth.size)


def _loss_of_noise(noise: Noise, numbers: Integers, here: Integers, there: Integers) -> Floats:
    ours, theirs = ((numbers - truth).astype(np.float64) for truth in (here, there))
    if isinstance(noise, DiscreteGaussian):
        return np.asarray((theirs**2 - ours**2) / (2 * float(noise.variance)))
    return np.asarray((np.abs(theirs) - np.abs(ours)) * float(noise.rate))


def _picks(
    counted: ValueSelection, name: str, truth: Counts, groups: list[Key], shown: Booleans, random: Randomness
) -> Integers:
    picked = np.zeros(shown.shape, np.int64)
    for place, key in enumerate(groups):
        rows = rows_of(truth, name, key)
        for run in np.flatnonzero(shown[:, place]):
            picked[run, place] = counted.select_value(rows.values, rows.counts, random)
    return picked


def _loss_of_picks(
    counted: ValueSelection, name: str, picked: Integers, groups: list[Key], here: Counts, there: Counts
) -> Floats:
    sides = []
    for side in (here, there):
        told = [law(counted, rows_of(side, name, key), picked[:, i]) for i, key in enumerate(groups)]
        sides.append(np.stack(told, axis=1))
    return np.asarray(sides[0] - sides[1])


def law(counted: ValueSelection, rows: ValueCounts, picked: Integers) -> Floats:
    """Return the log-probability of each pick."""
    mechanism = counted.mechanism
    if isinstance(mechanism, Quantile):
        alone = counted.grid is not None and counted.grid.low == counted.grid.high
        return np.zeros(len(picked)) if alone else mechanism.log_likelihoods(picked, rows)
    scores = np.zeros(len(counted.domain), np.int64)
    scores[rows.values] = rows.counts
    return np.asarray(np.log(mechanism.probabilities(scores))[picked])


def _named(what: str, name: str, groups: list[Key], numbers: NDArray[Any], shown: Booleans) -> Columns:
    told = np.where(shown, numbers.astype(np.float64), np.nan)
    return {(what, name, *key): told[:, place] for place, key in enumerate(groups)}


def rows_of(side: Counts, name: str, key: Key) -> ValueCounts:
    """Return the values that a measure picks from in one group."""
    return side.values[name].get(key, ValueCounts(NOTHING, NOTHING))


def numbers_of(side: Counts, name: str, groups: list[Key]) -> Integers:
    """Return the exact counts of a measure in some groups."""
    return np.array([side.numbers[name].get(key, 0) for key in groups], np.int64)


def _keys(plan: Plan, table: pa.Table) -> list[Key]:
    names = [column.name for column, _ in plan.question.keys]
    if not names:
        return [()] * table.num_rows
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def _values(plan: Plan, table: pa.Table) -> dict[Key, ValueCounts]:
    found: dict[Key, list[int]] = {}
    for place, key in enumerate(_keys(plan, table)):
        found.setdefault(key, []).append(place)
    values, counts = (table[name].to_numpy().astype(np.int64) for name in ("v", "n"))
    return {key: ValueCounts(values[places], counts[places]) for key, places in found.items()}


def _equal(rows: ValueCounts | None, others: ValueCounts | None) -> bool:
    if rows is None or others is None:
        return rows is others
    return np.array_equal(rows.values, others.values) and np.array_equal(rows.counts, others.counts)
