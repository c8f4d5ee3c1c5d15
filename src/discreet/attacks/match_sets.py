"""Match sets: the rows of a release that may be one person's, given all that is known about that person.

A class may be a person's if it shows, in every known column, a label that covers the known value. If labels
do not overlap that is one class; if they do (local recoding, suppressed cells) it is several. People with the
same classes have the same match set, and an attacker cannot tell them apart.

Belief      For an attacker who knows that the person is in the release, each row of the match set is theirs
            with the same probability, so a sensitive value is believed by its share of those rows. This is
            what the models of `discreet.anonymity.models` bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.anonymity.equivalence_classes import (
    EquivalenceClasses,
    Integers,
    SensitiveCounts,
    number_rows,
    select_ragged_rows,
)
from discreet.anonymity.recoding import Floats
from discreet.attacks.attacker_knowledge import AttackerKnowledge
from discreet.attacks.published_table import PublishedTable
from discreet.core.errors import RequestError

Matrix = csr_array
UNMATCHED = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelOverlap:
    """Overlapping labels: `label_ids` numbers classes by their labels in the known columns.

    `has_unknown` marks known tuples with an unknown cell.
    """

    label_ids: Integers
    has_unknown: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchSets:
    """Match sets of known people: tuple i of `known` has match set `group[i]`, or -1 if no row matches.

    Set s consists of the classes `members[starts[s]:starts[s + 1]]` of the release.
    """

    published: PublishedTable
    known: AttackerKnowledge
    group: Integers
    starts: Integers
    members: Integers
    overlap: LabelOverlap | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def rows(self) -> Integers:
        """The number of rows in each set."""
        sizes = np.concatenate([[0], np.cumsum(self.published.classes.counts[self.members])])
        return np.asarray(sizes[self.starts[1:]] - sizes[self.starts[:-1]])

    @cached_property
    def people(self) -> Integers:
        """The number of known people in each set."""
        inside = self.group >= 0
        return np.bincount(self.group[inside], self.known.tuples.counts[inside], len(self)).astype(np.int64)

    @property
    def unmatched_people(self) -> int:
        """The number of people who match no row of the release."""
        return self.known.people - int(self.people.sum())

    def counts(self, column: str) -> Matrix:
        """Return how often each set's rows have each sensitive value."""
        sets = csr_array(
            (np.ones(len(self.members), np.int64), self.members, self.starts),
            shape=(len(self), len(self.published.classes)),
        )
        return csr_array(sets @ self.class_counts(column))

    def class_counts(self, column: str) -> Matrix:
        """Return how often each class's rows have each sensitive value."""
        return _to_matrix(self._get_published_values(column), len(self.published.classes))

    def names(self, column: str) -> tuple[str, ...]:
        """Return the values of a sensitive column in the release."""
        return self._get_published_values(column).names

    def shares(self, column: str) -> Floats:
        """Return each value's share of the release's rows: the belief about anybody without a match set."""
        return np.asarray(self.totals(column) / self.published.rows)

    def totals(self, column: str) -> Integers:
        """Return how often each value occurs in the release."""
        return self._get_published_values(column).totals

    def true_counts(self, column: str) -> Matrix | None:
        """Return how many people of each set truly have each value of the release; None if unknown."""
        given = self.known.tuples.sensitive.get(column)
        if given is None:
            return None
        matched, inside = (
            _to_matrix(_recode_values(given, self.names(column)), len(self.group)),
            self.group >= 0,
        )
        to_sets = csr_array(
            (np.ones(int(inside.sum()), np.int64), (self.group[inside], np.flatnonzero(inside))),
            shape=(len(self), len(self.group)),
        )
        return csr_array(to_sets @ matched)

    def find_examples(self, sets: Integers) -> Integers:
        """Return a known tuple of each set, one that most people have."""
        inside = np.flatnonzero(self.group >= 0)
        rising = inside[np.argsort(self.known.tuples.counts[inside], kind="stable")]
        first = np.full(len(self), -1, np.int64)
        first[self.group[rising]] = rising
        return first[sets]

    def refine(self, parts: Integers, number: int) -> MatchSets:
        """Return the sets split by a known property: tuple i is in part `parts[i]` below `number`."""
        inside = self.group >= 0
        keys, many = number_rows([self.group[inside], parts[inside]], [max(len(self), 1), number])
        group = np.full(len(self.group), UNMATCHED, np.int64)
        group[inside] = keys
        parents = np.zeros(many, np.int64)
        parents[keys] = self.group[inside]
        starts, places = select_ragged_rows(self.starts, parents)
        return replace(self, group=group, starts=starts, members=self.members[places])

    @cached_property
    def equivalence_classes(self) -> EquivalenceClasses:
        """The release's classes, with the number of known people that each may contain."""
        return replace(self.published.equivalence_classes, population=self._population)

    @property
    def _population(self) -> Integers:
        per_member = np.repeat(self.people, np.diff(self.starts))
        many = np.bincount(self.members, per_member, len(self.published.classes))
        return many.astype(np.int64)

    def _get_published_values(self, column: str) -> SensitiveCounts:
        found = self.published.classes.sensitive.get(column)
        if found is None:
            there = ", ".join(self.published.classes.sensitive) or "none"
            raise RequestError(
                f"attack: {column} is not among the sensitive columns of the release.",
                hint=f"Those are {there}.",
            )
        return found


def from_classes(published: PublishedTable) -> MatchSets:
    """Return match sets for everybody in the release, known only by what their class shows."""
    number = len(published.classes)
    known = AttackerKnowledge(columns=published.columns, values=published.labels, tuples=published.classes)
    return MatchSets(
        published=published,
        known=known,
        group=np.arange(number),
        starts=np.arange(number + 1),
        members=np.arange(number),
    )


def from_known_classes(published: PublishedTable, known: AttackerKnowledge, classes: Integers) -> MatchSets:
    """Return match sets of people whose class is known: tuple i of `known` is in `classes[i]`, or -1.

    If labels overlap, an attacker who knows everybody may find each person's class by elimination. Rows of a
    class cannot be told apart, so no attacker who knows quasi-identifiers believes more than this one.
    """
    number = len(published.classes)
    return MatchSets(
        published=published,
        known=known,
        group=classes,
        starts=np.arange(number + 1),
        members=np.arange(number),
    )


def _to_matrix(column: SensitiveCounts, number: int) -> Matrix:
    return csr_array((column.counts, column.values, column.starts), shape=(number, len(column.names)))


def _recode_values(column: SensitiveCounts, names: tuple[str, ...]) -> SensitiveCounts:
    """Return a sensitive column with the codes of other names; values without a code are left out."""
    place = {name: code for code, name in enumerate(names)}
    codes = np.array([place.get(name, -1) for name in column.names], np.int32)[column.values]
    owners = np.repeat(np.arange(len(column.starts) - 1), np.diff(column.starts))[codes >= 0]
    starts = np.searchsorted(owners, np.arange(len(column.starts))).astype(np.int64)
    return replace(
        column,
        starts=starts,
        values=codes[codes >= 0],
        counts=column.counts[codes >= 0],
        totals=np.zeros(len(names), np.int64),
        names=names,
    )
