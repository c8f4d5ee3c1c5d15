"""Graphical-model inference: the distribution over all columns that best fits the measured marginals.

Model       of all distributions of the form of `junction_tree`, with a potential for every measured set. With
            mu_s the model's counts, y_s the measured ones and v_s the variance of their noise, it minimizes

                sum over s of |mu_s - y_s|**2 / (2 v_s)   -   RIDGE * (entropy, weighted by deviation)

            that is, it is the least-squares fit, and among almost equal ones the most even: log p is then a
            sum of potentials t_s, and mu_s + RIDGE sqrt(v_s) t_s = y_s. The dual in t,

                n log Z(t) + sum over s of RIDGE sqrt(v_s) |t_s|**2 / 2 - t_s y_s,

            is smooth and convex, and `descent` minimizes it; at the optimum the fit is consistent: every two
            sets agree on what they share, and no count is negative [MSM19].
Bias        a count is pulled by at most RIDGE |t| deviations of its own noise.
Again       sets that were measured more than once count as one, weighted by 1 / v.
Start       what was fitted before, and for a new set its measured counts over the model's.
Zeros       a barred combination has the potential minus infinity, whatever was measured.

All of it is computed from what was released, so it costs nothing.

The descent is limited-memory BFGS with backtracking [Nocedal 1980]. SciPy's takes longer for its own
bookkeeping, with threads that wait for each other, than small models take to be evaluated.

[MSM19]     McKenna, Sheldon & Miklau, Graphical-model based estimation and inference for DP.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.core.simplex import project_to_simplex
from discreet.mechanisms.sampling import Floats
from discreet.mining.synthesis.junction_tree import Beliefs, JunctionTree, Potentials
from discreet.mining.tabulation.cells import Columns

Function = Callable[[Floats], tuple[float, Floats]]

MEMORY = 10  # pairs of steps and gradients that approximate the curvature
SUFFICIENT = 1e-4  # Armijo's condition on the decrease of a step
SHRINK = 0.4
TRIES = 25
CURVED = 1e-12


def minimize(function: Function, start: Floats, *, steps: int, enough: float) -> Floats:
    """Return the point after `steps` steps, or when a step gains less than `enough`."""
    at, (value, slope) = start, function(start)
    memory: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    for _ in range(steps):
        found = _search_line(function, at, value, slope, _compute_direction(slope, memory))
        if found is None:
            break
        there, lower, steeper = found
        moved, bent = there - at, steeper - slope
        if moved @ bent > CURVED * np.sqrt((moved @ moved) * (bent @ bent)):
            memory.append((moved, bent))
        gained = value - lower
        at, value, slope = there, lower, steeper
        if gained < enough:
            break
    return at


def _compute_direction(slope: Floats, memory: deque[tuple[Floats, Floats]]) -> Floats:
    """Return the descent direction by the two-loop recursion."""
    if not memory:
        return np.asarray(-slope / max(1.0, float(np.linalg.norm(slope))))
    turned, weights = slope.copy(), []
    for moved, bent in reversed(memory):
        weight = (moved @ turned) / (moved @ bent)
        weights.append(weight)
        turned -= weight * bent
    moved, bent = memory[-1]
    turned *= (moved @ bent) / (bent @ bent)
    for (moved, bent), weight in zip(memory, reversed(weights), strict=True):
        turned += (weight - (bent @ turned) / (moved @ bent)) * moved
    return np.asarray(-turned)


def _search_line(
    function: Function, at: Floats, value: float, slope: Floats, direction: Floats
) -> tuple[Floats, float, Floats] | None:
    """Return the first of ever shorter steps that gains enough, or None."""
    length, descent = 1.0, float(slope @ direction)
    for _ in range(TRIES):
        there = at + length * direction
        lower, steeper = function(there)
        if lower <= value + SUFFICIENT * length * descent:
            return there, lower, steeper
        length *= SHRINK
    return None


RIDGE = 0.06
SOFT = 0.05
ENOUGH = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """Noisy counts over some columns, and the standard deviation of the noise, common or per count."""

    columns: Columns
    counts: Floats = field(repr=False)
    deviation: float | Floats

    @property
    def deviations(self) -> Floats:
        """The standard deviation of each count."""
        return np.broadcast_to(np.asarray(self.deviation, np.float64), self.counts.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphicalModel:
    """A distribution over all columns, for `rows` rows; the tree covers the `sets`."""

    tree: JunctionTree
    sets: tuple[Columns, ...]
    rows: float
    potentials: Potentials = field(repr=False)
    beliefs: Beliefs = field(repr=False)

    def compute_counts(self, columns: Columns) -> Floats:
        """Return the expected number of rows of each combination of the columns' bins."""
        return self.rows * self.tree.compute_marginal(self.beliefs, columns)


