"""Supports of itemsets, estimated from reports: unbiased, with their standard errors.

Estimate    Every report has an unbiased value for the support of an itemset, by how many of its items it
            shows (`ItemsetOracle.unbiased_support_values`); the support is the mean. This is the inverse of
            the matrix of partial supports [ESAG02], so it is unbiased and may be negative.
Error       The standard deviation of that mean, estimated from the reports, the clients being a sample of a
            population; it allows for few reports that agree by chance (`estimate_means`). Intervals are
            normal; those of single items are conservative.
Tests       Whether a support exceeds a threshold is tested without a normal approximation, which is far off
            in thin tails and for few clients. For an item by the binomial law [Hoeffding56]. For itemsets by
            betting: a gambler who stakes a share of the wealth on every report's value exceeding the
            threshold multiplies it by 1 / doubt with probability at most `doubt` if the support does not
            exceed it, whatever the clients' baskets; several stakes share the initial wealth [WR24].

[ESAG02]    Evfimievski, Srikant, Agrawal & Gehrke, Privacy Preserving Mining of Association Rules.
[Hoeffding56] On the Distribution of the Number of Successes in Independent Trials.
[WR24]      Waudby-Smith & Ramdas, Estimating Means of Bounded Random Variables by Betting.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from discreet.core.binomial import clopper_pearson
from discreet.core.errors import require_parameter
from discreet.core.number_checks import DEFAULT_CONFIDENCE, require_probability
from discreet.local.baskets.itemset_counts import ItemsetCounts, count_patterns
from discreet.local.estimates import FLAG_CONFIDENCE, Intervals, NormalEstimate, make_normal_estimate
from discreet.mechanisms.sampling import Booleans, Floats, Integers

MAX_PATTERNS = 1 << 22  # patterns that are held in memory
MAX_ITEMSET_SIZE = 12
STAKES = 12  # each is smaller than the one before by the square root of 2
MAX_STAKE = 0.99  # of the wealth, so that no single report ruins the gambler


class ItemsetOracle(Protocol):
    """An operator on baskets of up to `size` of `items` items, from whose reports supports are estimated."""

    items: int
    size: int
    noise: Fraction

    @abstractmethod
    def contrast(self, k: int) -> Fraction:
        """Return the mean of the product of bit - noise over k items that a client holds."""

    @abstractmethod
    def unbiased_support_values(self, k: int) -> Floats:
        """Return a report's unbiased value for a k-itemset's support, by how many of its items it shows."""

    @abstractmethod
    def require_itemset_size(self, k: int) -> None:
        """Refuse itemset sizes that no basket can hold."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SupportEstimates:
    """The supports of several itemsets and their standard errors."""

    supports: Floats
    errors: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemsetSupports:
    """Estimates of the support of any itemset from the clients' reports."""

    operator: ItemsetOracle
    itemset_counts: ItemsetCounts

    @property
    def clients(self) -> int:
        return self.itemset_counts.clients

    def estimate(self, itemset: Sequence[int], confidence: float = DEFAULT_CONFIDENCE) -> NormalEstimate:
        """Return the estimated support of one itemset."""
        require_probability("estimate", "confidence", confidence)
        found = self.estimate_each([list(itemset)])
        return make_normal_estimate(float(found.supports[0]), float(found.errors[0]), confidence)

    def estimate_each(self, itemsets: ArrayLike) -> SupportEstimates:
        """Return the estimated supports of itemsets of one size, a row each."""
        rows = self._require_itemsets(itemsets)
        step = max(1, MAX_PATTERNS >> rows.shape[1])
        worth = self._compute_pattern_values(rows.shape[1])
        parts = [
            estimate_means(count_patterns(self.itemset_counts, rows[i : i + step]), worth)
            for i in range(0, len(rows), step)
        ]
        supports, errors = (np.concatenate(each) for each in zip(*parts, strict=True))
        return SupportEstimates(supports=supports, errors=errors)

    def intervals(self, confidence: float = DEFAULT_CONFIDENCE) -> Intervals:
        """Return for every single item a conservative interval of its support, within [0, 1].

        A report shows an item with probability noise, and contrast(1) more if it is held.
        """
        require_probability("intervals", "confidence", confidence)
        return Intervals(*np.clip(self._compute_item_intervals(confidence), 0, 1))

    @property
    def impossible_codes(self) -> tuple[int, ...]:
        """The items whose support is below 0 or above 1 beyond what chance explains."""
        low, high = self._compute_item_intervals(FLAG_CONFIDENCE)
        return tuple(int(item) for item in np.flatnonzero((high < 0) | (low > 1)))

    def _compute_item_intervals(self, confidence: float) -> Floats:
        low, high = clopper_pearson(
            self.itemset_counts.item_counts[: self.operator.items], self.clients, alpha=1 - confidence
        )
        noise, told = float(self.operator.noise), float(self.operator.contrast(1))
        return np.sort([(low - noise) / told, (high - noise) / told], axis=0)

    def find_exceeding(self, itemsets: Integers, min_support: float, doubt: float) -> Booleans:
        """Return the mask of itemsets with support above `min_support`, each with error at most `doubt`."""
        rows = self._require_itemsets(itemsets)
        if rows.shape[1] == 1:
            return self._find_exceeding_items(rows[:, 0], min_support, doubt)
        step, gains = (
            max(1, MAX_PATTERNS >> rows.shape[1]),
            self._compute_pattern_values(rows.shape[1]) - min_support,
        )
        parts = [self._test_by_betting(rows[i : i + step], gains, doubt) for i in range(0, len(rows), step)]
        return np.concatenate(parts)

    def _find_exceeding_items(self, items: Integers, min_support: float, doubt: float) -> Booleans:
        told = float(self.operator.contrast(1))
        low, high = clopper_pearson(self.itemset_counts.item_counts[items], self.clients, alpha=2 * doubt)
        return np.asarray(((low if told > 0 else high) - float(self.operator.noise)) / told > min_support)

    def _test_by_betting(self, rows: Integers, gains: Floats, doubt: float) -> Booleans:
        found = compute_log_wealth(
            count_patterns(self.itemset_counts, rows), gains, float(self.operator.noise), doubt
        )
        return np.asarray(found >= math.log(1 / doubt))

    def is_rule_significant(
        self, itemset: Sequence[int], given: Sequence[int], strength: float, doubt: float
    ) -> bool:
        """Test if the itemset's support exceeds `strength` times that of `given`, with error `doubt`."""
        return bool(self._test_by_betting(*self._compute_excess_values(itemset, given, strength), doubt)[0])

    def estimate_excess(
        self, itemset: Sequence[int], given: Sequence[int], strength: float
    ) -> tuple[float, float]:
        """Return the support of an itemset minus `strength` times that of its part `given`, and the error."""
        row, worth = self._compute_excess_values(itemset, given, strength)
        mean, error = estimate_means(count_patterns(self.itemset_counts, row), worth)
        return float(mean[0]), float(error[0])

    def _compute_excess_values(
        self, itemset: Sequence[int], given: Sequence[int], strength: float
    ) -> tuple[Integers, Floats]:
        """Return the itemset in order, and the value of each pattern for the excess of `estimate_excess`."""
        (row,) = self._require_itemsets([list(itemset)]).tolist()
        within = len(given) > 0 and set(given) < set(row)
        require_parameter(
            within, "estimate_excess", "given", "other items", "some of the itemset's items, but not all"
        )
        part = sum(1 << row.index(item) for item in set(given))
        return np.array([row]), self._compute_pattern_values(
            len(row)
        ) - strength * self._compute_pattern_values(len(row), part)

    def _compute_pattern_values(self, k: int, part: int | None = None) -> Floats:
        """Return the value of each pattern of k items for the support of all of them, or of a part."""
        shown = np.arange(1 << k) & ((1 << k) - 1 if part is None else part)
        size = k if part is None else part.bit_count()
        return np.asarray(self.operator.unbiased_support_values(size)[np.bitwise_count(shown)])

    def _require_itemsets(self, itemsets: ArrayLike) -> Integers:
        rows = np.asarray(itemsets)
        holds = rows.ndim == 2 and rows.size > 0 and rows.dtype.kind in "iu"
        require_parameter(
            holds, "estimate_each", "itemsets", "something else", "rows of items, equally many in each"
        )
        self.operator.require_itemset_size(rows.shape[1])
        require_parameter(
            rows.shape[1] <= MAX_ITEMSET_SIZE,
            "estimate_each",
            "itemsets",
            f"{rows.shape[1]} items",
            f"at most {MAX_ITEMSET_SIZE}",
        )
        most = self.operator.items - 1
        inside = int(rows.min()) >= 0 and int(rows.max()) <= most
        require_parameter(
            inside, "estimate_each", "itemsets", "an item outside of the domain", f"items from 0 to {most}"
        )
        ordered = np.sort(rows.astype(np.int64), axis=1)
        distinct = bool(np.all(np.diff(ordered, axis=1) > 0))
        require_parameter(
            distinct, "estimate_each", "itemsets", "an item twice", "different items in each itemset"
        )
        return ordered


