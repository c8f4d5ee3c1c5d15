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
from typing import Any, ClassVar, Self

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.class_counts import require_population
from discreet.anonymity.models.k_anonymity import MinimumClassSize
from discreet.anonymity.models.model_option import ModelContext, ModelOption
from discreet.belief.wording import format_percent_up


@dataclass(frozen=True, kw_only=True)
class KMap(MinimumClassSize):
    """Every class has at least k people in the population."""

    option: ClassVar[ModelOption] = ModelOption(
        name="k_map", help="k of the population in every class.", is_number=True, is_repeated=False
    )

    @property
    def name(self) -> str:
        return f"{self.k}-map"

    @property
    def belief(self) -> str:
        return (
            f"An attacker who looks a row up in the population, and does not know who is in the table, picks "
            f"its owner with probability at most {format_percent_up(1 / self.k)}."
        )

    def count_people(self, classes: EquivalenceClasses) -> Integers:
        return require_population(classes, self.name)

    @classmethod
    def build(cls, context: ModelContext, **parameters: Any) -> Self:
        context.require_population(cls.option.argument)
        return cls(**parameters)