def estimate_rows(measurements: Sequence[Measurement]) -> float:
    """Return the number of rows by all totals, each weighted by 1 / variance; at least 1."""
    weights = [1 / float((each.deviations**2).sum()) for each in measurements]
    totals = [float(each.counts.sum()) for each in measurements]
    return max(1.0, math.fsum(w * t for w, t in zip(weights, totals, strict=True)) / math.fsum(weights))


def fit_model(
    shape: Sequence[int],
    measurements: Sequence[Measurement],
    impossible: Potentials,
    *,
    rows: float,
    start: GraphicalModel | None = None,
    steps: int,
) -> GraphicalModel:
    """Fit the model to all measurements; `impossible` has minus infinity at impossible combinations."""
    measured = pool_measurements(measurements)
    sets = tuple(dict.fromkeys([*(each.columns for each in measured), *impossible]))
    tree = JunctionTree.from_sets(sets, shape)
    fitting = _DualObjective.from_measurements(tree, measured, impossible, rows)
    first = np.concatenate([_make_initial_potential(each, start, rows).reshape(-1) for each in measured])
    best = minimize(fitting, first * fitting.scale, steps=steps, enough=ENOUGH)
    potentials = fitting.unpack_potentials(best)
    beliefs, _ = fitting.calibrate(potentials)
    return GraphicalModel(tree=tree, sets=sets, rows=rows, potentials=potentials, beliefs=beliefs)


def pool_measurements(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return one measurement for each set of columns, with the precision of all."""
    found: dict[Columns, Measurement] = {}
    for each in measurements:
        other = found.get(each.columns)
        found[each.columns] = each if other is None else _pool_pair(other, each)
    return list(found.values())


def _pool_pair(one: Measurement, two: Measurement) -> Measurement:
    first, second = one.deviations**-2, two.deviations**-2
    counts = (first * one.counts + second * two.counts) / (first + second)
    return Measurement(columns=one.columns, counts=counts, deviation=(first + second) ** -0.5)


def _make_initial_potential(measured: Measurement, start: GraphicalModel | None, rows: float) -> Floats:
    """Return the initial potential: the previous one, or that which reproduces the measured counts."""
    if start is not None and measured.columns in start.potentials:
        return start.potentials[measured.columns]
    soft = SOFT * measured.deviations
    wanted = project_to_simplex(measured.counts, rows) + soft
    reached = (
        np.full_like(wanted, rows / wanted.size) if start is None else start.compute_counts(measured.columns)
    )
    potential = np.log(wanted / (reached + soft))
    return np.asarray(potential - potential.mean())


@dataclass(frozen=True, kw_only=True, eq=False)
class _DualObjective:
    """The dual objective and its gradient, scaled to a curvature of about 1."""

    tree: JunctionTree
    measured: Sequence[Measurement]
    impossible: Potentials
    rows: float
    homes: Mapping[Columns, int]
    target_counts: Floats
    ridge: Floats
    scale: Floats

    @classmethod
    def from_measurements(
        cls, tree: JunctionTree, measured: Sequence[Measurement], impossible: Potentials, rows: float
    ) -> _DualObjective:
        wanted = np.concatenate([each.counts.reshape(-1) for each in measured])
        deviations = np.concatenate([each.deviations.reshape(-1) for each in measured])
        ridge = RIDGE * deviations
        scale = np.sqrt(np.maximum(wanted, 0.0) + deviations / 2 + ridge)
        sets = [*(each.columns for each in measured), *impossible]
        homes = {columns: place for columns in sets if (place := tree.find_clique(columns)) is not None}
        return cls(
            tree=tree,
            measured=measured,
            impossible=impossible,
            rows=rows,
            homes=homes,
            target_counts=wanted,
            ridge=ridge,
            scale=scale,
        )

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        potential = at / self.scale
        beliefs, logarithm = self.calibrate(self.unpack_potentials(at))
        counts = self.rows * np.concatenate([self._compute_marginal(beliefs, each) for each in self.measured])
        pull = self.ridge * potential
        value = self.rows * logarithm + potential @ (pull / 2 - self.target_counts)
        return float(value), np.asarray((counts + pull - self.target_counts) / self.scale)

    def unpack_potentials(self, at: Floats) -> dict[Columns, Floats]:
        """Return a point as the potentials of the measured sets."""
        found, begin, potential = {}, 0, at / self.scale
        for each in self.measured:
            end = begin + each.counts.size
            found[each.columns] = potential[begin:end].reshape(each.counts.shape)
            begin = end
        return found

    def calibrate(self, potentials: Potentials) -> tuple[Beliefs, float]:
        together = dict(potentials)
        for columns, never in self.impossible.items():
            together[columns] = together[columns] + never if columns in together else never
        return self.tree.calibrate(together, self.homes)

    def _compute_marginal(self, beliefs: Beliefs, each: Measurement) -> Floats:
        return self.tree.compute_marginal(beliefs, each.columns).reshape(-1)
