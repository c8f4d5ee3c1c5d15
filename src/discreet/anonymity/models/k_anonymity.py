"""k-anonymity: nobody is alone among fewer than k.

Definition  Every equivalence class has at least k rows [S02].
Belief      Who knows that a person is in the table, and their quasi-identifiers, matches the person to a row
            with probability at most 1/k. It bounds no belief about the sensitive value.
Monotone    In both ways: merging classes adds their rows.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition, membership.

[S02]       Sweeney, k-anonymity: a model for protecting privacy, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.classes import Classes
from discreet.anonymity.models.model import ATTACKS, KNOWER, Floats, Verdicts
from discreet.belief.wording import at_most
from discreet.core.numbers import require_count


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every class has at least k rows."""

    k: int

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True
    not_stopped: ClassVar[tuple[str, ...]] = ATTACKS

    def __post_init__(self) -> None:
        require_count(self, "k", self.k)

    @property
    def name(self) -> str:
        return f"{self.k}-anonymity"

    @property
    def column(self) -> str | None:
        return None

    @property
    def belief(self) -> str:
        return f"{KNOWER} takes a row for theirs with at most {at_most(1 / self.k)}."

    def judge(self, classes: Classes) -> Verdicts:
        return classes.sizes >= self.k

    def margin(self, classes: Classes) -> Floats:
        return (classes.sizes - self.k).astype(float)
