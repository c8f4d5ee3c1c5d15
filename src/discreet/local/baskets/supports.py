"""Supports of itemsets, estimated from reports: unbiased, with their standard errors.

Estimate    Every report is worth a number to the support of an itemset, by how many of its items it shows
            (`Baskets.worth`); the support is the mean. This is the inverse of the matrix of partial supports
            [ESAG02], so it is unbiased and may be negative.
Error       The standard deviation of that mean, from the reports themselves, the clients being a sample of
            many. Intervals are normal.

[ESAG02]    Evfimievski, Srikant, Agrawal & Gehrke, Privacy Preserving Mining of Association Rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import require
from discreet.core.numbers import require_probability
from discreet.local.baskets.tallies import Tally, patterns
from discreet.local.estimates import CONFIDENCE, Figure, figure
from discreet.mechanisms.sampling import Floats, Integers

if TYPE_CHECKING:
    from discreet.local.baskets.operator import Baskets

AT_ONCE = 1 << 22  # patterns that are held in memory
LONGEST = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """The supports of several itemsets and their standard errors."""

    supports: Floats
    errors: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Supports:
    """What the reports of clients tell of any itemset."""

    operator: Baskets
    tally: Tally

    @property
    def clients(self) -> int:
        return self.tally.clients

    def of(self, itemset: Sequence[int], confidence: float = CONFIDENCE) -> Figure:
        """The support of one itemset."""
        require_probability("of", "confidence", confidence)
        found = self.each([list(itemset)])
        return figure(float(found.supports[0]), float(found.errors[0]), confidence)

    def each(self, itemsets: ArrayLike) -> Estimates:
        """The supports of itemsets of one size, a row each."""
        rows = self._require(itemsets)
        step = max(1, AT_ONCE >> rows.shape[1])
        worth = self._worth(rows.shape[1])
        parts = [means(patterns(self.tally, rows[i : i + step]), worth) for i in range(0, len(rows), step)]
        supports, errors = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Estimates(supports=supports, errors=errors)

    def rest(self, itemset: Sequence[int], given: Sequence[int], strength: float) -> tuple[float, float]:
        """How far the support of an itemset is above `strength` times that of a part of it, and the error."""
        (row,) = self._require([list(itemset)]).tolist()
        within = len(given) > 0 and set(given) < set(row)
        require(within, "rest", "given", "other items", "some of the itemset's items, but not all")
        part = sum(1 << row.index(item) for item in set(given))
        worth = self._worth(len(row)) - strength * self._worth(len(row), part)
        mean, error = means(patterns(self.tally, np.array([row])), worth)
        return float(mean[0]), float(error[0])

    def _worth(self, k: int, part: int | None = None) -> Floats:
        """What each pattern of k items is worth to the support of them all, or of a part of them."""
        shown = np.arange(1 << k) & ((1 << k) - 1 if part is None else part)
        size = k if part is None else part.bit_count()
        return np.asarray(self.operator.worth(size)[np.bitwise_count(shown)])

    def _require(self, itemsets: ArrayLike) -> Integers:
        rows = np.asarray(itemsets)
        holds = rows.ndim == 2 and rows.size > 0 and rows.dtype.kind in "iu"
        require(holds, "supports", "itemsets", "something else", "rows of items, equally many in each")
        self.operator.require_itemset(rows.shape[1])
        require(
            rows.shape[1] <= LONGEST, "supports", "itemsets", f"{rows.shape[1]} items", f"at most {LONGEST}"
        )
        most = self.operator.items - 1
        inside = int(rows.min()) >= 0 and int(rows.max()) <= most
        require(inside, "supports", "itemsets", "an item outside of the domain", f"items from 0 to {most}")
        ordered = np.sort(rows.astype(np.int64), axis=1)
        distinct = bool(np.all(np.diff(ordered, axis=1) > 0))
        require(distinct, "supports", "itemsets", "an item twice", "different items in each itemset")
        return ordered


def means(counts: Integers, worth: Floats) -> tuple[Floats, Floats]:
    """The mean worth of the reports of each row of counts, and its standard error."""
    clients = counts.sum(axis=1)
    mean = counts @ worth / clients
    spread = np.maximum((counts @ worth**2) / clients - mean**2, 0.0)
    return mean, np.sqrt(spread / clients)
