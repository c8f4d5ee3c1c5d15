"""Confidence sets of ratios S / N of released numbers: means, shares of a total, changes between periods.

Fieller     For the true ratio theta, s - theta n of the released s and n is noise of known law, so the set
            {theta : |s - theta n| <= q(theta)} covers it with probability 1 - beta, where q(theta) is a
            half-width of that noise. No normal law is assumed, and N needs no bound of its own. What is
            returned is an interval that contains this set; where N may be 0 the set is unbounded, and the
            ratio cannot be told.
Blocks      The noises of S and N are combinations of two independent blocks A and B: A in S and B in N, or A
            in both and B in N alone, for a part of a total. S - theta N is a combination a S - b N in the
            direction (a, b) = (1, theta); a half-width scales with the direction.
Cells       Directions from theta = -inf to +inf are divided by edges e_0, …, e_K, each scaled to standard
            deviation 1. A direction between e_i and e_i+1 is u e_i + v e_i+1 with u, v >= 0, and its noise is
            at most (u + v) max(|X_i|, |X_i+1|). So Q_i, the half-width at which *both* noises are within
            it with probability 1 - beta, bounds q by (u + v) Q_i in the whole cell: no direction between
            edges is left to interpolation, and no property of q is assumed. Within a cell the inequality is
            linear, so its ends are computed, not searched.
Q           Pr[both within x] is the sum over outcomes k of one block of Pr[B = k] Pr[A in I(k)], with the
            interval I(k) in which both inequalities hold. The tables of `mechanisms.tabulated_laws` provide
            both; their errors are subtracted, their slack, and that of joining outcomes k, is added.
Slack       about 1% of the half-width, from K = 128 cells and joined outcomes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_probability
from discreet.mechanisms.linear_combinations import LinearCombination, round_up
from discreet.mechanisms.noise_laws import Floats
from discreet.mechanisms.tabulated_laws import TabulatedLaw

CELLS = 128
JOINED_PER_DEVIATION = 60  # outcomes of the outer block are joined to so many per standard deviation
LEFT_OUT = 1e-9  # the probability of outcomes of the outer block that are left out
OUTWARD = 1e-13  # relative, for rounding in the arithmetic of ends
CHUNK = 1 << 14

Indices = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class RatioNoise:
    """The noises of a ratio S / N: S is `first`, N is `second`, or `first + second` for a share."""

    first: LinearCombination
    second: LinearCombination
    is_share: bool = False

    def find_intervals(
        self, s: ArrayLike, n: ArrayLike, beta: float, *, low: float = -math.inf, high: float = math.inf
    ) -> tuple[Floats, Floats]:
        """Return the ends of intervals of all ratios s / n, each with probability 1 - beta.

        Ends are infinite where the ratio cannot be told. `low` and `high` are known limits of the ratio.

        >>> from discreet.mechanisms.noise_laws import DiscreteLaplaceLaw
        >>> from fractions import Fraction
        >>> cell = LinearCombination.from_equal_cells(DiscreteLaplaceLaw(rate=Fraction(1, 20)), 1)
        >>> ends = RatioNoise(first=cell, second=cell).find_intervals([500, 500], [1000, 20], 0.05)
        >>> [end.round(2).tolist() for end in ends]
        [[0.44, -inf], [0.57, inf]]
        """
        require_probability(self, "beta", beta)
        require_parameter(low <= high, self, "low", low, "at most `high`")
        tops, bottoms = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(n, np.float64))
        find = _find_by_cells if self.first.terms and self.second.terms else _find_with_one_noise
        ends = np.empty((2, tops.size))
        for start in range(0, tops.size, CHUNK):
            part = slice(start, start + CHUNK)
            ends[:, part] = find(self, tops.ravel()[part], bottoms.ravel()[part], beta, (low, high))
        lows, highs = np.clip(ends, low, high).reshape(2, *tops.shape)
        return lows, highs

    def find_interval(
        self, s: float, n: float, beta: float, *, low: float = -math.inf, high: float = math.inf
    ) -> tuple[float, float] | None:
        """Return the interval of one ratio; None where it cannot be told, and no limits are known."""
        lows, highs = self.find_intervals(s, n, beta, low=low, high=high)
        ends = float(lows), float(highs)
        return None if math.inf in (ends[1], -ends[0]) else ends

    def get_coefficients(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return the coefficients of both blocks in a S - b N."""
        return (a - b if self.is_share else a), -b


