"""Entropy l-diversity: the sensitive values of a class are as spread as l equally common ones.

Definition  In every class of n rows, whose values have the counts c1, ..., cm, the entropy
            -sum (ci / n) ln(ci / n) is at least ln l; l may be a fraction [MGKV06].
Belief      It caps no belief for every table: a value with half of the rows and very many rare ones give any
            entropy. Of m values, p for one of them needs h(p) + (1 - p) ln(m - 1) >= ln l.
Monotone    In generalization: entropy is concave. Not in suppression: a class of one value can spoil another.
Attacks     Stopped: homogeneity. Not stopped: background knowledge, similarity, skewness, composition,
            membership.
Ties        n ln n - sum ci ln ci >= n ln l  is decided by floats in clear cases: m terms, each right to a few
            units in the last place, have an error of at most (m + 16) 2**-52 (n ln n + n ln l). Classes of
            equal counts have exactly the entropy ln m. What remains is near a tie: n**n q**n = p**n prod
            ci**ci, l = p/q, holds if and only if both sides have the same prime factors, and where it does
            not, enough decimals decide which side is larger.

[MGKV06]    Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam, l-Diversity, ICDE 2006.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, log
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, SensitiveCounts
from discreet.anonymity.models.class_counts import (
    bound_rows_within_shares,
    count_commonest,
    count_distinct,
    count_rows,
    reduce_by_class,
    require_sensitive,
)
from discreet.anonymity.models.model_option import (
    L_DIVERSITY,
    ModelBound,
    ModelOption,
    RequestedModel,
    Shares,
    coerce_above,
    format_fraction,
    parse_at_least_one,
)
from discreet.anonymity.models.privacy_model import (
    HOMOGENEITY,
    INFORMED_ATTACKER,
    Floats,
    Verdicts,
    list_attacks_except,
)

DIGITS = 40  # of the first attempt to decide a near tie; doubled until it is decided
HALVINGS = 30  # bisection steps; the upper end is returned, so the bound stays valid
Powers = list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity(RequestedModel):
    """The entropy of every class is at least ln l."""

    column: str
    l: Fraction

    option: ClassVar[ModelOption] = L_DIVERSITY
    form: ClassVar[str] = "COLUMN:L:entropy"
    bounds_repeated_values: ClassVar[bool] = True
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(HOMOGENEITY)

    def __post_init__(self) -> None:
        coerce_above(self, "l", 1, included=True)

    @property
    def name(self) -> str:
        return f"entropy {format_fraction(self.l)}-diversity of {self.column}"

    @property
    def belief(self) -> str:
        return (
            f"{INFORMED_ATTACKER} is as uncertain of {self.column}, in "
            f"entropy, as between {format_fraction(self.l)} equally probable values, which caps no "
            "single belief."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        sensitive = require_sensitive(classes, self.column, self.name)
        rows, kinds = count_rows(sensitive), count_distinct(sensitive)
        spread, size = compute_spreads(sensitive), rows * np.log(np.maximum(rows, 1))
        needed = rows * log(self.l)
        verdicts = spread >= needed
        even = count_commonest(sensitive) * kinds == rows
        verdicts[even] = kinds[even] >= self.l
        verdicts[rows == 0] = True
        slack = (kinds + 16) * 2.0**-52 * (size + needed)
        for i in np.flatnonzero(~even & (np.abs(spread - needed) <= slack)):
            counts = sensitive.counts[sensitive.starts[i] : sensitive.starts[i + 1]]
            verdicts[i] = is_spread_enough(tuple(sorted(counts.tolist())), self.l)
        return verdicts

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        sensitive = require_sensitive(classes, self.column, self.name)
        return bound_rows_within_shares(
            classes, sensitive, 0, find_largest_share(self.l, len(sensitive.totals))
        )

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        return count_effective_values(require_sensitive(classes, self.column, self.name)) - float(self.l)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        l = parse_at_least_one(f"the l of {cls.option.argument}", texts["l"])
        return {"column": texts["column"], "l": l}

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        if self.l > 1:
            yield ModelBound(attack=HOMOGENEITY, limit=1.0, column=self.column, is_strict=True)


@lru_cache(maxsize=64)
def find_largest_share(l: Fraction, values: int) -> float:
    """Return an upper bound on the commonest value's share among `values` values with entropy ln l.

    The entropy is largest where all others are equally common, and falls from there as the share grows.
    """
    low, high, others = 1 / max(values, 2), 1.0, log(max(values, 2) - 1)
    for _ in range(HALVINGS):
        part = (low + high) / 2
        spread = -part * log(part) - (1 - part) * log(1 - part) + (1 - part) * others
        low, high = (part, high) if spread >= log(l) else (low, part)
    return high


def compute_spreads(sensitive: SensitiveCounts) -> Floats:
    """Return n ln n - sum c ln c of each class: its rows times its entropy."""
    rows = count_rows(sensitive)
    terms = sensitive.counts * np.log(sensitive.counts)
    return np.asarray(rows * np.log(np.maximum(rows, 1)) - reduce_by_class(np.add, sensitive.starts, terms))


def count_effective_values(sensitive: SensitiveCounts) -> Floats:
    """Return exp(entropy) of each class: the number of equally common values with the same entropy."""
    return np.exp(np.maximum(compute_spreads(sensitive), 0.0) / np.maximum(count_rows(sensitive), 1))


@lru_cache(maxsize=4096)
def is_spread_enough(counts: tuple[int, ...], l: Fraction) -> bool:
    """Return whether n**n >= l**n * prod c**c, exactly.

    >>> is_spread_enough((1, 1, 1, 1, 4), Fraction(4)), is_spread_enough((1, 1, 1, 1, 5), Fraction(4))
    (True, False)
    """
    shared = gcd(*counts)
    n = sum(counts)
    left = [(n, n // shared), (l.denominator, n // shared)]
    right = [(count, times * count // shared) for count, times in Counter(counts).items()]
    right.append((l.numerator, n // shared))
    return _factorize_powers(left) == _factorize_powers(right) or _is_larger(left, right)


def _factorize_powers(powers: Powers) -> Counter[int]:
    """Return the prime factors of prod base**power, with their powers."""
    found: Counter[int] = Counter()
    for base, power in powers:
        rest, divisor = base, 2
        while divisor * divisor <= rest:
            while rest % divisor == 0:
                found[divisor] += power
                rest //= divisor
            divisor += 1
        if rest > 1:
            found[rest] += power
    return found


def _is_larger(left: Powers, right: Powers) -> bool:
    """Return whether prod base**power is larger on the left; the two are known to differ."""
    signed = left + [(base, -power) for base, power in right]
    digits = DIGITS
    while True:
        rounded, wide = Context(prec=digits), Context(prec=4 * digits)
        difference, size = Decimal(0), Decimal(0)
        for base, power in signed:
            # the logarithm is correctly rounded; products and sums of it are exact in the wider context
            term = wide.multiply(power, rounded.ln(base))
            difference, size = wide.add(difference, term), wide.add(size, wide.abs(term))
        if wide.abs(difference) > wide.scaleb(size, 2 - digits):
            return difference > 0
        digits *= 2
