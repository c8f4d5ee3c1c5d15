"""Quantile by the exponential mechanism over a declared grid: MEDIAN, percentiles, and MIN and MAX.

Release     M(D) = c in low .. high with Pr[c] proportional to exp(-rate * d(c)), rate = epsilon / (2 s),
            d(c) = max(a (L - o) - b n, a (G + o) - (a - b) n),
            where L rows lie below c, G above it, n are all, b / a is the probability in lowest terms and o
            the `offset` in rows: d / a is by how many rows c misses rank (b / a) n + o; below 0, how many
            rows that tie at c would have to go before it does.
Requires    low, high, probability and offset are public; rows outside are moved to the nearer end. A person
            has at most R rows, and there are fewer than 2**48 rows.
Guarantee   epsilon-DP, by the exponential mechanism's argument, with the sensitivity of d:
            presence    s = max(b, a - b) R. A row added below c moves the two terms by a - b and b - a, one
                        at c by -b and b - a, one above it by -b and b: by at most max(b, a - b); removed rows
                        move them back. The maximum of terms moves by no more than one of them.
            value       s = a R. Up to R rows leave and up to R come. The first term rises by b at most with a
                        row that leaves and by a - b with one that comes, falls by a - b and by b: by a R in
                        all either way. So does the second.
Utility     The true quantile has d <= 0, so Pr[d >= t] <= (high - low) exp(-rate * t): `rank_error`. That is
            in rows; how far it is in values depends on the data, and is not public. Ties help twice: a value
            that many rows share is as far below 0 as its neighbors are above.
MIN, MAX    With probability 0 every c up to the least row has d = 0, so M would be spread evenly over low ..
            least row. `aim_inward` moves the target a few rows into the data, just enough that the answer is
            inside with the stated confidence; no epsilon-DP answer can be sure of the last rows themselves.
Why exact   Between two neighbouring distinct rows d is constant, so candidates fall into at most 2 m + 1 runs
            for m distinct rows; `sampling.sample_index` draws a run by its exact weight, then one of its
            values.

Rows are given as an engine returns them: distinct values, and the number of rows of each.

[MT07]      McSherry & Talwar, Mechanism Design via Differential Privacy.
[Smith11]   Smith, Privacy-Preserving Statistical Estimation with Optimal Convergence Rates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import coerce_positive_fraction, is_real, require_count
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import LARGEST, Floats, Integers, sample_index
from discreet.mechanisms.selection import bound_shortfall


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Values (in any order) and the number of rows that have each; printing one shows nothing."""

    values: Integers = field(repr=False)
    counts: Integers = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("values", "counts"):
            column = getattr(self, name)
            fits = isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype == np.int64
            require_parameter(fits, self, name, type(column).__name__, "a one-dimensional array of int64")
        same = self.values.size == self.counts.size
        require_parameter(same, self, "counts", "another number", "one count for each value")

    @classmethod
    def from_rows(cls, rows: Integers) -> ValueCounts:
        """Return the distinct values of these rows, with their counts.

        >>> ValueCounts.from_rows(np.array([3, 1, 3])).counts
        array([1, 2])
        """
        values, counts = np.unique(np.asarray(rows, dtype=np.int64), return_counts=True)
        return cls(values, counts.astype(np.int64))

    def clamp(self, low: int, high: int) -> ValueCounts:
        """Return the rows clamped to [low, high], in increasing order; values without rows are left out."""
        held = self.counts > 0
        values, counts = np.clip(self.values[held], low, high), self.counts[held]
        order = np.argsort(values, kind="stable")
        values, counts = values[order], counts[order]
        # low - 1 is below every clamped value, so that the first one starts a run
        starts = np.flatnonzero(np.diff(values, prepend=low - 1))
        return ValueCounts(values[starts], np.add.reduceat(counts, starts) if starts.size else counts)

    def values_at_ranks(self, ranks: Integers, low: int, high: int) -> Integers:
        """Return the values of these ranks, counted from 1; `low` below the first and `high` above the last.

        The rows must be in order, as `clamp` returns them.
        """
        ends = np.cumsum(self.counts)
        padded = np.concatenate([self.values, [high]])
        found = padded[np.searchsorted(ends, ranks, side="left")]
        return np.where(ranks < 1, low, found)


