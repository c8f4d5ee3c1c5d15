"""(α, k)-anonymity: classes of k rows in which a sensitive value has at most the fraction alpha.

Definition  Every class has at least k rows, and each of the named sensitive values, or every value where none
            is named, has at most the fraction alpha of them [WLFW06].
Belief      An attacker who knows a person's quasi-identifiers matches the person to a row with probability at
            most 1/k, and believes a named value with probability at most alpha.
Monotone    In generalization: rows add up, and a fraction in a merged class lies between the fractions that
            were merged. Not in suppression: a class of one value can spoil another.
Attacks     Stopped: homogeneity, for the named values. Not stopped: background knowledge, similarity,
            skewness, composition, membership.

[WLFW06]    Wong, Li, Fu & Wang, (α, k)-anonymity, KDD 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.anonymity.classes import Classes, Integers, Sensitive
from discreet.anonymity.models.counts import at_most, most_within, quotients, reduced, sensitive_of
from discreet.anonymity.models.model import HOMOGENEITY, KNOWER, Floats, Verdicts, all_but
from discreet.anonymity.models.parameters import keep_share, written
from discreet.belief.wording import at_most as at_most_percent
from discreet.core.errors import RequestError
from discreet.core.numbers import require_count


@dataclass(frozen=True, kw_only=True)
class AlphaKAnonymity:
    """Every class has k rows, and at most the fraction alpha of them has a named value."""

    column: str
    alpha: Fraction
    k: int
    values: tuple[str, ...] = ()

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = all_but(HOMOGENEITY)

    def __post_init__(self) -> None:
        keep_share(self, "alpha", least=False)
        require_count(self, "k", self.k)

    @property
    def name(self) -> str:
        return f"({written(self.alpha)}, {self.k})-anonymity of {self.column}"

    @property
    def belief(self) -> str:
        which = "any value" if not self.values else "any of the named values"
        return (
            f"{KNOWER} matches that person to a row with probability at most "
            f"{at_most_percent(1 / self.k)} and believes {which} of {self.column} with probability at most "
            f"{at_most_percent(float(self.alpha))}."
        )

    def judge(self, classes: Classes) -> Verdicts:
        sensitive = sensitive_of(classes, self.column, self.name)
        rare = at_most(self._commonest(sensitive), classes.sizes, self.alpha)
        return (classes.sizes >= self.k) & rare

    def most_kept(self, classes: Classes) -> Integers:
        sensitive = sensitive_of(classes, self.column, self.name)
        high = np.where(self._named(sensitive), float(self.alpha), 1.0)
        return np.where(classes.sizes >= self.k, most_within(classes, sensitive, 0, high), 0)

    def margin(self, classes: Classes) -> Floats:
        """Return the margin in alpha; a class below k rows is short by the fraction of missing rows."""
        sensitive = sensitive_of(classes, self.column, self.name)
        spare = float(self.alpha) - quotients(self._commonest(sensitive), classes.sizes)
        missing = np.minimum(classes.sizes / self.k - 1, 0.0)
        return np.where(missing < 0, np.minimum(spare, missing), spare)

    def _commonest(self, sensitive: Sensitive) -> Integers:
        """Return the count of the commonest named value in each class."""
        named = self._named(sensitive)
        return reduced(np.maximum, sensitive.starts, np.where(named[sensitive.values], sensitive.counts, 0))

    def _named(self, sensitive: Sensitive) -> Verdicts:
        """Return for each value whether it is named."""
        if unknown := set(self.values) - set(sensitive.names):
            raise RequestError(
                f"{self.name} names {len(unknown)} values that the column does not have.",
                hint="Name values of the column, or none for all of them.",
            )
        return np.array([not self.values or name in self.values for name in sensitive.names], np.bool_)
