"""Matching of a release's classes with known people, by what labels cover.

If no labels overlap, every known tuple shows one label in each column and is looked up by it. If they do,
classes are boxes and known tuples are points, and a match set is the boxes that contain a point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.key_numbering import number_rows
from discreet.attacks.boxes import Boxes, listed, summed, tree
from discreet.attacks.covering import Covering, covering
from discreet.attacks.known import Known
from discreet.attacks.match_sets import UNMATCHED, MatchSets, Overlap
from discreet.attacks.published import PublishedTable
from discreet.core.errors import RequestError


def match(published: PublishedTable, known: Known, columns: Mapping[str, str] | None = None) -> MatchSets:
    """Return the match sets of all known people.

    `columns` maps a column of the release to its name in the knowledge, if the names differ.
    """
    sides = _sides(published, known, columns or {})
    return _by_label(published, known, sides) or _by_box(published, known, sides)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Side:
    """One shared column: each class's label, each known tuple's value, and what labels cover."""

    labels: Integers
    values: Integers
    unknown: NDArray[np.bool_]
    covering: Covering


def _by_label(published: PublishedTable, known: Known, sides: Sequence[_Side]) -> MatchSets | None:
    """Match by looking up labels; None if labels overlap."""
    columns, sizes, number = [], [], len(published.classes)
    for side in sides:
        sole = None if side.unknown.any() else side.covering.sole
        if sole is None:
            return None
        columns.append(np.concatenate([side.labels, sole[side.values]]) + 1)
        sizes.append(len(side.covering.low) + 1)
    keys, many = number_rows(columns, sizes)
    ids = number_rows([keys[:number]], [max(many, 1)])[0]
    order = np.argsort(ids, kind="stable")
    place = np.full(many, UNMATCHED, np.int64)
    place[keys[:number]] = ids
    uncovered = np.any([column[number:] == 0 for column in columns], axis=0)
    return MatchSets(
        published=published,
        known=known,
        group=np.where(uncovered, UNMATCHED, place[keys[number:]]),
        starts=np.searchsorted(ids[order], np.arange(ids.max() + 2)),
        members=order,
    )


def _by_box(published: PublishedTable, known: Known, sides: Sequence[_Side]) -> MatchSets:
    """Match by finding the boxes that contain each point, for labels that overlap."""
    boxes, points, kept = _geometry(sides)
    found = tree(boxes)
    words = np.random.Generator(np.random.Philox(0)).integers(0, 2**64, len(kept), np.uint64)
    number, sums = summed(found, points, words)
    # Sums of 64-bit hashes: among a million sets, two collide with probability below 1e-7.
    matched = np.flatnonzero(number > 0)
    _, firsts, ids = np.unique(sums[matched], return_index=True, return_inverse=True)
    group = np.full(len(points), UNMATCHED, np.int64)
    group[matched] = ids
    heads = matched[firsts]
    starts, members = listed(found, points[heads], number[heads])
    return MatchSets(
        published=published,
        known=known,
        group=group,
        starts=starts,
        members=kept[members],
        overlap=_overlap(sides),
    )


def _overlap(sides: Sequence[_Side]) -> Overlap:
    shown = number_rows([side.labels for side in sides], [len(side.covering.low) for side in sides])[0]
    vague = np.any([side.unknown[side.values] for side in sides], axis=0)
    return Overlap(shown=shown, vague=vague)


def _sides(published: PublishedTable, known: Known, columns: Mapping[str, str]) -> list[_Side]:
    sides = []
    for place, other in pairs(published, known, columns):
        values, hierarchy = known.values[other], published.hierarchies.get(published.columns[place])
        blank = [known.blank_is_unknown and value == "" for value in values]
        side = _Side(
            labels=published.classes.codes[:, place].astype(np.int64),
            values=known.tuples.codes[:, other].astype(np.int64),
            unknown=np.array(blank, np.bool_),
            covering=covering(published.labels[place], values, hierarchy),
        )
        sides.append(side)
    return sides


def pairs(published: PublishedTable, known: Known, columns: Mapping[str, str]) -> list[tuple[int, int]]:
    """Return the position of each shared column in the release and in the knowledge."""
    for name, called in columns.items():
        if name not in published.columns or called not in known.columns:
            raise RequestError(
                f"attack: {name} of the release cannot be compared with {called}.",
                hint=f"The release has {', '.join(published.columns)}; known are {', '.join(known.columns)}.",
            )
    pairs = [
        (place, known.columns.index(columns.get(name, name)))
        for place, name in enumerate(published.columns)
        if columns.get(name, name) in known.columns
    ]
    if not pairs:
        raise RequestError(
            "attack: the attacker's knowledge shares no column with the release's quasi-identifiers.",
            hint=f"The release has {', '.join(published.columns)}; known are {', '.join(known.columns)}.",
        )
    return pairs


def _geometry(sides: Sequence[_Side]) -> tuple[Boxes, Integers, Integers]:
    """Return classes as boxes, known tuples as points, and the class of each box."""
    covers = [side.covering for side in sides]
    low = np.stack([each.low[side.labels] for each, side in zip(covers, sides, strict=True)], axis=1)
    high = np.stack([each.high[side.labels] for each, side in zip(covers, sides, strict=True)], axis=1)
    points = np.stack(
        [np.where(side.unknown, -1, side.covering.places)[side.values] for side in sides], axis=1
    )
    offsets = np.cumsum([0, *(each.inside.size for each in covers)])
    marks = np.stack([_marks(side, int(offsets[j])) for j, side in enumerate(sides)], axis=1)
    inside = np.concatenate([each.inside.ravel() for each in covers])
    # an unknown value may match even a label that covers no known value
    kept = np.arange(len(low)) if (points < 0).any() else np.flatnonzero((low < high).all(axis=1))
    return Boxes(low=low[kept], high=high[kept], marks=marks[kept], inside=inside), points, kept


def _marks(side: _Side, offset: int) -> Integers:
    rows = side.covering.scattered[side.labels]
    return np.where(rows >= 0, offset + rows * len(side.covering.places), -1)
