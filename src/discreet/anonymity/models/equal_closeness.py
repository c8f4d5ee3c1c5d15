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

from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.classes import Classes, Integers
from discreet.anonymity.models import earth_movers
from discreet.anonymity.models.closeness import Close
from discreet.anonymity.models.counts import most_within, sensitive_of
from discreet.anonymity.models.model import HOMOGENEITY, KNOWER, SKEWNESS, all_but
from discreet.anonymity.models.parameters import written
from discreet.belief.wording import points


@dataclass(frozen=True, kw_only=True)
class EqualCloseness(Close):
    """Every class is within t of the table, with all values at equal distance."""

    not_stopped: ClassVar[tuple[str, ...]] = all_but(HOMOGENEITY, SKEWNESS)

    @property
    def name(self) -> str:
        return f"{written(self.t)}-closeness of {self.column}, equal distance"

    @property
    def belief(self) -> str:
        return (
            f"{KNOWER}, and nothing else, believes any value of "
            f"{self.column} with a probability at most {points(float(self.t))} above its "
            f"frequency in the whole table."
        )

    def most_kept(self, classes: Classes) -> Integers:
        sensitive = sensitive_of(classes, self.column, self.name)
        shares = sensitive.totals / max(1, int(sensitive.totals.sum()))
        return most_within(classes, sensitive, shares - float(self.t), shares + float(self.t))

    def distances(self, classes: Classes) -> earth_movers.Distances:
        return earth_movers.equal(sensitive_of(classes, self.column, self.name))
