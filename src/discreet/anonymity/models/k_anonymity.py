"""k-anonymity: every person is hidden among at least k.

Definition  Every equivalence class has at least k rows [S02].
Belief      An attacker who knows that a person is in the table, and their quasi-identifiers, matches the
            person to a row with probability at most 1/k. It bounds no belief about the sensitive value.
Monotone    In both ways: merging classes adds their rows.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition, membership.

[S02]       Sweeney, k-anonymity: a model for protecting privacy, 2002.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.model_option import LINKAGE, ModelBound, ModelOption, RequestedModel, Shares
from discreet.anonymity.models.privacy_model import ATTACKS, INFORMED_ATTACKER, Floats, Verdicts
from discreet.belief.wording import format_percent_up
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True)
class MinimumClassSize(RequestedModel, Protocol):
    """Every class has at least k people; k-anonymity and k-map differ in whom they count."""

    k: int

    form: ClassVar[str] = "K"
    column: ClassVar[str | None] = None
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True
    not_stopped: ClassVar[tuple[str, ...]] = ATTACKS

    def __post_init__(self) -> None:
        require_count(self, "k", self.k)

    @abstractmethod
    def count_people(self, classes: EquivalenceClasses) -> Integers:
        """Return how many share the quasi-identifiers of each class."""

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return self.count_people(classes) >= self.k

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        return (self.count_people(classes) - self.k).astype(float)


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
