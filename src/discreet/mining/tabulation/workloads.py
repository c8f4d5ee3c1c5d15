"""Query workloads: many counts at once, measured by the strategy of least error, chosen before spending.

    columns and questions → every strategy's expected error → the least one → engine counts → noise → answers

Questions   rows of 0 and 1 over the combinations of the columns' bins: single cells, marginals, ranges of an
            ordered column, or any other counts.
Choice      by the mean squared error over all questions, which follows from strategy and budget alone: the
            choice reads no data and costs nothing.
Consistent  all answers are sums over the same estimated cells.

A strategy is the counts to measure so that the queries have the least error:

Strategy    a 0/1 matrix A over the cells of a table: its rows are the counts that get noise, y = A x + Z.
Estimate    least squares, x^ = (A'A)^+ A'y; everything asked is computed from the one x^, so all answers are
            consistent. Unbiased for every question w that is a combination of rows of A.
Error       Var(w x^) = v w (A'A)^+ w' for noise of variance v: known before anything is read [LHR+10].
Sensitivity a row of the data changes y by a column of A, or by the difference of two where it is replaced.
            All entries are 0 or 1, so the L1 norm of either is its squared L2 norm, m; with R rows a person
            moves y by at most R m in L1 and R**2 m in squared L2. A replaced person may have more or fewer
            rows than before, so columns alone count there as well as their differences.

identity    every cell                                      best where single cells are asked for
total       one count of everything                         best where nothing else is asked for
hierarchical(b)  every cell, every b cells, every b**2 …    best for ranges of an ordered column
direct      what is asked itself                            best for few questions, or marginals of many cells

[LHR+10]    Li, Hay, Rastogi, Miklau & McGregor, Optimizing Linear Counting Queries Under DP.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from discreet.core.engine import Engine
from discreet.core.errors import RequestError, require_parameter
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.table_entry import Table
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.mining.attributes import DEFAULT_BINS
from discreet.mining.bin_counters import Counter, EngineCounter
from discreet.mining.schema import Schema
from discreet.mining.tabulation.noise_budget import NoiseBudget, compute_deviation

BRANCHES = (2, 4, 8, 16)
RANK = 1e-9  # singular values below it, relative to the largest, count as 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Strategy:
    """The measured counts, as a 0/1 matrix over cells."""

    name: str
    matrix: Integers = field(repr=False)

    def extend_to_cells(self, cells: int) -> Strategy:
        """Return the strategy applied to each of `cells` combinations of other columns."""
        return Strategy(name=self.name, matrix=np.kron(np.eye(cells, dtype=np.int64), self.matrix))

    def compute_sensitivity(self, budget: NoiseBudget) -> Sensitivity:
        """Return the sensitivity of all measured counts to one person."""
        gram = self.gram
        once = int(np.diag(gram).max())
        if budget.relation is Relation.VALUE:
            once = max(once, int((np.diag(gram)[:, None] + np.diag(gram)[None, :] - 2 * gram).max()))
        return Sensitivity(l1=budget.rows_per_person * once, squared_l2=budget.rows_per_person**2 * once)

    @cached_property
    def gram(self) -> Floats:
        """A'A. Its entries are whole and at most the rows of A: floats hold them, and are far faster."""
        matrix = self.matrix.astype(np.float64)
        return np.asarray(matrix.T @ matrix)

    @cached_property
    def covariance(self) -> Floats:
        """(A'A)^+: the covariance of the estimated cells, for noise of variance 1."""
        diagonal, (rows, cells) = np.diag(self.gram), self.matrix.shape
        if np.array_equal(self.gram, np.diag(diagonal)):
            return np.diag(np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0))
        if rows < cells:  # A' (AA')^+ (AA')^+ A is the same, and AA' the smaller one
            matrix = self.matrix.astype(np.float64)
            halves = np.linalg.pinv(matrix @ matrix.T, rcond=RANK, hermitian=True) @ matrix
            return np.asarray(halves.T @ halves)
        return np.asarray(np.linalg.pinv(self.gram, rcond=RANK, hermitian=True))

    def estimate_cells(self, measured: Floats) -> Floats:
        """Return the least-squares estimate of the cells from the measured counts."""
        return np.asarray(self.covariance @ (self.matrix.T @ measured))

    def compute_variance(self, questions: Floats, budget: NoiseBudget) -> Floats:
        """Return the variance of each answer; infinite if the strategy cannot answer it."""
        known = questions @ (self.covariance @ self.gram)
        answered = np.abs(known - questions).max(axis=1, initial=0.0) < 1e-6
        spread = np.einsum("ij,ij->i", questions @ self.covariance, questions)
        return np.where(
            answered,
            spread * compute_deviation(budget.make_noise(self.compute_sensitivity(budget))) ** 2,
            math.inf,
        )


