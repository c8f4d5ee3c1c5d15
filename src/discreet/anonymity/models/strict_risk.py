"""Strict risk: no row is linked to its person with more than a given probability.

Definition  Prosecutor: 1 / f <= risk for every class of f rows. Journalist: 1 / F <= risk for every class
            that F people of the population share [EE13]. A marketer is judged by the average only.
Belief      A prosecutor, who knows that a person is in, matches the person to a row with at most this risk.
            A journalist, who does not, picks a row's owner with at most this risk.
Monotone    In both ways: merging classes adds their rows and people.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition, membership.

[EE13]      El Emam, Guide to the de-identification of personal health information, 2013.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.attacker_models import Attacker, RiskThreshold, coerce_attacker
from discreet.anonymity.models.class_counts import compute_quotients, is_at_most, require_population
from discreet.anonymity.models.model_option import LINKAGE, ModelBound, Shares, coerce_share, format_fraction
from discreet.anonymity.models.privacy_model import ATTACKS, Floats, Verdicts
from discreet.belief.wording import format_percent_up as at_most_percent
from discreet.core.errors import require_parameter


@dataclass(frozen=True, kw_only=True)
class StrictRisk(RiskThreshold):
    """The risk of every class is at most `risk`."""

    form: ClassVar[str] = "ATTACKER:RISK"
    column: ClassVar[str | None] = None
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True
    not_stopped: ClassVar[tuple[str, ...]] = ATTACKS

    def __post_init__(self) -> None:
        coerce_share(self, "risk", least=False)
        coerce_attacker(self)
        wanted = "prosecutor or journalist, because a marketer is judged by the average"
        require_parameter(
            self.attacker is not Attacker.MARKETER, self, "attacker", self.attacker.value, wanted
        )

    @property
    def name(self) -> str:
        return f"{self.attacker.value} risk at most {format_fraction(self.risk)}"

    @property
    def belief(self) -> str:
        return (
            f"{self.attacker.sentence_opening} with probability at most {at_most_percent(float(self.risk))}."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        people = self._count_people(classes)
        return is_at_most(np.ones_like(people), people, self.risk)

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        people = self._count_people(classes)
        return float(self.risk) - compute_quotients(np.ones_like(people), people)

    def _count_people(self, classes: EquivalenceClasses) -> Integers:
        return (
            classes.sizes if self.attacker is Attacker.PROSECUTOR else require_population(classes, self.name)
        )

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        if self.attacker is Attacker.PROSECUTOR:
            yield ModelBound(attack=LINKAGE, limit=float(self.risk))
