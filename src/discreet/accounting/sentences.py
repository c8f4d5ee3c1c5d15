"""What a ledger comes to, in words that do not say less than it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.accounting.entries import OpenRelease
from discreet.belief import Belief, Promise
from discreet.belief.wording import at_most, chance, percent
from discreet.core.relations import Relation

SHOWN = 8
"""Digits of a ledger's identity that tell it from others."""
ABOUT = {
    Relation.VALUE: ("one person", "any {group} people together"),
    Relation.PRESENCE: ("whether one person is in the data", "which of any {group} people are in the data"),
}


def standing(
    promise: Promise,
    belief: Belief,
    releases: Sequence[OpenRelease] = (),
    *,
    analyst: str | None = None,
    separate: Mapping[str, str] | None = None,
) -> str:
    """What an attacker may believe now; once there are open `releases`, of which answers alone it is true.

    With an `analyst`, from that analyst's answers alone. `separate` are other ledgers about the same data:
    where each is, by identity.
    """
    beside = _name_separate(separate or {})
    one, several = ABOUT[promise.secret]
    about = one if promise.group == 1 else several.format(group=promise.group)
    # of the promise's own prior; another prior has another ceiling
    ceiling = f" (promise: {percent(promise.posterior)})" if belief.prior == promise.prior else ""
    claim = "a claim" if belief.tail == 0 else "a true claim"
    bound = (
        f"ho gave {claim} about {about} {percent(belief.prior)} before may now give it at most "
        f"{at_most(belief.highest)}{ceiling}"
    )
    if belief.tail > 0:
        bound += f"; the chance that it becomes more is at most {chance(belief.tail)}"
    if not releases:
        stated = f"W{bound}." if analyst is None else f"From the answers to {analyst} alone, w{bound}."
        return f"{stated}{beside}"
    named = ", ".join(f"{each.name} ({each.description})" for each in releases)
    verb = "was" if len(releases) == 1 else "were"
    answers = "the differentially private answers" + ("" if analyst is None else f" to {analyst}")
    return (
        f"From {answers} alone, w{bound}. But {named} {verb} published too, without "
        f"differential privacy: of everything ever released together no such bound holds.{beside}"
    )


def name_ledger(identity: str, place: str) -> str:
    """Return a ledger's name without its folder, which analysts do not see, and the start of its identity.

    >>> name_ledger("3f2a91c0b6e1d7748a55c2f09e1b3d64", "/srv/north/ledger.db")
    'ledger.db (3f2a91c0)'
    """
    return f"{place.rstrip('/').rpartition('/')[2] or place} ({identity[:SHOWN]})"


def _name_separate(separate: Mapping[str, str]) -> str:
    """Return the sentence about ledgers that have a promise of their own; many are all called ledger.db."""
    if not separate:
        return ""
    named = ", ".join(name_ledger(identity, place) for identity, place in separate.items())
    ledgers, keep = ("ledger", "keeps") if len(separate) == 1 else ("ledgers", "keep")
    return (
        f" The {ledgers} {named} {keep} a separate promise about the same data: of all their answers "
        "together this bound does not hold."
    )
