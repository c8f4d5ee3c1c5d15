"""Elimination: where labels overlap, an attacker may find out which of the matching classes is a person's.

Several classes match a person whose values are covered by labels of all of them. An attacker who takes each
of their rows for the person's with the same probability believes a value by its share of all these rows. An
attacker who knows everybody can rule classes out: a class that only three people match contains these three.
How far that leads depends on other knowledge. But rows of a class cannot be told apart, so no attacker who
knows quasi-identifiers believes more than what is true of one of the classes. This module models that
attacker, who knows for everybody who may be in a class that they are. Its findings are the highest belief
about anybody, not a share of people.

Classes with the same labels in every known column cannot be told apart, and stay together. People with an
empty cell in a register are left out: an unknown value rules nothing out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.tuple_grouping import select_tuples
from discreet.attacks.attacker_knowledge import AttackerKnowledge
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import UNMATCHED, MatchSets


def eliminate_classes(sets: MatchSets, parts: Integers | None = None) -> MatchSets | None:
    """Return a match set, with one person, for each class that matches somebody; None if nothing separates.

    With `parts`, known tuples of different parts are kept apart.
    """
    if sets.overlap is None:
        return None
    told = replace(sets, group=np.where(sets.overlap.has_unknown, UNMATCHED, sets.group))
    parted = told if parts is None else told.refine(parts, int(parts.max(initial=0)) + 1)
    persons = parted.find_examples(np.arange(len(parted)))
    owner = np.repeat(np.arange(len(parted)), np.diff(parted.starts))
    fits = persons[owner] >= 0
    if not fits.any():
        return None
    shown, owner = sets.overlap.label_ids[parted.members[fits]], owner[fits]
    kind = np.zeros(len(owner), np.int64) if parts is None else parts[persons[owner]]
    _, firsts = np.unique(np.stack([kind, shown], axis=1), axis=0, return_index=True)
    return _assign_classes(sets, persons[owner[firsts]], shown[firsts])


def _assign_classes(sets: MatchSets, tuple_ids: Integers, label_ids: Integers) -> MatchSets:
    """Return match sets with person i in all classes that have the label id `shown[i]`."""
    assert sets.overlap is not None
    order = np.argsort(sets.overlap.label_ids, kind="stable")
    rising = sets.overlap.label_ids[order]
    first, last = np.searchsorted(rising, label_ids), np.searchsorted(rising, label_ids, side="right")
    starts = np.concatenate([[0], np.cumsum(last - first)])
    places = np.repeat(first - starts[:-1], last - first) + np.arange(starts[-1])
    return replace(
        sets,
        known=_select_known(sets.known, tuple_ids),
        group=np.arange(len(tuple_ids)),
        starts=starts,
        members=order[places],
        overlap=None,
    )


def _select_known(known: AttackerKnowledge, places: Integers) -> AttackerKnowledge:
    """Return some of the known tuples, in this order, possibly repeated."""
    naming = known.lookup_names
    return replace(
        known,
        tuples=select_tuples(known.tuples, places),
        lookup_names=None if naming is None else lambda these: naming(places[these]),
    )


def merge_strongest(findings: Findings, eliminated: Findings) -> Findings:
    """Return the findings with the highest belief of either, keeping the success rates of the first."""
    factor = max(findings.largest_odds_factor, eliminated.largest_odds_factor)
    if eliminated.highest_posterior <= findings.highest_posterior:
        return replace(findings, overall_odds_factor=factor)
    return replace(
        findings,
        victims=eliminated.victims,
        overall_posterior=eliminated.highest_posterior,
        overall_odds_factor=factor,
    )
