"""Supports of itemsets, estimated from reports: unbiased, with their standard errors.

Estimate    Every report has an unbiased value for the support of an itemset, by how many of its items it
            shows (`BasketOperator.unbiased_support_values`); the support is the mean. This is the inverse of
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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from discreet.core.binomial import clopper_pearson
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_probability
from discreet.local.baskets.tallies import Tally, patterns
from discreet.local.estimates import CONFIDENCE, SURE, Figure, Intervals, figure
from discreet.mechanisms.sampling import Booleans, Floats, Integers

if TYPE_CHECKING:
    from discreet.local.baskets.operator import Baskets

AT_ONCE = 1 << 22  # patterns that are held in memory
LONGEST = 12
STAKES = 12  # each is smaller than the one before by the square root of 2
ALMOST_ALL = 0.99  # of the wealth, so that no single report ruins the gambler


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """The supports of several itemsets and their standard errors."""

    supports: Floats
    errors: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Supports:
    """Estimates of the support of any itemset from the clients' reports."""

    operator: Baskets
    tally: Tally

    @property
    def clients(self) -> int:
        return self.tally.clients

    def of(self, itemset: Sequence[int], confidence: float = CONFIDENCE) -> Figure:
        """Return the estimated support of one itemset."""
        require_probability("estimate", "confidence", confidence)
        found = self.each([list(itemset)])
        return figure(float(found.supports[0]), float(found.errors[0]), confidence)

    def each(self, itemsets: ArrayLike) -> Estimates:
        """Return the estimated supports of itemsets of one size, a row each."""
        rows = self._require(itemsets)
        step = max(1, AT_ONCE >> rows.shape[1])
        worth = self._worth(rows.shape[1])
        parts = [means(patterns(self.tally, rows[i : i + step]), worth) for i in range(0, len(rows), step)]
        supports, errors = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Estimates(supports=supports, errors=errors)

    def intervals(self, confidence: float = CONFIDENCE) -> Intervals:
        """Return for every single item a conservative interval of its support, within [0, 1].

        A report shows an item with probability noise, and contrast(1) more if it is held.
        """
        require_probability("intervals", "confidence", confidence)
        return Intervals(*np.clip(self._ends(confidence), 0, 1))

    @property
    def impossible(self) -> tuple[int, ...]:
        """The items whose support is below 0 or above 1 beyond what chance explains."""
        low, high = self._ends(SURE)
        return tuple(int(item) for item in np.flatnonzero((high < 0) | (low > 1)))

    def _ends(self, confidence: float) -> Floats:
        low, high = clopper_pearson(
            self.tally.singles[: self.operator.items], self.clients, alpha=1 - confidence
        )
        noise, told = float(self.operator.noise), float(self.operator.contrast(1))
        return np.sort([(low - noise) / told, (high - noise) / told], axis=0)

    def exceed(self, itemsets: Integers, least: float, doubt: float) -> Booleans:
        """Return the mask of itemsets with support above `min_support`, each with error at most `doubt`."""
        rows = self._require(itemsets)
        if rows.shape[1] == 1:
            return self._items_exceed(rows[:, 0], least, doubt)
        step, gains = max(1, AT_ONCE >> rows.shape[1]), self._worth(rows.shape[1]) - least
        parts = [self._won(rows[i : i + step], gains, doubt) for i in range(0, len(rows), step)]
        return np.concatenate(parts)

    def _items_exceed(self, items: Integers, least: float, doubt: float) -> Booleans:
        told = float(self.operator.contrast(1))
        low, high = clopper_pearson(self.tally.singles[items], self.clients, alpha=2 * doubt)
        return np.asarray(((low if told > 0 else high) - float(self.operator.noise)) / told > least)

    def _won(self, rows: Integers, gains: Floats, doubt: float) -> Booleans:
        found = won(patterns(self.tally, rows), gains, float(self.operator.noise), doubt)
        return np.asarray(found >= math.log(1 / doubt))

    def holds(self, itemset: Sequence[int], given: Sequence[int], strength: float, doubt: float) -> bool:
        """Test if the itemset's support exceeds `strength` times that of `given`, with error `doubt`."""
        return bool(self._won(*self._rest_worth(itemset, given, strength), doubt)[0])

    def rest(self, itemset: Sequence[int], given: Sequence[int], strength: float) -> tuple[float, float]:
        """Return the support of an itemset minus `strength` times that of its part `given`, and the error."""
        row, worth = self._rest_worth(itemset, given, strength)
        mean, error = means(patterns(self.tally, row), worth)
        return float(mean[0]), float(error[0])

    def _rest_worth(
        self, itemset: Sequence[int], given: Sequence[int], strength: float
    ) -> tuple[Integers, Floats]:
        """Return the itemset in order, and the value of each pattern for the excess of `estimate_excess`."""
        (row,) = self._require([list(itemset)]).tolist()
        within = len(given) > 0 and set(given) < set(row)
        require_parameter(within, "rest", "given", "other items", "some of the itemset's items, but not all")
        part = sum(1 << row.index(item) for item in set(given))
        return np.array([row]), self._worth(len(row)) - strength * self._worth(len(row), part)

    def _worth(self, k: int, part: int | None = None) -> Floats:
        """Return the value of each pattern of k items for the support of all of them, or of a part."""
        shown = np.arange(1 << k) & ((1 << k) - 1 if part is None else part)
        size = k if part is None else part.bit_count()
        return np.asarray(self.operator.worth(size)[np.bitwise_count(shown)])

    def _require(self, itemsets: ArrayLike) -> Integers:
        rows = np.asarray(itemsets)
        holds = rows.ndim == 2 and rows.size > 0 and rows.dtype.kind in "iu"
        require_parameter(
            holds, "supports", "itemsets", "something else", "rows of items, equally many in each"
        )
        self.operator.require_itemset(rows.shape[1])
        require_parameter(
            rows.shape[1] <= LONGEST, "supports", "itemsets", f"{rows.shape[1]} items", f"at most {LONGEST}"
        )
        most = self.operator.items - 1
        inside = int(rows.min()) >= 0 and int(rows.max()) <= most
        require_parameter(
            inside, "supports", "itemsets", "an item outside of the domain", f"items from 0 to {most}"
        )
        ordered = np.sort(rows.astype(np.int64), axis=1)
        distinct = bool(np.all(np.diff(ordered, axis=1) > 0))
        require_parameter(
            distinct, "supports", "itemsets", "an item twice", "different items in each itemset"
        )
        return ordered