def make_identity(cells: int) -> Strategy:
    """Return the strategy that measures every cell.

    >>> make_identity(3).matrix.tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    return Strategy(name="identity", matrix=np.eye(cells, dtype=np.int64))


def make_total(cells: int) -> Strategy:
    """Return the strategy that measures the total alone."""
    return Strategy(name="total", matrix=np.ones((1, cells), np.int64))


def make_hierarchical(cells: int, branches: int) -> Strategy:
    """Return the strategy of every cell, every run of `branches` cells, and so on up to the total."""
    levels, width = [], 1
    while True:
        levels.append(np.arange(cells)[None, :] // width == np.arange(-(-cells // width))[:, None])
        if width >= cells:
            break
        width *= branches
    matrix = np.concatenate(levels).astype(np.int64)
    return Strategy(name=f"hierarchical({branches})", matrix=matrix)


def make_direct(questions: Integers) -> Strategy:
    """Return the strategy that measures the queries themselves, each different one once."""
    return Strategy(name="direct", matrix=np.unique(questions, axis=0))


MAX_CELLS = 2_048  # a strategy is a dense matrix over them


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """Counts over the combinations of some columns' bins: `questions` has a row for each.

    `is_ordered` says that the last column is, so that runs of its bins are worth measuring.
    """

    shape: tuple[int, ...]
    questions: Integers = field(repr=False)
    is_ordered: bool = False

    def __post_init__(self) -> None:
        cells = prod(self.shape)
        hint = "Use fewer columns or bins, or release a contingency table."
        require_parameter(
            cells <= MAX_CELLS, self, "shape", f"{cells:,} cells", f"at most {MAX_CELLS:,}", hint=hint
        )
        asked = self.questions
        fits = asked.ndim == 2 and asked.shape[0] > 0 and asked.shape[1] == cells
        require_parameter(
            fits, self, "questions", f"an array of {asked.shape}", f"one or more rows of {cells} cells"
        )
        require_parameter(
            bool(np.isin(asked, (0, 1)).all()), self, "questions", "other numbers", "0 and 1 alone"
        )

    @classmethod
    def from_marginals(cls, shape: Sequence[int], sets: Sequence[Collection[int]]) -> Workload:
        """Return every cell of several marginals, each a set of column positions; an empty set is the total.

        >>> Workload.from_marginals([2, 2], [[0], []]).questions.tolist()
        [[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]]
        """
        parts = []
        for each in sets:
            factors = [
                np.eye(size, dtype=np.int64) if place in each else np.ones((1, size), np.int64)
                for place, size in enumerate(shape)
            ]
            table = np.ones((1, 1), np.int64)
            for factor in factors:
                table = np.kron(table, factor)
            parts.append(table)
        return cls(shape=tuple(shape), questions=np.concatenate(parts))

    @classmethod
    def from_ranges(
        cls, bins: int, *, has_missing_bin: bool = False, outer_shape: Sequence[int] = ()
    ) -> Workload:
        """Return the ranges of an ordered column, for each combination of the preceding columns' bins.

        `has_missing_bin` adds a last bin of that column, which is in no range.
        """
        at = np.arange(bins + has_missing_bin)
        rows = np.array([(at >= low) & (at < high) for low, high in list_range_ends(bins)], np.int64)
        others = np.eye(prod(outer_shape), dtype=np.int64)
        return cls(
            shape=(*outer_shape, bins + has_missing_bin), questions=np.kron(others, rows), is_ordered=True
        )

    def compute_answers(self, cells: Floats) -> Floats:
        """Return the sum of cells of each query."""
        return np.asarray(self.questions @ cells.reshape(-1))

    def list_strategies(self) -> list[Strategy]:
        """Return the applicable strategies; hierarchical ones need an ordered last or single column."""
        cells, last = prod(self.shape), self.shape[-1]
        runs = [
            make_hierarchical(last, each).extend_to_cells(cells // last)
            for each in BRANCHES
            if each < last and (self.is_ordered or len(self.shape) == 1)
        ]
        several = [make_direct(self.questions)] if len(self.questions) <= MAX_CELLS else []
        return [make_identity(cells), make_total(cells), *runs, *several]


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkloadPlan:
    """A workload over a table's columns, and its measurement."""

    table: str
    schema: Schema
    workload: Workload
    budget: NoiseBudget
    strategy: Strategy
    errors: Mapping[str, float]
    """The root of the mean squared error of each strategy, in rows; infinite where it cannot answer."""

    @classmethod
    def choose_strategy(
        cls, table: str, schema: Schema, workload: Workload, budget: NoiseBudget
    ) -> WorkloadPlan:
        """Return the plan with the strategy of least expected error."""
        strategies = {each.name: each for each in workload.list_strategies()}
        errors = {name: _compute_error(each, workload, budget) for name, each in strategies.items()}
        return cls(
            table=table,
            schema=schema,
            workload=workload,
            budget=budget,
            strategy=strategies[min(errors, key=lambda name: errors[name])],
            errors=errors,
        )

    @property
    def guarantee(self) -> PureDP | ZeroConcentratedDP:
        return self.budget.guarantee

    @property
    def noise(self) -> IntegerNoise:
        return self.budget.make_noise(self.strategy.compute_sensitivity(self.budget))

    @cached_property
    def deviations(self) -> Floats:
        """The standard deviation of each answer."""
        asked = self.workload.questions.astype(np.float64)
        return np.sqrt(self.strategy.compute_variance(asked, self.budget))


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkloadAnswer:
    """The answers, one for each question, and the estimated cells that they are sums of."""

    plan: WorkloadPlan
    cells: Floats
    answers: Floats


