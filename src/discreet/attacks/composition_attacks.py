"""Composition attacks: two releases about the same people, each safe on its own, are combined.

Intersection    the values that both releases allow
Birthday        an update moves one person to another class, and the two releases differ by that person
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from discreet.anonymity.equivalence_classes import Integers, number_rows
from discreet.attacks.claims import (
    Claims,
    build_findings,
    count_right_people,
    describe_values,
    find_commonest,
)
from discreet.attacks.findings import AttackDescription, Findings
from discreet.attacks.match_sets import MatchSets, Matrix
from discreet.core.errors import RequestError

NO_CLASS = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoReleases:
    """People by both of their match sets; `pairs` are match sets over the first release."""

    first: MatchSets
    second: MatchSets
    column: str

    def __post_init__(self) -> None:
        if self.first.known is not self.second.known:
            raise RequestError(
                "attack: the two releases were matched with different knowledge.",
                hint="Match both with the same.",
            )

    @cached_property
    def pairs(self) -> MatchSets:
        """The people with the same match set in both releases, as match sets."""
        both = (self.first.group >= 0) & (self.second.group >= 0)
        seen = replace(self.first, group=np.where(both, self.first.group, -1))
        return seen.refine(np.maximum(self.second.group, 0), max(len(self.second), 1))

    @cached_property
    def sets(self) -> tuple[Integers, Integers]:
        """The match set of each pair in each release."""
        inside = self.pairs.group >= 0
        found = []
        for one in (self.first, self.second):
            of = np.zeros(len(self.pairs), np.int64)
            of[self.pairs.group[inside]] = one.group[inside]
            found.append(of)
        return found[0], found[1]

    @cached_property
    def counts(self) -> tuple[Matrix, Matrix]:
        """The sensitive values of each pair's rows in each release, by the codes of the first."""
        return (
            csr_array(self.first.counts(self.column)[self.sets[0]]),
            csr_array(self.recode_second(self.second.counts(self.column))[self.sets[1]]),
        )

    def recode_second(self, later: Matrix) -> Matrix:
        """Return counts of the second release by the codes of the first; other values are left out."""
        place = {name: code for code, name in enumerate(self.first.names(self.column))}
        codes = [place.get(name, -1) for name in self.second.names(self.column)]
        kept = [i for i, code in enumerate(codes) if code >= 0]
        moved = csr_array(
            (np.ones(len(kept), np.int64), (kept, [codes[i] for i in kept])), shape=(len(codes), len(place))
        )
        return csr_array(later @ moved)

    def count_revealed_by_one(self, pair_ids: Integers) -> tuple[float, float]:
        """Return how many people of some pairs either release alone reveals, by its commonest value."""
        one, two = (
            self._count_right_by_commonest(csr_array(counts[pair_ids]), pair_ids) for counts in self.counts
        )
        return one, two

    def _count_right_by_commonest(self, counts: Matrix, pair_ids: Integers) -> float:
        values, most = find_commonest(counts)
        posterior = most / counts.sum(axis=1)
        right = count_right_people(
            self.pairs, self.column, pair_ids, posterior, lambda i, value: value == values[i]
        )
        return float(right.sum())

    @property
    def class_id_limit(self) -> int:
        """An upper bound on class ids."""
        return len(self.first.published.classes) + len(self.second.published.classes)

    def number_classes(self) -> Integers:
        """Return an id for each class of the second release: that of the first's equal class, or new."""
        one, other = self.first.published, self.second.published
        if one.columns != other.columns:
            raise RequestError(
                "attack: the two releases do not have the same quasi-identifiers.",
                hint="Compare releases of one table.",
            )
        columns, sizes = [], []
        for j, (ours, theirs) in enumerate(zip(one.labels, other.labels, strict=True)):
            place = {label: code for code, label in enumerate(ours)}
            codes = np.array([place.setdefault(label, len(place)) for label in theirs], np.int64)
            columns.append(np.concatenate([one.classes.codes[:, j], codes[other.classes.codes[:, j]]]))
            sizes.append(len(place))
        keys, many = number_rows(columns, sizes)
        found = np.full(many, -1, np.int64)
        found[keys[: len(one.classes)]] = np.arange(len(one.classes))
        same = found[keys[len(one.classes) :]]
        return np.where(same >= 0, same, len(one.classes) + np.arange(len(same)))


