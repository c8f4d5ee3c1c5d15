"""Split criteria: integer scores of splits, and their sensitivity to one row.

A split divides a node's rows in two. Each side has `n` rows, n_c of class c. A criterion sums a term of each
side; the score is on the grid of 1 / `GRID`, higher is better.

gini        - sum of n (1 - sum_c (n_c / n)**2) = - sum of sum_c n_c (n - n_c) / n.
            A row of class c more makes a side's term larger by 1 + S / (n (n+1)) - (2 n_c + 1) / (n + 1),
            S = sum_c n_c**2, which is at least (n - n_c)**2 / (n (n+1)) >= 0, as S >= n_c**2, and at most
            2 n / (n+1) < 2, as S <= n**2: sensitivity 2.
max         sum of max_c n_c: the rows that the commonest classes get right. Rises by 0 or 1: sensitivity 1.
gain        - sum of n H, H the entropy in bits = - sum of (f(n) - sum_c f(n_c)), f(m) = m log2 m. A row more
            makes a term larger by s(n) - s(n_c), s(m) = f(m+1) - f(m), from 0 up to s(N - 1), which is about
            log2 N + 1.44: it needs N, the most rows there can be. Here f is a convex function with integer
            slopes on the grid, within a part of a hundred of m log2 m; from N on its slope stays the same. So
            between 0 and s(N - 1) is exact, for more rows than declared as well. The entropy before the split
            is the same for all splits, and is left out.
squared     - sum of sum (t - mean)**2 for a target t in 0 .. B-1. A row more makes a side's term larger by
            n / (n+1) (t - mean)**2: between 0 and (B - 1)**2.

Monotone    In all of them a row more moves every score the same way (down; for `max`, up), so where a person
            is added or removed all scores fall or all rise, and the mechanisms may use twice the rate. Of a
            person with R rows each row adds at most the sensitivity: R times as much.
Grid        Terms are rounded down, exactly, in integers. Rounding keeps order, and numbers that are at most a
            whole number of steps apart stay so. A row is on one side, so one term moves.
Total       counts are cut at a bound that keeps products below 2**63. That moves nothing further apart.

[FS10]      Friedman & Schuster, Data Mining with Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from discreet.core.errors import InvalidParameterError, RequestError, shorten_value
from discreet.core.number_checks import require_count
from discreet.mechanisms.sampling import Integers

GRID = 64
MAX_COUNT = 2**31 - 1  # so that products of two counts fit into 64 bits
EXACT, FINENESS = 256, 64


class Criterion(Protocol):
    """A score of splits; `sensitivity` is the most that one row can change it."""

    @property
    def sensitivity(self) -> int: ...

    def score_side(self, counts: Integers) -> Integers:
        """Return the part of the score of one side, for counts over (..., class)."""


@dataclass(frozen=True, kw_only=True)
class Gini:
    """Rows times Gini impurity.

    >>> Gini().score_side(np.array([[4, 4], [8, 0]]))
    array([-256,    0])
    """

    @property
    def sensitivity(self) -> int:
        return 2 * GRID

    def score_side(self, counts: Integers) -> Integers:
        held = _cap_counts(counts)
        rows = held.sum(axis=-1)
        return -_divide_on_grid((held * (rows[..., None] - held)).sum(axis=-1), np.maximum(rows, 1))


@dataclass(frozen=True, kw_only=True)
class MajorityCount:
    """Rows of the commonest class."""

    @property
    def sensitivity(self) -> int:
        return 1

    def score_side(self, counts: Integers) -> Integers:
        return np.asarray(counts.max(axis=-1))


@dataclass(frozen=True, kw_only=True)
class InformationGain:
    """Rows times entropy, for at most `rows` rows.

    >>> InformationGain(rows=32_561).sensitivity / GRID
    16.421875
    """

    rows: int

    def __post_init__(self) -> None:
        require_count(self, "rows", self.rows)

    @property
    def sensitivity(self) -> int:
        return int(self._slopes[-1])

    def score_side(self, counts: Integers) -> Integers:
        held = _cap_counts(counts)
        return np.asarray(
            self._interpolate_entropy(held).sum(axis=-1) - self._interpolate_entropy(held.sum(axis=-1))
        )

    def _interpolate_entropy(self, counts: Integers) -> Integers:
        """Return f on the grid: the sum of the slopes of all units below."""
        at = np.searchsorted(self._knots, counts, side="right") - 1
        return np.asarray(self._heights[at] + (counts - self._knots[at]) * self._slopes[at])

    @cached_property
    def _knots(self) -> Integers:
        """The points at which the slope changes: every number up to `EXACT`, then geometric steps."""
        steps = math.ceil(math.log(max(self.rows / EXACT, 1)) * (FINENESS + 1)) + 1
        rising = EXACT * (1 + 1 / FINENESS) ** np.arange(steps)
        knots = np.unique(np.concatenate([np.arange(EXACT), rising.astype(np.int64)]))
        return knots[knots < self.rows].astype(np.int64)

    @cached_property
    def _slopes(self) -> Integers:
        m = self._knots.astype(np.float64)
        slopes = np.log2(m + 1) + m * np.log2(1 + 1 / np.maximum(m, 1))
        return np.maximum.accumulate(np.rint(GRID * slopes).astype(np.int64))

    @cached_property
    def _heights(self) -> Integers:
        return np.concatenate([[0], np.cumsum(np.diff(self._knots) * self._slopes[:-1])]).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class SquaredError:
    """Sum of squared deviations of a target that is one of `bins` steps."""

    bins: int

    def __post_init__(self) -> None:
        require_count(self, "bins", self.bins, minimum=2)

    @property
    def sensitivity(self) -> int:
        return GRID * (self.bins - 1) ** 2

    def score_side(self, counts: Integers) -> Integers:
        held, target = _cap_counts(counts), np.arange(self.bins)
        rows = np.maximum(held.sum(axis=-1), 1)
        whole, rest = np.divmod(held @ target, rows)
        squares = held @ target**2 - whole**2 * rows - 2 * whole * rest
        # minus (sum t)**2 / n rounded up is the same as the difference rounded down
        return -np.asarray(GRID * squares + _divide_on_grid(-(rest**2), rows))


CRITERIA = ("gini", "max", "gain")


def make_criterion(name: str, rows: int | None) -> Criterion:
    """Return the criterion of this name; `rows` is the declared bound on the number of rows."""
    if name not in CRITERIA:
        raise InvalidParameterError(
            f"`criterion=` must be one of {', '.join(CRITERIA)}; got {shorten_value(name)}."
        )
    if name == "gain":
        if rows is None:
            raise RequestError(
                "criterion 'gain' needs a declared bound on the number of rows, which its sensitivity "
                "depends on.",
                hint="Declare rows, or use 'gini'.",
            )
        return InformationGain(rows=rows)
    return Gini() if name == "gini" else MajorityCount()


def _cap_counts(counts: Integers) -> Integers:
    return np.asarray(np.minimum(counts, MAX_COUNT // counts.shape[-1]))


def _divide_on_grid(top: Integers, bottom: Integers) -> Integers:
    """Return floor(GRID * top / bottom), without overflow."""
    whole, rest = np.divmod(top, bottom)
    return np.asarray(GRID * whole + GRID * rest // bottom)
