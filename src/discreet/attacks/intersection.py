"""Intersection: two releases about the same people, each safe on its own, are combined.

Knows       the victim's quasi-identifiers at both times, that the victim is in both releases, and that the
            sensitive value did not change.
Learns      the values that both match sets share; often there is one. A value of x rows in one release and y
            in the other belongs to at most min(x, y) people who are in both, and is believed by its share of
            these minima. The share is exact if nobody else is in the overlap, and no more than each release
            reveals if the two are equal. Where a person may have several rows, rows are an upper bound on
            people.
Score       the share of people whose most probable value is right; the baseline is the better of the two
            releases alone.
Stopped by  m-invariance over the chain of releases; differential privacy, whose losses add up. Not by
            k-anonymity, l-diversity or t-closeness of each release.

Both releases are matched with the same knowledge, which may hold a column twice, once as of each release.

[GKS08]     Ganta, Kasiviswanathan & Smith, Composition attacks and auxiliary information, KDD 2008.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

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
    """Inference from the values that both match sets of a person share."""

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