@dataclass(frozen=True, kw_only=True)
class Intersection:
    """Inference from the values that both match sets of a person share.

    Knows       the victim's quasi-identifiers at both times, that the victim is in both releases, and that
                the sensitive value did not change.
    Learns      the values that both match sets share; often there is one. A value of x rows in one release
                and y in the other belongs to at most min(x, y) people who are in both, and is believed by its
                share of these minima. The share is exact if nobody else is in the overlap, and no more than
                each release reveals if the two are equal. Where a person may have several rows, rows are an
                upper bound on people.
    Score       the share of people whose most probable value is right; the baseline is the better of the two
                releases alone.
    Stopped by  m-invariance over the chain of releases; differential privacy, whose losses add up. Not by
                k-anonymity, l-diversity or t-closeness of each release.

    Both releases are matched with the same knowledge, which may hold a column twice, once as of each release.

    [GKS08]     Ganta, Kasiviswanathan & Smith, Composition attacks and auxiliary information, KDD 2008.
    """

    column: str

    name: ClassVar[str] = "intersection"
    knows: ClassVar[str] = "the quasi-identifiers of a person who is in both releases"
    learns: ClassVar[str] = "a sensitive value, from what both releases leave possible"
    stopped_by: ClassVar[str] = "m-invariance, or differential privacy over all releases together"

    def run(self, first: MatchSets, second: MatchSets) -> Findings:
        """Guess the value of everybody who matches rows of both releases."""
        both = TwoReleases(first=first, second=second, column=self.column)
        counts = both.counts
        left = csr_array(counts[0].minimum(counts[1]))
        return combine_releases(self, both, left, np.flatnonzero(np.diff(left.indptr) > 0))


def combine_releases(
    attack: AttackDescription, both: TwoReleases, possible_people: Matrix, pair_ids: Integers
) -> Findings:
    """Return findings from how many people of each pair of match sets may have each value."""
    pairs, column = both.pairs, both.column
    pair_ids = pair_ids[pairs.people[pair_ids] > 0]
    values, most = find_commonest(possible_people[pair_ids])
    posterior = most / possible_people[pair_ids].sum(axis=1)
    alone = [
        np.asarray(counts[pair_ids, values]).reshape(-1) / np.maximum(counts[pair_ids].sum(axis=1), 1)
        for counts in both.counts
    ]
    people = int(pairs.people[pair_ids].sum())
    claims = Claims(
        set_ids=pair_ids,
        prior=np.maximum(*alone),
        posterior=posterior,
        right_people=count_right_people(
            pairs, column, pair_ids, posterior, lambda i, value: value == values[i]
        ),
        describe=describe_values(column, pairs.names(column), values),
    )
    certain = int(pairs.people[pair_ids[posterior == 1]].sum())
    return build_findings(
        attack,
        pairs,
        claims,
        column=column,
        attempted_sets=pair_ids,
        baseline=max(both.count_revealed_by_one(pair_ids)) / people if people else 0.0,
        figures={"certain": certain / pairs.known.people},
    )


