"""δ-disclosure: every sensitive value has about the same frequency in every class as in the table.

Definition  For every class and every value of the table, |ln(p / q)| < delta, with p the value's frequency in
            the class and q the one in the whole input table; natural logarithms. A class that lacks a value
            breaks it, for any delta [BS08].
Belief      For an attacker who knows a person's quasi-identifiers, every value is less than exp(delta) times
            as probable, or as improbable, as its frequency in the table: no value can be ruled out.
Monotone    In generalization: a frequency of a merged class lies between those that were merged. Not in
            suppression: a class that breaks it can pull another over the bound.
Attacks     Stopped: homogeneity and skewness, within exp(delta). Not stopped: background knowledge,
            similarity, composition, membership.
Ties        There are none: exp(delta) is irrational for a rational delta above 0. Floats decide where
            |ln(p / q)| clearly differs from delta, decimals the rest.

[BS08]      Brickell & Shmatikov, The cost of privacy, KDD 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.anonymity.classes import Classes, Integers, Sensitive
from discreet.anonymity.models.counts import every, lengths, most_within, reduced, sensitive_of, sums
from discreet.anonymity.models.model import HOMOGENEITY, KNOWER, SKEWNESS, Floats, Verdicts, all_but
from discreet.anonymity.models.parameters import keep_above, written
from discreet.belief.wording import number
from discreet.mechanisms.sampling import MARGIN, exp_bounds


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosure:
    """|ln(p / q)| < delta for every value in every class."""

    column: str
    delta: Fraction

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = all_but(HOMOGENEITY, SKEWNESS)

    def __post_init__(self) -> None:
        keep_above(self, "delta", 0)

    @property
    def name(self) -> str:
        return f"{written(self.delta)}-disclosure of {self.column}"

    @property
    def belief(self) -> str:
        return (
            f"{KNOWER}, and nothing else, finds no value of "
            f"{self.column} more or less probable than its frequency in the whole table by a factor "
            f"of {number(float(np.exp(float(self.delta))), 4)}."
        )

    def judge(self, classes: Classes) -> Verdicts:
        sensitive = sensitive_of(classes, self.column, self.name)
        changes = np.abs(log_ratios(sensitive))
        close = changes < float(self.delta)
        for i in np.flatnonzero(np.abs(changes - float(self.delta)) <= MARGIN):
            close[i] = self._settled(sensitive, int(i))
        return every(sensitive, close) & complete(sensitive)

    def most_kept(self, classes: Classes) -> Integers:
        sensitive = sensitive_of(classes, self.column, self.name)
        shares = sensitive.totals / max(1, int(sensitive.totals.sum()))
        factor = float(np.exp(float(self.delta)))
        return most_within(classes, sensitive, shares / factor, shares * factor)

    def margin(self, classes: Classes) -> Floats:
        sensitive = sensitive_of(classes, self.column, self.name)
        changes = reduced(np.maximum, sensitive.starts, np.abs(log_ratios(sensitive)))
        return np.where(complete(sensitive), float(self.delta) - changes, -np.inf)

    def _settled(self, sensitive: Sensitive, entry: int) -> bool:
        """Return whether the ratio of one entry, or its inverse, lies above exp(-delta)."""
        owner = int(np.searchsorted(sensitive.starts, entry, side="right")) - 1
        rows, value = int(sums(sensitive)[owner]), int(sensitive.values[entry])
        inside = Fraction(int(sensitive.counts[entry]), rows)
        ratio = inside * int(sensitive.totals.sum()) / int(sensitive.totals[value])
        least, digits = min(ratio, 1 / ratio), 40
        while True:
            low, high = exp_bounds(self.delta, digits)
            if not low <= least <= high:
                return least > high
            digits *= 2


def log_ratios(sensitive: Sensitive) -> Floats:
    """Return ln(p / q) of every entry, with an error below 2**-45."""
    rows = np.repeat(sums(sensitive), lengths(sensitive)).astype(float)
    expected = sensitive.totals[sensitive.values] * rows / float(sensitive.totals.sum())
    return np.asarray(np.log(sensitive.counts / expected))


def complete(sensitive: Sensitive) -> Verdicts:
    """Return whether each class has every value of the table, or no rows at all."""
    kinds = lengths(sensitive)
    return np.asarray((kinds == np.count_nonzero(sensitive.totals)) | (kinds == 0))
