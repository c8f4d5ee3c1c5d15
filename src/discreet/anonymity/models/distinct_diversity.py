"""Distinct l-diversity: every class has l different sensitive values.

Definition  Every class has at least l different values of the sensitive column [MGKV06, LLV07].
Belief      An attacker who knows a person's quasi-identifiers cannot rule out all but l - 1 values. It caps
            no belief: 98 of 100 rows may share one value for any small l; "confidence at most 1/l" is false.
Monotone    In both ways: merging classes unites their values.
Attacks     Stopped, if l is at least 2: homogeneity of all rows. Not stopped: homogeneity of nearly all rows,
            background knowledge, similarity, skewness, composition, membership.

[MGKV06]    Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam, l-Diversity, ICDE 2006.
[LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007: the names of the variants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models.class_counts import count_distinct, require_sensitive
from discreet.anonymity.models.model_option import (
    L_DIVERSITY,
    ModelBound,
    ModelOption,
    RequestedModel,
    Shares,
    parse_whole_number,
)
from discreet.anonymity.models.privacy_model import (
    HOMOGENEITY,
    INFORMED_ATTACKER,
    Floats,
    Verdicts,
    list_attacks_on_values,
)
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(RequestedModel):
    """Every class has at least l different values."""

    column: str
    l: int

    option: ClassVar[ModelOption] = L_DIVERSITY
    form: ClassVar[str] = "COLUMN:L:distinct"
    bounds_repeated_values: ClassVar[bool] = True
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_count(self, "l", self.l)

    @property
    def not_stopped(self) -> tuple[str, ...]:
        return list_attacks_on_values(self.l)

    @property
    def name(self) -> str:
        return f"distinct {self.l}-diversity of {self.column}"

    @property
    def belief(self) -> str:
        return (
            f"{INFORMED_ATTACKER} is left with at least {self.l} values of "
            f"{self.column}, and may still be nearly sure of one."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return count_distinct(require_sensitive(classes, self.column, self.name)) >= self.l

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        return (count_distinct(require_sensitive(classes, self.column, self.name)) - self.l).astype(float)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        l = parse_whole_number(f"the l of {cls.option.argument}", texts["l"], least=1)
        return {"column": texts["column"], "l": l}

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        if self.l > 1:
            yield ModelBound(attack=HOMOGENEITY, limit=1.0, column=self.column, is_strict=True)
