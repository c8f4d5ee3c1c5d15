"""The sentences on what an attacker can believe, each of which rounds so that it never understates it.

The core sentence is "An attacker who was at most 1% sure of a claim about one person can now be at most 2.26%
sure (promise: 5%)." Its variants are about

Tail        a bound that may be exceeded with a small chance.
Presence    whether a person is in the data.
Group       several people together.
Analyst     one analyst's answers alone.
Session     the answers of one process, whose ledger ends with it.
Releases    answers beside releases without differential privacy, which no such bound covers.
Ledgers     other ledgers with a separate promise about the same data.
Policy      the promise that a policy states, before anything is asked.
Report      one report that a person randomized.
Membership  one release that may reveal a person's presence with a small chance.

`discreet promise` explains a promise at length; its sentences are in `belief.wording`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.accounting.entries import NonPrivateRelease
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
    is_session: bool = False,
) -> str:
    """Return the sentence on an attacker's current belief, which names `releases` that it does not cover.

    With an `analyst`, it covers only that analyst's answers; with `is_session`, those of this session.
    `separate` maps the identity of each other ledger about the same data to its place.
    """
    uncovered = describe_uncovered(releases, separate)
    one, several = ABOUT[promise.secret]
    about = one if promise.group == 1 else several.format(group=promise.group)
    # the promised posterior belongs to the promise's own prior only
    ceiling = f" (promise: {format_percent(promise.posterior)})" if belief.prior == promise.prior else ""
    claim = "a claim" if belief.tail == 0 else "a true claim"
    before, after = format_percent(belief.prior), format_percent_up(belief.highest)
    bound = (
        f"n attacker who was at most {before} sure of {claim} about {about} can now be at most {after} sure"
        f"{ceiling}"
    )
    if belief.tail > 0:
        bound += f"; the chance that it becomes more is at most {format_chance(belief.tail)}"
    covered = ("" if analyst is None else f" to {analyst}") + (" in this session" if is_session else "")
    if not releases:
        stated = f"From the answers{covered} alone, a{bound}." if covered else f"A{bound}."
        return f"{stated} {uncovered}".rstrip()
    return f"From the differentially private answers{covered} alone, a{bound}. {uncovered}"


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


def describe_policy_belief(prior: str, posterior: str) -> str:
    """Return the sentence on the promise of a policy, whose prior and posterior are written as given.

    >>> describe_policy_belief("1%", "5%")
    'An attacker who was at most 1% sure of a claim about one person can, after all answers, be at most 5%...
    """
    return (
        f"An attacker who was at most {prior} sure of a claim about one person can, after all answers, be at "
        f"most {posterior} sure."
    )


def describe_report_belief(prior: float, posterior: float, column: str) -> str:
    """Return the sentence on the belief after one randomized report.

    >>> describe_report_belief(0.01, 0.05, "age")
    "An attacker who was at most 1% sure of a claim about one person's age can, after that person's...
    """
    return (
        f"An attacker who was at most {format_percent(prior)} sure of a claim about one person's {column} "
        f"can, after that person's report, be at most {format_percent_up(posterior)} sure."
    )


def describe_survey_belief(prior: float, posterior: float) -> str:
    """Return the sentence on the belief after all reports of one person.

    >>> describe_survey_belief(0.01, 0.05)
    'An attacker who was at most 1% sure of a claim about one person can, after all reports of that person...
    """
    return (
        f"An attacker who was at most {format_percent(prior)} sure of a claim about one person can, after "
        f"all reports of that person, be at most {format_percent_up(posterior)} sure."
    )


def describe_membership_belief(prior: float, posterior: float, chance: float) -> str:
    """Return the clause on the belief that a person is in a table, which `chance` bounds the exceeding of.

    >>> describe_membership_belief(0.01, 0.05, 1e-6)
    'for a person in the table, an attacker who was at most 1% sure of that becomes more than 5% sure with...
    """
    return (
        f"for a person in the table, an attacker who was at most {format_percent(prior)} sure of that "
        f"becomes more than {format_percent_up(posterior)} sure with a chance of at most "
        f"{format_chance(chance)}"
    )


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
