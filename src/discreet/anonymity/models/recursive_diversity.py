"""Recursive (c, l)-diversity: the commonest sensitive value is not too common.

Definition  In one class let r1 >= r2 >= ... >= rm be the counts of its sensitive values. The class is
            (c, l)-diverse when  r1 < c * (rl + ... + rm);  the table is when every class is [MGKV06].
Belief      An attacker who rules out any l - 2 values still believes every remaining one with probability
            below c / (c + 1): r1 / (r1 + rl + ... + rm) < c / (c + 1), and ruling out the largest others is
            the worst case. With l - 1 values ruled out there is no such bound.
Monotone    In generalization: with T the rows of the l - 1 commonest values and n all of them, both r1 and T
            of a merged class are at most the sums of those merged, so r1 < c (n - T) adds up. Not in
            suppression: a class of one value can spoil another.
Attacks     Stopped: homogeneity, and background knowledge that rules out at most l - 2 values. Not stopped:
            more of it, similarity, skewness, composition, membership.

[MGKV06]    Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam, l-Diversity, ICDE 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.anonymity.classes import Classes, Integers
from discreet.anonymity.models.counts import (
    below,
    lengths,
    most_within,
    quotients,
    ranked_sums,
    sensitive_of,
    sums,
    tops,
)
from discreet.anonymity.models.model import HOMOGENEITY, KNOWER, Floats, Verdicts, all_but
from discreet.anonymity.models.parameters import keep_above, written
from discreet.belief.wording import at_most
from discreet.core.numbers import require_count


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity:
    """Every class satisfies r1 < c * (rl + ... + rm)."""

    column: str
    c: Fraction
    l: int

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = all_but(HOMOGENEITY)

    def __post_init__(self) -> None:
        keep_above(self, "c", 0)
        require_count(self, "l", self.l, least=2)

    @property
    def name(self) -> str:
        return f"recursive ({written(self.c)}, {self.l})-diversity of {self.column}"

    @property
    def belief(self) -> str:
        ruled = {0: "", 1: " and rules out one value"}.get(self.l - 2, f" and rules out {self.l - 2} values")
        return (
            f"{KNOWER}{ruled} believes any other value of "
            f"{self.column} with probability below {at_most(float(self.belief_bound))}."
        )

    @property
    def belief_bound(self) -> Fraction:
        """The posterior that no attacker who can rule out at most l - 2 values reaches."""
        return self.c / (self.c + 1)

    def judge(self, classes: Classes) -> Verdicts:
        top, rest = self._parts(classes)
        return below(top, rest, self.c)

    def most_kept(self, classes: Classes) -> Integers:
        """Bound the kept rows: the commonest value has less than c / (1 + c) of all rows."""
        sensitive = sensitive_of(classes, self.column, self.name)
        most = most_within(classes, sensitive, 0, float(self.c / (1 + self.c)))
        return np.where((lengths(sensitive) < self.l) & (classes.sizes == sums(sensitive)), 0, most)

    def margin(self, classes: Classes) -> Floats:
        return float(self.c) - quotients(*self._parts(classes))

    def _parts(self, classes: Classes) -> tuple[Integers, Integers]:
        sensitive = sensitive_of(classes, self.column, self.name)
        return tops(sensitive), sums(sensitive) - ranked_sums(sensitive, self.l - 1)
