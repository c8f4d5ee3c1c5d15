"""t-closeness: the shared base of its variants, which differ in the distance between sensitive values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models.class_counts import compute_quotients, is_at_most
from discreet.anonymity.models.earth_mover_distance import Distances
from discreet.anonymity.models.model_option import ModelOption, RequestedModel
from discreet.anonymity.models.model_parameters import coerce_share, parse_share
from discreet.anonymity.models.privacy_model import Floats, Verdicts

T_CLOSENESS = ModelOption(name="t_closeness", help="COLUMN:0.2:equal|ordered|hierarchical.")


@dataclass(frozen=True, kw_only=True)
class TCloseness(RequestedModel, Protocol):
    """The sensitive values of every class are within distance t of the whole table's."""

    column: str
    t: Fraction

    option: ClassVar[ModelOption] = T_CLOSENESS
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False

    def __post_init__(self) -> None:
        coerce_share(self, "t")

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        return {"column": texts["column"], "t": parse_share(f"the t of {cls.option.text}", texts["t"])}

    @abstractmethod
    def measure_distances(self, classes: EquivalenceClasses) -> Distances:
        """Return the distance of each class from the table, as quotients."""

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return is_at_most(*self.measure_distances(classes), self.t)

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        return float(self.t) - compute_quotients(*self.measure_distances(classes))
