"""t-closeness: the shared base of its variants, which differ in the distance between sensitive values."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from discreet.anonymity.classes import Classes
from discreet.anonymity.models.counts import at_most, quotients
from discreet.anonymity.models.earth_movers import Distances
from discreet.anonymity.models.model import Floats, Verdicts
from discreet.anonymity.models.parameters import keep_share


@dataclass(frozen=True, kw_only=True)
class Close(Protocol):
    """The sensitive values of every class are within distance t of the whole table's."""

    column: str
    t: Fraction

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False

    def __post_init__(self) -> None:
        keep_share(self, "t")

    @abstractmethod
    def distances(self, classes: Classes) -> Distances:
        """Return the distance of each class from the table, as quotients."""

    def judge(self, classes: Classes) -> Verdicts:
        return at_most(*self.distances(classes), self.t)

    def margin(self, classes: Classes) -> Floats:
        return float(self.t) - quotients(*self.distances(classes))
