"""Probabilistic l-diversity: no sensitive value has more than 1/l of a class.

Definition  In every class at most the fraction 1/l of the people has any one sensitive value; l may be
            fractional [XT06, the lectures' "probabilistic l-diversity"]. People with several values have each
            of them.
Belief      An attacker who knows a person's quasi-identifiers, and nothing else, believes every value with a
            probability of at most 1/l.
Monotone    In generalization: the commonest value of two classes has at most the rows of both commonest. Not
            in suppression: a class of one value can spoil another.
Attacks     Stopped: homogeneity. Not stopped: background knowledge (that rules out values), similarity,
            skewness (1/l may be far above the value's frequency in the table), composition, membership.

[XT06]      Xiao & Tao, Anatomy: simple and effective privacy preservation, VLDB 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.class_counts import (
    bound_rows_within_shares,
    compute_quotients,
    count_commonest,
    is_at_most,
    require_sensitive,
)
from discreet.anonymity.models.model_option import (
    CLASS_INFERENCE,
    L_DIVERSITY,
    ModelBound,
    ModelOption,
    RequestedModel,
    Shares,
    coerce_above,
    format_fraction,
    parse_at_least_one,
)
from discreet.anonymity.models.privacy_model import (
    HOMOGENEITY,
    INFORMED_ATTACKER,
    Floats,
    Verdicts,
    list_attacks_except,
)
from discreet.belief.wording import format_percent_up as at_most_percent


@dataclass(frozen=True, kw_only=True)
class ProbabilisticDiversity(RequestedModel):
    """No value has more than 1/l of a class."""

    column: str
    l: Fraction

    option: ClassVar[ModelOption] = L_DIVERSITY
    form: ClassVar[str] = "COLUMN:L:probabilistic"
    bounds_repeated_values: ClassVar[bool] = True
    bounds_person_belief: ClassVar[bool] = True
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(HOMOGENEITY)

    def __post_init__(self) -> None:
        coerce_above(self, "l", 1, included=True)

    @property
    def name(self) -> str:
        return f"probabilistic {format_fraction(self.l)}-diversity of {self.column}"

    @property
    def belief(self) -> str:
        return (
            f"{INFORMED_ATTACKER}, and nothing else, believes any value of "
            f"{self.column} with probability at most {at_most_percent(float(1 / self.l))}."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        sensitive = require_sensitive(classes, self.column, self.name)
        return is_at_most(count_commonest(sensitive), classes.sizes, 1 / self.l)

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        return bound_rows_within_shares(
            classes, require_sensitive(classes, self.column, self.name), 0, 1 / float(self.l)
        )

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        sensitive = require_sensitive(classes, self.column, self.name)
        return compute_quotients(classes.sizes, count_commonest(sensitive)) - float(self.l)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        l = parse_at_least_one(f"the l of {cls.option.argument}", texts["l"])
        return {"column": texts["column"], "l": l}

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        yield ModelBound(attack=CLASS_INFERENCE, limit=float(1 / self.l), column=self.column)
