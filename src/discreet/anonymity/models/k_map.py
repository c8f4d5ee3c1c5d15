"""k-map: every published person shares their quasi-identifiers with k people of the population.

Definition  The population has at least k people who show the quasi-identifiers of each class [S02].
Belief      An attacker who does not know whether a person is in the table, and looks a row up in the
            population, picks the right person with probability at most 1/k. It does not protect from an
            attacker who knows who is in the table.
Monotone    In both ways: merging classes adds their people.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition, membership.

[S02]       Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.anonymity.classes import Classes, Integers
from discreet.anonymity.models.counts import population_of
from discreet.anonymity.models.crowds import Crowded
from discreet.belief.wording import at_most


@dataclass(frozen=True, kw_only=True)
class KMap(Crowded):
    """Every class has at least k people in the population."""

    @property
    def name(self) -> str:
        return f"{self.k}-map"

    @property
    def belief(self) -> str:
        return (
            f"An attacker who looks a row up in the population, and does not know who is in the table, picks "
            f"its owner with probability at most {at_most(1 / self.k)}."
        )

    def crowds(self, classes: Classes) -> Integers:
        return population_of(classes, self.name)
