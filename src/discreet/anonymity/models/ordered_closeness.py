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

from discreet.anonymity.classes import Classes
from discreet.anonymity.models import earth_movers
from discreet.anonymity.models.closeness import Close
from discreet.anonymity.models.counts import sensitive_of
from discreet.anonymity.models.model import KNOWER, SIMILARITY, all_but
from discreet.anonymity.models.parameters import written


@dataclass(frozen=True, kw_only=True)
class OrderedCloseness(Close):
    """Every class is within t of the table, with values as far apart as their ranks."""

    not_stopped: ClassVar[tuple[str, ...]] = all_but(SIMILARITY)

    @property
    def name(self) -> str:
        return f"{written(self.t)}-closeness of {self.column}, ordered distance"

    @property
    def belief(self) -> str:
        return (
            f"{KNOWER} sees values of {self.column} that are, "
            f"on average, at most a fraction {written(self.t)} of the range away from the whole table's, "
            f"which caps no single belief."
        )

    def distances(self, classes: Classes) -> earth_movers.Distances:
        return earth_movers.ordered(sensitive_of(classes, self.column, self.name))