def estimate_means(counts: Integers, pattern_values: Floats) -> tuple[Floats, Floats]:
    """Return the mean value of the reports of each row of counts, and its standard error.

    The error includes one more report of every pattern, since a few reports may agree by chance.
    """
    clients = counts.sum(axis=1)
    mean, more = counts @ pattern_values / clients, counts + 1
    shares = more / more.sum(axis=1)[:, None]
    spread = shares @ pattern_values**2 - (shares @ pattern_values) ** 2
    return mean, np.sqrt(spread / clients)


def compute_log_wealth(counts: Integers, gains: Floats, noise: float, doubt: float) -> Floats:
    """Return the log wealth of bets on a positive mean of the gains, for each row of counts.

    Stakes are shares of the wealth, in decreasing order from about the best one if reports were noise
    alone, or from the largest stake that no report ruins if that is less.
    """
    clients, shown = int(counts[0].sum()), np.bitwise_count(np.arange(gains.size))
    alone = noise**shown * (1 - noise) ** (int(shown[-1]) - shown)
    spread = float(alone @ gains**2 - (alone @ gains) ** 2)
    wanted = math.sqrt(2 * math.log(1 / doubt) / (clients * spread))
    most = min(wanted * math.sqrt(2), MAX_STAKE / -float(gains.min()))
    stakes = most / 2.0 ** (np.arange(STAKES) / 2)
    return np.asarray(logsumexp(counts @ np.log1p(gains[:, None] * stakes), axis=1) - math.log(STAKES))
