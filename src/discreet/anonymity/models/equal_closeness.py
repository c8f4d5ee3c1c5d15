"""t-closeness, equal distance: no set of values is much commoner in a class than in the table.

Definition  The distribution of the sensitive values in every class is within t of the one in the whole input
            table: sum max(0, p_i - q_i) <= t, the earth mover's distance where all values are equally far
            from each other [LLV07].
Belief      For every set of values, and so for every property of the value, an attacker who knows a person's
            quasi-identifiers believes it with at most its frequency in the table plus t.
Monotone    In generalization: the distance is convex, and a merged class is a mixture. Not in suppression: a
            class that is far can pull another away.
Attacks     Stopped: homogeneity and skewness, within t. Not stopped: background knowledge, similarity (the
            distance knows no meaning), composition, membership.

[LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models import closeness
from discreet.anonymity.models.class_counts import bound_rows_within_shares, require_sensitive
from discreet.anonymity.models.closeness import TCloseness
from discreet.anonymity.models.model_option import ModelBound, Shares, bound_class_inference, format_fraction
from discreet.anonymity.models.privacy_model import (
    HOMOGENEITY,
    INFORMED_ATTACKER,
    SKEWNESS,
    list_attacks_except,
)
from discreet.belief.wording import format_percentage_points


@dataclass(frozen=True, kw_only=True)
class EqualCloseness(TCloseness):
    """Every class is within t of the table, with all values at equal distance."""

    form: ClassVar[str] = "COLUMN:T:equal"
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(HOMOGENEITY, SKEWNESS)

    @property
    def name(self) -> str:
        return f"{format_fraction(self.t)}-closeness of {self.column}, equal distance"

    @property
    def belief(self) -> str:
        return (
            f"{INFORMED_ATTACKER}, and nothing else, believes any value of "
            f"{self.column} with a probability at most {format_percentage_points(float(self.t))} above its "
            f"frequency in the whole table."
        )

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        sensitive = require_sensitive(classes, self.column, self.name)
        shares = sensitive.totals / max(1, int(sensitive.totals.sum()))
        return bound_rows_within_shares(classes, sensitive, shares - float(self.t), shares + float(self.t))

    def measure_distances(self, classes: EquivalenceClasses) -> closeness.Distances:
        return closeness.measure_equal_distances(require_sensitive(classes, self.column, self.name))

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        share = shares.get(self.column)
        if share is not None:
            yield bound_class_inference(self.column, share + float(self.t))
