"""Sentences on the belief that a ledger allows, which never understate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.accounting.ledger_entries import NonPrivateRelease
from discreet.belief import Belief, Promise
from discreet.belief.wording import format_chance, format_percent, format_percent_up
from discreet.core.neighbor_relations import Relation

SHOWN = 8
"""Digits of a ledger's identity that tell it from others."""
ABOUT = {
    Relation.VALUE: ("one person", "any {group} people together"),
    Relation.PRESENCE: ("whether one person is in the data", "which of any {group} people are in the data"),
}


def describe_ledger_belief(
    promise: Promise,
    belief: Belief,
    releases: Sequence[NonPrivateRelease] = (),
    *,
    analyst: str | None = None,
    separate: Mapping[str, str] | None = None,
) -> str:
    """Return the sentence on an attacker's current belief, which names `releases` that it does not cover.

    With an `analyst`, it covers only that analyst's answers. `separate` maps the identity of each other
    ledger about the same data to its place.
    """
    uncovered = describe_uncovered(releases, separate)
    one, several = ABOUT[promise.secret]
    about = one if promise.group == 1 else several.format(group=promise.group)
    # the promised posterior belongs to the promise's own prior only
    ceiling = f" (promise: {format_percent(promise.posterior)})" if belief.prior == promise.prior else ""
    claim = "a claim" if belief.tail == 0 else "a true claim"
    bound = (
        f"n attacker who was at most {format_percent(belief.prior)} sure of {claim} about {about} can now be "
        f"at most {format_percent_up(belief.highest)} sure{ceiling}"
    )
    if belief.tail > 0:
        bound += f"; the chance that it becomes more is at most {format_chance(belief.tail)}"
    if not releases:
        stated = f"A{bound}." if analyst is None else f"From the answers to {analyst} alone, a{bound}."
        return f"{stated} {uncovered}".rstrip()
    answers = "the differentially private answers" + ("" if analyst is None else f" to {analyst}")
    return f"From {answers} alone, a{bound}. {uncovered}"


def describe_uncovered(
    releases: Sequence[NonPrivateRelease] = (), separate: Mapping[str, str] | None = None
) -> str:
    """Return the sentences on what a bound on belief does not cover; empty if it covers everything."""
    found = []
    if releases:
        named = ", ".join(f"{each.name} ({each.description})" for each in releases)
        verb = "was" if len(releases) == 1 else "were"
        found.append(
            f"But {named} {verb} published too, without differential privacy: no such bound holds for "
            "everything ever released together."
        )
    if separate:
        found.append(_describe_separate_ledgers(separate))
    return " ".join(found)


def name_ledger(identity: str, place: str) -> str:
    """Return a ledger's name without its folder, which analysts do not see, and the start of its identity.

    >>> name_ledger("3f2a91c0b6e1d7748a55c2f09e1b3d64", "/srv/north/ledger.db")
    'ledger.db (3f2a91c0)'
    """
    return f"{place.rstrip('/').rpartition('/')[2] or place} ({identity[:SHOWN]})"


def _describe_separate_ledgers(separate: Mapping[str, str]) -> str:
    """Return the sentence about ledgers with a separate promise."""
    named = ", ".join(name_ledger(identity, place) for identity, place in separate.items())
    ledgers, keep = ("ledger", "keeps") if len(separate) == 1 else ("ledgers", "keep")
    return (
        f"The {ledgers} {named} {keep} a separate promise about the same data: this bound does not "
        "hold for all their answers together."
    )