@dataclass(frozen=True, kw_only=True)
class Birthday:
    """Inference from the values by which a class changed, about the people who joined or left it.

    Knows       everybody's quasi-identifiers at both releases, such as dates of birth, so who changed class;
                and that sensitive values did not change.
    Learns      the values of people who joined a class that nobody left: the values that it gained. And of
                people who left a class that nobody joined: the values that it lost. A person who moves alone
                is identified with certainty, however diverse the two classes are.
    Score       the share of people who moved whose most probable value is right; the baseline is the better
                of the two releases alone.
    Stopped by  m-invariance over the chain of releases; differential privacy. Not by any model of a single
                release.

    Only classes whose labels overlap with no other are compared, because only their members are known.

    [XT07]      Xiao & Tao, m-Invariance: towards privacy preserving re-publication, SIGMOD 2007.
    """

    column: str

    name: ClassVar[str] = "birthday"
    knows: ClassVar[str] = "who changed class between two releases of the same people"
    learns: ClassVar[str] = "the sensitive value of who came or went, from the difference of a class"
    stopped_by: ClassVar[str] = "m-invariance, or differential privacy over all releases together"

    def run(self, first: MatchSets, second: MatchSets) -> Findings:
        """Guess the value of everybody who changed class."""
        both = TwoReleases(first=first, second=second, column=self.column)
        classes = both.number_classes()
        was, now = _find_sole_classes(first), _find_sole_classes(second, classes)
        moved, gone, come = _find_movers(both, was, now)
        before, after = _count_values_by_class(both, classes)
        left = csr_array(both.counts[0].minimum(both.counts[1]))
        here, there = was[both.sets[0]], now[both.sets[1]]
        left = _cap_by_class_change(
            left, csr_array(after - before), np.where(moved & (gone[there] == 0), there, NO_CLASS)
        )
        left = _cap_by_class_change(
            left, csr_array(before - after), np.where(moved & (come[here] == 0), here, NO_CLASS)
        )
        return combine_releases(self, both, left, np.flatnonzero(moved & (np.diff(left.indptr) > 0)))


def _find_sole_classes(sets: MatchSets, classes: Integers | None = None) -> Integers:
    """Return the class of each match set that is a single class of no other set; -1 for the rest."""
    shared = np.bincount(sets.members, minlength=len(sets.published.classes))
    heads = sets.members[sets.starts[:-1]]
    single = (np.diff(sets.starts) == 1) & (shared[heads] == 1)
    return np.where(single, heads if classes is None else classes[heads], NO_CLASS)


def _find_movers(
    both: TwoReleases, earlier_classes: Integers, later_classes: Integers
) -> tuple[NDArray[np.bool_], Integers, Integers]:
    """Return which set pairs hold people who changed class, and how many left and joined each class."""
    people, number = both.first.known.tuples.counts, both.class_id_limit
    old, new = (
        np.append(of, NO_CLASS)[sets.group]
        for of, sets in ((earlier_classes, both.first), (later_classes, both.second))
    )
    changed = old != new
    left, joined = (changed & (of >= 0) for of in (old, new))
    here, there = earlier_classes[both.sets[0]], later_classes[both.sets[1]]
    gone = np.bincount(old[left], people[left], number).astype(np.int64)
    come = np.bincount(new[joined], people[joined], number).astype(np.int64)
    return (here >= 0) & (there >= 0) & (here != there), gone, come


def _count_values_by_class(both: TwoReleases, classes: Integers) -> tuple[Matrix, Matrix]:
    """Return the value counts of every class in both releases."""
    before = both.first.class_counts(both.column)
    after = both.recode_second(both.second.class_counts(both.column))
    shape = (both.class_id_limit, before.shape[1])
    ones = np.ones(after.shape[0], np.int64)
    moved = csr_array((ones, (classes, np.arange(len(classes)))), shape=(shape[0], len(classes)))
    return csr_array(
        (before.data, before.indices, _pad_row_starts(before.indptr, shape[0])), shape=shape
    ), csr_array(moved @ after)


def _pad_row_starts(starts: NDArray[Any], number: int) -> NDArray[Any]:
    """Return CSR row starts extended by empty rows up to `number` rows."""
    return np.concatenate([starts, np.full(number + 1 - len(starts), starts[-1])])


def _cap_by_class_change(left: Matrix, change: Matrix, classes: Integers) -> Matrix:
    """Return the value counts capped by the change of the class, for the pairs that have one."""
    having = np.flatnonzero(classes >= 0)
    limits = csr_array(
        change[classes[having]].maximum(csr_array((len(having), change.shape[1]), dtype=np.int64))
    )
    others = np.flatnonzero(classes < 0)
    stacked = vstack([left[others], left[having].minimum(limits)], format="csr")
    stacked.eliminate_zeros()
    return csr_array(stacked[np.argsort(np.concatenate([others, having]))])
