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
from discreet.attacks.attack import Findings
from discreet.attacks.known import Known
from discreet.attacks.match_sets import UNMATCHED, MatchSets


def apart(sets: MatchSets, parts: Integers | None = None) -> MatchSets | None:
    """Return a match set, with one person, for each class that matches somebody; None if nothing separates.

    With `parts`, known tuples of different parts are kept apart.
    """
    if sets.overlap is None:
        return None
    told = replace(sets, group=np.where(sets.overlap.vague, UNMATCHED, sets.group))
    parted = told if parts is None else told.refined(parts, int(parts.max(initial=0)) + 1)
    persons = parted.examples(np.arange(len(parted)))
    owner = np.repeat(np.arange(len(parted)), np.diff(parted.starts))
    fits = persons[owner] >= 0
    if not fits.any():
        return None
    shown, owner = sets.overlap.shown[parted.members[fits]], owner[fits]
    kind = np.zeros(len(owner), np.int64) if parts is None else parts[persons[owner]]
    _, firsts = np.unique(np.stack([kind, shown], axis=1), axis=0, return_index=True)
    return _each(sets, persons[owner[firsts]], shown[firsts])


def _each(sets: MatchSets, persons: Integers, shown: Integers) -> MatchSets:
    """Return match sets with person i in all classes that have the label id `shown[i]`."""
    assert sets.overlap is not None
    order = np.argsort(sets.overlap.shown, kind="stable")
    rising = sets.overlap.shown[order]
    first, last = np.searchsorted(rising, shown), np.searchsorted(rising, shown, side="right")
    starts = np.concatenate([[0], np.cumsum(last - first)])
    places = np.repeat(first - starts[:-1], last - first) + np.arange(starts[-1])
    return replace(
        sets,
        known=_only(sets.known, persons),
        group=np.arange(len(persons)),
        starts=starts,
        members=order[places],
        overlap=None,
    )


def _only(known: Known, places: Integers) -> Known:
    """Return some of the known tuples, in this order, possibly repeated."""
    naming = known.naming
    return replace(
        known,
        tuples=select_tuples(known.tuples, places),
        naming=None if naming is None else lambda these: naming(places[these]),
    )


def strongest_of(found: Findings, told: Findings) -> Findings:
    """Return the findings with the highest belief of either, keeping the success rates of the first."""
    factor = max(found.odds, told.odds)
    if told.highest <= found.highest:
        return replace(found, factor=factor)
    return replace(found, victims=told.victims, believed=told.highest, factor=factor)
