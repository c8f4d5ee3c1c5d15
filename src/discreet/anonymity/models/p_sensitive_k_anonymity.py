"""p-sensitive k-anonymity: classes of k rows with p different sensitive values.

Definition  Every class has at least k rows, and at least p different values of the sensitive column [TV06]:
            k-anonymity together with distinct p-diversity. For several sensitive columns it is required of
            each of them.
Belief      An attacker who knows a person's quasi-identifiers matches the person to a row with probability at
            most 1/k, and cannot rule out all but p - 1 values. It caps no belief in a value: all rows but
            p - 1 may share one.
Monotone    In both ways: merging classes adds their rows and unites their values.
Attacks     Stopped, if p is at least 2: homogeneity of all rows. Not stopped: homogeneity of nearly all rows,
            background knowledge, similarity, skewness, composition, membership.

[TV06]      Truta & Vinay, Privacy protection: p-sensitive k-anonymity property, ICDE Workshops 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models.class_counts import count_distinct, require_sensitive
from discreet.anonymity.models.model_option import (
    LINKAGE,
    ModelBound,
    ModelContext,
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
from discreet.belief.wording import format_percent_up
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True)
class PSensitiveKAnonymity(RequestedModel):
    """Every class has at least k rows and at least p different values."""

    column: str
    p: int
    k: int

    option: ClassVar[ModelOption] = ModelOption(
        name="p_sensitive",
        model="p-sensitive k-anonymity",
        help="COLUMN:2: p different values in every class of `k=` rows.",
    )
    form: ClassVar[str] = "COLUMN:P"
    bounds_repeated_values: ClassVar[bool] = True
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_count(self, "p", self.p)
        require_count(self, "k", self.k)

    @property
    def not_stopped(self) -> tuple[str, ...]:
        return list_attacks_on_values(self.p)

    @property
    def name(self) -> str:
        return f"{self.p}-sensitive {self.k}-anonymity of {self.column}"

    @property
    def belief(self) -> str:
        return (
            f"{INFORMED_ATTACKER} matches that person to a row with probability at most "
            f"{format_percent_up(1 / self.k)} and is left with at least {self.p} values of {self.column}, "
            "but may still be nearly sure of one."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        distinct = count_distinct(require_sensitive(classes, self.column, self.name))
        return (classes.sizes >= self.k) & (distinct >= self.p)

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        """Return the smaller of the margins in k and in p."""
        distinct = count_distinct(require_sensitive(classes, self.column, self.name))
        return np.minimum(classes.sizes - self.k, distinct - self.p).astype(float)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        p = parse_whole_number(f"the p of {cls.option.argument}", texts["p"], least=1)
        return {"column": texts["column"], "p": p}

    @classmethod
    def build(cls, context: ModelContext, **parameters: Any) -> Self:
        return cls(**{"k": context.k or 1} | parameters)

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        yield ModelBound(attack=LINKAGE, limit=1 / self.k)
        if self.p > 1:
            yield ModelBound(attack=HOMOGENEITY, limit=1.0, column=self.column, is_strict=True)
