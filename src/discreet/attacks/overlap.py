"""Where labels overlap, an attacker may find out which of the classes that fit a person is theirs.

Several classes fit a person whose values are covered by labels of all of them. Who takes each of their rows
for the person's believes a value by its share of all these rows. Who knows everybody can rule classes out: a
class that only three people fit holds these three. How far that leads depends on what else is known, but
within a class nothing tells rows apart, so no attacker who knows quasi-identifiers believes more than is true
of one of the classes. `apart` is that attacker: everybody who may be in a class is taken to be told that they
are. What is found so is the most that can be believed of anybody, and no share of people.

Classes that show the same in every column that is known are not told apart by anybody, and stay together.
Nor is it told of who has an empty cell in a register: what is not known there rules nothing out.
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
    """A match set for each class that fits somebody, and one whom it fits; None where none can be told.

    With `parts`, known tuples of different parts are not taken for one another.
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
    """Person i in all classes that are shown as `shown[i]`."""
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
    """Some of the known tuples, in this order, each perhaps several times."""
    naming = known.naming
    return replace(
        known,
        tuples=select_tuples(known.tuples, places),
        naming=None if naming is None else lambda these: naming(places[these]),
    )


def strongest_of(found: Findings, told: Findings) -> Findings:
    """What is found with the most that can be believed of anybody, where that is more."""
    factor = max(found.odds, told.odds)
    if told.highest <= found.highest:
        return replace(found, factor=factor)
    return replace(found, victims=told.victims, believed=told.highest, factor=factor)
