"""Measurement strategies: the counts to measure so that the queries have the least error.

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
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.mining.tabulation.noise_budget import NoiseBudget, compute_deviation

BRANCHES = (2, 4, 8, 16)
RANK = 1e-9


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
