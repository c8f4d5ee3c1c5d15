"""Global sensitivity: the largest change of a measure by one person, from the policy's bounds alone.

A person has at most R = `rows` rows in all, spread over groups as they come; or, with `groups` C, at most
R rows in each of at most C groups. With x in [low, high] and M = max(|low|, |high|), over all groups:

                                     presence (add/remove)   value (replace-one)
    COUNT, histogram                 L1 R      L2 R          L1 2R       L2 sqrt(2) R
    SUM of x                         L1 R M    L2 R M        L1 2 R M    L2 R max(sqrt(2) M, high - low)
    centred SUM of 2x - (low+high)   as SUM of a value in [-(high - low), high - low]
    one cell only, COUNT             R                       R
    one cell only, SUM               R M                     R max(M, high - low)

With `groups`, replace R by C R in L1 and by sqrt(C) R in L2.

Why         Under value the person's R rows leave where they were and R others arrive: elsewhere (the changes
            add up to 2R in L1, sqrt(2) R in L2), or in the same cell, where a sum moves from R low to R high.
            A filter may count the rows in or out, so one cell's sum lies in R [min(0, low), max(0, high)].

L2 is kept squared, so that it is an integer. A mean with a public number of rows moves by (high - low) / n;
a median by high - low, whatever n is, which is why it is not released by adding noise of that size.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.core.errors import require_parameter
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """The largest change between neighbors, in both norms."""

    l1: int
    squared_l2: int


@dataclass(frozen=True, kw_only=True)
class ContributionBounds:
    """The contribution bounds of one person: `rows` in all, or `rows` in each of `groups` groups.

    >>> ContributionBounds(rows=5).count_sensitivity()
    Sensitivity(l1=10, squared_l2=50)
    >>> ContributionBounds(rows=1, relation=Relation.PRESENCE).sum_sensitivity(low=17, high=90)
    Sensitivity(l1=90, squared_l2=8100)
    """

    rows: int
    groups: int = 1
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        require_count(self, "rows", self.rows)
        require_count(self, "groups", self.groups)

    def count_sensitivity(self, *, one_cell: bool = False) -> Sensitivity:
        """Return the sensitivity of COUNT in every group (a histogram), or in one cell."""
        return self.sum_sensitivity(low=1, high=1, one_cell=one_cell)

    def sum_sensitivity(self, *, low: int, high: int, one_cell: bool = False) -> Sensitivity:
        """Return the sensitivity of SUM of an integer column declared to lie in [low, high]."""
        require_parameter(low <= high, self, "low", low, f"at most high = {high}")
        largest = max(abs(low), abs(high))
        if one_cell:
            spread = max(largest, high - low) if self.relation is Relation.VALUE else largest
            return Sensitivity(l1=self.rows * spread, squared_l2=(self.rows * spread) ** 2)
        square = self.groups * self.rows**2
        if self.relation is Relation.PRESENCE:
            return Sensitivity(l1=self.groups * self.rows * largest, squared_l2=square * largest**2)
        moved = max(2 * largest**2, (high - low) ** 2)
        return Sensitivity(l1=2 * self.groups * self.rows * largest, squared_l2=square * moved)

    def centred_sum_sensitivity(self, *, low: int, high: int, one_cell: bool = False) -> Sensitivity:
        """Return the sensitivity of SUM of 2x - (low + high), which stays on the integer grid."""
        require_parameter(low <= high, self, "low", low, f"at most high = {high}")
        return self.sum_sensitivity(low=low - high, high=high - low, one_cell=one_cell)


def mean_sensitivity(*, low: int, high: int, rows: int) -> Fraction:
    """Return the sensitivity of a mean where a person is one row and the number of rows is public.

    It holds for replace-one neighbors only.

    >>> mean_sensitivity(low=17, high=90, rows=48_842)
    Fraction(73, 48842)
    """
    require_parameter(low <= high, "mean_sensitivity", "low", low, f"at most high = {high}")
    require_count("mean_sensitivity", "rows", rows)
    return Fraction(high - low, rows)


def median_sensitivity(*, low: int, high: int) -> int:
    """Return the sensitivity of a median.

    With an odd number of rows, half at each end, one person moves it from end to end.
    """
    require_parameter(low <= high, "median_sensitivity", "low", low, f"at most high = {high}")
    return high - low