def _find_with_one_noise(
    noise: RatioNoise, s: Floats, n: Floats, beta: float, limits: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return intervals if one block has no noise.

    The ratio is (s - p z) / (n - q z) for one noise z within its half-width, which is monotone in z unless
    the denominator has a zero there.
    """
    if noise.second.terms:
        p, q, half = 0.0, 1.0, round_up(noise.second.half_width(beta))
    else:
        p, q, half = 1.0, float(noise.is_share), round_up(noise.first.half_width(beta))
    unknown = np.abs(n) <= q * half
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (s - p * half) / (n - q * half), (s + p * half) / (n + q * half)
    ends = np.minimum(one, other), np.maximum(one, other)
    margin = OUTWARD * (np.abs(ends[0]) + np.abs(ends[1]))
    return np.where(unknown, -np.inf, ends[0] - margin), np.where(unknown, np.inf, ends[1] + margin)


@dataclass(frozen=True, kw_only=True, eq=False)
class _CellTable:
    """Edges (a, b), in order of theta = b / a from -inf to +inf, and the half-width Q of each cell."""

    a: Floats
    b: Floats
    half_widths: Floats

    @cached_property
    def thetas(self) -> Floats:
        """The ratio at each edge."""
        return np.concatenate([[-np.inf], self.b[1:-1] / self.a[1:-1], [np.inf]])

    def overlap(self, low: float, high: float) -> NDArray[np.bool_]:
        """Return which cells have a ratio from `low` to `high`, with a margin for rounding."""
        margins = OUTWARD * np.abs(self.thetas[1:-1])
        uppers = np.append(self.thetas[1:-1] + margins, np.inf)
        lowers = np.append(-np.inf, self.thetas[1:-1] - margins)
        return np.asarray((uppers >= low) & (lowers <= high))


def _find_by_cells(
    noise: RatioNoise, s: Floats, n: Floats, beta: float, limits: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the ends of the set within the limits; of the whole set where none of it is within them.

    The set of a small denominator is what lies beyond two ends, so the limits come before the ends.
    """
    table = _tabulate_cells(noise, beta)
    left, right = np.multiply.outer(s, table.a), np.multiply.outer(n, table.b)
    residuals = left - right
    margins = OUTWARD * (np.abs(left) + np.abs(right))
    widths = table.half_widths + np.maximum(margins[:, :-1], margins[:, 1:])
    before, after = residuals[:, :-1], residuals[:, 1:]
    possible = (np.minimum(before, after) <= widths) & (np.maximum(before, after) >= -widths)
    within = possible & table.overlap(*limits)
    possible = np.where(within.any(axis=1, keepdims=True), within, possible)
    last = CELLS - 1 - np.argmax(possible[:, ::-1], axis=1)
    first = np.argmax(possible, axis=1)
    rows = np.arange(s.size)
    high = _solve_cell(table, last, last + 1, before[rows, last], after[rows, last], widths[rows, last])
    low = _solve_cell(table, first + 1, first, after[rows, first], before[rows, first], widths[rows, first])
    outward = OUTWARD * (np.abs(low) + np.abs(high))
    return low - outward, high + outward


def _solve_cell(
    table: _CellTable, start: Indices, end: Indices, inner: Floats, outer: Floats, width: Floats
) -> Floats:
    """Return theta where the residual, linear from the edge `start` to `end`, leaves the half-width.

    If it does not, that is theta at `end`: beyond any bound at the first and the last edge.
    """
    leaves = np.abs(outer) > width
    with np.errstate(divide="ignore", invalid="ignore"):
        # both shares are computed: where one is nearly 1, its difference from 1 matters
        left_over = np.where(leaves, (outer - np.copysign(width, outer)) / (outer - inner), 0.0)
        share = np.where(leaves, (np.copysign(width, outer) - inner) / (outer - inner), 1.0)
        a = left_over * table.a[start] + share * table.a[end]
        b = left_over * table.b[start] + share * table.b[end]
        return np.asarray(b / a)


@lru_cache(maxsize=64)
def _tabulate_cells(noise: RatioNoise, beta: float) -> _CellTable:
    a, b = _choose_edges(noise)
    c_first, c_second = noise.get_coefficients(a, b)
    blocks = [_Block.from_table(each.table, each.standard_deviation) for each in (noise.first, noise.second)]
    first, second = blocks
    if first is None or second is None:
        # the sum of |c| h is a norm of the direction, so its value at edges bounds it in between
        widths = [round_up(each.half_width(beta / 2)) for each in (noise.first, noise.second)]
        at_edges = np.abs(c_first) * widths[0] + np.abs(c_second) * widths[1]
        return _CellTable(a=a, b=b, half_widths=np.maximum(at_edges[:-1], at_edges[1:]) * (1 + OUTWARD))
    # the block with the larger part of the noise is integrated over intervals, the other one summed over
    sizes = np.abs(c_first) * first.deviation, np.abs(c_second) * second.deviation
    first_is_inner = np.minimum(sizes[0][:-1], sizes[0][1:]) >= np.minimum(sizes[1][:-1], sizes[1][1:])
    half_widths = np.empty(CELLS)
    for is_first, inner, outer, c_inner, c_outer in (
        (True, first, second, c_first, c_second),
        (False, second, first, c_second, c_first),
    ):
        chosen = np.flatnonzero(first_is_inner == is_first)
        edges = np.stack([chosen, chosen + 1])
        half_widths[chosen] = _find_joint_half_widths(inner, outer, c_inner[edges], c_outer[edges], beta)
    return _CellTable(a=a, b=b, half_widths=half_widths * (1 + OUTWARD))


def _choose_edges(noise: RatioNoise) -> tuple[Floats, Floats]:
    """Return directions (a, b) with a >= 0, at equal angles in units of both blocks' deviations."""
    first, second = (_find_scale(each) for each in (noise.first, noise.second))
    # (a, b) = (0, -1) has the coefficients (1, 1) for a share and (0, 1) else
    start = math.atan2(second, first) if noise.is_share else math.pi / 2
    angles = start - np.pi * np.arange(CELLS + 1) / CELLS
    c_first, c_second = np.cos(angles) / first, np.sin(angles) / second
    b = -c_second
    a = c_first + b if noise.is_share else c_first
    a[0] = a[-1] = 0.0
    return a, b


def _find_scale(combination: LinearCombination) -> float:
    """Return the standard deviation, or a thousandth of a step of noise that is almost surely 0.

    Any edges are valid; those at the scale of such a deviation would be closer than doubles distinguish.
    """
    step = min(float(term.coefficient) for term in combination.terms)
    return max(combination.standard_deviation, step / 1_000)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """The law of one block: probabilities of whole steps from -R to R, and its cumulative sums."""

    step: float
    masses: Floats
    slack: float
    error: float
    deviation: float

    @classmethod
    def from_table(cls, table: TabulatedLaw | None, deviation: float) -> _Block | None:
        if table is None:
            return None
        return cls(
            step=float(table.step),
            masses=table.masses,
            slack=round_up(table.slack),
            error=table.error,
            deviation=deviation,
        )

    def join_outcomes(self) -> _Block:
        """Return the block with neighboring outcomes joined to their middle, and rare ones left out."""
        joined = 2 * max(0, math.floor(self.deviation / JOINED_PER_DEVIATION / self.step / 2)) + 1
        half = joined // 2
        padded = np.append(self.masses, np.zeros(-(self.masses.size - half - 1) % joined))
        masses = np.append(
            padded[0] + 2 * padded[1 : half + 1].sum(), padded[half + 1 :].reshape(-1, joined).sum(axis=1)
        )
        tail = 2 * masses[::-1].cumsum()[::-1]
        kept = masses[: max(1, int(np.count_nonzero(tail > LEFT_OUT)))]
        return _Block(
            step=self.step * joined,
            masses=kept,
            slack=self.slack + half * self.step,
            error=self.error + LEFT_OUT,
            deviation=self.deviation,
        )


def _find_joint_half_widths(
    inner: _Block, outer: _Block, c_inner: Floats, c_outer: Floats, beta: float
) -> Floats:
    """Return, for every pair of edges, an x that both noises are within with probability 1 - beta.

    `c_inner` and `c_outer` have a row for each of the two edges and a column for each cell. The sum over
    outcomes of the outer block is symmetric, so only outcomes of at least 0 are visited.
    """
    outer = outer.join_outcomes()
    if c_inner.shape[1] == 0:
        return np.empty(0)
    weights = outer.masses * 2
    weights[0] /= 2
    outcomes = outer.step * np.arange(weights.size)
    cumulative = np.cumsum(np.append(inner.masses[:0:-1], inner.masses))
    reach = inner.masses.size - 1
    per_step = np.abs(c_inner) * inner.step
    centers = -np.sign(c_inner)[..., None] * c_outer[..., None] * outcomes / per_step[..., None]

    def is_covered(x: Floats) -> NDArray[np.bool_]:
        radius = (x / per_step)[..., None]
        # rounded inward, so that no outcome counts that is not inside
        margin = OUTWARD * (np.abs(centers) + radius)
        low = np.ceil((centers - radius + margin).max(axis=0))
        high = np.floor((centers + radius - margin).min(axis=0))
        upper = np.clip(high, -reach - 1, reach).astype(np.int64) + reach + 1
        lower = np.clip(low - 1, -reach - 1, reach).astype(np.int64) + reach + 1
        sums = np.append(0.0, cumulative)
        inside = np.where(upper > lower, sums[upper] - sums[lower], 0.0)
        return np.asarray(inside @ weights >= 1 - beta + inner.error + outer.error + 1e-12)

    # the noise has deviation 1 at edges: bisection between 0 and a reach that covers
    low, high = np.zeros(c_inner.shape[1]), np.full(c_inner.shape[1], 2.0)
    while not (covered := is_covered(high)).all():
        high = np.where(covered, high, 2 * high)
        if high.max() > 1e6:
            break  # beta is below the tables' errors: the half-width stays infinite
    for _ in range(14):
        middle = (low + high) / 2
        covered = is_covered(middle)
        low, high = np.where(covered, low, middle), np.where(covered, middle, high)
    slack = (np.abs(c_inner) * inner.slack + np.abs(c_outer) * outer.slack).max(axis=0)
    return np.asarray(np.where(is_covered(high), high, np.inf) + slack)
