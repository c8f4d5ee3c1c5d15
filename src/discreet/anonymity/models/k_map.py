"""k-map: whoever is published shares their quasi-identifiers with k people of the population.

Definition  The population has at least k people who show the quasi-identifiers of each class [S02].
Belief      Who does not know whether a person is in the table, and looks a row up in the population, picks
            the right person with probability at most 1/k. It says nothing against one who knows who is in.
Monotone    In both ways: merging classes adds their people.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition, membership.

[S02]       Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.classes import Classes
from discreet.anonymity.models.counts import population_of
from discreet.anonymity.models.model import ATTACKS, Floats, Verdicts
from discreet.belief.wording import at_most
from discreet.core.numbers import require_count


@dataclass(frozen=True, kw_only=True)
class KMap:
    """Every class has at least k people in the population."""

    k: int

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True
    not_stopped: ClassVar[tuple[str, ...]] = ATTACKS

    def __post_init__(self) -> None:
        require_count(self, "k", self.k)

    @property
    def name(self) -> str:
        return f"{self.k}-map"

    @property
    def column(self) -> str | None:
        return None

    @property
    def belief(self) -> str:
        return (
            f"Who looks a row up in the population, and does not know who is in the table, takes a person "
            f"for its owner with at most {at_most(1 / self.k)}."
        )

    def judge(self, classes: Classes) -> Verdicts:
        return population_of(classes, self.name) >= self.k

    def margin(self, classes: Classes) -> Floats:
        return (population_of(classes, self.name) - self.k).astype(float)
