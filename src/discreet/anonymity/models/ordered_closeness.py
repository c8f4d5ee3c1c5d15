"""t-closeness, ordered distance: the values of a class lie, on average, where those of the table lie.

Definition  The distribution of the sensitive values in every class is within t of the one in the whole input
            table, by the earth mover's distance where the m values are in their order and the first and
            the last are at distance 1 [LLV07].
Belief      To turn a class's values into the table's, rows move over a fraction t of the range on average.
            One of m values may be (m - 1) t commoner than in the table, which caps no belief in practice: t =
            0.2 over ten equally common values allows 85% for one of them.
Monotone    In generalization: the distance is convex, and a merged class is a mixture. Not in suppression: a
            class that is far can pull another away.
Attacks     Stopped: similarity of values that are close in the order, within t. Not stopped: homogeneity (of
            a value in the middle), background knowledge, skewness, composition, membership.

[LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models import closeness
from discreet.anonymity.models.class_counts import require_sensitive
from discreet.anonymity.models.closeness import TCloseness
from discreet.anonymity.models.model_option import format_fraction
from discreet.anonymity.models.privacy_model import INFORMED_ATTACKER, SIMILARITY, list_attacks_except


@dataclass(frozen=True, kw_only=True)
class OrderedCloseness(TCloseness):
    """Every class is within t of the table, with values as far apart as their ranks."""

    form: ClassVar[str] = "COLUMN:T:ordered"
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(SIMILARITY)

    @property
    def name(self) -> str:
        return f"{format_fraction(self.t)}-closeness of {self.column}, ordered distance"

    @property
    def belief(self) -> str:
        return (
            f"{INFORMED_ATTACKER} sees values of {self.column} that are, "
            f"on average, at most a fraction {format_fraction(self.t)} of the range away from the "
            "whole table's, "
            f"which caps no single belief."
        )

    def measure_distances(self, classes: EquivalenceClasses) -> closeness.Distances:
        return closeness.measure_ordered_distances(require_sensitive(classes, self.column, self.name))
