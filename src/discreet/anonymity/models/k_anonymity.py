"""k-anonymity: every person is hidden among at least k.

Definition  Every equivalence class has at least k rows [S02].
Belief      An attacker who knows that a person is in the table, and their quasi-identifiers, matches the
            person to a row with probability at most 1/k. It bounds no belief about the sensitive value.
Monotone    In both ways: merging classes adds their rows.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition, membership.

[S02]       Sweeney, k-anonymity: a model for protecting privacy, 2002.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.minimum_class_size import MinimumClassSize
from discreet.anonymity.models.model_option import LINKAGE, ModelBound, ModelOption, Shares
from discreet.anonymity.models.privacy_model import INFORMED_ATTACKER
from discreet.belief.wording import format_percent_up


@dataclass(frozen=True, kw_only=True)
class KAnonymity(MinimumClassSize):
    """Every class has at least k rows."""

    option: ClassVar[ModelOption] = ModelOption(
        name="k",
        flag="-k",
        model="k-anonymity",
        help="k-anonymity: at least k in every class.",
        is_number=True,
        is_repeated=False,
    )

    @property
    def name(self) -> str:
        return f"{self.k}-anonymity"

    @property
    def belief(self) -> str:
        return (
            f"{INFORMED_ATTACKER} matches that person to a row with probability at most "
            f"{format_percent_up(1 / self.k)}."
        )

    def count_people(self, classes: EquivalenceClasses) -> Integers:
        return classes.sizes

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        yield ModelBound(attack=LINKAGE, limit=1 / self.k)