def means(counts: Integers, worth: Floats) -> tuple[Floats, Floats]:
    """Return the mean value of the reports of each row of counts, and its standard error.

    The error includes one more report of every pattern, since a few reports may agree by chance.
    """
    clients = counts.sum(axis=1)
    mean, more = counts @ worth / clients, counts + 1
    shares = more / more.sum(axis=1)[:, None]
    spread = shares @ worth**2 - (shares @ worth) ** 2
    return mean, np.sqrt(spread / clients)


def won(counts: Integers, gains: Floats, noise: float, doubt: float) -> Floats:
    """Return the log wealth of bets on a positive mean of the gains, for each row of counts.

    Stakes are shares of the wealth, in decreasing order from about the best one if reports were noise
    alone, or from the largest stake that no report ruins if that is less.
    """
    clients, shown = int(counts[0].sum()), np.bitwise_count(np.arange(gains.size))
    alone = noise**shown * (1 - noise) ** (int(shown[-1]) - shown)
    spread = float(alone @ gains**2 - (alone @ gains) ** 2)
    wanted = math.sqrt(2 * math.log(1 / doubt) / (clients * spread))
    most = min(wanted * math.sqrt(2), ALMOST_ALL / -float(gains.min()))
    stakes = most / 2.0 ** (np.arange(STAKES) / 2)
    return np.asarray(logsumexp(counts @ np.log1p(gains[:, None] * stakes), axis=1) - math.log(STAKES))
