"""(α, k)-anonymity: classes of k rows in which a sensitive value has at most the fraction alpha.

Definition  Every class has at least k rows, and each of the named sensitive values, or every value where none
            is named, has at most the fraction alpha of them [WLFW06].
Belief      An attacker who knows a person's quasi-identifiers matches the person to a row with probability at
            most 1/k, and believes a named value with probability at most alpha.
Monotone    In generalization: rows add up, and a fraction in a merged class lies between the fractions that
            were merged. Not in suppression: a class of one value can spoil another.
Attacks     Stopped: homogeneity, for the named values. Not stopped: background knowledge, similarity,
            skewness, composition, membership.

[WLFW06]    Wong, Li, Fu & Wang, (α, k)-anonymity, KDD 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, SensitiveCounts
from discreet.anonymity.models.class_counts import (
    bound_rows_within_shares,
    compute_quotients,
    is_at_most,
    reduce_by_class,
    require_sensitive,
)
from discreet.anonymity.models.model_option import (
    CLASS_INFERENCE,
    LINKAGE,
    ModelBound,
    ModelContext,
    ModelOption,
    RequestedModel,
    Shares,
    coerce_share,
    format_fraction,
    parse_fraction,
)
from discreet.anonymity.models.privacy_model import (
    HOMOGENEITY,
    INFORMED_ATTACKER,
    Floats,
    Verdicts,
    list_attacks_except,
)
from discreet.belief.wording import format_percent_up as at_most_percent
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True)
class AlphaKAnonymity(RequestedModel):
    """Every class has k rows, and at most the fraction alpha of them has a named value."""

    column: str
    alpha: Fraction
    k: int
    values: tuple[str, ...] = ()

    option: ClassVar[ModelOption] = ModelOption(
        name="alpha",
        model="(alpha, k)-anonymity",
        help="COLUMN:0.5: no value above this share of a class.",
        expected="COLUMN:NUMBER",
        hint='Write `alpha="disease:0.5"`.',
    )
    form: ClassVar[str] = "COLUMN:ALPHA"
    bounds_repeated_values: ClassVar[bool] = True
    bounds_person_belief: ClassVar[bool] = True
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(HOMOGENEITY)

    def __post_init__(self) -> None:
        coerce_share(self, "alpha", least=False)
        require_count(self, "k", self.k)

    @property
    def name(self) -> str:
        return f"({format_fraction(self.alpha)}, {self.k})-anonymity of {self.column}"

    @property
    def belief(self) -> str:
        which = "any value" if not self.values else "any of the named values"
        return (
            f"{INFORMED_ATTACKER} matches that person to a row with probability at most "
            f"{at_most_percent(1 / self.k)} and believes {which} of {self.column} with probability at most "
            f"{at_most_percent(float(self.alpha))}."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        sensitive = require_sensitive(classes, self.column, self.name)
        rare = is_at_most(self._count_commonest(sensitive), classes.sizes, self.alpha)
        return (classes.sizes >= self.k) & rare

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        sensitive = require_sensitive(classes, self.column, self.name)
        high = np.where(self._find_named(sensitive), float(self.alpha), 1.0)
        return np.where(classes.sizes >= self.k, bound_rows_within_shares(classes, sensitive, 0, high), 0)

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        """Return the margin in alpha; a class below k rows is short by the fraction of missing rows."""
        sensitive = require_sensitive(classes, self.column, self.name)
        spare = float(self.alpha) - compute_quotients(self._count_commonest(sensitive), classes.sizes)
        missing = np.minimum(classes.sizes / self.k - 1, 0.0)
        return np.where(missing < 0, np.minimum(spare, missing), spare)

    def _count_commonest(self, sensitive: SensitiveCounts) -> Integers:
        """Return the count of the commonest named value in each class."""
        named = self._find_named(sensitive)
        return reduce_by_class(
            np.maximum, sensitive.starts, np.where(named[sensitive.values], sensitive.counts, 0)
        )

    def _find_named(self, sensitive: SensitiveCounts) -> Verdicts:
        """Return for each value whether it is named."""
        if unknown := set(self.values) - set(sensitive.names):
            raise RequestError(
                f"{self.name} names {len(unknown)} values that the column does not have.",
                hint="Name values of the column, or none for all of them.",
            )
        return np.array([not self.values or name in self.values for name in sensitive.names], np.bool_)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        return {"column": texts["column"], "alpha": parse_fraction(cls.option.argument, texts["alpha"])}

    @classmethod
    def build(cls, context: ModelContext, **parameters: Any) -> Self:
        return cls(**{"k": context.k or 1} | parameters)

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        yield ModelBound(attack=LINKAGE, limit=1 / self.k)
        if not self.values:
            yield ModelBound(attack=CLASS_INFERENCE, limit=float(self.alpha), column=self.column)
