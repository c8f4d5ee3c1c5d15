"""The shared base of models that require k people in every class and differ in whom they count."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.model_option import RequestedModel
from discreet.anonymity.models.privacy_model import ATTACKS, Floats, Verdicts
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True)
class MinimumClassSize(RequestedModel, Protocol):
    """Every class has at least k people."""

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
