"""Basket operators: keep some of a client's items and add many false ones, so that itemsets can be counted.

Definition  A client holds a basket: at most `size` of `items` items. Slots that its items do not fill stay
            empty (basket_packing.py), so every basket counts as `size` slots. Of the slots, j are shown with
            probability kept[j], any j of them alike; every item that the client does not hold is shown with
            probability `noise`, independently. The report has a bit for each item, set if it is shown; empty
            slots are never sent. For baskets of one size this is the class of operators of [ESAG02].
Belief      Pr[t -> t'] is f(i) noise**(|t'| - i) (1 - noise)**(items - s - |t'| + i) for a basket t of s
            items, i of them in t', f(i) = sum over j of kept[j] C(size - s, j - i) / C(size, j). With v(s, i)
            = f(i) / (noise**i (1 - noise)**(s - i)), gamma is the largest v over the smallest, among those
            that share a report. As v(s, i) is a mean of v(size, i + d), d binomial, it is max v(size, .) /
            min v(size, .) if items >= 2 size; else it is computed per report [EGS03]. A basket of more items
            is truncated to a uniform choice of `size`: its reports are a mixture of those of other baskets,
            so that gamma holds for it too; supports are then those of the truncated baskets.
Support     of an itemset: the share of baskets that hold all of it. Partial supports, by how many of its k
            items are held, go through a matrix of k + 1 rows that depends on nothing else; its inverse is a
            closed form. With z = bit - noise, the product of z over the itemset has mean 0 unless all of it
            is held, and then mean contrast(k); so product / contrast(k) is an unbiased estimate of the
            support. Its variance is about (noise (1 - noise))**k / (clients contrast(k)**2) for a rare
            itemset.
Noise       is chosen for the least error of a rare itemset's support.

[ESAG02]    Evfimievski, Srikant, Agrawal & Gehrke, Privacy Preserving Mining of Association Rules.
[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Protocol

import numpy as np
from scipy.special import expit

from discreet.belief.breaches import require_distribution
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.engine import Engine
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import require_count
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.baskets.basket_packing import (
    count_items,
    list_all_baskets,
    require_baskets,
    set_shown_items,
    truncate_baskets,
)
from discreet.local.baskets.itemset_counts import PackedReports, StoredReports, transpose_bits
from discreet.local.baskets.itemset_supports import ItemsetOracle, ItemsetSupports
from discreet.local.bit_sampling import sample_bits
from discreet.local.exact_sampling import fraction_to_threshold, require_codes, round_field_to_threshold
from discreet.local.frequency_oracles import MAX_ENUMERABLE_BITS
from discreet.local.operator import LARGEST_MATRIX, Operator
from discreet.local.report_formats import BitFormat, ReportCounts, Reports, count_stored_reports
from discreet.mechanisms.sampling import Booleans, Floats, Integers, Words

GRID = 1 << 50  # noise is a multiple of 1 / GRID, which floats hold exactly
MAX_SLOTS = 64
MAX_LOGIT, POINTS, ROUNDS = 33.0, 1024, 4


def find_best_noise(errors: Callable[[Floats], Floats]) -> Fraction:
    """Return the noise with the least error; `errors` returns a row of errors for each noise."""
    centre, reach = 0.0, MAX_LOGIT
    for _ in range(ROUNDS):
        logits = centre + np.linspace(-reach, reach, POINTS)
        noise = np.clip(np.rint(expit(logits) * GRID), 1, GRID - 1) / GRID
        best = int(np.argmin(errors(noise).min(axis=1)))
        centre, reach = float(logits[best]), 4 * reach / POINTS
    return Fraction(float(noise[best]))


def require_target(owner: object, size: int, itemset: int) -> int:
    """Return the itemset size to optimize for: no larger than baskets are."""
    require_size(owner, size)
    require_count(owner, "itemset", itemset)
    return min(size, itemset)


def require_size(owner: object, size: int) -> None:
    """Refuse a number of slots that is not from 1 to 64."""
    require_count(owner, "size", size)
    require_parameter(size <= MAX_SLOTS, owner, "size", size, f"at most {MAX_SLOTS}")


MAX_ITEMS = 1 << 20

SizeLaw = tuple[Fraction, ...]


class BasketOperator(Operator, ItemsetOracle, Protocol):
    """An operator whose values are baskets; as codes they are numbered if they can be enumerated."""

    kept: SizeLaw
    """The probability that j slots are shown, j from 0 to `size`."""

    @abstractmethod
    def draw_shown_slots(self, clients: int, random: Randomness) -> Booleans:
        """Draw for each client the mask of the slots that are shown."""

    def randomize_baskets(self, baskets: Words, random: Randomness = SYSTEM) -> Words:
        """Return one report for each basket; both are rows of bits, as `pack_baskets` makes them."""
        rows = truncate_baskets(require_baskets(self, baskets, self.items), self.size, random)
        reports = sample_bits(fraction_to_threshold(self.noise), len(rows), self.items, random)
        set_shown_items(reports, rows, self.draw_shown_slots(len(rows), random))
        return reports

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes = require_codes(self, x, self.values)
        return self.randomize_baskets(self.enumerate_baskets()[codes], random)

    def estimate(self, reports: Reports) -> ItemsetSupports:
        """Return the supports of itemsets from reports in memory; see `estimate_stored` for an engine."""
        words = self.report_format.split_reports(reports)[1]
        require_parameter(len(words) > 0, self, "reports", "none", "at least one report")
        return ItemsetSupports(
            operator=self, itemset_counts=PackedReports(clients=len(words), columns=transpose_bits(words))
        )

    def estimate_stored(
        self, engine: Engine, table: str, counts: ReportCounts | None = None
    ) -> ItemsetSupports:
        """Return the supports of itemsets from the reports of a table, counted inside the engine."""
        counts = self.count_reports(
            count_stored_reports(self.report_format, engine, table) if counts is None else counts
        )
        singles = counts.cells[0, 1:]
        tally = StoredReports(engine=engine, table=table, clients=counts.clients, item_counts=singles)
        return ItemsetSupports(operator=self, itemset_counts=tally)

    @property
    def report_format(self) -> BitFormat:
        return BitFormat(width=self.items)

    @property
    def outputs(self) -> int | None:
        return 1 << self.items if self.items <= MAX_ENUMERABLE_BITS else None

    @property
    def gamma(self) -> float:
        return compute_gamma(self.items, self.size, self.noise, self.kept)

    def enumerate_baskets(self) -> Words:
        """Return all baskets, in the order of their codes."""
        if self.values > LARGEST_MATRIX:
            raise InvalidParameterError(
                f"{type(self).__name__} has too many baskets to enumerate them.",
                hint="Give baskets as rows of bits to `randomize_baskets`; gamma needs no enumeration.",
            )
        return list_all_baskets(self.items, self.size)

    def likelihood(self, report: Reports) -> Floats:
        rows = self.enumerate_baskets()
        seen = self.report_format.split_reports(np.atleast_2d(report))[1]
        return np.asarray(
            self._compute_report_probabilities()[
                count_items(rows), count_items(rows & seen), int(count_items(seen)[0])
            ]
        )

    def compute_matrix(self) -> Floats:
        rows, reports = self.enumerate_baskets(), np.arange(1 << self.items, dtype=np.uint64)
        shared = np.bitwise_count(rows[:, :1] & reports[None, :])
        return np.asarray(
            self._compute_report_probabilities()[
                count_items(rows)[:, None], shared, np.bitwise_count(reports)[None, :]
            ]
        )

    def _compute_report_probabilities(self) -> Floats:
        """Return Pr[t -> t'] by the items of t, those of them in t', and the items of t'."""
        q, found = float(self.noise), np.zeros((self.size + 1, self.size + 1, self.items + 1))
        for s, i in _list_overlaps(self.size):
            for n in range(i, self.items - s + i + 1):
                false = q ** (n - i) * (1 - q) ** (self.items - s - n + i)
                found[s, i, n] = float(_compute_subset_probability(self.kept, s, i)) * false
        return found

    def contrast(self, k: int) -> Fraction:
        return sum(
            (p * c for p, c in zip(self.kept, compute_contrasts(self.size, k, self.noise), strict=True)),
            Fraction(),
        )

    def unbiased_support_values(self, k: int) -> Floats:
        self.require_itemset_size(k)
        contrast, q = self.contrast(k), self.noise
        if contrast == 0:
            raise InvalidParameterError(
                f"{type(self).__name__} reveals nothing about itemsets of {k} items: "
                "its reports do not depend on them.",
                hint="Ask for smaller itemsets, or use what `design_baskets` chooses for this size.",
            )
        return np.array([float((1 - q) ** i * (-q) ** (k - i) / contrast) for i in range(k + 1)])

    def transition_matrix(self, k: int) -> Floats:
        """Return Pr[a report shows l' of k items], in column l', if the client holds l of them, in row l."""
        self.require_itemset_size(k)
        q = float(self.noise)
        found = np.zeros((k + 1, k + 1))
        for l in range(k + 1):
            own = [comb(l, i) * float(_compute_subset_probability(self.kept, l, i)) for i in range(l + 1)]
            false = [comb(k - l, i) * q**i * (1 - q) ** (k - l - i) for i in range(k - l + 1)]
            found[l] = np.convolve(own, false)
        return found

    @refuse_wrong_types
    def variance(self, k: int, clients: int, partial: Sequence[float] | None = None) -> float:
        """Return the variance of an estimated support, given the baskets.

        `partial` are the shares of baskets that hold 0, 1, ... of the k items; all hold none by default.
        """
        require_count(self, "clients", clients)
        worth = self.unbiased_support_values(k)
        shares = np.eye(k + 1)[0] if partial is None else require_distribution("partial", partial, k + 1)
        return float(shares @ self.transition_matrix(k) @ worth**2 - shares[k]) / clients

    def require_itemset_size(self, k: int) -> None:
        require_count(self, "k", k)
        require_parameter(
            k <= self.size, self, "k", f"{k} items", f"at most {self.size} items, as baskets are"
        )


def require_shape(operator: BasketOperator) -> None:
    """Check the fields that all basket operators have, and set the number of values."""
    require_count(operator, "items", operator.items, minimum=2)
    require_parameter(
        operator.items <= MAX_ITEMS, operator, "items", operator.items, f"at most {MAX_ITEMS:,}"
    )
    require_size(operator, operator.size)
    most = operator.items
    require_parameter(
        operator.size <= most, operator, "size", operator.size, f"at most {most}, the number of items"
    )
    round_field_to_threshold(operator, "noise")
    q = operator.noise
    require_parameter(
        0 < q < 1, operator, "noise", float(q), "above 0 and below 1, so that no report rules a basket out"
    )
    values = sum(comb(operator.items, held) for held in range(operator.size + 1))
    object.__setattr__(operator, "values", values)


def compute_contrasts(size: int, k: int, noise: Fraction) -> SizeLaw:
    """Return for every j the mean of the product of bit - noise over k of the slots, if j are shown."""
    worth = [(1 - noise) ** i * (-noise) ** (k - i) for i in range(k + 1)]
    return tuple(
        sum((comb(j, i) * comb(size - j, k - i) * worth[i] for i in range(k + 1)), Fraction()) / comb(size, k)
        for j in range(size + 1)
    )


@lru_cache(maxsize=64)
def compute_gamma(items: int, size: int, noise: Fraction, kept: SizeLaw) -> float:
    """Return the amplification of the exact law; infinite if some report rules out a basket."""
    if items >= 2 * size:
        return _compute_max_ratio([_compute_likelihood_ratio(kept, noise, size, i) for i in range(size + 1)])
    found = {(s, i): _compute_likelihood_ratio(kept, noise, s, i) for s, i in _list_overlaps(size)}
    return max(
        _compute_max_ratio([v for (s, i), v in found.items() if i <= shown and s - i <= items - shown])
        for shown in range(items + 1)
    )


def _compute_max_ratio(some: list[Fraction]) -> float:
    return float(max(some) / min(some)) if min(some) else math.inf


def _compute_likelihood_ratio(kept: SizeLaw, noise: Fraction, s: int, i: int) -> Fraction:
    """Return v(s, i): the likelihood ratio of a report that shows i of s items, against noise alone."""
    return _compute_subset_probability(kept, s, i) / (noise**i * (1 - noise) ** (s - i))


def _compute_subset_probability(kept: SizeLaw, s: int, i: int) -> Fraction:
    """Return Pr[of s slots exactly these i are shown]."""
    size = len(kept) - 1
    shown = range(i, size - s + i + 1)
    return sum((kept[j] * Fraction(comb(size - s, j - i), comb(size, j)) for j in shown), Fraction())


def _list_overlaps(size: int) -> list[tuple[int, int]]:
    return [(s, i) for s in range(size + 1) for i in range(s + 1)]
