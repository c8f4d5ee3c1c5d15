"""k-anonymity: nobody is alone among fewer than k.

Definition  Every equivalence class has at least k rows [S02].
Belief      Who knows that a person is in the table, and their quasi-identifiers, matches the person to a row
            with probability at most 1/k. It bounds no belief about the sensitive value.
Monotone    Merging classes adds their rows; leaving classes out changes no other.
Attacks     Not stopped: homogeneity, background knowledge, similarity, composition.

[S02]       Sweeney, k-anonymity: a model for protecting privacy, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.anonymity.classes import Classes
from discreet.anonymity.models.model import Verdicts
from discreet.belief.wording import at_most
from discreet.core.errors import require


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every class has at least k rows."""

    k: int

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True
    not_stopped: ClassVar[tuple[str, ...]] = (
        "homogeneity",
        "background knowledge",
        "similarity",
        "composition",
    )

    def __post_init__(self) -> None:
        require(self.k >= 1, self, "k", self.k, "an integer of at least 1")

    @property
    def name(self) -> str:
        return f"{self.k}-anonymity"

    @property
    def column(self) -> str | None:
        return None

    @property
    def belief(self) -> str:
        return (
            f"Who knows the quasi-identifiers of a person in the table takes a row for theirs with at most "
            f"{at_most(1 / self.k)}."
        )

    def judge(self, classes: Classes) -> Verdicts:
        return classes.sizes >= self.k