FINEST = 10_000


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """A value of the declared grid near the target rank.

    >>> Quantile(epsilon=1, low=17, high=90, probability=0.9).rank_error(confidence=0.95)
    14.5
    """

    epsilon: Fraction
    low: int
    high: int
    probability: Fraction = Fraction(1, 2)
    offset: int = 0
    rows_per_person: int = 1
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "epsilon")
        require_integer_range(self, self.low, self.high)
        _coerce_probability(self, self.probability)
        whole = isinstance(self.offset, int) and not isinstance(self.offset, bool)
        # with denominators up to 10,000, distances of fewer than 2**48 rows fit into 64 bits
        require_parameter(
            whole and abs(self.offset) < 1 << 48, self, "offset", self.offset, "an integer below 2**48"
        )
        require_count(self, "rows_per_person", self.rows_per_person)
        coerce_relation(self)

    @property
    def sensitivity(self) -> int:
        """The largest change of the distance d of any candidate by one person."""
        top, bottom = self.probability.numerator, self.probability.denominator
        each = max(top, bottom - top) if self.relation is Relation.PRESENCE else bottom
        return each * self.rows_per_person

    @property
    def rate(self) -> Fraction:
        return self.epsilon / (2 * self.sensitivity)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(epsilon=self.epsilon, relation=self.relation)

    def rank_error(self, confidence: float) -> float:
        """Return the most rows by which the value misses its rank, with at least `confidence`."""
        missed = bound_shortfall(self, self.rate, self.high - self.low + 1, confidence)
        return missed / self.probability.denominator

    def aim_inward(self, confidence: float) -> Quantile:
        """Return the mechanism for MIN or MAX that aims a few rows inside the data.

        The answer is then not beyond the last row, with at least `confidence`, where there are at least as
        many rows as `offset`.
        """
        extreme = self.probability in (0, 1)
        require_parameter(extreme, self, "probability", self.probability, "0 or 1 to be moved inward")
        rows = int(self.rank_error(confidence)) + 1
        return replace(self, offset=rows if self.probability == 0 else -rows)

    def candidate_runs(self, rows: ValueCounts) -> tuple[Integers, Integers, Integers]:
        """Return the start of each run of equally good candidates, its length, and its distance d."""
        kept = rows.clamp(self.low, self.high)
        starts = np.empty(2 * kept.values.size + 1, np.int64)
        starts[0], starts[1::2], starts[2::2] = self.low, kept.values, kept.values + 1
        lengths = np.diff(starts, append=self.high + 1)
        upto = np.concatenate([[0], np.cumsum(kept.counts)])
        below, above = np.repeat(upto, 2)[:-1], upto[-1] - np.repeat(upto, 2)[1:]
        return starts, lengths, self._compute_distance(below, above, int(upto[-1]))

    def _compute_distance(self, below: Integers, above: Integers, rows: int) -> Integers:
        top, bottom = self.probability.numerator, self.probability.denominator
        over = bottom * (below - self.offset) - top * rows
        under = bottom * (above + self.offset) - (bottom - top) * rows
        return np.maximum(over, under)

    def probabilities(self, rows: ValueCounts) -> Floats:
        """Return Pr[M(D) = c] for every c in low .. high."""
        _, lengths, distances = self.candidate_runs(rows)
        weights = np.exp(-(distances - distances[lengths > 0].min()) * float(self.rate))
        return np.repeat(weights / (weights * lengths).sum(), lengths)

    def likelihood(self, output: int, truth: ValueCounts) -> float:
        """Return Pr[M(D) = output] where D has the rows `truth`."""
        return float(self.probabilities(truth)[output - self.low]) if self.low <= output <= self.high else 0.0

    def log_likelihoods(self, outputs: Integers, truth: ValueCounts) -> Floats:
        """Return ln Pr[M(D) = c] for each output c in low .. high, however many values the grid has."""
        starts, lengths, distances = self.candidate_runs(truth)
        held = lengths > 0
        weights = -distances[held] * float(self.rate)
        total = np.logaddexp.reduce(weights + np.log(lengths[held]))
        return np.asarray(weights[np.searchsorted(starts[held], outputs, side="right") - 1] - total)

    def release(self, rows: Exact[ValueCounts], random: Randomness) -> Released[int]:
        starts, lengths, distances = self.candidate_runs(rows.secret)
        held = lengths > 0
        run = sample_index(distances[held], self.rate, random, multiplicities=lengths[held])
        value = int(starts[held][run]) + random.draw_below(int(lengths[held][run]))
        return Released(value, self.guarantee)


def require_integer_range(owner: object, low: object, high: object) -> None:
    """Raise an error unless low < high are integers whose difference fits into 64 bits."""
    for name, end in (("low", low), ("high", high)):
        holds = isinstance(end, int) and not isinstance(end, bool) and abs(end) < LARGEST // 2
        require_parameter(holds, owner, name, end, "an integer below 2**61")
    require_parameter(low < high, owner, "high", high, f"above low, which is {low}")  # type: ignore[operator]


def _coerce_probability(owner: Quantile, value: object) -> None:
    """Replace the probability by a fraction; a float counts as the decimal that it prints as."""
    wanted = f"a probability from 0 to 1 with a denominator of at most {FINEST}"
    require_parameter(is_real(value) and 0 <= value <= 1, owner, "probability", value, wanted)  # type: ignore[operator]
    exact = Fraction(str(value))
    require_parameter(exact.denominator <= FINEST, owner, "probability", value, wanted)
    object.__setattr__(owner, "probability", exact)
