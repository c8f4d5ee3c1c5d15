"""k-anonymity: every person is hidden among at least k.

Definition  Every equivalence class has at least k rows [S02].
Belief      An attacker who knows that a person is in the table, and their quasi-identifiers, matches the
            person to a row with probability at most 1/k. It bounds no belief about the sensitive value.
Monotone    In both ways: merging classes adds their rows.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition, membership.

[S02]       Sweeney, k-anonymity: a model for protecting privacy, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.anonymity.classes import Classes, Integers
from discreet.anonymity.models.crowds import Crowded
from discreet.anonymity.models.model import KNOWER
from discreet.belief.wording import at_most


@dataclass(frozen=True, kw_only=True)
class KAnonymity(Crowded):
    """Every class has at least k rows."""

    @property
    def name(self) -> str:
        return f"{self.k}-anonymity"

    @property
    def belief(self) -> str:
        return f"{KNOWER} matches that person to a row with probability at most {at_most(1 / self.k)}."

    def crowds(self, classes: Classes) -> Integers:
        return classes.sizes
