"""The protocol of all guarantees, and their conversion to groups of people and to other neighbors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

from discreet.core.errors import RequestError
from discreet.core.neighbor_relations import Relation, coerce_relation


class Guarantee(Protocol):
    """A bound on the privacy loss of a release."""

    @property
    def relation(self) -> Relation:
        """The neighbors that the bound was proven for."""

    @property
    def cap(self) -> float:
        """The largest loss that any output can have."""

    def profile(self, epsilon: float) -> float:
        """Return the least delta for which the release is known to be (epsilon, delta)-DP."""

    def for_group(self, size: int) -> Guarantee:
        """Return the guarantee for neighbors that differ in `size` people."""


@dataclass(frozen=True, kw_only=True)
class GroupOf:
    """Any guarantee for `size` people at once: (e, d) becomes (g e, d (exp(g e) - 1) / (exp(e) - 1))."""

    member: Guarantee
    size: int
    relation: Relation

    def __post_init__(self) -> None:
        coerce_relation(self)

    @property
    def cap(self) -> float:
        return self.member.cap * self.size

    def profile(self, epsilon: float) -> float:
        if epsilon <= 0:
            return 1.0
        share = epsilon / self.size
        # expm1(e) / expm1(e / g), which is at most g exp(e - e / g), without its overflow
        growth = math.exp(min(700.0, epsilon - share)) * math.expm1(-epsilon) / math.expm1(-share)
        return min(1.0, self.member.profile(share) * growth)

    def for_group(self, size: int) -> GroupOf:
        return replace(self, size=self.size * size)


def convert_guarantee(guarantee: Guarantee, relation: Relation | str) -> Guarantee:
    """Return the guarantee for other neighbors: a replacement is a removal and an addition.

    >>> from discreet.core.guarantees import PureDP
    >>> convert_guarantee(PureDP(epsilon=1, relation=Relation.PRESENCE), Relation.VALUE)
    PureDP(epsilon=2, relation=<Relation.VALUE: 'value'>)
    """
    wanted = Relation.parse("convert_guarantee", "relation", relation)
    if guarantee.relation is wanted:
        return guarantee
    if wanted is Relation.PRESENCE:
        raise RequestError(
            "A guarantee for replaced values says nothing about presence.",
            hint="Use a mechanism that is proven for added and removed people.",
        )
    return replace(guarantee.for_group(2), relation=wanted)  # type: ignore[type-var]