def plan_workload(
    policy: Policy,
    table: str,
    columns: Sequence[str],
    workload: Workload,
    budget: PureDP | ZeroConcentratedDP,
    *,
    bins: int | Mapping[str, int] = DEFAULT_BINS,
    logarithmic: Collection[str] = (),
) -> WorkloadPlan:
    """Return the plan with the least expected error; reads no data."""
    declared = get_declared_table(policy, table)
    schema = Schema.from_table(declared, features=columns, bins=bins, logarithmic=logarithmic)
    shape = tuple(each.bins for each in schema.attributes)
    require_parameter(
        workload.shape == shape, "workload", "shape", workload.shape, f"the columns' bins, {shape}"
    )
    amount = NoiseBudget.from_guarantee(budget, rows_per_person=declared.rows_per_person)
    return WorkloadPlan.choose_strategy(table, schema, workload, amount)


def answer_workload(plan: WorkloadPlan, policy: Policy, engine: Engine, random: Randomness) -> WorkloadAnswer:
    """Release the planned answers, by one statement."""
    return answer_from_counter(
        plan, EngineCounter.from_table(engine, policy, plan.table, plan.schema), random
    )


def answer_from_counter(plan: WorkloadPlan, counter: Counter, random: Randomness) -> WorkloadAnswer:
    """Release the planned answers from any counter."""
    plan.budget.require_bounded(counter.rows_per_person)
    (counts,) = counter.count_marginals([tuple(each.name for each in plan.schema.attributes)]).secret
    measured = Exact(plan.strategy.matrix @ counts.reshape(-1))
    released = plan.noise.release_many(measured, random).value.astype(np.float64)
    cells = plan.strategy.estimate_cells(released)
    return WorkloadAnswer(plan=plan, cells=cells, answers=plan.workload.compute_answers(cells))


def list_range_ends(bins: int) -> list[tuple[int, int]]:
    """Return (first bin, bin after the last) of every range over at most 64 cuts."""
    cuts = np.unique(np.linspace(0, bins, min(bins, 64) + 1).astype(np.int64)).tolist()
    return list(combinations(cuts, 2))


def get_declared_table(policy: Policy, name: str) -> Table:
    """Return a table of the policy; refuse unknown tables and those that are not about people."""
    if name not in policy.tables:
        hint = f"It has {', '.join(policy.tables)}."
        raise RequestError(f"tabulate: the policy has no table {name}.", hint=hint)
    if policy.tables[name].person == "none":
        raise RequestError(f"tabulate: {name} is about nobody.", hint="Count it directly.")
    return policy.tables[name]


def _compute_error(strategy: Strategy, workload: Workload, budget: NoiseBudget) -> float:
    return math.sqrt(strategy.compute_variance(workload.questions.astype(np.float64), budget).mean())
