"""Matching of a release's classes with known people, by what labels cover.

If no labels overlap, every known tuple shows one label in each column and is looked up by it. If they do,
classes are boxes and known tuples are points, and a match set is the boxes that contain a point.

Elimination: where labels overlap, an attacker may find out which of the matching classes is a person's.

Several classes match a person whose values are covered by labels of all of them. An attacker who takes each
of their rows for the person's with the same probability believes a value by its share of all these rows. An
attacker who knows everybody can rule classes out: a class that only three people match contains these three.
How far that leads depends on other knowledge. But rows of a class cannot be told apart, so no attacker who
knows quasi-identifiers believes more than what is true of one of the classes. `eliminate_classes` models that
attacker, who knows for everybody who may be in a class that they are. Its findings are the highest belief
about anybody, not a share of people.

Classes with the same labels in every known column cannot be told apart, and stay together. People with an
empty cell in a register are left out: an unknown value rules nothing out.

A label that cannot be read, by its text or by a hierarchy, covers nobody, and an attack that took this for
safety would give a false all-clear. So labels that cannot be read are distinguished from labels that match
nobody:

    [20, 24], 2023-05, 130**   legible if a known value is a number, a day, or has a digit respectively
    Higher education           legible if it is a known value, or a label of the column's hierarchy
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers, number_rows
from discreet.anonymity.hierarchies.date_periods import parse_day
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy
from discreet.anonymity.hierarchies.label_parsing import (
    DateRange,
    NumberRange,
    Reading,
    parse_number,
    parse_readings,
)
from discreet.anonymity.recoding import select_tuples
from discreet.attacks.attacker_knowledge import AttackerKnowledge
from discreet.attacks.box_tree import Boxes, build_tree, count_containing_boxes, list_containing_boxes
from discreet.attacks.findings import Findings
from discreet.attacks.label_coverage import LabelCoverage, compute_coverage
from discreet.attacks.match_sets import UNMATCHED, LabelOverlap, MatchSets
from discreet.attacks.published_table import PublishedTable
from discreet.core.errors import RequestError


def match_people(
    published: PublishedTable, known: AttackerKnowledge, columns: Mapping[str, str] | None = None
) -> MatchSets:
    """Return the match sets of all known people.

    `columns` maps a column of the release to its name in the knowledge, if the names differ.
    """
    sides = _read_shared_columns(published, known, columns or {})
    return _match_by_label(published, known, sides) or _match_by_box(published, known, sides)


@dataclass(frozen=True, kw_only=True, eq=False)
class _SharedColumn:
    """One shared column: each class's label, each known tuple's value, and what labels cover."""

    labels: Integers
    values: Integers
    is_unknown: NDArray[np.bool_]
    coverage: LabelCoverage


def _match_by_label(
    published: PublishedTable, known: AttackerKnowledge, sides: Sequence[_SharedColumn]
) -> MatchSets | None:
    """Match by looking up labels; None if labels overlap."""
    columns, sizes, number = [], [], len(published.classes)
    for side in sides:
        sole = None if side.is_unknown.any() else side.coverage.sole_labels
        if sole is None:
            return None
        columns.append(np.concatenate([side.labels, sole[side.values]]) + 1)
        sizes.append(len(side.coverage.low) + 1)
    keys, many = number_rows(columns, sizes)
    # the keys of the classes are numbered alone, from 0 on; people look up theirs in `place`
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


def _match_by_box(
    published: PublishedTable, known: AttackerKnowledge, sides: Sequence[_SharedColumn]
) -> MatchSets:
    """Match by finding the boxes that contain each point, for labels that overlap."""
    boxes, points, kept = _build_boxes(sides)
    found = build_tree(boxes)
    words = np.random.Generator(np.random.Philox(0)).integers(0, 2**64, len(kept), np.uint64)
    number, sums = count_containing_boxes(found, points, words)
    # Sums of 64-bit hashes: among a million sets, two collide with probability below 1e-7.
    matched = np.flatnonzero(number > 0)
    _, firsts, ids = np.unique(sums[matched], return_index=True, return_inverse=True)
    group = np.full(len(points), UNMATCHED, np.int64)
    group[matched] = ids
    heads = matched[firsts]
    starts, members = list_containing_boxes(found, points[heads], number[heads])
    return MatchSets(
        published=published,
        known=known,
        group=group,
        starts=starts,
        members=kept[members],
        overlap=_find_overlap(sides),
    )


def _find_overlap(sides: Sequence[_SharedColumn]) -> LabelOverlap:
    shown = number_rows([side.labels for side in sides], [len(side.coverage.low) for side in sides])[0]
    vague = np.any([side.is_unknown[side.values] for side in sides], axis=0)
    return LabelOverlap(label_ids=shown, has_unknown=vague)


def _read_shared_columns(
    published: PublishedTable, known: AttackerKnowledge, columns: Mapping[str, str]
) -> list[_SharedColumn]:
    sides = []
    for place, other in pair_columns(published, known, columns):
        values, hierarchy = known.values[other], published.hierarchies.get(published.columns[place])
        blank = [known.blank_is_unknown and value == "" for value in values]
        side = _SharedColumn(
            labels=published.classes.codes[:, place].astype(np.int64),
            values=known.tuples.codes[:, other].astype(np.int64),
            is_unknown=np.array(blank, np.bool_),
            coverage=compute_coverage(published.labels[place], values, hierarchy),
        )
        sides.append(side)
    return sides


def pair_columns(
    published: PublishedTable, known: AttackerKnowledge, columns: Mapping[str, str]
) -> list[tuple[int, int]]:
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


def _build_boxes(sides: Sequence[_SharedColumn]) -> tuple[Boxes, Integers, Integers]:
    """Return classes as boxes, known tuples as points, and the class of each box."""
    covers = [side.coverage for side in sides]
    low = np.stack([each.low[side.labels] for each, side in zip(covers, sides, strict=True)], axis=1)
    high = np.stack([each.high[side.labels] for each, side in zip(covers, sides, strict=True)], axis=1)
    points = np.stack(
        [np.where(side.is_unknown, -1, side.coverage.positions)[side.values] for side in sides], axis=1
    )
    offsets = np.cumsum([0, *(each.masks.size for each in covers)])
    marks = np.stack([_compute_mask_offsets(side, int(offsets[j])) for j, side in enumerate(sides)], axis=1)
    inside = np.concatenate([each.masks.ravel() for each in covers])
    # an unknown value may match even a label that covers no known value
    kept = np.arange(len(low)) if (points < 0).any() else np.flatnonzero((low < high).all(axis=1))
    return Boxes(low=low[kept], high=high[kept], mask_offsets=marks[kept], masks=inside), points, kept


def _compute_mask_offsets(side: _SharedColumn, offset: int) -> Integers:
    rows = side.coverage.mask_rows[side.labels]
    return np.where(rows >= 0, offset + rows * len(side.coverage.positions), -1)


def eliminate_classes(sets: MatchSets, parts: Integers | None = None) -> MatchSets | None:
    """Return a match set, with one person, for each class that matches somebody; None if nothing separates.

    With `parts`, known tuples of different parts are kept apart.
    """
    if sets.overlap is None:
        return None
    # whoever has an unknown value matches nearly every class, and rules out none
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


NUMBERS, DAYS, DIGITS = "numbers", "days", "digits"


@dataclass(frozen=True, kw_only=True)
class IllegibleColumn:
    """A column of which `illegible` of `total` labels cannot be read.

    `kind` is the kind of value that the labels show and that no known value has, if any. `sole_value` is the
    only known value, if it is itself a label: then the other labels are likely to be other values.
    """

    column: str
    known_column: str
    illegible: int
    total: int
    kind: str | None = None
    sole_value: str | None = None

    @property
    def is_wholly_illegible(self) -> bool:
        """True if no label of the column can be read."""
        return self.illegible == self.total


def find_illegible_columns(
    published: PublishedTable, known: AttackerKnowledge, columns: Mapping[str, str] | None = None
) -> tuple[IllegibleColumn, ...]:
    """Return the shared columns with illegible labels, leaving out columns without any known value."""
    found = []
    for place, other in pair_columns(published, known, columns or {}):
        name = published.columns[place]
        values = {value for value in known.values[other] if value}
        labels = [label for label in published.labels[place] if label not in ("", TOP)]
        named = values | _hierarchy_labels(published.hierarchies.get(name))
        kinds = _value_kinds(values)
        unread = [label for label in labels if label not in named and not _is_readable(label, kinds)]
        if unread and values:
            shown = [_get_reading_kind(reading) for label in unread for reading in parse_readings(label)]
            found.append(
                IllegibleColumn(
                    column=name,
                    known_column=known.columns[other],
                    illegible=len(unread),
                    total=len(labels),
                    kind=shown[0] if shown else None,
                    sole_value=next(iter(values)) if len(values) == 1 and values < set(labels) else None,
                )
            )
    return tuple(found)


def _hierarchy_labels(hierarchy: Hierarchy | None) -> set[str]:
    return set() if hierarchy is None else {label for level in hierarchy.labels for label in level}


def _value_kinds(values: Collection[str]) -> set[str | None]:
    """Return the kinds of the values; masks (None) fit every text."""
    kinds: set[str | None] = {None}
    if any(parse_number(value) is not None for value in values):
        kinds.add(NUMBERS)
    if any(parse_day(value) is not None for value in values):
        kinds.add(DAYS)
    if any(character.isdigit() for value in values for character in value):
        kinds.add(DIGITS)
    return kinds


def _is_readable(label: str, kinds: Collection[str | None]) -> bool:
    return any(_get_reading_kind(reading) in kinds for reading in parse_readings(label))


def _get_reading_kind(reading: Reading) -> str | None:
    """Return the kind of value that a label can be compared with."""
    if isinstance(reading, NumberRange):
        return NUMBERS
    if isinstance(reading, DateRange):
        return DAYS
    return DIGITS if reading.text.isdigit() else None
