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

[GKS08]     Ganta, Kasiviswanathan & Smith, Composition attacks and auxiliary information, KDD 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from discreet.anonymity.equivalence_classes import Integers
from discreet.attacks.claims import (
    Claims,
    build_findings,
    count_right_people,
    describe_values,
    find_commonest,
)
from discreet.attacks.findings import AttackDescription, Findings
from discreet.attacks.match_sets import MatchSets, Matrix
from discreet.attacks.two_releases import TwoReleases


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
