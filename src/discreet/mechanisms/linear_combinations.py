"""Linear combinations of released values: the law of their error, and exact half-widths.

A total, a difference, a weighted mean or a fitted value is sum of w_i y_i over released y_i. Its error is
sum of w_i Z_i over independent noises of public law. A union bound would be several times too wide: with
epsilon .1 and sensitivity 2 one cell is within ±60 at 95%, the sum of 656 cells within ±1,420, not ±39,360.

Half-width  One value: exact. Several: from the table of `mechanisms.tabulated_laws`, on a lattice exact up to
            the table's error in probability (about 1e-10), else too wide by at most 2% of a standard
            deviation (by more for thousands of different weights); or by Chernoff's bound, if `beta` is tiny
            or a table would take too much work. The smaller of two bounds on one quantile is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.core.number_checks import require_count, require_probability
from discreet.mechanisms.noise_laws import NoiseLaw
from discreet.mechanisms.tabulated_laws import (
    MOST_CACHED,
    NoiseTerm,
    TabulatedLaw,
    Terms,
    combine_equal_terms,
    compute_variance,
    find_chernoff_reach,
    find_common_step,
    tabulate_terms,
)

Weight = Fraction | int | float


@dataclass(frozen=True)
class LinearCombination:
    """The error of a weighted sum of independently released values; without terms it is 0.

    >>> from discreet.mechanisms.noise_laws import DiscreteLaplaceLaw
    >>> law = DiscreteLaplaceLaw(rate=Fraction(1, 20))
    >>> LinearCombination.from_equal_cells(law, 2).half_width(0.05)
    Fraction(82, 1)
    """

    terms: Terms

    @classmethod
    def from_weights(cls, weighted: Iterable[tuple[NoiseLaw, Weight]]) -> LinearCombination:
        """Return the error of the sum of weight * value over independent values."""
        return cls.from_counts((law, weight, 1) for law, weight in weighted)

    @classmethod
    def from_counts(cls, groups: Iterable[tuple[NoiseLaw, Weight, int]]) -> LinearCombination:
        """Return the error of a sum in which `count` independent values have the same law and weight."""
        terms = [
            NoiseTerm(law.in_steps, abs(Fraction(weight)) * law.unit, count)
            for law, weight, count in groups
            if weight != 0 and count > 0
        ]
        return cls(combine_equal_terms(terms))

    @classmethod
    def from_equal_cells(cls, law: NoiseLaw, cells: int, weight: Weight = 1) -> LinearCombination:
        """Return the error of `weight` times the sum of `cells` values of one law."""
        require_count(cls.__name__, "cells", cells)
        return cls.from_counts([(law, weight, cells)])

    def __add__(self, other: LinearCombination) -> LinearCombination:
        """Return the error of the sum of two numbers whose noises are independent."""
        return LinearCombination(combine_equal_terms((*self.terms, *other.terms)))

    def scale(self, factor: Weight) -> LinearCombination:
        """Return the error of `factor` times the number."""
        return self.from_counts((law, factor * weight, copies) for law, weight, copies in self.terms)

    @property
    def variance(self) -> float:
        return compute_variance(self.terms)

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(self.variance)

    @property
    def table(self) -> TabulatedLaw | None:
        """The law in a table; None if it would take too much work."""
        return tabulate_terms(self.terms)

    def half_width(self, beta: float) -> Fraction:
        """Return an h with Pr[|error| <= h] >= 1 - beta, the least one up to the slack stated above."""
        find = _find_half_width if len(self.terms) <= MOST_CACHED else _find_half_width.__wrapped__
        return find(self.terms, beta)


@lru_cache(maxsize=4_096)
def _find_half_width(terms: Terms, beta: float) -> Fraction:
    require_probability(LinearCombination.__name__, "beta", beta)
    if not terms:
        return Fraction(0)
    if len(terms) == 1 and terms[0].copies == 1:
        return terms[0].law.half_width(beta) * terms[0].coefficient
    table, step = tabulate_terms(terms), find_common_step(terms)
    found = table.find_half_width(beta) if table is not None else None
    if found is None or beta < 1e-6:
        reach = Fraction(find_chernoff_reach(terms, beta))
        found = reach if found is None else min(found, reach)
    # the error is a multiple of the step, so a half-width between two multiples is as good as the lower one
    return found // step * step


def round_up(number: Fraction) -> float:
    """Return the least double of at least `number`.

    >>> round_up(Fraction(1, 10)), round_up(Fraction(60))
    (0.1, 60.0)
    """
    near = float(number)
    return near if near >= number else math.nextafter(near, math.inf)
